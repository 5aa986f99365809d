"""PyTorch operators that move elements, pool, normalise, or are losses."""

import itertools
import math

from onnx_elementwise import each, together
from onnx_reductions import folded, product
from onnx_shapes import moved, reshaped, scattered, with_sign
from program import Inexpressible, Value, broadcast_shape, flat_place, number
from torch_table import at, dims_of, op, variance


@op("permute")
def permute(p, x, dims):
    order = [d % x.rank for d in dims]
    return moved(p, x, [x.shape[d] for d in order], lambda i: [i[order.index(d)] for d in range(x.rank)])


@op("transpose")
def transpose(p, x, a, b):
    order = list(range(x.rank))
    if x.rank:
        order[a], order[b] = order[b], order[a]
    return permute(p, x, order)


@op("flip")
def flip(p, x, dims):
    dims = dims_of(x, dims) if dims else []
    return moved(p, x, x.shape, lambda i: [f"{x.shape[d] - 1} - {s}" if d in dims else s for d, s in enumerate(i)])


@op("roll")
def roll(p, x, shifts, dims=None):
    if dims is None or dims == ():
        flat = reshaped(p, x, (x.size,))
        return reshaped(p, roll(p, flat, shifts, 0), x.shape)
    shifts, dims = ([v] if isinstance(v, int) else list(v) for v in (shifts, dims))
    by = {}
    for s, d in zip(shifts, dims):
        by[d % x.rank] = by.get(d % x.rank, 0) + s
    return moved(
        p,
        x,
        x.shape,
        lambda i: [f"remainder({s} - ({by[d]}), {x.shape[d]})" if d in by else s for d, s in enumerate(i)],
    )


for _name, _sign in (("tril", "<="), ("triu", ">=")):
    op(_name)(
        lambda p, x, diagonal=0, sign=_sign: p.define(
            x.element, x.shape, lambda i: f"where({i[-1]} - {i[-2]} {sign} {diagonal}, {x[i]}, 0)"
        )
    )


@op("reshape", "view")
def reshape(p, x, shape):
    shape = list(shape)
    if -1 in shape:
        rest = math.prod(v for v in shape if v != -1)
        shape[shape.index(-1)] = x.size // rest if rest else 0
    return reshaped(p, x, shape)


@op("flatten")
def flatten(p, x, start_dim=0, end_dim=-1):
    if not x.rank:
        return reshaped(p, x, (1,))
    a, b = start_dim % x.rank, end_dim % x.rank
    return reshaped(p, x, x.shape[:a] + (math.prod(x.shape[a : b + 1]),) + x.shape[b + 1 :])


@op("unflatten")
def unflatten(p, x, dim, sizes):
    d = dim % x.rank
    sizes = list(sizes)
    if -1 in sizes:
        sizes[sizes.index(-1)] = x.shape[d] // math.prod(v for v in sizes if v != -1)
    return reshaped(p, x, x.shape[:d] + tuple(sizes) + x.shape[d + 1 :])


@op("cat")
def cat(p, tensors, dim=0):
    tensors = [t for t in tensors if t.shape != (0,)]
    d = dim % tensors[0].rank
    starts = list(itertools.accumulate([0] + [t.shape[d] for t in tensors]))
    shape = tensors[0].shape[:d] + (starts[-1],) + tensors[0].shape[d + 1 :]

    def make(i):
        text = ""
        for k, t in enumerate(tensors):
            here = t[at(i, d, f"{i[d]} - {starts[k]}")]
            text += here if k + 1 == len(tensors) else f"where({i[d]} < {starts[k + 1]}, {here}, "
        return text + ")" * (len(tensors) - 1)

    return p.define(tensors[0].element, shape, make)


@op("stack")
def stack(p, tensors, dim=0):
    rank = tensors[0].rank + 1
    d = dim % rank
    return cat(p, [reshaped(p, t, t.shape[:d] + (1,) + t.shape[d:]) for t in tensors], d)


@op("narrow")
def narrow(p, x, dim, start, length):
    if isinstance(start, Value):
        raise Inexpressible("an extent that is computed from data")
    d = dim % x.rank
    start = start % x.shape[d] if start < 0 else start
    return moved(p, x, at(x.shape, d, length), lambda i: at(i, d, f"{i[d]} + {start}"))


