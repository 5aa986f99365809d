"""The programs of bench/peers/programs.txt in other libraries, on the arrays that bench_survey --keep wrote.

python programs.py FOLDER [--threads N] [NAME...]: a line for each program and library that has it:
    peer NAME LIBRARY MS ERROR
ERROR: the largest difference from Sheaf's results, of their largest magnitude. Results that differ in form (groups
without members) are compared where both are finite.
"""
import argparse
import os
import pathlib
import time

parser = argparse.ArgumentParser()
parser.add_argument("folder", type=pathlib.Path)
parser.add_argument("names", nargs="*")
parser.add_argument("--threads", type=int, default=0)
args = parser.parse_args()
threads = args.threads or os.cpu_count()
for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"):
    os.environ[name] = str(threads)
os.environ["JAX_PLATFORMS"] = "cpu"

import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

torch.set_num_threads(threads)
torch.set_flush_denormal(True)

types = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": np.int16, "i64": np.int64, "i32": np.int32,
         "bool": np.bool_}


def load(folder):
    """The arrays of a program by name, as tensors."""
    arrays = {}
    for line in (folder / "arrays").read_text().splitlines():
        name, kind, *extents = line.split()
        data = np.fromfile(folder / name, types[kind]).reshape([int(e) for e in extents])
        tensor = torch.from_numpy(data)
        arrays[name] = tensor.view(torch.bfloat16) if kind == "bf16" else tensor
    return arrays


programs = {}


def program(*names, library="PyTorch"):
    """Registers f(arrays) -> the call to measure, which returns the results in the order of Sheaf's outputs."""
    def add(f):
        for name in names:
            programs.setdefault(name, []).append((library, f))
        return f
    return add


def with_gradients(value, *inputs, cotangent=None):
    """The call that computes `value` of these inputs, and its gradients by all of them."""
    leaves = [x.clone().requires_grad_() for x in inputs]

    def call():
        y = value(*leaves)
        return y, *torch.autograd.grad(y, leaves, cotangent)
    return call


# ---- contractions
@program("product:512", "product:2048", "product:64", "product:batches")
def product(a):
    return lambda: a["a"] @ a["b"]


@program("product:gradients")
def product_gradients(a):
    return lambda: (a["g"] @ a["b"].T, a["a"].T @ a["g"])


@program("product:transposed")
def product_transposed(a):
    return lambda: a["a"] @ a["b"].T


@program("product:both_transposed")
def product_both_transposed(a):
    return lambda: a["a"].T @ a["b"].T


@program("product:covariance")
def covariance(a):
    return lambda: torch.cov(a["x"].T, correction=0)


@program("product:vector")
def matrix_vector(a):
    return lambda: torch.mv(a["a"], a["v"])


@program("product:layer")
def layer(a):
    return lambda: torch.relu_(torch.addmm(a["c"], a["x"], a["w"]))


@program("product:gathered")
def gathered(a):
    return lambda: a["x"][a["id"]] @ a["w"]


@program("product:experts")
def experts(a):
    def call():
        ends = torch.cumsum(torch.bincount(a["group"], minlength=8), 0).tolist()
        out, begin = torch.empty(a["x"].shape[0], a["w"].shape[2]), 0
        for g, end in enumerate(ends):
            torch.mm(a["x"][begin:end], a["w"][g], out=out[begin:end])
            begin = end
        return out
    return call


@program("product:bf16")
def halves(a):
    return lambda: a["a"].float() @ a["b"].float()


# ---- convolutions
@program("convolution:1d")
def convolution_1d(a):
    return lambda: F.conv1d(a["x"], a["w"])


@program("convolution:2d")
def convolution_2d(a):
    return lambda: F.conv2d(a["x"], a["w"], padding=1)


@program("convolution:2d_gradients")
def convolution_gradients(a):
    return lambda: torch.ops.aten.convolution_backward(
        a["g"], a["x"], a["w"], None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, False])[:2]


@program("convolution:strided")
def convolution_strided(a):
    return lambda: F.conv2d(a["x"], a["w"], padding=1, stride=2)


@program("convolution:depthwise")
def depthwise(a):
    return lambda: F.conv2d(a["x"], a["w"][:, None], padding=1, groups=64)


