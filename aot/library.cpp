#include <sheaf/aot/library.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include <sheaf/aot/runtime_text.hpp>
#include <sheaf/aot/signature.hpp>
#include <sheaf/aot/tables.hpp>

namespace sheaf::inline v0_1::aot {

namespace {

std::string number(std::int64_t n) { return std::to_string(n); }

// What the functions of a kernel have in common.
class functions_writer {
 public:
  functions_writer(const library& l, const planned_program& p)
      : library_(l.name), name_(l.name + "_" + p.of->name), of_(p.of->name), g_(p.of->g) {
    for (const argument& a : arguments_of(g_)) {
      const bool has = a.rank > 0;
      call_ += "{" + a.name + ", " + (has && a.is_input ? a.name + "_extents" : "NULL") + ", " +
               (has ? a.name + "_strides" : "NULL") + "}, ";
      if (a.is_input) extents_ += "{NULL, " + (has ? a.name + "_extents" : std::string("NULL")) + ", NULL}, ";
      if (!a.is_input) outputs_ += (has ? a.name + "_extents" : std::string("NULL")) + ", ";
      if (!a.is_input && has)
        output_list_ +=
            (output_list_.empty() ? "" : ", ") + ("int64_t " + a.name + "_extents[" + number(a.rank) + "]");
    }
  }

  std::string on_processor() const {
    return head("", parameters::call, "const " + library_ + "_run *run") + arguments(call_) +
           "  sk_options options;\n  if (run == NULL) return sk_call(" + program("") + ", arguments, NULL);\n" +
           "  options.workspace = run->workspace;\n  options.workspace_bytes = run->workspace_bytes;\n" +
           "  options.parallel_for = run->parallel_for;\n  options.pool = run->pool;\n" +
           "  options.threads = run->threads;\n  return sk_call(" + program("") + ", arguments, &options);\n}\n" +
           head("_workspace", parameters::extents, "size_t *bytes") + arguments(extents_) +
           "  return sk_workspace_bytes(" + program("") + ", arguments, bytes, sk_class_bytes);\n}\n";
  }
  std::string on_gpu() const {
    std::string text;
    for (const auto& [suffix, call] : {std::pair("_gpu", "sk_gpu_run"), std::pair("_gpu_result", "sk_gpu_result")})
      text += head(suffix, parameters::call, "void *stream, const " + library_ + "_gpu_run *run") + arguments(call_) +
              "  sk_gpu_options options;\n  if (run == NULL) return " + call + "(" + program("_gpu") +
              ", arguments, stream, NULL);\n  options.workspace = run->workspace;\n" +
              "  options.workspace_bytes = run->workspace_bytes;\n  options.queue_only = run->queue_only;\n" +
              "  return " + call + "(" + program("_gpu") + ", arguments, stream, &options);\n}\n";
    return text + head("_gpu_workspace", parameters::extents, "size_t *bytes") + arguments(extents_) +
           "  return sk_workspace_bytes(" + program("_gpu") + ", arguments, bytes, sk_gpu_class_bytes);\n}\n";
  }
  std::string of_extents(const std::string& device) const {
    if (output_list_.empty()) return "";
    return head("_extents", parameters::extents, output_list_) + arguments(extents_) +
           "  int64_t *const outputs[] = {" + outputs_ + "NULL};\n  return sk_extents_of_outputs(" +
           program(device) + ", arguments, outputs);\n}\n";
  }

 private:
  std::string program(const std::string& device) const { return "&sk_program_" + of_ + device; }
  std::string head(const std::string& suffix, parameters which, const std::string& last) const {
    const std::string list = declared_parameters(g_, which, ", ");
    return "int " + name_ + suffix + "(" + list + (list.empty() ? "" : ", ") + last + ") {\n";
  }
  static std::string arguments(const std::string& list) {
    return "  const sk_argument arguments[] = {" + list + "{NULL, NULL, NULL}};\n";
  }

