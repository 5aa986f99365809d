"""ONNX operators that move elements: shapes, slices, paddings."""

import itertools
import math

from onnx_table import attributes, axis_of, element_of_onnx, op
from program import Inexpressible, broadcast_shape, digits, flat_place, number


def moved(p, x, shape, make):
    """A definition of x's elements at other places: make(subscripts) gives x's."""
    return p.define(x.element, shape, lambda i: x[make(i)])


def reshaped(p, x, shape):
    return moved(p, x, shape, lambda i: digits(flat_place(i, shape), x.shape))


@op("Reshape")
def reshape(p, n, x):
    wanted = [int(v) for v in p.read(x[1])]
    if not attributes(n).get("allowzero", 0):
        wanted = [x[0].shape[k] if v == 0 else v for k, v in enumerate(wanted)]
    if -1 in wanted:
        rest = math.prod(v for v in wanted if v != -1)
        wanted[wanted.index(-1)] = x[0].size // rest if rest else 0
    return [reshaped(p, x[0], wanted)]


@op("Flatten")
def flatten(p, n, x):
    axis = axis_of(attributes(n).get("axis", 1), x[0].rank)
    return [reshaped(p, x[0], (math.prod(x[0].shape[:axis]), math.prod(x[0].shape[axis:])))]


@op("Squeeze")
def squeeze(p, n, x):
    given = p.read(x[1]) if len(x) > 1 and x[1] is not None else attributes(n).get("axes")
    axes = (
        {axis_of(int(a), x[0].rank) for a in given}
        if given is not None
        else {d for d, size in enumerate(x[0].shape) if size == 1}
    )
    kept = [d for d in range(x[0].rank) if d not in axes]
    return [
        moved(
            p,
            x[0],
            [x[0].shape[d] for d in kept],
            lambda i: [i[kept.index(d)] if d in kept else "0" for d in range(x[0].rank)],
        )
    ]


@op("Unsqueeze")
def unsqueeze(p, n, x):
    given = p.read(x[1]) if len(x) > 1 else attributes(n)["axes"]
    rank = x[0].rank + len(given)
    axes = {axis_of(int(a), rank) for a in given}
    old = [d for d in range(rank) if d not in axes]
    shape = [x[0].shape[old.index(d)] if d in old else 1 for d in range(rank)]
    return [moved(p, x[0], shape, lambda i: [i[d] for d in old])]


@op("Transpose")
def transpose(p, n, x):
    order = attributes(n).get("perm") or list(reversed(range(x[0].rank)))
    return [moved(p, x[0], [x[0].shape[d] for d in order], lambda i: [i[order.index(d)] for d in range(x[0].rank)])]


@op("Expand")
def expand(p, n, x):
    shape = broadcast_shape(x[0].shape, tuple(int(v) for v in p.read(x[1])))
    return [p.define(x[0].element, shape, lambda i: x[0].broadcast(i))]


@op("Tile")
def tile(p, n, x):
    shape = [s * int(r) for s, r in zip(x[0].shape, p.read(x[1]))]
    return [moved(p, x[0], shape, lambda i: [f"remainder({a}, {s})" for a, s in zip(i, x[0].shape)])]


@op("Concat")
def concat(p, n, x):
    axis = axis_of(attributes(n)["axis"], x[0].rank)
    x = [v for v in x if v.shape[axis] > 0] or x[:1]
    starts = list(itertools.accumulate([0] + [v.shape[axis] for v in x]))
    shape = list(x[0].shape)
    shape[axis] = starts[-1]

    def make(i):
        text = ""
        for k, v in enumerate(x):
            here = v[[f"{a} - {starts[k]}" if d == axis and starts[k] else a for d, a in enumerate(i)]]
            text += here if k + 1 == len(x) else f"where({i[axis]} < {starts[k + 1]}, {here}, "
        return text + ")" * (len(x) - 1)

    return [p.define(x[0].element, shape, make)]


