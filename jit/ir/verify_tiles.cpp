// What a group of a GPU's threads does together: copies into panels of shared memory, and products of panels.
#include <sheaf/jit/ir/verifier.hpp>

namespace sheaf::inline v0_1::ir {

void kernel_verifier::copy(const statement& s) {
  place_ = "copy";
  const buffer &from = target_buffer(s.target), &to = target_buffer(s.to);
  require(lanes_ != 0, "group_tile", "a copy outside a vector loop");
  require(from.where != role::local && to.where == role::local && from.type == to.type, "group_tile",
          "expected elements of one type, copied to a local buffer");
  const bool runs = s.how != access::gather;
  require(runs ? unit_inner(from) : row(from.type).bytes >= 4, "group_tile",
          "expected rows of elements that lie one after the other, or elements of 4 bytes");
  require(runs == (s.stored != none) && (!runs || operand(s.stored).type == element::i64), "types",
          "expected a number of elements");
  subscripts(from, s.subscripts, access::gather, true);
  subscripts(to, s.places, access::gather, true);
  mask(s.mask, false);
  mask(s.all_whole, false);
}

// Rows of 16 bytes, so that lanes may copy and multiply them whole.
void kernel_verifier::panel(std::int32_t id, const mma_form& tile, bool along, std::int64_t places) {
  const buffer& b = target_buffer(id);
  require(b.where == role::local && b.rank == 3 && is_half(b.type), "group_tile", "expected a local panel of halves");
  const bool whole = along || tile.by_warpgroups;
  const std::int64_t rows = whole ? places : tile.terms, row_length = whole ? tile.terms : places;
  require(b.extents[1] >= rows && b.extents[2] >= row_length && b.extents[2] % (copied_bytes / 2) == 0, "group_tile",
          "a panel of too few places, or of rows that are no multiple of 16 bytes");
  require(!tile.by_warpgroups || (b.extents[2] == tile.terms && b.extents[1] % mma_form::places_at_once == 0),
          "group_tile", "expected rows of 64 halves, and a multiple of 64");
}

void kernel_verifier::mma(const statement& s) {
  place_ = "mma";
  const mma_form& t = s.tile;
  const auto sums = static_cast<std::int32_t>(s.more.size());
  require(t.warps_of_columns > 0 && lanes_ == t.lanes(), "group_tile", "expected a vector loop of all its warps");
  require(t.results_of_rows > 0 && t.results_of_rows % 2 == 0 && sums > 0 && sums % (4 * t.results_of_rows) == 0,
          "group_tile", "expected an even number of rows and a multiple of four columns");
  require(t.terms > 0 && t.terms % mma_form::terms_at_once == 0, "group_tile", "expected a multiple of 16 terms");
  const bool whole_groups = t.warps_of_rows % mma_form::warpgroup == 0 && t.warps_of_columns == 1;
  require(!t.by_warpgroups ||
              (t.results_of_rows == 2 && whole_groups && t.terms == mma_form::places_at_once && sums <= 128),
          "group_tile", "expected rows of 64 terms, and 64 rows a warpgroup");
  for (const value v : s.more) {
    const instruction& a = accumulator(v);
    require(a.vector && a.type == element::f32 && a.fold == monoid::sum && a.dimension == 0, "accumulators",
            "expected lanes of f32 sums");
    one_width(v);
  }
  scalar_i64(s.stored, "the stage is not a scalar i64");
  panel(t.of_rows, t, t.rows_along, 8 * t.warps_of_rows * t.results_of_rows);
  panel(t.of_columns, t, t.columns_along, 4 * t.warps_of_columns * (sums / t.results_of_rows));
  require(target_buffer(t.of_rows).type == target_buffer(t.of_columns).type, "types", "panels of different types");
}

}  // namespace sheaf::inline v0_1::ir
