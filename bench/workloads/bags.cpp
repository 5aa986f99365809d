// W10: bags of 1 to 100 rows of an embedding table, ids by Zipf's law: sum, mean, weighted sum, and maximum.
// kept: the sum where ids and offsets are promised to stay, so that only the first call sorts them.
#include "bags.hpp"
#include "session.hpp"

namespace sheaf::bench {
namespace {

constexpr auto ids = tensor<"ids", std::int64_t, 1>;
constexpr auto table = tensor<"table", float, 2>;
constexpr auto off = tensor<"off", std::int64_t, 1>;
constexpr auto weight = tensor<"weight", float, 1>;

template <class Y, class Error, class TableError>
void measure(session& s, const std::string& name, Y y, bag_data& d, Error error, TableError table_error) {
  const auto forward = compile(y);
  s.row(
      "W10", (name + ":forward").c_str(), d.forward(),
      [&] { forward(table = d.table, ids = d.ids, off = d.off, y = d.y); }, error);
  const auto dtable = vjp(y, table);
  const auto both = compile(y, dtable);
  s.row(
      "W10", (name + ":forward+backward").c_str(), d.both(),
      [&] { both(table = d.table, ids = d.ids, off = d.off, cotangent(y) = d.dy, y = d.y, dtable = d.dtable); },
      [&] { return std::max(error(), table_error()); });
}

void measure_weighted(session& s, bag_data& d) {
  constexpr auto y = embedding_bag<bag{.mode = bag_mode::sum}>(ids, table, offsets(off), weight);
  const auto share = [&](std::int64_t n) { return static_cast<double>(d.weight(n)); };
  const auto forward = compile(y);
  s.row(
      "W10", "weighted:forward", d.forward() + reads(d.weight),
      [&] { forward(table = d.table, ids = d.ids, off = d.off, weight = d.weight, y = d.y); },
      [&] { return d.sum_error(share); });
  constexpr auto dtable = vjp(y, table);
  constexpr auto dweight = vjp(y, weight);
  const auto both = compile(y, dtable, dweight);
  s.row(
      "W10", "weighted:forward+backward", d.both() + reads(d.weight) + writes(d.dweight),
      [&] {
        both(table = d.table, ids = d.ids, off = d.off, weight = d.weight, cotangent(y) = d.dy, y = d.y,
             dtable = d.dtable, dweight = d.dweight);
      },
      [&] { return std::max({d.sum_error(share), d.table_error(share), d.weight_error()}); });
}

void measure_kept(session& s, bag_data& d) {
  constexpr auto y = embedding_bag<bag{.mode = bag_mode::sum}>(ids, table, offsets(off));
  const auto dtable = vjp(y, table);
  const auto both = compile(y, dtable);
  const auto fixed = both.keep(ids = d.ids, off = d.off);
  const auto one = [](std::int64_t) { return 1.0; };
  s.row(
      "kept", "W10_sum:forward+backward", d.both(),
      [&] { both(table = d.table, fixed, cotangent(y) = d.dy, y = d.y, dtable = d.dtable); },
      [&] { return std::max(d.sum_error(one), d.table_error(one)); });
}

}  // namespace

void embedding_bags(session& s) {
  if (!s.wants("W10") && !s.wants("kept")) return;
  bag_data d;
  if (s.wants("kept")) measure_kept(s, d);
  if (!s.wants("W10")) return;
  const auto one = [](std::int64_t) { return 1.0; };
  const auto part = [&](std::int64_t n) {
    const std::int64_t k = d.bag_of[bag_data::at(n)];
    return 1.0 / static_cast<double>(d.off(k + 1) - d.off(k));
  };
  measure(
      s, "sum", embedding_bag<bag{.mode = bag_mode::sum}>(ids, table, offsets(off)), d,
      [&] { return d.sum_error(one); }, [&] { return d.table_error(one); });
  measure(
      s, "mean", embedding_bag(ids, table, offsets(off)), d, [&] { return d.sum_error(part); },
      [&] { return d.table_error(part); });
  measure_weighted(s, d);
  measure(
      s, "max", embedding_bag<bag{.mode = bag_mode::max}>(ids, table, offsets(off)), d, [&] { return d.max_error(); },
      [&] { return d.max_table_error(); });
}

}  // namespace sheaf::bench
