// Writes a C program that calls every kernel of some files with the extents that they were made for and with others,
// dense, with gaps between rows and with every element apart from the next, and compares with what the reference
// evaluator says, of wrong index data too; and that asks for the workspace of calls of any extents.
// Usage: expected LIBRARY OUT.c FILES...
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <stdexcept>

#include <sheaf/aot/extents.hpp>
#include <sheaf/aot/signature.hpp>
#include <sheaf/aot/tables.hpp>
#include <sheaf/dsl/graph/pack.hpp>
#include <sheaf/jit/engine/program.hpp>
#include <sheaf/runtime/error.hpp>

namespace {

using namespace sheaf;

struct array_of {
  std::vector<std::int64_t> extents, strides;
  std::vector<unsigned char> bytes;
  std::int64_t count = 1;
};

array_of dense(const std::int64_t* extents, int rank, int width) {
  array_of a;
  a.extents.assign(extents, extents + rank);
  a.strides.assign(static_cast<std::size_t>(rank) + 1, 1);
  for (int d = rank - 1; d >= 0; --d) {
    a.strides[static_cast<std::size_t>(d)] = a.count;
    a.count *= extents[d];
  }
  a.bytes.resize(static_cast<std::size_t>(a.count * width) + 1);
  return a;
}

double number_at(const array_of& a, element type, std::int64_t k) {
  const unsigned char* at = a.bytes.data() + k * row(type).bytes;
  const auto as = [&]<class T>(T value) { return std::memcpy(&value, at, sizeof value), static_cast<double>(value); };
  switch (type) {
    case element::i64: return as(std::int64_t{});
    case element::i32: return as(std::int32_t{});
    case element::f32: return as(float{});
    case element::f64: return as(double{});
    case element::f16: {
      std::uint16_t bits;
      std::memcpy(&bits, at, 2);
      const double fraction = bits & 1023, sign = bits & 0x8000 ? -1 : 1;
      return sign * std::ldexp(1024 + fraction, (bits >> 10 & 31) - 25);
    }
    default: return as(std::uint8_t{});
  }
}

template <class T>
void set(array_of& a, std::int64_t k, T value) {
  std::memcpy(a.bytes.data() + static_cast<std::size_t>(k) * sizeof value, &value, sizeof value);
}

// Numbers that halves hold too; for integers what their name says that they are.
void fill(array_of& a, const aot::argument& of, std::int64_t rows, std::int64_t least, std::mt19937& random) {
  std::vector<std::int64_t> whole;
  const auto below = static_cast<unsigned>(std::clamp<std::int64_t>(least, 1, 8));
  for (std::int64_t k = 0; k < a.count; ++k) whole.push_back(static_cast<std::int64_t>(random() % below));
  if (of.as_known == "off")
    for (std::int64_t k = 0; k < a.count; ++k)
      whole[static_cast<std::size_t>(k)] = k * rows / std::max<std::int64_t>(a.count - 1, 1);
  if (of.as_known == "cut")  // the last slice is empty
    for (std::int64_t k = 0; k < a.count; ++k) {
      const std::int64_t end = std::min(rows, k % 5 + 1 + static_cast<std::int64_t>(random() % 9));
      whole[static_cast<std::size_t>(k)] = k + 2 >= a.count ? 3 : k % 2 == 0 ? k % 5 : end;
    }
  for (std::int64_t k = 0; k < a.count; ++k) {
    const std::int64_t n = whole[static_cast<std::size_t>(k)];
    const double x = static_cast<double>(static_cast<std::int64_t>(random() % 256) - 128) / 64;
    if (of.type == element::i64) set(a, k, n);
    else if (of.type == element::i32) set(a, k, static_cast<std::int32_t>(n));
    else if (of.type == element::f32) set(a, k, static_cast<float>(x));
    else if (of.type == element::f64) set(a, k, x);
    else if (of.type == element::f16) set(a, k, static_cast<std::uint16_t>(0x3800 + random() % 1024));
    else throw std::runtime_error(of.as_known + ": no data of this type");
  }
}

std::string numbers(const array_of& a, element type) {
  std::string text;
  for (std::int64_t k = 0; k < a.count; ++k) {
    char one[40];
    const double x = number_at(a, type, k);
    std::uint16_t bits = 0;
    if (type == element::f16) std::memcpy(&bits, a.bytes.data() + 2 * k, 2);
    if (type == element::f16) std::snprintf(one, sizeof one, "%u", bits);
    else if (x != x) std::snprintf(one, sizeof one, "NAN");
    else if (x - x != 0) std::snprintf(one, sizeof one, x > 0 ? "INFINITY" : "-INFINITY");
    else std::snprintf(one, sizeof one, "%.17g", x);
    text += std::string(k % 12 == 0 ? "\n    " : " ") + one + ",";
  }
  return text + (a.count == 0 ? "0" : "");
}

std::string list(const std::vector<std::int64_t>& extents) {
  std::string text;
  for (const std::int64_t n : extents) text += std::to_string(n) + ", ";
  return "{" + text + "0}";
}

// What the reference evaluator makes of the inputs in `all`; adds the outputs.
void evaluate(const aot::program& p, std::vector<array_of>& all) {
  jit::program* made = jit::make_program(pack(p.g).words.data(), jit::backend::reference);
  std::vector<sheaf_tensor> tensors;
  for (array_of& a : all) tensors.push_back({a.bytes.data(), a.extents.data(), a.strides.data()});
  tensors.resize(tensors.size() + static_cast<std::size_t>(p.g.outputs.size()));
  const jit::calling here(made);
  const jit::kernel* k = jit::prepare(made, tensors.data());
  all.reserve(tensors.size());
  for (int o = 0; o < p.g.outputs.size(); ++o) {
    const node_id y = p.g.outputs[o];
    all.push_back(dense(jit::output_extents(k, o), tensor_rank(p.g, y), row(p.g.type(y)).bytes));
    tensors[all.size() - 1] = {all.back().bytes.data(), all.back().extents.data(), all.back().strides.data()};
  }
  jit::run(k, tensors.data());
}

std::vector<array_of> inputs_of(const aot::program& p, const aot::extent_list& of, std::mt19937& random) {
  const auto arguments = aot::arguments_of(p.g);
  std::vector<array_of> all;
  for (int i = 0; i < p.g.inputs.size(); ++i) {
    const std::int64_t* extents = of.data() + aot::first_place(p.g, i);
    all.push_back(dense(extents, p.g.inputs[i].rank, row(p.g.inputs[i].type).bytes));
    const std::int64_t least = *std::ranges::min_element(of);
    fill(all.back(), arguments[static_cast<std::size_t>(i)], of[0], least, random);
  }
  return all;
}

// A number of index data becomes too large. What the reference evaluator says of it; empty: it takes them all. Labels
// are read behind a condition: there kernels check nothing, and read 0.
std::string spoil(const aot::program& p, std::vector<array_of>& inputs) {
  const auto arguments = aot::arguments_of(p.g);
  for (std::size_t s = 0; s < inputs.size(); ++s) {
    const element type = p.g.inputs[static_cast<int>(s)].type;
    if ((type != element::i64 && type != element::i32) || inputs[s].count < 2 || arguments[s].as_known == "label")
      continue;
    const array_of before = inputs[s];
    type == element::i64 ? set(inputs[s], 1, std::int64_t{1} << 40) : set(inputs[s], 1, std::int32_t{1} << 20);
    std::vector<array_of> all = inputs;
    try {
      evaluate(p, all);
    } catch (const error& refused) {
      const std::string said = refused.what();
      return said.substr(0, said.find(", found"));
    }
    inputs[s] = before;
  }
  return "";
}

// One function that calls a kernel in three layouts. refused: what is said of the inputs, for which outputs stay as
// they are; empty: they are taken. all: inputs, and what is expected of outputs.
std::string test_of(const std::string& library, const aot::program& p, const std::vector<array_of>& all,
                    const std::string& name_of_test, const std::string& refused) {
  const auto arguments = aot::arguments_of(p.g);
  std::string text = "static void " + name_of_test + "(int layout) {\n", call, compare;
  for (std::size_t s = 0; s < arguments.size(); ++s) {
    const aot::argument& a = arguments[s];
    const std::string type = aot::c_type(a.type), name = a.name + "_of";
    text += "  static const " + type + " " + name + "[] = {" + numbers(all[s], a.type) + "};\n";
    text += "  static const int64_t " + name + "_extents[] = " + list(all[s].extents) + ";\n";
    text += "  array " + name + "_array = spread(layout, " + name + "_extents, " + std::to_string(a.rank);
    text += ", sizeof(" + type + "), " + (a.is_input || !refused.empty() ? name : "NULL") + ");\n";
    const std::string data = name + "_array.data";
    call += (call.empty() ? "" : ", ") + data + (a.is_input && a.rank > 0 ? ", " + name + "_extents" : "") +
            (a.rank > 0 ? ", " + name + "_array.strides" : "");
    if (a.is_input) continue;
    const bool real = refused.empty() && (a.type == element::f32 || a.type == element::f64);
    compare += std::string("  compare_") + (real ? a.type == element::f32 ? "f32" : "f64" : "bits") + "(\"" + p.name +
               "." + a.name + "\", layout, &" + name + "_array, " + name + ");\n";
  }
  const std::string run = library + "_" + p.name + "(" + call + ", NULL), " + library + "_message()";
  text += refused.empty() ? "  expect_ok(\"" + p.name + "\", " + run + ");\n"
                          : "  expect_refused(\"" + p.name + "\", " + run + ",\n    " + aot::quoted(refused) + ");\n";
  text += compare;
  for (const aot::argument& a : arguments) text += "  free(" + a.name + "_of_array.memory);\n";
  return text + "}\n\n";
}

// One that asks what workspace calls take, of extents that no memory holds too.
std::string questions_of(const std::string& library, const aot::program& p) {
  std::string text = "static void ask_" + p.name + "(void) {\n  size_t bytes;\n", list;
  const aot::extent_search search(p);
  for (const std::int64_t first : {0LL, 1LL, 2LL, 7LL, 97LL, 65537LL, 2147483659LL, 1LL << 40})
    for (const std::int64_t rest : {0LL, 1LL, 3LL, 101LL, 4294967297LL}) {
      aot::extent_list known(p.ranges.size(), -1);
      known[0] = first;
      const aot::extent_list all = search.completed(known, rest);
      if (!search.is_call(all)) continue;
      list += "    {";
      for (const std::int64_t n : all) list += "INT64_C(" + std::to_string(n) + "), ";
      list += "0},\n";
    }
  std::string call;
  for (int i = 0; i < p.g.inputs.size(); ++i)
    if (p.g.inputs[i].rank > 0) call += "n + " + std::to_string(aot::first_place(p.g, i)) + ", ";
  return text + "  static const int64_t list[][" + std::to_string(p.ranges.size() + 1) + "] = {\n" + list + "  };\n" +
         "  for (size_t k = 0; k < sizeof list / sizeof *list; ++k) {\n    const int64_t *n = list[k];\n" +
         "    expect_served(\"" + p.name + "\", " + library + "_" + p.name + "_workspace(" + call + "&bytes), " +
         library + "_message());\n  }\n}\n\n";
}

}  // namespace

