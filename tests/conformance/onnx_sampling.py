"""ONNX operators that read between elements: Resize, Upsample, GridSample, RoiAlign, DeformConv."""

import math

import numpy

from onnx_table import attributes, axis_of, op
from onnx_windows import Window
from program import Inexpressible, number


def interpolated(at, weights, element):
    """The sum over all pairs of a place and a weight of each dimension."""
    if not at:
        return element([])
    total = ""
    for place, weight in zip(at[0], weights[0]):
        inner = interpolated(at[1:], weights[1:], lambda rest, place=place: element([place] + rest))
        total += f"{' + ' if total else ''}({weight}) * ({inner})"
    return total


def cubic(t, a):
    """Weights of the four neighbours at the fraction t."""
    near = lambda s: f"(({a + 2} * ({s}) - {a + 3}) * ({s}) * ({s}) + 1)"
    far = lambda s: f"((({a} * ({s}) - {5 * a}) * ({s}) + {8 * a}) * ({s}) - {4 * a})"
    return [far(f"{t} + 1"), near(t), near(f"1 - {t}"), far(f"2 - {t}")]


class Axis:
    """One resized dimension: its places and weights in numbers, since extents are known."""

    def __init__(self, size, out, scale, start, end, a):
        mode = a.get("mode", b"nearest").decode()
        transform = a.get("coordinate_transformation_mode", b"half_pixel").decode()
        self.rows = []
        for o in range(out):
            where = self.original(o, size, out, scale, start, end, transform)
            outside = transform == "tf_crop_and_resize" and not 0 <= where <= size - 1
            self.rows.append((None, None) if outside else self.taps(where, size, scale, mode, a))

    @staticmethod
    def original(o, size, out, scale, start, end, transform):
        if transform == "half_pixel":
            return (o + 0.5) / scale - 0.5
        if transform == "half_pixel_symmetric":
            adjust = out / (scale * size)
            return size / 2 * (1 - adjust) + (o + 0.5) / scale - 0.5
        if transform == "align_corners":
            return 0 if scale * size == 1 else o * (size - 1) / (scale * size - 1)
        if transform == "asymmetric":
            return o / scale
        if transform == "pytorch_half_pixel":
            return -0.5 if scale * size == 1 else (o + 0.5) / scale - 0.5
        if transform == "tf_crop_and_resize":
            return (
                0.5 * (start + end) * (size - 1)
                if out == 1
                else start * (size - 1) + o * (end - start) * (size - 1) / (out - 1)
            )
        raise Inexpressible(transform)

    @staticmethod
    def taps(where, size, scale, mode, a):
        clamp = lambda s: min(max(s, 0), size - 1)
        if mode == "nearest":
            kind = a.get("nearest_mode", b"round_prefer_floor").decode()
            at = {
                "round_prefer_floor": math.ceil(where - 0.5),
                "round_prefer_ceil": math.floor(where + 0.5),
                "floor": math.floor(where),
                "ceil": math.ceil(where),
            }[kind]
            return [clamp(at)], [1.0]
        wide = max(1 / scale, 1.0) if a.get("antialias", 0) else 1.0
        reach = 1 if mode == "linear" else 2
        first, last = math.floor(where - reach * wide), math.ceil(where + reach * wide)
        coefficient = a.get("cubic_coeff_a", -0.75)
        at, weights = [], []
        for s in range(first, last + 1):
            t = abs(s - where) / wide
            if mode == "linear":
                weight = max(1 - t, 0.0)
            else:
                c = coefficient
                weight = (
                    ((c + 2) * t - (c + 3)) * t * t + 1
                    if t <= 1
                    else ((c * t - 5 * c) * t + 8 * c) * t - 4 * c if t < 2 else 0.0
                )
            if a.get("exclude_outside", 0) and not 0 <= s < size:
                weight = 0.0
            if weight != 0:
                at.append(clamp(s))
                weights.append(weight)
        total = sum(weights)
        return at, [v / total for v in weights]


@op("Resize", "Upsample")
def resize(p, n, x):
    a = attributes(n)
    rank = x[0].rank
    axes = [axis_of(v, rank) for v in a.get("axes", range(rank))]
    roi = p.read(x[1]) if n.op_type == "Resize" and len(x) > 1 and x[1] is not None else None
    scales = x[2] if len(x) > 2 else None
    if n.op_type == "Upsample":
        scales, a = x[1], dict(a, coordinate_transformation_mode=b"asymmetric", nearest_mode=b"floor")
    sizes = p.read(x[3]) if len(x) > 3 and x[3] is not None else None
    scales = p.read(scales) if scales is not None and scales.size else None
    shape, factors = list(x[0].shape), [1.0] * rank
    if sizes is not None and len(sizes):
        policy = a.get("keep_aspect_ratio_policy", b"stretch").decode()
        ratio = [int(s) / x[0].shape[d] for s, d in zip(sizes, axes)]
        if policy != "stretch":
            ratio = [min(ratio) if policy == "not_larger" else max(ratio)] * len(ratio)
        for d, s, f in zip(axes, sizes, ratio):
            shape[d] = int(s) if policy == "stretch" else int(math.floor(x[0].shape[d] * f + 0.5))
            factors[d] = f
    else:
        for d, f in zip(axes, scales):
            shape[d], factors[d] = int(math.floor(x[0].shape[d] * float(f))), float(f)
    resized = []
    for d in range(rank):
        k = axes.index(d) if d in axes else None
        start, end = (
            (0.0, 1.0) if roi is None or k is None or roi.size == 0 else (float(roi[k]), float(roi[k + len(axes)]))
        )
        resized.append(Axis(x[0].shape[d], shape[d], factors[d], start, end, a))
    return [along_all(p, x[0], shape, resized, a.get("extrapolation_value", 0.0))]


