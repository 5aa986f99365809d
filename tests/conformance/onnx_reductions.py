"""ONNX operators that reduce, scan, normalise or multiply matrices."""

import math

from onnx_elementwise import each, together
from onnx_table import attributes, axis_of, element_of_onnx, op
from program import FLOATS, Inexpressible, NAMES, broadcast_shape, flat_place, number


def axes_of(p, n, x):
    """The reduced axes; None where there is nothing to do."""
    a = attributes(n)
    given = a.get("axes")
    if len(x) > 1 and x[1] is not None:
        given = [int(v) for v in p.read(x[1]).reshape(-1)]
    if given is None or len(given) == 0:
        return [] if a.get("noop_with_empty_axes", 0) else list(range(x[0].rank))
    return sorted(axis_of(v, x[0].rank) for v in given)


def folded(p, x, axes, keep, name, make=lambda e: e, finish=lambda e: e, element=None):
    """A reduction over some axes, of make(element)."""
    kept = [d for d in range(x.rank) if d not in axes]
    shape = [1 if d in axes else x.shape[d] for d in range(x.rank)] if keep else [x.shape[d] for d in kept]

    def body(i):
        outer = {d: i[d if keep else kept.index(d)] for d in kept}
        if any(x.shape[d] == 0 for d in axes):
            return finish(empty_of(name, element or x.element))

        def inner(r):
            return make(x[[r[axes.index(d)] if d in axes else outer[d] for d in range(x.rank)]])

        return finish(p.reduce(name, [x.shape[d] for d in axes], inner))

    return p.define(element or x.element, shape, body)


def empty_of(name, element):
    if name in ("max", "min"):
        import numpy

        info = (
            None
            if element in FLOATS
            else (0, 1) if element == "bool" else (numpy.iinfo(NAMES[element]).min, numpy.iinfo(NAMES[element]).max)
        )
        ends = (float("-inf"), float("inf")) if info is None else info
        return number(ends[name == "min"], element)
    return {"sum": "0", "prod": "1", "logsumexp": "-inf", "mean": "nan"}[name]


SIMPLE = {
    "ReduceSum": ("sum", "{e}", "{e}"),
    "ReduceProd": ("prod", "{e}", "{e}"),
    "ReduceMean": ("mean", "{e}", "{e}"),
    "ReduceMax": ("max", "{e}", "{e}"),
    "ReduceMin": ("min", "{e}", "{e}"),
    "ReduceL1": ("sum", "abs({e})", "{e}"),
    "ReduceL2": ("sum", "{e} * {e}", "sqrt({e})"),
    "ReduceLogSum": ("sum", "{e}", "log({e})"),
    "ReduceSumSquare": ("sum", "{e} * {e}", "{e}"),
    "ReduceLogSumExp": ("logsumexp", "{e}", "{e}"),
}


@op(*SIMPLE)
def reduction(p, n, x):
    name, make, finish = SIMPLE[n.op_type]
    keep = bool(attributes(n).get("keepdims", 1))
    axes = axes_of(p, n, x)
    return [folded(p, x[0], axes, keep, name, lambda e: make.format(e=e), lambda e: finish.format(e=e))]


@op("ArgMax", "ArgMin")
def arg_extremum(p, n, x):
    a = attributes(n)
    axis, keep = axis_of(a.get("axis", 0), x[0].rank), bool(a.get("keepdims", 1))
    name = n.op_type.lower() + ("<ties::last>" if a.get("select_last_index", 0) else "")
    return [folded(p, x[0], [axis], keep, name, element="i64")]


@op("CumSum", "CumProd")
def cumulative(p, n, x):
    a = attributes(n)
    axis = axis_of(int(p.read(x[1]).reshape(-1)[0]), x[0].rank)
    size, own = x[0].shape[axis], 0 if a.get("exclusive", 0) else 1
    name = "sum" if n.op_type == "CumSum" else "prod"

    def make(i):
        r = p.fresh("r")
        domain = f"{r}.in({i[axis]} + {1 - own}, {size})" if a.get("reverse", 0) else f"{r}.in(0, {i[axis]} + {own})"
        return f"{name}({domain}, {x[0][[r if d == axis else s for d, s in enumerate(i)]]})"

    return [p.define(x[0].element, x[0].shape, make)]