  const std::string library_, name_, of_;
  const graph& g_;
  std::string call_, extents_, outputs_, output_list_;
};

std::string element_numbers() {
  std::string text = "enum {";
  for (const element_row& r : element_rows) text += std::string(" sk_") + r.name + ",";
  text.back() = ' ';
  return text + "};\n";
}

std::string sized(const char* name, int value) { return std::string("#define ") + name + " " + number(value) + "\n"; }

std::string upper(std::string name) {
  for (char& c : name) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return name;
}

std::string processor_part(const library& l) {
  if (l.targets.empty()) return "";
  std::string targets;
  for (const target::build_target* t : l.targets)
    targets += "    {\"" + std::string(t->name) + "\", " + number(t->level) + "},\n";
  return "\n" + runtime_text("pool.c") + "\nstatic const sk_target sk_targets[] = {\n" + targets + "};\n" +
         runtime_text("run.c") + "\nint " + l.name +
         "_use_target(const char *target) { return sk_use_target(target); }\n" +
         "const char *" + l.name +
         "_target(void) {\n  const int t = sk_target_here();\n  return t < 0 ? \"none\" : sk_targets[t].name;\n}\n";
}

// target: among them, or their number: of the text.
std::string image_name(const library& l, std::size_t image, std::size_t target) {
  const std::string of = target < l.gpu_targets.size() ? l.gpu_targets[target].name : "text";
  return l.name + "_image_" + std::to_string(image) + "_" + of;
}

std::string gpu_part(const library& l, const call_sizes& sizes) {
  if (l.gpu_targets.empty()) return "";
  std::string targets, declared, images;
  for (const gpu_target& t : l.gpu_targets) targets += "    {\"" + t.name + "\", " + number(t.compute) + "},\n";
  const gpu_target& least = l.gpu_targets.front();
  targets += "    {\"compute_" + number(least.compute) + "\", " + number(least.compute) + "},\n";
  for (std::size_t k = 0; k < l.images.size(); ++k) {
    images += "    {";
    for (std::size_t t = 0; t <= l.gpu_targets.size(); ++t) {
      declared += "extern const uint64_t " + image_name(l, k, t) + "[];\n";
      images += image_name(l, k, t) + ", ";
    }
    images += "},\n";
  }
  return "\n" + sized("SK_WORDS", sizes.words) + sized("SK_LAUNCHES", sizes.launches) + sized("SK_TOLD", sizes.told) +
         "static const sk_gpu_target sk_gpu_targets[] = {\n" + targets + "};\n" + runtime_text("driver.c") + "\n" +
         declared + "static const uint64_t *const sk_images[][" + std::to_string(l.gpu_targets.size() + 1) + "] = {\n" +
         images + "};\n" + runtime_text("gpu.c") + "\nconst char *" + l.name +
         "_gpu_target(void) { return sk_gpu_target_here(); }\n";
}

}  // namespace

std::vector<std::string> library::target_names() const {
  std::vector<std::string> names;
  for (const target::build_target* t : targets) names.emplace_back(t->name);
  for (const gpu_target& t : gpu_targets) names.push_back(t.name);
  return names;
}

std::string entry_name(const library& l, const planned_program& p, std::size_t code, const target::build_target& on) {
  std::string target = on.name;
  for (char& c : target)
    if (c == '-') c = '_';
  return l.name + "_" + p.of->name + "_" + std::to_string(code) + "_" + target;
}

std::string source_of(const library& l) {
  std::string tables, functions;
  call_sizes sizes;
  const auto add = [&](const program_tables& made) {
    sizes.include(made.sizes);
    tables += made.text;
  };
  for (const planned_program& p : l.programs) {
    std::vector<std::vector<std::string>> entries;
    for (const target::build_target* t : l.targets) {
      entries.emplace_back();
      for (std::size_t k = 0; k < p.codes.size(); ++k) entries.back().push_back(entry_name(l, p, k, *t));
    }
    add(tables_of(p, entries));
    functions += functions_writer(l, p).on_processor();
  }
  for (std::size_t k = 0; k < l.gpu_programs.size(); ++k) {
    add(tables_of(l.gpu_programs[k], l.gpu_codes[k]));
    functions += functions_writer(l, l.gpu_programs[k]).on_gpu();
  }
  for (const planned_program& p : l.kernels())
    functions += functions_writer(l, p).of_extents(l.targets.empty() ? "_gpu" : "");
  std::string text = "#define " + upper(l.name) + "_BUILDS\n#include \"" + l.name + ".h\"\n\n";
  text += runtime_text("sheaf_call.h") + element_numbers();
  text += sized("SK_SLOTS", sizes.slots + 1) + sized("SK_NUMBERS", sizes.numbers) + sized("SK_PLACES", sizes.places) +
          sized("SK_FORMULAS", sizes.formulas) + sized("SK_COSTS", sizes.costs);
  for (const char* part : {"tables.h", "calls.c", "memory.c", "frame.c"}) text += "\n" + runtime_text(part);
  text += processor_part(l) + gpu_part(l, sizes) + "\n" + tables + "\n" + functions;
  return text + "const char *" + l.name + "_status_name(int status) {\n  return status >= 0 && status < (int)(sizeof "
          "sk_status_names / sizeof sk_status_names[0]) ? sk_status_names[status] : \"unknown\";\n}\n" +
          "const char *" + l.name + "_message(void) { return sk_sentence; }\n";
}

std::string images_of(const library& l) {
  std::string text = "/* Kernels of " + l.name + " for GPUs: machine code by target, and text for later ones. */\n"
                     "#include <stdint.h>\n";
  for (std::size_t k = 0; k < l.images.size(); ++k)
    for (std::size_t t = 0; t < l.images[k].bytes.size(); ++t) {
      text += "extern const uint64_t " + image_name(l, k, t) + "[];\nconst uint64_t " + image_name(l, k, t) + "[] = {";
      const std::vector<unsigned char>& bytes = l.images[k].bytes[t];
      for (std::size_t at = 0; at < bytes.size(); at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + at, std::min<std::size_t>(8, bytes.size() - at));
        char digits[24];
        std::snprintf(digits, sizeof digits, "0x%llx,", static_cast<unsigned long long>(word));
        text += (at % 48 == 0 ? "\n" : "") + std::string(digits);
      }
      text += "};\n";
    }
  return text;
}

}  // namespace sheaf::inline v0_1::aot