@program("convolution:3d")
def convolution_3d(a):
    return lambda: F.conv3d(a["x"], a["w"])


# ---- pairs
def distances(x, y):
    return torch.cdist(x, y).square()


@program("pairwise:gauss")
def gauss(a):
    return lambda: torch.exp(-distances(a["x"], a["y"])) @ a["b"]


@program("pairwise:gauss_gradients")
def gauss_gradients(a):
    x, y, b = (a[k].clone().requires_grad_() for k in ("x", "y", "b"))

    def call():
        square = (x * x).sum(1)[:, None] - 2 * x @ y.T + (y * y).sum(1)
        s = torch.exp(-square) @ b
        return s, *torch.autograd.grad((s * s).sum(), (x, y, b))
    return call


@program("pairwise:gauss", library="KeOps")
def gauss_keops(a):
    from pykeops.torch import LazyTensor
    x, y, b = LazyTensor(a["x"][:, None]), LazyTensor(a["y"][None]), a["b"][:, None]
    return lambda: (-((x - y) ** 2).sum(-1)).exp().__matmul__(b)[:, 0]


@program("pairwise:nearest")
def nearest(a):
    return lambda: torch.cdist(a["x"], a["z"]).argmin(1)


@program("pairwise:logsumexp")
def pairs_logsumexp(a):
    return lambda: torch.logsumexp(-distances(a["x"], a["y"]), 1)


# ---- attention
@program("attention:dense", "attention:causal")
def attention(a):
    q, k, v = (a[n][None] for n in ("q", "k", "v"))
    causal = a["name"].endswith("causal")
    return lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal)[0]


@program("attention:gradients")
def attention_gradients(a):
    def value(q, k, v):
        return F.scaled_dot_product_attention(q[None], k[None], v[None])[0]
    return with_gradients(value, a["q"], a["k"], a["v"], cotangent=a["g"])


# ---- groups
def keys_of(a):
    return a["results"][0].shape[0]


@program("group:sum_10", "group:sum_1000", "group:sum_1e6", "group:sum_1e7")
def group_sum(a):
    return lambda: torch.zeros(keys_of(a)).index_add_(0, a["key"], a["x"])


@program("group:sum_10", "group:sum_1000", "group:sum_1e6", "group:sum_1e7", library="NumPy")
def group_sum_numpy(a):
    key, x, n = a["key"].numpy(), a["x"].numpy(), keys_of(a)
    return lambda: np.bincount(key, x, n)


@program("group:sum_10", "group:sum_1000", "group:sum_1e6", "group:sum_1e7", library="JAX")
def group_sum_jax(a):
    import jax
    key, x, n = jax.numpy.asarray(a["key"].numpy()), jax.numpy.asarray(a["x"].numpy()), keys_of(a)
    f = jax.jit(lambda k, v: jax.ops.segment_sum(v, k, n))
    return lambda: f(key, x).block_until_ready()


def aggregated(a, *how):
    """A call of Polars for the aggregates by key, which are not sorted by it."""
    import polars
    frame = polars.DataFrame({n: a[n].numpy() for n in ("key", "x") if n in a})
    values = {"sum": lambda x: x.sum(), "max": lambda x: x.max(), "mean": lambda x: x.mean(), "len": lambda x: x.len(),
              "argmax": lambda x: x.arg_max(), "var": lambda x: x.var(ddof=0)}
    column = polars.col("x" if "x" in a else "key")
    wanted = [values[h](column).alias(h) for h in how]
    return lambda: frame.group_by("key").agg(wanted)


def queried(a, *how):
    """The same of DuckDB, which fetches nothing as Python objects."""
    import duckdb
    import polars
    frame = polars.DataFrame({n: a[n].numpy() for n in ("key", "x") if n in a})
    names = {"sum": "sum(x)", "max": "max(x)", "mean": "avg(x)", "len": "count(*)", "argmax": "arg_max(x, x)",
             "var": "var_pop(x)"}
    base = duckdb.connect()
    base.execute(f"set threads = {threads}")
    base.register("frame", frame)
    base.execute("create table t as select * from frame")
    text = "select key, " + ", ".join(names[h] for h in how) + " from t group by key"
    return lambda: base.execute(text).fetchnumpy()