def soft(p, x, axis, log):
    at = lambda i, r: x[[r[0] if d == axis else s for d, s in enumerate(i)]]
    total = p.define(
        x.element,
        x.shape[:axis] + (1,) + x.shape[axis + 1 :],
        lambda i: p.reduce("logsumexp", [x.shape[axis]], lambda r: at(i, r)),
    )
    one = lambda i: [("0" if d == axis else s) for d, s in enumerate(i)]
    return p.define(
        x.element, x.shape, lambda i: f"{x[i]} - {total[one(i)]}" if log else f"exp({x[i]} - {total[one(i)]})"
    )


@op("Softmax", "LogSoftmax")
def softmax(p, n, x):
    return [soft(p, x[0], axis_of(attributes(n).get("axis", -1), x[0].rank), n.op_type == "LogSoftmax")]


@op("Hardmax")
def hardmax(p, n, x):
    axis = axis_of(attributes(n).get("axis", -1), x[0].rank)
    first = lambda i: p.reduce(
        "argmax", [x[0].shape[axis]], lambda r: x[0][[r[0] if d == axis else s for d, s in enumerate(i)]]
    )
    return [p.define(x[0].element, x[0].shape, lambda i: f"{first(i)} == {i[axis]}")]


def product(p, a, b, element, make=lambda u, v: f"{u} * {v}"):
    """numpy.matmul."""
    left = a.shape if a.rank > 1 else (1,) + a.shape
    right = b.shape if b.rank > 1 else b.shape + (1,)
    batch = broadcast_shape(left[:-2], right[:-2])
    shape = batch + ((left[-2],) if a.rank > 1 else ()) + ((right[-1],) if b.rank > 1 else ())

    def body(i):
        outer = i[: len(batch)]
        row = [i[len(batch)]] if a.rank > 1 else []
        column = [i[-1]] if b.rank > 1 else []

        def at(v, sizes, inner):
            own = outer[len(outer) - (len(sizes) - 2) :] if len(sizes) > 2 else []
            return v[["0" if m == 1 else s for s, m in zip(own, sizes[:-2])] + inner]

        return p.reduce("sum", [left[-1]], lambda k: make(at(a, left, row + k), at(b, right, k + column)))

    return p.define(element, shape, body)


@op("MatMul")
def matmul(p, n, x):
    return [product(p, x[0], x[1], x[0].element)]


@op("MatMulInteger")
def matmul_integer(p, n, x):
    zeros = [(v[()] if v.rank == 0 else v["0"]) if v is not None else "0" for v in (x[2:] + [None, None])[:2]]
    return [
        product(
            p,
            x[0],
            x[1],
            "i32",
            lambda u, v: f"(cast<i32>({u}) - cast<i32>({zeros[0]})) * (cast<i32>({v}) - cast<i32>({zeros[1]}))",
        )
    ]


@op("QLinearMatMul")
def quantised_matmul(p, n, x):
    one = lambda v: v[["0"] * v.rank]
    a, sa, za, b, sb, zb, sy, zy = x
    wide = product(
        p,
        a,
        b,
        "i32",
        lambda u, v: f"(cast<i32>({u}) - cast<i32>({one(za)})) * (cast<i32>({v}) - cast<i32>({one(zb)}))",
    )
    low, high = ("-128", "127") if zy.element == "i8" else ("0", "255")
    scale = f"cast<f32>({one(sa)}) * cast<f32>({one(sb)}) / cast<f32>({one(sy)})"
    return [
        each(
            p,
            wide,
            lambda e: f"clamp(round(cast<f32>({e}) * ({scale})) + cast<f32>({one(zy)}), {low}, {high})",
            zy.element,
        )
    ]


