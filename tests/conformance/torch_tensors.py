"""PyTorch operators that move elements, and products of matrices."""

import itertools
import math

from onnx_elementwise import each
from onnx_reductions import product
from onnx_gathers import scattered, with_sign
from onnx_shapes import moved, reshaped
from program import Inexpressible, Value, broadcast_shape, number
from torch_table import at, dims_of, op


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
    tensors = [t for t in tensors if t.shape != (0,)] or tensors[:1]
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