@op("Split")
def split(p, n, x):
    a = attributes(n)
    axis = axis_of(a.get("axis", 0), x[0].rank)
    size = x[0].shape[axis]
    if len(x) > 1 and x[1] is not None:
        sizes = [int(v) for v in p.read(x[1])]
    else:
        count = a.get("num_outputs", len(n.output))
        each = -(-size // count)
        sizes = [min(each, size - k * each) for k in range(count)]
    starts = list(itertools.accumulate([0] + sizes))
    return [
        moved(
            p,
            x[0],
            [s if d == axis else m for d, m in enumerate(x[0].shape)],
            lambda i, at=at: [f"{a} + {at}" if d == axis else a for d, a in enumerate(i)],
        )
        for s, at in zip(sizes, starts)
    ]


@op("Slice")
def slice_(p, n, x):
    given = [p.read(v) if v is not None else None for v in x[1:]] + [None] * 4
    starts, ends, axes, steps = given[:4]
    axes = range(len(starts)) if axes is None else [axis_of(int(a), x[0].rank) for a in axes]
    steps = [1] * len(starts) if steps is None else steps
    ranges = {}
    for start, end, axis, step in zip(starts, ends, axes, steps):
        ranges[axis] = range(*slice(int(start), int(end), int(step)).indices(x[0].shape[axis]))
        if int(step) < 0 and int(end) < -x[0].shape[axis]:
            ranges[axis] = range(*slice(int(start), None, int(step)).indices(x[0].shape[axis]))
    shape = [len(ranges[d]) if d in ranges else s for d, s in enumerate(x[0].shape)]
    return [
        moved(
            p,
            x[0],
            shape,
            lambda i: [f"{a} * ({ranges[d].step}) + {ranges[d].start}" if d in ranges else a for d, a in enumerate(i)],
        )
    ]


@op("Trilu")
def trilu(p, n, x):
    k = int(p.read(x[1])) if len(x) > 1 and x[1] is not None else 0
    sign = ">=" if attributes(n).get("upper", 1) else "<="
    return [p.define(x[0].element, x[0].shape, lambda i: f"where({i[-1]} - {i[-2]} {sign} {k}, {x[0][i]}, 0)")]


@op("EyeLike")
def eye_like(p, n, x):
    a = attributes(n)
    to = element_of_onnx(a["dtype"]) if "dtype" in a else x[0].element
    return [p.define(to, x[0].shape, lambda i: f"{i[1]} - {i[0]} == {a.get('k', 0)}")]


@op("OneHot")
def one_hot(p, n, x):
    depth = int(p.read(x[1]).reshape(-1)[0])
    axis = axis_of(attributes(n).get("axis", -1), x[0].rank + 1)
    shape = x[0].shape[:axis] + (depth,) + x[0].shape[axis:]

    def make(i):
        here = x[0][i[:axis] + i[axis + 1 :]]
        inside = f"{here} >= -{depth} && {here} < {depth}"
        return f"where({inside} && remainder(cast<i64>({here}), {depth}) == {i[axis]}, {x[2]['1']}, {x[2]['0']})"

    return [p.define(x[2].element, shape, make)]


@op("Pad")
def pad(p, n, x):
    mode = attributes(n).get("mode", b"constant").decode()
    pads = [int(v) for v in p.read(x[1])]
    axes = [axis_of(int(a), x[0].rank) for a in p.read(x[3])] if len(x) > 3 and x[3] is not None else range(x[0].rank)
    before, after = [0] * x[0].rank, [0] * x[0].rank
    for k, d in enumerate(axes):
        before[d], after[d] = pads[k], pads[k + len(pads) // 2]
    shape = [b + s + a for b, s, a in zip(before, x[0].shape, after)]

    def make(i):
        at = [f"{s} - {b}" if b > 0 else f"{s} + {-b}" for s, b in zip(i, before)]
        if mode != "constant":
            access = {"edge": "clamped", "reflect": "reflected", "wrap": "wrapped"}[mode]
            return x[0][[outside(access, s, size) for s, size in zip(at, x[0].shape)]]
        value = (
            x[2][()]
            if len(x) > 2 and x[2] is not None and x[2].rank == 0
            else (x[2]["0"] if len(x) > 2 and x[2] is not None else number(0, x[0].element))
        )
        inside = " && ".join(f"0 <= {s} && {s} < {size}" for s, size in zip(at, x[0].shape))
        return f"where({inside}, {x[0][at]}, {value})"

    return [p.define(x[0].element, shape, make)]


def outside(access, s, size):
    """A subscript that may be out of bounds as one that is not."""
    if access == "clamped":
        return f"maximum(minimum({s}, {size - 1}), 0)"
    if access == "wrapped":
        return f"remainder({s}, {size})"
    period = max(2 * (size - 1), 1)
    return f"({size - 1} - abs({size - 1} - remainder({s}, {period})))"


@op("DepthToSpace")
def depth_to_space(p, n, x):
    a = attributes(n)
    b, (batch, channels, height, width) = a["blocksize"], x[0].shape
    depth = channels // (b * b)
    first = a.get("mode", b"DCR") == b"DCR"

    def make(i):
        block = f"remainder({i[2]}, {b}) * {b} + remainder({i[3]}, {b})"
        channel = f"({block}) * {depth} + {i[1]}" if first else f"{i[1]} * {b * b} + {block}"
        return [i[0], channel, f"quotient({i[2]}, {b})", f"quotient({i[3]}, {b})"]

    return [moved(p, x[0], (batch, depth, height * b, width * b), make)]


@op("SpaceToDepth")
def space_to_depth(p, n, x):
    a = attributes(n)
    b, (batch, channels, height, width) = a["blocksize"], x[0].shape
    crd = a.get("mode", b"DCR") == b"CRD"

    def make(i):
        block = f"remainder({i[1]}, {b * b})" if crd else f"quotient({i[1]}, {channels})"
        channel = f"quotient({i[1]}, {b * b})" if crd else f"remainder({i[1]}, {channels})"
        return [i[0], channel, f"{i[2]} * {b} + quotient({block}, {b})", f"{i[3]} * {b} + remainder({block}, {b})"]

    return [moved(p, x[0], (batch, channels * b * b, height // b, width // b), make)]


@op("ReverseSequence")
def reverse_sequence(p, n, x):
    a = attributes(n)
    time, batch = a.get("time_axis", 0), a.get("batch_axis", 1)

    def make(i):
        length = f"cast<i64>({x[1][i[batch]]})"
        back = f"where({i[time]} < {length}, {length} - 1 - {i[time]}, {i[time]})"
        return [back if d == time else s for d, s in enumerate(i)]

    return [moved(p, x[0], x[0].shape, make)]


@op("CenterCropPad")
def center_crop_pad(p, n, x):
    wanted = [int(v) for v in p.read(x[1])]
    axes = [axis_of(a, x[0].rank) for a in attributes(n).get("axes", range(x[0].rank))]
    shape, shift = list(x[0].shape), [0] * x[0].rank
    for axis, size in zip(axes, wanted):
        old = x[0].shape[axis]
        shape[axis] = size
        shift[axis] = (old - size) // 2 if size <= old else -((size - old) // 2)

    def make(i):
        at = [f"{s} + ({b})" for s, b in zip(i, shift)]
        inside = " && ".join(f"0 <= {s} && {s} < {size}" for s, size in zip(at, x[0].shape))
        return f"where({inside}, {x[0][at]}, 0)"

    return [p.define(x[0].element, shape, make)]


@op("ArrayFeatureExtractor")
def array_features(p, n, x):
    count = x[1].size
    rows = x[0].shape[:-1] if x[0].rank > 1 else (1,)
    return [
        moved(
            p,
            x[0],
            rows + (count,),
            lambda i: (i[:-1] if x[0].rank > 1 else []) + [f"cast<i64>({x[1][['0'] * (x[1].rank - 1) + [i[-1]]]})"],
        )
    ]


@op("Compress")
def compress(p, n, x):
    raise Inexpressible("the extent of the result depends on data")