@op("Gemm")
def gemm(p, n, x):
    a = attributes(n)
    ta, tb = a.get("transA", 0), a.get("transB", 0)
    rows, inner = reversed(x[0].shape) if ta else x[0].shape
    columns = x[1].shape[0] if tb else x[1].shape[1]

    def make(i):
        total = p.reduce(
            "sum",
            [inner],
            lambda k: "{} * {}".format(x[0][k + [i[0]] if ta else [i[0]] + k], x[1][[i[1]] + k if tb else k + [i[1]]]),
        )
        text = f"{a.get('alpha', 1.0)} * {total}"
        return text + (f" + {a.get('beta', 1.0)} * {x[2].broadcast(i)}" if len(x) > 2 and x[2] is not None else "")

    return [p.define(x[0].element, (rows, columns), make)]


@op("Einsum")
def einsum(p, n, x):
    equation = attributes(n)["equation"].decode().replace(" ", "")
    terms, _, result = equation.partition("->")
    terms = terms.split(",")
    sizes = {}
    for k, (term, value) in enumerate(zip(terms, x)):
        dots = value.rank - len(term.replace("...", ""))
        terms[k] = term.replace("...", "0123456789"[10 - dots :] if dots else "")
        for letter, size in zip(terms[k], value.shape):
            sizes[letter] = max(size, sizes.get(letter, 1))
    every = "".join(terms)
    if "->" in equation:
        result = result.replace("...", "".join(sorted({c for c in every if c.isdigit()})))
    else:
        result = "".join(sorted({c for c in every if c.isdigit()})) + "".join(
            sorted(c for c in set(every) if not c.isdigit() and every.count(c) == 1)
        )
    summed = [c for c in dict.fromkeys(every) if c not in result]

    def make(i):
        def body(r):
            at = dict(zip(result, i)) | dict(zip(summed, r))
            return " * ".join(
                v[[("0" if size == 1 else at[c]) for c, size in zip(t, v.shape)]] for t, v in zip(terms, x)
            )

        return p.reduce("sum", [sizes[c] for c in summed], body)

    return [p.define(x[0].element, [sizes[c] for c in result], make)]


def normalised(p, x, axes, epsilon, centred, wide="f32"):
    """x over the root of the mean square over some axes, from the mean if centred; the mean and one over the root."""
    wide = "f64" if x.element == "f64" else wide
    mean = folded(p, x, axes, True, "mean", lambda e: f"cast<{wide}>({e})", element=wide) if centred else None
    away = p.define(wide, x.shape, lambda i: f"cast<{wide}>({x[i]}) - {mean.broadcast(i)}" if centred else x[i])
    square = folded(p, away, axes, True, "mean", lambda e: f"{e} * {e}")
    root = each(p, square, lambda e: f"rsqrt({e} + {epsilon})")
    return p.define(wide, x.shape, lambda i: f"{away[i]} * {root.broadcast(i)}"), mean, root


@op("LayerNormalization", "RMSNormalization")
def layer_norm(p, n, x):
    a = attributes(n)
    axis = axis_of(a.get("axis", -1), x[0].rank)
    y, mean, root = normalised(
        p, x[0], list(range(axis, x[0].rank)), a.get("epsilon", 1e-5), n.op_type == "LayerNormalization"
    )
    bias = x[2] if len(x) > 2 else None
    out = p.define(
        x[1].element,
        x[0].shape,
        lambda i: f"cast<{x[0].element}>({y[i]}) * {x[1].broadcast(i)}"
        + (f" + {bias.broadcast(i)}" if bias is not None else ""),
    )
    return [out, mean, root]


@op("MeanVarianceNormalization")
def mean_variance(p, n, x):
    return [normalised(p, x[0], attributes(n).get("axes", [0, 2, 3]), 1e-18, True)[0]]


@op("LpNormalization")
def lp_norm(p, n, x):
    a = attributes(n)
    axis, power = axis_of(a.get("axis", -1), x[0].rank), a.get("p", 2)
    make = (lambda e: f"abs({e})") if power == 1 else (lambda e: f"{e} * {e}")
    size = folded(p, x[0], [axis], True, "sum", make, lambda e: e if power == 1 else f"sqrt({e})")
    return [
        p.define(
            x[0].element, x[0].shape, lambda i: f"where({size.broadcast(i)} == 0, 0, {x[0][i]} / {size.broadcast(i)})"
        )
    ]