@op("select")
def select(p, x, dim, index):
    d = dim % x.rank
    return moved(p, x, x.shape[:d] + x.shape[d + 1 :], lambda i: i[:d] + [str(index % x.shape[d])] + i[d:])


@op("diagonal")
def diagonal(p, x, offset=0, dim1=0, dim2=1):
    a, b = dim1 % x.rank, dim2 % x.rank
    size = max(min(x.shape[a] + min(offset, 0), x.shape[b] - max(offset, 0)), 0)
    rest = [d for d in range(x.rank) if d not in (a, b)]

    def make(i):
        own = {a: f"{i[-1]} + {max(-offset, 0)}", b: f"{i[-1]} + {max(offset, 0)}"}
        return [own[d] if d in own else i[rest.index(d)] for d in range(x.rank)]

    return moved(p, x, [x.shape[d] for d in rest] + [size], make)


@op("unfold")
def unfold(p, x, dim, size, step):
    if not x.rank:
        return reshaped(p, x, (size,))
    d = dim % x.rank
    shape = at(list(x.shape), d, (x.shape[d] - size) // step + 1) + [size]
    return moved(p, x, shape, lambda i: at(i[:-1], d, f"{i[d]} * {step} + {i[-1]}"))


# ---- indices


def as_row(p, x):
    """A number as a tensor of one element."""
    return x if x.rank else reshaped(p, x, (1,))


def gathered(p, x, dim, index, sparse_grad=False, wide=False):
    if sparse_grad:
        raise Inexpressible("sparse tensors")
    if dim is None:
        x, index = reshaped(p, x, (x.size,)), reshaped(p, index, (index.size,))
        dim = 0
    if not x.rank or not index.rank:
        return reshaped(p, gathered(p, as_row(p, x), 0, as_row(p, index)), index.shape)
    d = dim % x.rank
    shape = [n if k == d or n != 1 else m for k, (n, m) in enumerate(zip(index.shape, x.shape))]
    one = lambda i: ["0" if n == 1 else s for s, n in zip(i, index.shape)]
    own = lambda i: ["0" if n == 1 else s for s, n in zip(i, x.shape)]
    if [n for k, n in enumerate(index.shape) if k != d] != [n for k, n in enumerate(shape) if k != d] and not wide:
        shape = index.shape
    return moved(p, x, shape, lambda i: at(own(i), d, with_sign(index[one(i)], x.shape[d])))


op("gather")(gathered)
op("take_along_dim")(lambda p, x, index, dim=None: gathered(p, x, dim, index, wide=True))


@op("index_select")
def index_select(p, x, dim, index):
    if not x.rank:
        return each(p, x, lambda e: e)
    d = dim % x.rank
    count = index.size
    return moved(p, x, at(x.shape, d, count), lambda i: at(i, d, f"cast<i64>({index[[i[d]] if index.rank else []]})"))


def into_rows(kind):
    def rule(p, x, dim, index, source, alpha=1):
        if not x.rank or source.rank != x.rank or not index.rank:
            rows = source if source.rank == x.rank else reshaped(p, source, at(x.shape, dim, 1) if x.rank else ())
            return reshaped(p, rule(p, as_row(p, x), dim, as_row(p, index), as_row(p, rows), alpha), x.shape)
        d = dim % x.rank
        here = lambda i, r: (
            f"cast<i64>({index[[r[0]]]}) == {i[d]}",
            f"{number(alpha, x.element)} * {source[at(i, d, r[0])]}",
        )
        return scattered(p, x, lambda i, last: source[at(i, d, last)], [index.size], kind, here)

    return rule


op("index_add")(into_rows("add"))
op("index_copy")(into_rows("none"))


def along(default):
    def rule(p, x, dim, index, source=None, value=None, reduce=None):
        source = value if source is None else source
        if not x.rank or not index.rank:
            rows = as_row(p, source) if isinstance(source, Value) else source
            return reshaped(p, rule(p, as_row(p, x), 0, as_row(p, index), rows, reduce=reduce), x.shape)
        d = dim % x.rank
        kind = {"add": "add", "multiply": "mul", None: default}[reduce]
        element = lambda s: source[s] if isinstance(source, Value) else number(source, x.element)

        def here(i, r):
            s = at(i, d, r[0])
            inside = [f"{t} < {m}" for k, (t, m) in enumerate(zip(i, index.shape)) if k != d and m < x.shape[k]]
            return " && ".join(inside + [f"{index[s]} == {i[d]}"]), element(s)

        return scattered(p, x, lambda i, last: element(at(i, d, last)), [index.shape[d]], kind, here)

    return rule


op("scatter")(along("none"))
op("scatter_add")(along("add"))


@op("masked_fill")
def masked_fill(p, x, mask, value):
    shape = broadcast_shape(x.shape, mask.shape)
    v = lambda: value[[]] if isinstance(value, Value) else number(value, x.element)
    return p.define(x.element, shape, lambda i: f"where({mask.broadcast(i)}, {v()}, {x.broadcast(i)})")


@op("nn.functional.embedding")
def embedding(p, weight, ids, *args, **options):
    if options.get("sparse"):
        raise Inexpressible("sparse tensors")
    if options.get("scale_grad_by_freq"):
        raise Inexpressible("a gradient that is not the value's (custom_gradient has it)")
    if options.get("max_norm") is not None:
        raise Inexpressible("renormalises its argument")
    if options.get("padding_idx") is not None or args:
        raise Inexpressible("a gradient that is not the value's (custom_gradient has it)")
    return p.define(
        weight.element, ids.shape + weight.shape[1:], lambda i: weight[[f"cast<i64>({ids[i[:-1]]})", i[-1]]]
    )


# ---- matrices


@op("matmul", "mm", "bmm", "mv", "dot")
def matmul(p, a, b):
    return product(p, a, b, a.element)


@op("outer")
def outer(p, a, b):
    return p.define(a.element, (a.shape[0], b.shape[0]), lambda i: f"{a[i[0]]} * {b[i[1]]}")


# ---- windows


def numbers(v, d):
    return [v] * d if isinstance(v, int) else list(v) * (d if len(v) == 1 else 1)


def pooled(kind, d):
    def rule(p, x, kernel_size, stride=None, padding=0, *args, ceil_mode=False, **options):
        names = (
            ["ceil_mode", "count_include_pad", "divisor_override"]
            if kind == "avg"
            else ["dilation", "ceil_mode", "return_indices"]
        )
        given = dict(zip(names, args)) | options
        ceil_mode = given.get("ceil_mode", ceil_mode)
        kernel, dilation = numbers(kernel_size, d), numbers(given.get("dilation", 1), d)
        stride = kernel if stride is None or stride == () or stride == [] else numbers(stride, d)
        pads, size = numbers(padding, d), x.shape[-d:]
        count = []
        for n, k, s, b, w in zip(size, kernel, stride, pads, dilation):
            room = n + 2 * b - w * (k - 1) - 1
            c = (-(-room // s) if ceil_mode else room // s) + 1
            count.append(c - 1 if ceil_mode and (c - 1) * s >= n + b else c)
        lead = x.rank - d

        def make(i):
            place = lambda r: [
                f"{o} * {s} + {t} * {w} - {b}" for o, s, t, w, b in zip(i[lead:], stride, r, dilation, pads)
            ]
            inside = lambda r: " && ".join(f"0 <= {q} && {q} < {n}" for q, n in zip(place(r), size))
            if kind == "max":
                return p.reduce("max<ties::first>", kernel, lambda r: x[i[:lead] + place(r)], inside)
            total = p.reduce("sum", kernel, lambda r: x[i[:lead] + place(r)], inside)
            if given.get("divisor_override"):
                return f"{total} / {float(given['divisor_override'])!r}"
            within = inside
            if given.get("count_include_pad", True):
                within = lambda r: " && ".join(f"{q} < {n + b}" for q, n, b in zip(place(r), size, pads))
            return f"{total} / cast<{x.element}>({p.reduce('count', kernel, lambda r: 'true', within)})"

        values = p.define(x.element, x.shape[:lead] + tuple(count), make)
        if not given.get("return_indices"):
            return values

        # Where in the window, row by row; then where in the image.
        def first(i):
            place = lambda r: [
                f"{o} * {s} + {t} * {w} - {b}" for o, s, t, w, b in zip(i[lead:], stride, r, dilation, pads)
            ]
            inside = lambda r: " && ".join(f"0 <= {q} && {q} < {n}" for q, n in zip(place(r), size))
            return p.reduce("argmax", kernel, lambda r: x[i[:lead] + place(r)], inside)

        found = p.define("i64", values.shape, first)

        def flat(i):
            whole = "0"
            for d, (o, n) in enumerate(zip(i[lead:], size)):
                inner = math.prod(kernel[d + 1 :])
                r = f"remainder(quotient({found[i]}, {inner}), {kernel[d]})"
                whole = f"({whole}) * {n} + {o} * {stride[d]} + {r} * {dilation[d]} - {pads[d]}"
            return whole

        return values, p.define("i64", values.shape, flat)

    return rule


for _d in (1, 2, 3):
    op(f"nn.functional.avg_pool{_d}d")(pooled("avg", _d))
    op(f"nn.functional.max_pool{_d}d")(pooled("max", _d))

    def _adaptive(p, x, output_size, d=_d):
        out = numbers(output_size, d) if not isinstance(output_size, int) else [output_size] * d
        size = x.shape[-d:]
        out = [n if o is None else o for o, n in zip(out, size)]
        lead = x.rank - d

        def make(i):
            r = [p.fresh("r") for _ in size]
            domain = ", ".join(
                f"{t}.in(quotient({s} * {n}, {o}), quotient(({s} + 1) * {n} + {o - 1}, {o}))"
                for t, s, n, o in zip(r, i[lead:], size, out)
            )
            return f"mean(over({domain}), {x[i[:lead] + r]})"

        return p.define(x.element, x.shape[:lead] + tuple(out), make)

    op(f"nn.functional.adaptive_avg_pool{_d}d")(_adaptive)


# ---- normalisation


def normalised(p, x, axes, eps, centred=True):
    mean = folded(p, x, axes, True, "mean")
    away = p.define(x.element, x.shape, lambda i: f"{x[i]} - {mean.broadcast(i)}") if centred else x
    square = folded(p, away, axes, True, "mean", lambda e: f"{e} * {e}")
    return p.define(x.element, x.shape, lambda i: f"{away[i]} * rsqrt({square.broadcast(i)} + {float(eps)!r})")


def scaled(p, y, weight, bias, pick):
    if weight is None and bias is None:
        return y
    return p.define(
        y.element,
        y.shape,
        lambda i: y[i]
        + (f" * {pick(weight, i)}" if weight is not None else "")
        + (f" + {pick(bias, i)}" if bias is not None else ""),
    )


op("nn.functional.layer_norm")(
    lambda p, x, shape, weight=None, bias=None, eps=1e-5: scaled(
        p, normalised(p, x, list(range(x.rank - len(shape), x.rank)), eps), weight, bias, lambda v, i: v.broadcast(i)
    )
)
EPSILON = {"f64": 2.0**-52, "f32": 2.0**-23, "bf16": 2.0**-7, "f16": 2.0**-10}
op("nn.functional.rms_norm")(
    lambda p, x, shape, weight=None, eps=None: scaled(
        p,
        normalised(p, x, list(range(x.rank - len(shape), x.rank)), EPSILON[x.given] if eps is None else eps, False),
        weight,
        None,
        lambda v, i: v.broadcast(i),
    )
)


@op("nn.functional.group_norm")
def group_norm(p, x, groups, weight=None, bias=None, eps=1e-5):
    split = reshaped(p, x, (x.shape[0], groups, x.size // x.shape[0] // groups)) if x.size else x
    y = reshaped(p, normalised(p, split, [2], eps), x.shape)
    return scaled(p, y, weight, bias, lambda v, i: v[i[1]])


@op("nn.functional.instance_norm")
def instance_norm(
    p, x, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5
):
    if not use_input_stats or running_mean is not None:
        raise Inexpressible("updates its arguments")
    return scaled(p, normalised(p, x, list(range(2, x.rank)), eps), weight, bias, lambda v, i: v[i[1]])


@op("nn.functional.normalize")
def normalize(program, x, p=2.0, dim=1, eps=1e-12):
    make, finish = {
        1: ("abs({e})", "{e}"),
        2: ("{e} * {e}", "sqrt({e})"),
        0: ("where({e} == 0, 0, 1 + 0 * {e})", "{e}"),
        math.inf: ("abs({e})", "{e}"),
        -math.inf: ("abs({e})", "{e}"),
    }.get(p, (f"pow(abs({{e}}), {float(p)!r})", f"pow({{e}}, {1 / p if p else 0.0!r})"))
    monoid = {math.inf: "max", -math.inf: "min"}.get(p, "sum")
    axes = dims_of(x, dim)
    size = folded(program, x, axes, True, monoid, lambda e: make.format(e=e), lambda e: finish.format(e=e))
    return program.define(x.element, x.shape, lambda i: f"{x[i]} / maximum({size.broadcast(i)}, {float(eps)!r})")


# ---- losses


def reduced(p, y, reduction):
    if reduction == "none":
        return y
    if reduction == "batchmean":
        rows = float(y.shape[0] if y.rank else 1)
        return folded(p, y, list(range(y.rank)), False, "sum", finish=lambda e: f"{e} / {rows!r}")
    return folded(p, y, list(range(y.rank)), False, "mean" if reduction == "mean" else "sum")


def pairwise(name, make, **defaults):
    @op("nn.functional." + name)
    def rule(p, a, b, *args, reduction="mean", **options):
        values = dict(defaults) | dict(zip(defaults, args)) | options
        weight = values.pop("weight", None)
        y = together(p, [a, b], lambda u, v: make(u, v, values))
        if weight is not None:
            y = together(p, [y, weight], lambda u, v: f"{u} * {v}")
        return reduced(p, y, reduction)


pairwise("mse_loss", lambda a, b, o: f"({a} - {b}) * ({a} - {b})")
pairwise("l1_loss", lambda a, b, o: f"abs({a} - {b})")
pairwise(
    "smooth_l1_loss",
    lambda a, b, o: (
        f"abs({a} - {b})"
        if o["beta"] == 0
        else f"where(abs({a} - {b}) < {o['beta']}, 0.5 * ({a} - {b}) * ({a} - {b}) / {o['beta']}, "
        f"abs({a} - {b}) - {0.5 * o['beta']})"
    ),
    beta=1.0,
)
pairwise(
    "huber_loss",
    lambda a, b, o: f"where(abs({a} - {b}) <= {o['delta']}, 0.5 * ({a} - {b}) * ({a} - {b}), "
    f"{o['delta']} * (abs({a} - {b}) - {0.5 * o['delta']}))",
    delta=1.0,
)
pairwise("soft_margin_loss", lambda a, b, o: f"softplus(-({b} * {a}))")
pairwise(
    "kl_div",
    lambda a, b, o: (
        f"exp({b}) * ({b} - {a})"
        if o["log_target"]
        else f"where({b} == 0, 0, {b} * log(where({b} == 0, 1, {b}))) - {b} * {a}"
    ),
    log_target=False,
)
pairwise(
    "binary_cross_entropy",
    lambda a, b, o: f"-({b} * maximum(log({a}), -100) + (1 - {b}) * " f"maximum(log1p(-{a}), -100))",
    weight=None,
)
pairwise(
    "hinge_embedding_loss",
    lambda a, b, o: f"where({b} != -1, {a}, 0) + where({b} != 1, " f"relu({o['margin']} - {a}), 0)",
    margin=1.0,
)
pairwise(
    "poisson_nll_loss",
    lambda a, b, o: (f"exp({a}) - {b} * {a}" if o["log_input"] else f"{a} - {b} * log({a} + {o['eps']})")
    + (
        f" + where({b} > 1, {b} * log(where({b} > 1, {b}, 1)) - {b} + 0.5 * "
        f"log({2 * math.pi} * where({b} > 1, {b}, 1)), 0)"
        if o["full"]
        else ""
    ),
    log_input=True,
    full=False,
    eps=1e-8,
)
