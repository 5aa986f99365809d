#include "catalogue_jobs.hpp"

namespace sheaf::bench {

namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto t = axis<"t">;
constexpr auto u = axis<"u">;
constexpr auto f = axis<"f">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = tensor<"y", float, 2>;
constexpr auto h = tensor<"h", float16, 2>;
constexpr auto g = tensor<"g", float16, 2>;
constexpr auto p = tensor<"p", bfloat16, 2>;
constexpr auto q = tensor<"q", bfloat16, 2>;
constexpr auto keep = tensor<"keep", bool, 2>;
constexpr auto w = tensor<"w", float, 1>;
constexpr auto z = tensor<"z", float, 1>;
constexpr auto n = tensor<"n", std::int64_t, 1>;
constexpr auto ids = tensor<"ids", std::int64_t, 1>;
constexpr auto off = tensor<"off", std::int64_t, 1>;
constexpr auto table = tensor<"table", float, 2>;
constexpr auto image = tensor<"image", float, 4>;

const shapes square = {{"x", {16384, 16384}}, {"y", {16384, 16384}}, {"h", {16384, 16384}}, {"keep", {16384, 16384}},
                       {"w", {16384}}};
const shapes wide = {{"x", {262144, 1024}}, {"w", {1024}}};
const shapes line = {{"z", {std::int64_t{1} << 28}}, {"w", {std::int64_t{1} << 26}},
                     {"n", {std::int64_t{1} << 26}}};

template <class... Outputs>
job one(const char* id, const shapes& inputs, Outputs... outputs) {
  return {id, words_of(outputs...), inputs};
}

void maps(std::vector<job>& rows) {
  rows.push_back(one("map:gelu", square, define<"gelued">(i, j) = gelu(x(i, j))));
  rows.push_back(one("map:add", square, define<"added">(i, j) = x(i, j) + y(i, j)));
  rows.push_back(one("map:columns", square, define<"scaled">(i, j) = x(i, j) * w(j)));
  rows.push_back(one("map:halves", square, define<"doubled">(i, j) = h(i, j) + h(i, j)));
  rows.push_back(one("map:cast", square, define<"narrowed">(i, j) = cast<float16>(x(i, j))));
  rows.push_back(one("map:select", square, define<"chosen">(i, j) = select(keep(i, j), x(i, j), 0_c)));
  rows.push_back(one("map:transpose", square, define<"turned">(i, j) = x(j, i)));
}
void sums(std::vector<job>& rows) {
  rows.push_back(one("sum:all", square, define<"total">() = sum(over(i, j), x(i, j))));
  rows.push_back(one("sum:axis0", square, sum(x, dim<0>)));
  rows.push_back(one("sum:axis1", square, sum(x, dim<1>)));
  rows.push_back(one("sum:halves", square, define<"of_halves">(i) = sum(j, cast<float>(h(i, j)))));
  rows.push_back(one("max:axis0", square, max(x, dim<0>)));
  rows.push_back(one("argmax:axis0", square, argmax(x, dim<0>)));
  rows.push_back(one("logsumexp:axis0", square, logsumexp(x, dim<0>)));
  rows.push_back(one("logsumexp:axis1", square, logsumexp(x, dim<1>)));
  rows.push_back(one("var:axis0", square, var(x, dim<0>)));
  rows.push_back(one("var:axis1", square, var(x, dim<1>)));
  rows.push_back(one("masked_mean:axis1", square, masked_mean(x, keep, dim<1>)));
}
void norms(std::vector<job>& rows) {
  rows.push_back(one("softmax", wide, softmax(x, dim<1>)));
  rows.push_back(one("cross_entropy", {{"x", {262144, 1024}}, {"ids", {262144}}}, cross_entropy(x, ids)));
  rows.back().below = {{"ids", 1024}};
  constexpr auto top = define<"top">(i) = logsumexp(j, cast<float>(p(i, j)));
  constexpr auto entropy = define<"entropy">() = mean(i, top(i) - cast<float>(p(i, ids(i))));
  rows.push_back(one("cross_entropy:bf16", {{"p", {8192, 32000}}, {"ids", {8192}}}, entropy, grad(entropy, p)));
  rows.back().below = {{"ids", 32000}};
  rows.push_back(one("softmax:8192", {{"x", {32768, 8192}}}, softmax(x, dim<1>)));
  rows.push_back(one("softmax:64", {{"x", {1 << 22, 64}}}, softmax(x, dim<1>)));
  rows.push_back(one("layer_norm", wide, layer_norm(x)));
  rows.push_back(both("layer_norm:8192", layer_norm(x), x, {{"x", {32768, 8192}}}));
  rows.push_back(both("rms_norm", rms_norm(x, w), x, wide));
  rows.push_back(both("batch_norm", batch_norm(image), image, {{"image", {128, 64, 160, 160}}}));
}
void scans(std::vector<job>& rows) {
  rows.push_back(one("cumsum:axis0", square, cumsum(x, dim<0>)));
  rows.push_back(one("cumsum:axis1", square, cumsum(x, dim<1>)));
  rows.push_back(one("cumsum:line", line, cumsum(z, dim<0>)));
  rows.push_back(one("cummax:axis1", square, cummax(x, dim<1>)));
  rows.push_back(both("cummax:gradient0", cummax(x, dim<0>), x, square));
  rows.push_back(both("cummax:gradient1", cummax(x, dim<1>), x, square));
  constexpr auto moved =
      define<"moved">(t.in(0_c, extent(z, dim<0>) - 1023_c)) = mean(u.in(0_c, 1024_c), z(t + u));
  rows.push_back(one("window:mean", line, moved));
  constexpr auto largest =
      define<"largest">(t.in(0_c, extent(z, dim<0>) - 1023_c)) = max(u.in(0_c, 1024_c), z(t + u));
  rows.push_back(one("window:max", line, largest));
  constexpr pool options{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}};
  rows.push_back(one("max_pool", {{"image", {128, 64, 224, 224}}}, max_pool2d<options>(image)));
}
void index_data(std::vector<job>& rows) {
  rows.push_back(one("histogram", line, histogram<256>(z, 0_c, 1_c)));
  rows.push_back(one("bincount:16", line, bincount<16>(n)));
  rows.back().below = {{"n", 16}};
  rows.push_back(one("bincount:4096", line, bincount<4096>(n, w)));
  rows.back().below = {{"n", 4096}};
  rows.push_back(one("bincount:weights", line, bincount<65536>(n, w)));
  rows.back().below = {{"n", 65536}};
  const shapes rows_of_table = {
      {"table", {1 << 20, 128}}, {"ids", {1 << 21}}, {"off", {65537}}, {"cotangent_picked", {1 << 21, 128}}};
  constexpr auto picked = define<"picked">(t, f) = table(ids(t), f);
  const std::map<std::string, std::int64_t> places = {{"ids", 1 << 20}};
  rows.push_back(one("gather", rows_of_table, picked));
  rows.back().below = places;
  rows.push_back(one("gather:gradient", rows_of_table, vjp(picked, table)));
  rows.back().below = places;
  rows.push_back(one("segment_sum:rows", rows_of_table, segment_sum(table, offsets(off))));
  rows.back().below = {{"off", 1 << 20}};
  rows.push_back(one("segment_softmax", {{"z", {std::int64_t{1} << 26}}, {"off", {6000000}}},
                     segment_softmax(z, offsets(off))));
  rows.back().below = {{"off", std::int64_t{1} << 26}};
  rows.push_back(one("bag:sum", rows_of_table, embedding_bag<bag{.mode = bag_mode::sum}>(ids, table, offsets(off))));
  rows.back().below = {{"ids", 1 << 20}, {"off", 1 << 21}};
}
void products(std::vector<job>& rows) {
  constexpr auto product = define<"product">(i, j) = sum(t, g(i, t) * h(t, j));
  rows.push_back(one("matmul:4096", {{"x", {4096, 4096}}, {"y", {4096, 4096}}}, matmul(x, y)));
  rows.push_back(one("matmul_bf16:4096", {{"p", {4096, 4096}}, {"q", {4096, 4096}}}, matmul(p, q)));
  const shapes both_factors = {{"g", {4096, 4096}}, {"h", {4096, 4096}}};
  rows.push_back(one("matmul_f16:gradients", both_factors, vjp(product, g), vjp(product, h)));
  rows.push_back(one("matrix_vector", square, define<"applied">(i) = sum(j, x(i, j) * w(j))));
}

}  // namespace

std::vector<job> catalogue_jobs() {
  std::vector<job> rows;
  for (const auto add : {maps, sums, norms, scans, index_data, products}) add(rows);
  return rows;
}

}  // namespace sheaf::bench