int main(int count, char** words) {
  try {
    const std::string library = words[1];
    std::ofstream out(words[2]);
    std::mt19937 random(7);
    std::string calls, questions;
    out << "#include \"" << library << ".h\"\n#include \"compare.h\"\n\n";
    for (int k = 3; k < count; ++k)
      for (const aot::program& p : aot::read_programs(words[k])) {
        const aot::extent_search search(p);
        std::vector<aot::extent_list> all{p.examples.at(0)};
        const bool is_small = std::ranges::all_of(p.g.inputs, [](const input_row& in) { return in.rank < 3; });
        for (const std::int64_t n : {0, 1, is_small ? 37 : 7})
          if (search.is_call(search.completed({}, n))) all.push_back(search.completed({}, n));
        for (std::size_t call = 0; call < all.size(); ++call) {
          const std::string test = "test_" + p.name + "_" + std::to_string(call);
          try {
            std::vector<array_of> arrays = inputs_of(p, all[call], random), spoiled = arrays;
            evaluate(p, arrays);
            out << test_of(library, p, arrays, test, "");
            calls += "    " + test + "(layout);\n";
            const std::string refused = spoil(p, spoiled);
            if (refused.empty()) continue;
            std::ranges::copy(spoiled, arrays.begin());
            out << test_of(library, p, arrays, test + "_refused", refused);
            calls += "    " + test + "_refused(layout);\n";
          } catch (const error&) {
            if (call == 0) throw;  // else it is one of the extents that the program refuses
          }
        }
        out << questions_of(library, p);
        questions += "  ask_" + p.name + "();\n";
      }
    out << "int main(int count, char **words) {\n  int layout;\n  if (count > 1 && " << library
        << "_use_target(words[1]) != 0) return 77;\n  printf(\"target %s\\n\", " << library
        << "_target());\n  for (layout = 0; layout < 3; ++layout) {\n" << calls << "  }\n" << questions
        << "  return finish();\n}\n";
    return out.good() ? 0 : 1;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "expected: %s\n", problem.what());
    return 1;
  }
}