for names, how in ((("group:sum_10", "group:sum_1000", "group:sum_1e6", "group:sum_1e7"), ("sum",)),
                   (("group:several", "group:several_1e6"), ("sum", "max", "mean")), (("group:count",), ("len",)),
                   (("group:max_1e6",), ("max",)), (("group:argmax",), ("argmax",)), (("group:var",), ("var",))):
    program(*names, library="Polars")(lambda a, how=how: aggregated(a, *how))
    program(*names, library="DuckDB")(lambda a, how=how: queried(a, *how))


@program("group:several", "group:several_1e6")
def several(a):
    def call():
        n = keys_of(a)
        s = torch.zeros(n).index_add_(0, a["key"], a["x"])
        m = torch.full((n,), -torch.inf).scatter_reduce_(0, a["key"], a["x"], "amax")
        return s, m, s / torch.bincount(a["key"], minlength=n)
    return call


@program("group:count")
def group_count(a):
    return lambda: torch.bincount(a["key"], minlength=keys_of(a))


@program("group:count", library="NumPy")
def group_count_numpy(a):
    return lambda: np.bincount(a["key"].numpy(), minlength=keys_of(a))


@program("group:max_1e6")
def group_max(a):
    wide = a["key"].long()
    return lambda: torch.full((keys_of(a),), -torch.inf).scatter_reduce_(0, wide, a["x"], "amax")


@program("group:var")
def group_var(a):
    def call():
        n = keys_of(a)
        count = torch.bincount(a["key"], minlength=n)
        mean = torch.zeros(n).index_add_(0, a["key"], a["x"]) / count
        off = a["x"] - mean[a["key"]]
        return torch.zeros(n).index_add_(0, a["key"], off * off) / count
    return call


@program("group:histogram")
def histogram(a):
    return lambda: torch.histc(a["x"], 64, 0, 1)


@program("group:histogram", library="NumPy")
def histogram_numpy(a):
    return lambda: np.bincount((a["x"].numpy() * 64).astype(np.int64), minlength=64)


@program("group:histogram_2d")
def histogram_2d(a):
    return lambda: torch.bincount((a["x"] * 64).long() * 64 + (a["z"] * 64).long(), minlength=4096).reshape(64, 64)


@program("group:rows", "graph:messages")
def group_rows(a):
    if "key" in a:
        return lambda: torch.zeros(1000, 16).index_add_(0, a["key"], a["x"])
    return lambda: torch.zeros(50000, 32).index_add_(0, a["to"], a["x"][a["from"]])


@program("graph:messages_gradient")
def messages_gradient(a):
    def value(x, w):
        return torch.zeros(50000, 32).index_add(0, a["to"], w[:, None] * x[a["from"]])
    return with_gradients(value, a["x"], a["w"], cotangent=a["g"])


# ---- sparse matrices
def csr(a):
    n = a["off"].shape[0] - 1
    return torch.sparse_csr_tensor(a["off"], a["column"], a["a"], (n, a["x"].shape[0]), check_invariants=False)


@program("sparse:vector", "sparse:matrix")
def sparse(a):
    m = csr(a)
    return lambda: m @ a["x"]


@program("sparse:vector", "sparse:matrix", library="SciPy")
def sparse_scipy(a):
    import scipy.sparse
    n = a["off"].shape[0] - 1
    m = scipy.sparse.csr_array((a["a"].numpy(), a["column"].numpy(), a["off"].numpy()), (n, a["x"].shape[0]))
    x = a["x"].numpy()
    return lambda: m @ x


@program("sparse:gradients")
def sparse_gradients(a):
    row = torch.repeat_interleave(torch.arange(a["off"].shape[0] - 1), a["off"].diff())

    def value(values, x):
        return torch.zeros(a["g"].shape[0]).index_add(0, row, values * x[a["column"]])
    return with_gradients(value, a["a"], a["x"], cotangent=a["g"])


# ---- rows
@program("rows:softmax_10", "rows:softmax_17", "rows:softmax_40")
def softmax(a):
    return lambda: torch.softmax(a["x"], 1)


@program("rows:softmax_64_gradient")
def softmax_gradient(a):
    def call():
        y = torch.softmax(a["x"], 1)
        return torch.ops.aten._softmax_backward_data(a["g"], y, 1, torch.float32)
    return call