def along_all(p, x, shape, resized, beyond):
    """One dimension at a time, each a sum over the taps of a table."""
    element = x.element
    value = x
    for d, axis in enumerate(resized):
        plain = [([k], [1.0]) for k in range(shape[d])]
        if shape[d] == x.shape[d] and axis.rows == plain:
            continue
        width = max(len(at or [0]) for at, _ in axis.rows)
        pad = lambda row, fill: list(row or []) + [fill] * (width - len(row or []))
        table = numpy.array([pad(at, 0) for at, _ in axis.rows], numpy.int64)
        weight = numpy.array([pad(w, 0.0) for _, w in axis.rows])
        none = numpy.array([at is None for at, _ in axis.rows])
        wide = element if element in ("f32", "f64") else "f32"
        at = p.constant(table)
        weights = p.constant(weight.astype(numpy.float64 if wide == "f64" else numpy.float32))
        out = list(value.shape)
        out[d] = shape[d]

        def make(i, value=value, at=at, weights=weights, d=d, none=none, width=width):
            term = lambda r: "{} * {}".format(
                weights[[i[d], r[0]]], value[[at[[i[d], r[0]]] if k == d else s for k, s in enumerate(i)]]
            )
            total = p.reduce("sum", [width], term)
            if not none.any():
                return total
            return f"where({p.constant(none)[i[d]]}, {number(beyond, 'f32')}, {total})"

        value = p.define(wide if value is not x or not x.floating else element, out, make)
    return p.define(element, shape, lambda i: value[i])


@op("GridSample")
def grid_sample(p, n, x):
    a = attributes(n)
    mode, edge = a.get("mode", b"linear").decode(), a.get("padding_mode", b"zeros").decode()
    corners = a.get("align_corners", 0)
    size = x[0].shape[2:]
    d = len(size)

    def place(i, k):  # the coordinate in dimension k; the grid's last axis counts them from the last
        g = x[1][[i[0]] + i[2:] + [str(d - 1 - k)]]
        return f"(({g} + 1) / 2 * {size[k] - 1})" if corners else f"((({g} + 1) * {size[k]} - 1) / 2)"

    places = [
        p.define(
            x[1].element,
            (x[0].shape[0],) + tuple(x[1].shape[1:-1]),
            lambda i, k=k: bounded(place([i[0], None] + i[1:], k), size[k], edge, corners),
        )
        for k in range(d)
    ]

    def make(i):
        at = [q[[i[0]] + i[2:]] for q in places]
        if mode == "nearest":
            return read(x[0], i[:2], [f"cast<i64>(round({q}))" for q in at], size, edge, corners)
        low = [f"floor({q})" for q in at]
        shift = range(-1, 3) if mode in ("cubic", "bicubic") else range(2)
        spots = [[f"(cast<i64>({f}) + ({s}))" for s in shift] for f in low]
        weights = [
            cubic(f"({q} - {f})", -0.75) if len(shift) == 4 else [f"1 - ({q} - {f})", f"{q} - {f}"]
            for q, f in zip(at, low)
        ]
        return interpolated(spots, weights, lambda s: read(x[0], i[:2], s, size, edge, corners))

    return [p.define(x[0].element, x[0].shape[:2] + tuple(x[1].shape[1:-1]), make)]


def bounded(q, size, edge, corners):
    return (
        reflected(q, size, corners)
        if edge == "reflection"
        else (f"clamp({q}, 0, {size - 1})" if edge == "border" else q)
    )


def reflected(q, size, corners):
    low, high = (0.0, size - 1.0) if corners else (-0.5, size - 0.5)
    width = high - low
    if width == 0:
        return "0"
    back = f"({width} - abs({width} - remainder({q} - ({low}), {2 * width})) + ({low}))"
    return f"clamp({back}, 0, {size - 1})"


def read(x, outer, at, size, edge, corners):
    """An element that is 0, the nearest, or the mirrored one out of bounds."""
    if edge == "zeros":
        inside = " && ".join(f"0 <= {s} && {s} < {m}" for s, m in zip(at, size))
        return f"where({inside}, {x[outer + at]}, 0)"
    if edge == "border":
        return x[outer + [f"clamp({s}, 0, {m - 1})" for s, m in zip(at, size)]]
    if corners:
        at = [f"({m - 1} - abs({m - 1} - remainder({s}, {max(2 * (m - 1), 1)})))" for s, m in zip(at, size)]
    else:
        at = [f"minimum(remainder({s}, {2 * m}), {2 * m - 1} - remainder({s}, {2 * m}))" for s, m in zip(at, size)]
    return x[outer + at]


