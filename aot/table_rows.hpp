// Tables of C: rows of integer expressions and of formulas, which others name by number. Private header.
#pragma once
#include <map>
#include <string>
#include <vector>

#include <sheaf/aot/classes.hpp>

namespace sheaf::inline v0_1::aot {

// Rows of one table, equal ones once.
class rows {
 public:
  int add(const std::string& row);
  int size() const { return static_cast<int>(list_.size()); }
  // An array has at least one element.
  std::string table(const std::string& type, const std::string& name, const std::string& nothing) const;

 private:
  std::vector<std::string> list_;
  std::map<std::string, int> known_;
};

// Lists of numbers, one after the other.
class operand_lists {
 public:
  int add(const std::vector<int>& list);
  std::string table(const std::string& name) const;

 private:
  std::vector<int> all_;
};

class expression_rows {
 public:
  explicit expression_rows(const program& p) : of_(p) {}

  // Of a graph; -1: nothing that is evaluated in a call.
  int expression(const graph& g, node_id n);
  int closed(const graph& g, node_id n);
  // Its own: a number, extent d of the tensor in a slot, an operation.
  int constant(std::int64_t n);
  int extent(int slot, int d);
  int applied(op what, const std::vector<int>& arguments);

  // By formula of a class its number in the table; -1 before it is needed.
  struct class_formulas {
    const shapes::decisions& of;
    std::vector<int> numbers;
  };
  int formula(class_formulas& c, shapes::formula_id f);
  int amount(class_formulas& c, const shapes::amount& a);

  int formulas() const { return formulas_.size(); }
  std::string tables(const std::string& name) const;

 private:
  int row_of(const std::string& what, std::size_t count, std::int64_t first, std::int64_t attribute);

  const program& of_;
  rows expressions_, formulas_;
  operand_lists operands_;
};

std::string decimal(std::int64_t n);
// C has no literal for the least number.
std::string wide(std::int64_t n);

}  // namespace sheaf::inline v0_1::aot