@program("rows:norm_48")
def norm(a):
    return lambda: F.rms_norm(a["x"], (48,), eps=1e-6)


@program("rows:layer_norm_24_gradient")
def layer_norm_gradient(a):
    x = a["x"].clone().requires_grad_()
    return lambda: torch.autograd.grad(F.layer_norm(x, (24,), eps=1e-5), x, a["g"])


@program("rows:argmax_32")
def argmax(a):
    return lambda: a["x"].argmax(1)


@program("rows:argmax_32", library="NumPy")
def argmax_numpy(a):
    return lambda: a["x"].numpy().argmax(1)


@program("rows:max_48")
def row_max(a):
    return lambda: a["x"].amax(1)


@program("regression")
def regression(a):
    b = a["b"].float()
    return with_gradients(lambda w: F.binary_cross_entropy_with_logits(a["x"] @ w, b), a["w"])


@program("stencil:energy")
def energy(a):
    def value(x):
        down, right = x[1:, :-1] - x[:-1, :-1], x[:-1, 1:] - x[:-1, :-1]
        return (down * down).sum() + (right * right).sum()
    return with_gradients(value, a["x"])


@program("stencil:laplacian_3d")
def laplacian(a):
    x, c = a["x"], slice(1, -1)
    return lambda: (x[:-2, c, c] + x[2:, c, c] + x[c, :-2, c] + x[c, 2:, c] + x[c, c, :-2] + x[c, c, 2:] -
                    6 * x[c, c, c])


@program("norm:batch")
def batch_norm(a):
    return with_gradients(lambda x: F.batch_norm(x, None, None, training=True, eps=1e-5), a["x"], cotangent=a["g"])


@program("segment:logsumexp")
def segment_logsumexp(a):
    lengths = a["off"].diff()
    row = torch.repeat_interleave(torch.arange(lengths.shape[0]), lengths)

    def call():
        top = torch.full(lengths.shape, -torch.inf).scatter_reduce_(0, row, a["x"], "amax")
        s = torch.zeros(lengths.shape).index_add_(0, row, torch.exp(a["x"] - top[row]))
        return top + torch.log(s)
    return call


@program("image:bilinear")
def bilinear(a):
    grid = torch.stack([a["v"] * (510 / 511) * 2 - 1, a["u"] * (510 / 511) * 2 - 1], 1)[None, None]
    image = a["x"][None, None]
    return lambda: F.grid_sample(image, grid, align_corners=True)[0, 0, 0]


# ---- measuring
def worst_of(results, expected):
    if not isinstance(results, (tuple, list)):
        results = (results,)
    worst = 0.0
    for mine, theirs in zip(results, expected):
        if not isinstance(mine, (torch.Tensor, np.ndarray)) or tuple(mine.shape) != tuple(theirs.shape):
            return float("nan")
        mine = (mine.detach() if isinstance(mine, torch.Tensor) else torch.as_tensor(mine)).double()
        theirs = theirs.double()
        fine = torch.isfinite(mine) & torch.isfinite(theirs)
        scale = theirs[fine].abs().max().item() if fine.any() else 1.0
        worst = max(worst, ((mine - theirs)[fine].abs().max().item() if fine.any() else 0) / max(scale, 1e-30))
    return worst


def milliseconds(call):
    clock = time.process_time if threads == 1 else time.perf_counter
    times, begin = [], time.perf_counter()
    call()
    while len(times) < 3 or (len(times) < 15 and time.perf_counter() - begin < 1.5):
        at = clock()
        call()
        times.append(clock() - at)
    return sorted(times)[len(times) // 2] * 1e3


for folder in sorted(args.folder.iterdir()):
    name = folder.name
    if not folder.is_dir() or (args.names and not any(name.startswith(n) for n in args.names)):
        continue
    arrays = load(folder)
    expected = [arrays[n] for n in (folder / "outputs").read_text().split()]
    arrays.update(name=name, results=expected)
    for library, make in programs.get(name, []):
        try:
            call = make(arrays)
            error = worst_of(call(), expected)
            print(f"peer {name} {library} {milliseconds(call):.6g} {error:.2g}", flush=True)
        except Exception as e:  # one library less
            print(f"note {name} {library}: {str(e).splitlines()[0] if str(e) else type(e).__name__}", flush=True)
    del arrays, expected