def by_channel(v, i):
    return v[i[1]]


@op("BatchNormalization")
def batch_norm(p, n, x):
    a = attributes(n)
    epsilon, momentum = a.get("epsilon", 1e-5), a.get("momentum", 0.9)
    mean, variance, more = x[3], x[4], []
    if a.get("training_mode", 0):
        axes = [d for d in range(x[0].rank) if d != 1]
        mean = folded(p, x[0], axes, False, "mean")
        around = p.define(x[0].element, x[0].shape, lambda i: f"{x[0][i]} - {by_channel(mean, i)}")
        variance = folded(p, around, axes, False, "mean", lambda e: f"{e} * {e}")
        more = [
            together(p, [old, new], lambda u, v: f"{u} * {momentum} + {v} * {1 - momentum}")
            for old, new in ((x[3], mean), (x[4], variance))
        ]
    y = p.define(
        x[0].element,
        x[0].shape,
        lambda i: "{} * ({} - {}) * rsqrt({} + {}) + {}".format(
            by_channel(x[1], i), x[0][i], by_channel(mean, i), by_channel(variance, i), epsilon, by_channel(x[2], i)
        ),
    )
    return [y] + more


@op("InstanceNormalization")
def instance_norm(p, n, x):
    y, _, _ = normalised(p, x[0], list(range(2, x[0].rank)), attributes(n).get("epsilon", 1e-5), True)
    return [p.define(x[0].element, x[0].shape, lambda i: f"{y[i]} * {by_channel(x[1], i)} + {by_channel(x[2], i)}")]


@op("GroupNormalization")
def group_norm(p, n, x):
    from onnx_shapes import reshaped

    a = attributes(n)
    groups, shape = a["num_groups"], x[0].shape
    split = reshaped(p, x[0], (shape[0], groups, x[0].size // shape[0] // groups))
    y = reshaped(p, normalised(p, split, [2], a.get("epsilon", 1e-5), True)[0], shape)
    return [p.define(x[0].element, shape, lambda i: f"{y[i]} * {by_channel(x[1], i)} + {by_channel(x[2], i)}")]


@op("LRN")
def lrn(p, n, x):
    a = attributes(n)
    size, channels = a["size"], x[0].shape[1]
    before = (size - 1) // 2

    def make(i):
        r = p.fresh("r")
        low, high = f"maximum({i[1]} - {before}, 0)", f"minimum({i[1]} + {size - before}, {channels})"
        e = x[0][[i[0], r] + i[2:]]
        total = f"sum({r}.in({low}, {high}), {e} * {e})"
        scale = f"{a.get('bias', 1.0)} + {a.get('alpha', 1e-4) / size} * {total}"
        return f"{x[0][i]} / pow({scale}, {a.get('beta', 0.75)})"

    return [p.define(x[0].element, x[0].shape, make)]


@op("TopK")
def top_k(p, n, x):
    a = attributes(n)
    k, axis = int(p.read(x[1]).reshape(-1)[0]), axis_of(a.get("axis", -1), x[0].rank)
    beyond = ">" if a.get("largest", 1) else "<"
    at = lambda i, s: x[0][[s if d == axis else t for d, t in enumerate(i)]]
    size = x[0].shape[axis]

    # The place of an element among all: how many stand before it.
    rank = p.define(
        "i64",
        x[0].shape,
        lambda i: p.reduce(
            "count",
            [size],
            lambda r: f"{at(i, r[0])} {beyond} {x[0][i]} || ({at(i, r[0])} == {x[0][i]} && {r[0]} < {i[axis]})",
        ),
    )
    shape = x[0].shape[:axis] + (k,) + x[0].shape[axis + 1 :]
    where = p.define(
        "i64",
        shape,
        lambda i: p.reduce(
            "max",
            [size],
            lambda r: r[0],
            lambda r: f"{rank[[r[0] if d == axis else s for d, s in enumerate(i)]]} == {i[axis]}",
        ),
    )
    value = p.define(x[0].element, shape, lambda i: at(i, where[i]))
    return [value, where]
