"""The workloads in JAX: name -> (f, inputs, cotangent); f(*inputs, *constants) is what jit compiles."""
import jax
import jax.numpy as jnp
from jax import lax


def prefix_mean(x, low, high):
    before = jnp.concatenate((jnp.zeros((1,) + x.shape[1:], jnp.float64), jnp.cumsum(x, 0, dtype=jnp.float64)))
    size = (high - low).reshape((-1,) + (1,) * (x.ndim - 1))
    return ((before[high] - before[low]) / size).astype(x.dtype)


def masked(x, keep):
    return jnp.einsum("bt,btf->bf", keep.astype(x.dtype), x) / keep.sum(1, keepdims=True)


def gathered(d):
    B, T, _ = d.x.shape

    def picked(x, picks):
        return x[jnp.arange(B)[:, None], picks].mean(1)

    def scattered(x, picks):
        return masked(x, jnp.zeros((B, T), bool).at[jnp.arange(B)[:, None], picks].set(True))

    def hot(x, picks):
        return masked(x, jax.nn.one_hot(picks, T, dtype=jnp.int8).max(1))
    return {"W1 ": (picked, [d.x], d.dy, [d.picks]), "W2 given:": (masked, [d.x], d.dy, [d.keep]),
            "W2 mask:": (scattered, [d.x], d.dy, [d.picks]), "W2 onehot:": (hot, [d.x], d.dy, [d.picks])}


def side_by_side(x, ids, slice_of, size):
    return jax.ops.segment_sum(x[ids], slice_of, size.shape[0], indices_are_sorted=True) / size[:, None]


def slices(d):
    if d.row == "W3":
        return {"W3 ": (side_by_side, [d.x], d.dy, [d.ids, d.slice_of, d.size])}
    return {d.row + " ": (prefix_mean, [d.x], d.dy, [d.low, d.high])}


def matrix_means(d):
    return {"W5 axis0:": (lambda x: x.mean(0), [d.x], d.dy, []), "W5 axis1:": (lambda x: x.mean(1), [d.x], d.dy, []),
            "W6 ": (lambda x: ((x - 1) ** 2).mean(), [d.x], None, [])}


def pool(x, start, fold):
    return lax.reduce_window(x, start, fold, (1, 1, 3, 3), (1, 1, 2, 2), ((0, 0), (0, 0), (1, 1), (1, 1)))


def pooling(d):
    return {"W7 avg:": (lambda x: pool(x, 0.0, lax.add) / 9, [d.x], d.dy, []),
            "W7 max:": (lambda x: pool(x, -jnp.inf, lax.max), [d.x], d.dy, [])}


def layer_norm(x, w, b):
    apart = x - x.mean(1, keepdims=True)
    return apart * lax.rsqrt((apart * apart).mean(1, keepdims=True) + jnp.float32(1e-5)) * w + b


def cross_entropy(x, target):
    return -jnp.take_along_axis(jax.nn.log_softmax(x, 1), target[:, None], 1).mean()


def rows(d):
    return {"W8 ": (layer_norm, [d.x, d.w, d.b], d.dy, []),
            "W9 softmax:": (lambda x: jax.nn.softmax(x, 1), [d.x], d.dy, []),
            "W9 cross_entropy:": (cross_entropy, [d.x], None, [d.target])}


def bags(d):
    count = d.dy.shape[0]

    def total(values, bag):
        return jax.ops.segment_sum(values, bag, count, indices_are_sorted=True)
    return {"W10 sum:": (lambda t, ids, bag: total(t[ids], bag), [d.table], d.dy, [d.ids, d.bag]),
            "W10 mean:": (lambda t, ids, bag, size: total(t[ids], bag) / size[:, None],
                         [d.table], d.dy, [d.ids, d.bag, d.size]),
            "W10 weighted:": (lambda t, w, ids, bag: total(t[ids] * w[:, None], bag),
                             [d.table, d.weight], d.dy, [d.ids, d.bag]),
            "W10 max:": (lambda t, ids, bag: jax.ops.segment_max(t[ids], bag, count, indices_are_sorted=True),
                        [d.table], d.dy,
                         [d.ids, d.bag])}


def segments(d):
    count = d.dmeans.shape[0]

    def total(x, segment):
        return jax.ops.segment_sum(x, segment, count, indices_are_sorted=True)

    def soft(x, segment):
        most = lax.stop_gradient(jax.ops.segment_max(x, segment, count, indices_are_sorted=True))
        e = jnp.exp(x - most[segment])
        return e / total(e, segment)[segment]
    return {"W11 mean:": (lambda x, segment, size: total(x, segment) / size, [d.x], d.dmeans, [d.segment, d.sizes]),
            "W11 softmax:": (soft, [d.x], d.dy, [d.segment])}


def axis_reductions(d):
    out = {}
    for k in (0, 1):
        out[f"W12 logsumexp{k}:"] = (lambda x, k=k: jax.scipy.special.logsumexp(x, axis=k), [d.x], d.dy, [])
        out[f"W12 var{k}:"] = (lambda x, k=k: jnp.var(x, axis=k, ddof=1), [d.x], d.dy, [])
        out[f"W12 norm{k}:"] = (lambda x, k=k: jnp.linalg.norm(x, axis=k), [d.x], d.dy, [])
        out[f"W12 argmax{k}:"] = (lambda x, k=k: jnp.argmax(x, axis=k), [d.x], None, [])
    return out


def windows(d):
    w = d.width

    def running(x):
        before = jnp.pad(jnp.cumsum(x, dtype=jnp.float64), (1, 0))
        return ((before[w:] - before[:x.shape[0] - w + 1]) / w).astype(x.dtype)
    return {"W13 ": (running, [d.x], d.dy, [])}


def rows_of(ids, d):
    return {"W1": gathered, "W3": slices, "W4": slices, "W5": matrix_means, "W7": pooling, "W8": rows, "W10": bags,
            "W11": segments, "W12": axis_reductions, "W13": windows}[ids[0]](d)