@op("RoiAlign")
def roi_align(p, n, x):
    a = attributes(n)
    rows, columns, ratio = a.get("output_height", 1), a.get("output_width", 1), a.get("sampling_ratio", 0)
    scale, half = a.get("spatial_scale", 1.0), a.get("coordinate_transformation_mode", b"half_pixel") == b"half_pixel"
    mode = a.get("mode", b"avg").decode()
    size = x[0].shape[2:]
    boxes = p.read(x[1])
    shape = (x[1].shape[0], x[0].shape[1], rows, columns)
    grid = [
        [
            ratio or math.ceil(max((box[k + 2] - box[k]) * scale, 0 if half else 1.0) / m)
            for k, m in ((1, rows), (0, columns))
        ]
        for box in boxes.astype(float)
    ]
    counts = p.constant(numpy.array(grid, numpy.int64))

    def side(b, k):  # the box's start and length along height (k = 1) or width (k = 0)
        low, high = (f"({x[1][[b, str(j)]]} * {scale} - {0.5 if half else 0.0})" for j in (k, k + 2))
        return low, (f"({high} - {low})" if half else f"maximum({high} - {low}, 1)")

    def make(i):
        taps = [p.fresh("r"), p.fresh("r")]
        at = []
        for t, o, k, m in zip(taps, i[2:], (1, 0), (rows, columns)):
            low, length = side(i[0], k)
            step = f"(cast<f32>({t}) + 0.5) / cast<f32>({counts[[i[0], str(1 - k)]]})"
            at.append(f"({low} + (cast<f32>({o}) + {step}) * {length} / {m})")
        outside = " || ".join(f"{q} < -1 || {q} > {m}" for q, m in zip(at, size))
        at = [f"maximum({q}, 0)" for q in at]
        low = [f"minimum(cast<i64>(floor({q})), {m - 1})" for q, m in zip(at, size)]
        high = [f"minimum({f} + 1, {m - 1})" for f, m in zip(low, size)]
        away = [f"where({f} >= {m - 1}, 0, {q} - cast<f32>({f}))" for q, f, m in zip(at, low, size)]
        batch = f"cast<i64>({x[2][i[0]]})"
        element = lambda s: x[0][[batch, i[1]] + s]
        if mode == "avg":
            value = interpolated([[l, h] for l, h in zip(low, high)], [[f"1 - {w}", w] for w in away], element)
        else:
            parts = [
                f"({wy}) * ({wx}) * {element([sy, sx])}"
                for sy, wy in ((low[0], f"1 - {away[0]}"), (high[0], away[0]))
                for sx, wx in ((low[1], f"1 - {away[1]}"), (high[1], away[1]))
            ]
            value = f"maximum(maximum({parts[0]}, {parts[1]}), maximum({parts[2]}, {parts[3]}))"
        domain = ", ".join(f"{t}.in(0, {counts[[i[0], str(k)]]})" for k, t in enumerate(taps))
        return f"{'mean' if mode == 'avg' else 'max'}(over({domain}), where({outside}, 0, {value}))"

    return [p.define(x[0].element, shape, make)]


@op("DeformConv")
def deform_conv(p, n, x):
    a = attributes(n)
    data, weight, offset = x[:3]
    bias, mask = (x[3:] + [None, None])[:2]
    w = Window(n, data.shape[2:], weight.shape[2:])
    if len(w.kernel) != 2:
        raise Inexpressible("deformed convolutions of other than two dimensions are not written")
    groups, parts = a.get("group", 1), a.get("offset_group", 1)
    per, outputs, wide = data.shape[1] // parts, weight.shape[0] // groups, weight.shape[1]
    size, (rows, columns) = data.shape[2:], w.kernel

    def make(i):
        def body(r):
            channel = f"(quotient({i[1]}, {outputs}) * {wide} + {r[0]})"
            part = f"quotient({channel}, {per})"
            tap = f"({part} * {rows * columns} + {r[1]} * {columns} + {r[2]})"
            at = [
                f"(cast<f32>({s}) + {offset[[i[0], f'{tap} * 2 + {k}'] + i[2:]]})"
                for k, s in enumerate(w.at(i[2:], r[1:]))
            ]
            low = [f"floor({q})" for q in at]
            spots = [[f"(cast<i64>({f}) + {s})" for s in (0, 1)] for f in low]
            weights = [[f"1 - ({q} - {f})", f"{q} - {f}"] for q, f in zip(at, low)]
            value = interpolated(spots, weights, lambda s: read(data, [i[0], channel], s, size, "zeros", False))
            scale = f" * {mask[[i[0], tap] + i[2:]]}" if mask is not None else ""
            return f"{weight[[i[1]] + r]} * ({value}){scale}"

        total = p.reduce("sum", [wide] + w.kernel, body)
        return total + (f" + {bias[i[1]]}" if bias is not None else "")

    return [p.define(data.element, (data.shape[0], weight.shape[0]) + tuple(w.count), make)]
