#include <sheaf/aot/library.hpp>
#include <sheaf/aot/runtime_text.hpp>
#include <sheaf/aot/signature.hpp>

namespace sheaf::inline v0_1::aot {

namespace {

// A kernel's functions in C++: their argument is a struct, so that designated initialisers name what is given.
class views_writer {
 public:
  // On a GPU single numbers are in its memory too.
  views_writer(const library& l, const planned_program& p, bool gpu)
      : gpu_(gpu), library_(l.name), c_(l.name + "_" + p.of->name), name_(identifier(p.of->name) + (gpu ? "_gpu" : "")),
        list_(arguments_of(p.of->g)) {}

  std::string write() const {
    return "struct " + name_ + "_arguments {\n" + members() + "};\n" + extents() + workspace() + call() + "\n";
  }

 private:
  std::string rank_of(const argument& a) const { return std::to_string(a.rank); }
  bool has_extents() const {
    for (const argument& a : list_)
      if (!a.is_input && a.rank > 0) return true;
    return false;
  }
  std::string members() const {
    std::string text;
    for (const argument& a : list_) {
      const std::string type = (a.is_input && a.rank > 0 ? "const " : "") + std::string(c_type(a.type));
      if (a.rank > 0)
        text += "  sheaf_kernels::view<" + type + ", " + rank_of(a) + "> " + a.name + ";\n";
      else if (a.is_input && !gpu_)
        text += "  " + type + " " + a.name + " = 0;\n";
      else
        text += (a.is_input ? "  const " : "  ") + type + " *" + a.name + " = nullptr;\n";
    }
    return text;
  }
  // The extents of inputs, as C has them; then `more`.
  std::string asked(const std::string& more) const {
    std::string text;
    for (const argument& a : list_)
      if (a.is_input && a.rank > 0) text += "a." + a.name + ".extents, ";
    return text + more;
  }
  std::string status_of(const std::string& code) const {
    return "{" + code + ", " + library_ + "_status_name(" + code + "), " + library_ + "_message()}";
  }
  std::string function(const std::string& suffix, const std::string& more, const std::string& body) const {
    return "inline sheaf_kernels::status " + name_ + suffix + "(const " + name_ + "_arguments &a, " + more +
           ") noexcept {\n" + body + "}\n";
  }
  std::string extents() const {
    if (!has_extents()) return "";
    std::string text = "struct " + name_ + "_extents_of_outputs {\n", list;
    for (const argument& a : list_)
      if (!a.is_input && a.rank > 0) {
        text += "  std::array<std::int64_t, " + rank_of(a) + "> " + a.name + "{};\n";
        list += (list.empty() ? "" : ", ") + ("to." + a.name + ".data()");
      }
    return text + "};\n" +
           function("_extents", name_ + "_extents_of_outputs &to",
                    "  const int code = " + c_ + "_extents(" + asked(list) + ");\n  return " + status_of("code") +
                        ";\n");
  }
  std::string workspace() const {
    return function("_workspace", "std::size_t &bytes",
                    "  const int code = " + c_ + (gpu_ ? "_gpu" : "") + "_workspace(" + asked("&bytes") +
                        ");\n  return " +
                        status_of("code") + ";\n");
  }
  std::string call() const {
    std::string checks, list;
    if (has_extents())
      checks = "  " + name_ + "_extents_of_outputs to;\n  if (const auto s = " + name_ +
               "_extents(a, to); !s) return s;\n";
    std::string upper = library_;
    for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    const std::string code = upper + "_EXTENT_MISMATCH";
    for (const argument& a : list_) {
      if (!a.is_input && a.rank > 0)
        checks += "  if (!a." + a.name + ".has(to." + a.name + "))\n    return {" + code + ", " + library_ +
                  "_status_name(" + code + "), \"output " + a.name + ": expected the extents that " + name_ +
                  "_extents gives, found others\"};\n";
      if (a.rank == 0)
        list += std::string(a.is_input && !gpu_ ? "&" : "") + "a." + a.name + ", ";
      else
        list += "a." + a.name + ".data, " + (a.is_input ? "a." + a.name + ".extents, " : "") + "a." + a.name +
                ".strides, ";
    }
    const auto called = [&](const std::string& suffix, const std::string& more, const std::string& passed) {
      return function(suffix, more, checks + "  const int code = " + c_ + (gpu_ ? "_gpu" : "") + suffix + "(" + list +
                                        passed + ");\n  return " + status_of("code") + ";\n");
    };
    if (!gpu_) return called("", "const run *how = nullptr", "how");
    return called("", "void *stream = nullptr, const gpu_run *how = nullptr", "stream, how") +
           called("_result", "void *stream, const gpu_run *how", "stream, how");
  }

  const bool gpu_;
  const std::string library_, c_, name_;
  const std::vector<argument> list_;
};

}  // namespace

std::string views_of(const library& l) {
  std::string kernels, runs;
  for (const planned_program& p : l.programs) kernels += views_writer(l, p, false).write();
  for (const planned_program& p : l.gpu_programs) kernels += views_writer(l, p, true).write();
  if (!l.targets.empty()) runs += "using run = @name@_run;\n";
  if (!l.gpu_targets.empty()) runs += "using gpu_run = @name@_gpu_run;\n";
  std::string text = runtime_text("views.in");
  for (const auto& [what, with] : {std::pair<std::string, std::string>{"@runs@\n", runs}, {"@name@", l.name},
                                   {"@kernels@\n", kernels}})
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
      text.replace(at, what.size(), with);
  return text;
}

}  // namespace sheaf::inline v0_1::aot
