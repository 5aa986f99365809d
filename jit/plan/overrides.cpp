#include <sheaf/jit/plan/overrides.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

const char* const algorithms[] = {"planned", "direct", "inverse_index", "block_tree"};

// Windows and stencils have as many lanes as their form needs, scans and scatters at most as many as their registers
// hold.
void check_lanes(const graph& g, const facts& known, const program_plan& plan) {
  const int wanted = known.call().overrides.lanes;
  for (const stage& s : plan.stages)
    if (wanted != 0 && s.vector != no_node && s.lanes != wanted)
      throw cannot_follow("options.lanes is " + std::to_string(wanted) + ", but stage " + name_of(g, s.define) +
                          " runs as a " + way_name(s.how) + " in " + std::to_string(s.lanes) + " lanes");
}

void check_algorithm(const facts& known, const program_plan& plan) {
  const algorithm wanted = known.call().overrides.algorithm;
  bool found = wanted == algorithm::planned || wanted == algorithm::direct;
  for (const stage& s : plan.stages)
    found = found || (wanted == algorithm::block_tree ? s.reads_block_tree : s.how == way::lists);
  if (!found)
    throw cannot_follow(std::string("options.algorithm is ") + algorithms[static_cast<int>(wanted)] +
                        ", but no stage folds slices of data, or adds to them, in a form that can use " +
                        algorithms[static_cast<int>(wanted)]);
}

void check_scatters(const facts& known, const program_plan& plan) {
  bool found = known.call().overrides.scatters == scatters::planned;
  for (const stage& s : plan.stages) found = found || s.atomic;
  if (!found)
    throw cannot_follow(
        "options.scatters is atomic, but no stage adds numbers of 4 or 8 bytes to rows that data names");
}

}  // namespace

void check_followed(const graph& g, const facts& known, const program_plan& plan) {
  check_lanes(g, known, plan);
  check_algorithm(known, plan);
  check_scatters(known, plan);
}

std::string options_text(const options& wanted) {
  std::string text;
  const auto put = [&](const std::string& words) { text += (text.empty() ? "options: " : ", ") + words; };
  if (wanted.determinism == determinism::strict) put("strict");
  if (wanted.fusion == fusion::off) put("every stage a kernel");
  if (wanted.algorithm != algorithm::planned)
    put(std::string("slices by ") + algorithms[static_cast<int>(wanted.algorithm)]);
  if (wanted.scatters == scatters::atomic) put("atomic scatters");
  if (wanted.sharing != sheaf::sharing::planned)
    put(wanted.sharing == sheaf::sharing::off ? "one thread" : "shared by threads always");
  if (wanted.lanes != 0) put(std::to_string(wanted.lanes) + " lanes");
  if (wanted.target != nullptr) put(std::string("for ") + wanted.target);
  return text.empty() ? text : text + "\n";
}

}  // namespace sheaf::inline v0_1::plan
