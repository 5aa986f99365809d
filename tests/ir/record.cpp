#include "record.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <sheaf/jit/ir/print.hpp>

#include "classes.hpp"

namespace sheaf::test {

namespace {

// FNV-1a.
std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const unsigned char c : text) hash = (hash ^ c) * 0x100000001B3u;
  return hash;
}

std::map<std::string, std::string> lines_of(const std::string& text) {
  std::map<std::string, std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    std::size_t name = line.size();  // names have spaces, hashes have none
    for (std::size_t k = 0; k < std::size(targets) && name != 0 && name != std::string::npos; ++k)
      name = line.rfind(' ', name - 1);
    if (name != std::string::npos) lines[line.substr(0, name)] = line.substr(name + 1);
  }
  return lines;
}

// Of two lists of hashes.
std::string targets_that_differ(const std::string& a, const std::string& b) {
  std::istringstream left(a), right(b);
  std::string list, one, other;
  for (const char* target : targets) {
    left >> one;
    right >> other;
    if (one != other) list += (list.empty() ? "" : ", ") + std::string(target);
  }
  return list;
}

}  // namespace

ir_record& ir_record::only() {
  static ir_record one;
  return one;
}

void ir_record::add(const std::string& name, const graph& g, const plan::call_facts& call) {
  std::vector<std::string>& texts = all_[name];
  texts.resize(std::size(targets));
  for (std::size_t k = 0; k < texts.size(); ++k) {
    plan::call_facts on = call;
    if (const target::family* f = target::named(targets[k])) on.on = *f;
    else on.gpu = true;
    texts[k] += ir::print(plan_program(g, on, "program").code);
    if (k == 0) expect_classes(name, g, on), count_kernels_of_classes(name, g, on);
  }
}

std::string ir_record::text() const {
  std::string text;
  for (const auto& [name, texts] : all_) {
    text += name;
    for (std::size_t k = 0; k < texts.size(); ++k) {
      char hash[20];
      std::snprintf(hash, sizeof hash, " %016llx", static_cast<unsigned long long>(hash_of(texts[k])));
      text += hash;
    }
    text += "\n";
  }
  return text;
}

void ir_record::write_texts(const std::string& folder) const {
  std::filesystem::create_directories(folder);
  for (const auto& [name, texts] : all_) {
    std::string file = name;
    std::replace(file.begin(), file.end(), '/', ':');
    for (std::size_t k = 0; k < texts.size(); ++k)
      std::ofstream(std::filesystem::path(folder) / (file + "." + targets[k] + ".ir")) << texts[k];
  }
}

std::string difference(const std::string& golden, const std::string& found, bool some) {
  std::map<std::string, std::string> before = lines_of(golden);
  std::string said;
  int count = 0;
  const auto say = [&](const std::string& sentence) {
    if (++count <= 10) said += sentence + "\n";
  };
  for (const auto& [name, hashes] : lines_of(found)) {
    const auto old = before.find(name);
    if (old == before.end()) say(name + " is missing in the golden file");
    else if (old->second != hashes) say(name + " has other kernels: " + targets_that_differ(old->second, hashes));
    if (old != before.end()) before.erase(old);
  }
  if (!some)
    for (const auto& line : before) say(line.first + " is in the golden file, and was not tried");
  return count > 10 ? said + "and " + std::to_string(count - 10) + " more\n" : said;
}

}  // namespace sheaf::test
