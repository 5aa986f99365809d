"""ONNX operators over windows and at fractional places: convolutions, pooling, resizing, sampling."""

import itertools
import math

import numpy

from onnx_table import attributes, axis_of, op
from program import Inexpressible, number


class Window:
    """The windows of a pooling or convolution: kernel, strides, dilations, pads, and how many there are."""

    def __init__(self, n, size, kernel, transposed=False):
        a = attributes(n)
        d = len(size)
        self.kernel = list(kernel)
        self.stride = a.get("strides", [1] * d)
        self.dilation = a.get("dilations", [1] * d)
        self.span = [(k - 1) * s + 1 for k, s in zip(self.kernel, self.dilation)]
        self.ceil = a.get("ceil_mode", 0)
        auto = a.get("auto_pad", b"NOTSET").decode()
        pads = a.get("pads", [0] * (2 * d))
        self.before, self.after = pads[:d], pads[d:]
        if auto.startswith("SAME"):
            total = [max((-(-n_ // s) - 1) * s + k - n_, 0) for n_, s, k in zip(size, self.stride, self.span)]
            half = [t // 2 for t in total]
            rest = [t - h for t, h in zip(total, half)]
            self.before, self.after = (half, rest) if auto == "SAME_UPPER" else (rest, half)
        self.count = []
        for n_, s, k, b, e in zip(size, self.stride, self.span, self.before, self.after):
            room = n_ + b + e - k
            count = (-(-room // s) if self.ceil else room // s) + 1
            if self.ceil and (count - 1) * s >= n_ + b:
                count -= 1
            self.count.append(count)

    def at(self, i, r):
        return [f"{a} * {s} + {t} * {w} - {b}" for a, s, t, w, b in zip(i, self.stride, r, self.dilation, self.before)]

    @staticmethod
    def inside(at, size):
        return " && ".join(f"0 <= {s} && {s} < {m}" for s, m in zip(at, size))


@op("Conv", "ConvInteger", "QLinearConv")
def conv(p, n, x):
    a = attributes(n)
    if n.op_type == "QLinearConv":
        return quantised_conv(p, n, x)
    integer = n.op_type == "ConvInteger"
    w = Window(n, x[0].shape[2:], x[1].shape[2:])
    zeros = [zero_of(v) if integer and v is not None else None for v in (x[2:4] + [None, None])[:2]]
    bias = x[2] if not integer and len(x) > 2 else None
    return [convolved(p, x[0], x[1], w, a.get("group", 1), "i32" if integer else x[0].element, zeros, bias)]


def zero_of(v):
    """A zero point of the whole, or of each output channel."""
    return lambda i: v[[i[1]]] if v.rank == 1 and v.size > 1 else v[["0"] * v.rank]


def convolved(p, x, weight, w, groups, element, zeros, bias=None):
    width, per = weight.shape[1], weight.shape[0] // groups

    def make(i):
        at = {}

        def body(r):
            at["s"] = w.at(i[2:], r[1:])
            channel = f"quotient({i[1]}, {per}) * {width} + {r[0]}" if groups > 1 else r[0]
            u, v = x[[i[0], channel] + at["s"]], weight[[i[1]] + r]
            if element == "i32":
                u = f"(cast<i32>({u}) - cast<i32>({zeros[0](i) if zeros[0] else '0'}))"
                v = f"(cast<i32>({v}) - cast<i32>({zeros[1](i) if zeros[1] else '0'}))"
            return f"{u} * {v}"

        total = p.reduce("sum", [width] + w.kernel, body, lambda r: w.inside(w.at(i[2:], r[1:]), x.shape[2:]))
        return total + (f" + {bias[i[1]]}" if bias is not None else "")

    return p.define(element, (x.shape[0], weight.shape[0]) + tuple(w.count), make)


def quantised_conv(p, n, x):
    from onnx_elementwise import each

    data, sx, zx, weight, sw, zw, sy, zy = x[:8]
    one = lambda v: v[["0"] * v.rank]
    w = Window(n, data.shape[2:], weight.shape[2:])
    total = convolved(p, data, weight, w, attributes(n).get("group", 1), "i32", [zero_of(zx), zero_of(zw)])
    scale = lambda i: f"{one(sx)} * {sw[i[1]] if sw.rank and sw.size > 1 else one(sw)} / {one(sy)}"
    return [
        p.define(
            "u8",
            total.shape,
            lambda i: f"clamp(round(cast<f32>({total[i]}) * {scale(i)}) + cast<f32>({one(zy)}), 0, 255)",
        )
    ]


@op("ConvTranspose")
def conv_transpose(p, n, x):
    a = attributes(n)
    size, kernel = x[0].shape[2:], x[1].shape[2:]
    d = len(size)
    stride, dilation = a.get("strides", [1] * d), a.get("dilations", [1] * d)
    extra, groups = a.get("output_padding", [0] * d), a.get("group", 1)
    span = [(k - 1) * s + 1 for k, s in zip(kernel, dilation)]
    full = [s * (m - 1) + e + k for s, m, e, k in zip(stride, size, extra, span)]
    pads = a.get("pads", [0] * (2 * d))
    auto = a.get("auto_pad", b"NOTSET").decode()
    if "output_shape" in a or auto.startswith("SAME"):
        shape = list(a["output_shape"]) if "output_shape" in a else [m * s for m, s in zip(size, stride)]
        total = [f - s for f, s in zip(full, shape)]
        small, large = [t // 2 for t in total], [t - t // 2 for t in total]
        pads = (
            small + large
            if auto != "SAME_LOWER" and ("output_shape" not in a or auto == "SAME_UPPER")
            else large + small
        )
        if "output_shape" in a and auto == "NOTSET":
            pads = large + small
    else:
        shape = [f - b - e for f, b, e in zip(full, pads[:d], pads[d:])]
    outputs, per = x[1].shape[1], x[0].shape[1] // groups

    def make(i):
        def place(r):  # where the tap r of output i reads the input, times the stride
            return [f"({s} + {b} - {t} * {w})" for s, b, t, w in zip(i[2:], pads, r[1:], dilation)]

        def where(r):
            return " && ".join(
                f"remainder({q}, {s}) == 0 && 0 <= {q} && {q} < {m * s}" for q, s, m in zip(place(r), stride, size)
            )

        def body(r):
            at = [f"quotient({q}, {s})" for q, s in zip(place(r), stride)]
            channel = f"quotient({i[1]}, {outputs}) * {per} + {r[0]}" if groups > 1 else r[0]
            own = f"remainder({i[1]}, {outputs})" if groups > 1 else i[1]
            return f"{x[0][[i[0], channel] + at]} * {x[1][[channel, own] + r[1:]]}"

        total = p.reduce("sum", [per] + list(kernel), body, where)
        return total + (f" + {x[2][i[1]]}" if len(x) > 2 else "")

    return [p.define(x[0].element, (x[0].shape[0], outputs * groups) + tuple(shape), make)]


@op("MaxPool")
def max_pool(p, n, x):
    w = Window(n, x[0].shape[2:], attributes(n)["kernel_shape"])
    size = x[0].shape[2:]
    shape = x[0].shape[:2] + tuple(w.count)
    y = p.define(
        x[0].element,
        shape,
        lambda i: p.reduce(
            "max", w.kernel, lambda r: x[0][i[:2] + w.at(i[2:], r)], lambda r: w.inside(w.at(i[2:], r), size)
        ),
    )
    if len(n.output) < 2:
        return [y]
    places = size if not attributes(n).get("storage_order", 0) else list(reversed(size))

    def first(i):
        def place(at):
            at = at if not attributes(n).get("storage_order", 0) else list(reversed(at))
            text = "0"
            for s, m in zip(at, places):
                text = f"({text}) * {m} + ({s})"
            return text

        def where(r):
            at = w.at(i[2:], r)
            return f"{w.inside(at, size)} && {x[0][i[:2] + at]} == {y[i]}"

        image = f"({i[0]} * {x[0].shape[1]} + {i[1]}) * {math.prod(size)}"
        return f"{image} + " + p.reduce("min", w.kernel, lambda r: place(w.at(i[2:], r)), where)

    return [y, p.define("i64", shape, first)]


@op("AveragePool")
def average_pool(p, n, x):
    a = attributes(n)
    w = Window(n, x[0].shape[2:], a["kernel_shape"])
    size = x[0].shape[2:]

    def make(i):
        inside = lambda r: w.inside(w.at(i[2:], r), size)
        total = p.reduce("sum", w.kernel, lambda r: x[0][i[:2] + w.at(i[2:], r)], inside)
        counted = inside
        if a.get("count_include_pad", 0):
            counted = lambda r: " && ".join(f"{s} < {m + e}" for s, m, e in zip(w.at(i[2:], r), size, w.after))
        count = p.reduce("count", w.kernel, lambda r: "true", counted)
        return f"{total} / cast<{x[0].element}>({count})"

    return [p.define(x[0].element, x[0].shape[:2] + tuple(w.count), make)]


@op("LpPool")
def lp_pool(p, n, x):
    a = attributes(n)
    w, power = Window(n, x[0].shape[2:], a["kernel_shape"]), a.get("p", 2)
    return [
        p.define(
            x[0].element,
            x[0].shape[:2] + tuple(w.count),
            lambda i: "pow({}, {})".format(
                p.reduce(
                    "sum",
                    w.kernel,
                    lambda r: f"pow(abs({x[0][i[:2] + w.at(i[2:], r)]}), {power})",
                    lambda r: w.inside(w.at(i[2:], r), x[0].shape[2:]),
                ),
                1 / power,
            ),
        )
    ]


@op("GlobalAveragePool", "GlobalMaxPool")
def global_pool(p, n, x):
    name = "mean" if "Average" in n.op_type else "max"
    return [
        p.define(
            x[0].element,
            x[0].shape[:2] + (1,) * (x[0].rank - 2),
            lambda i: p.reduce(name, x[0].shape[2:], lambda r: x[0][i[:2] + r]),
        )
    ]


@op("MaxUnpool")
def max_unpool(p, n, x):
    a = attributes(n)
    kernel = a["kernel_shape"]
    d = len(kernel)
    stride, pads = a.get("strides", [1] * d), a.get("pads", [0] * (2 * d))
    inner = [(m - 1) * s - b - e + k for m, s, k, b, e in zip(x[0].shape[2:], stride, kernel, pads[:d], pads[d:])]
    # Places are those of a tensor without the extra room that an output shape asks for.
    full = x[0].shape[:2] + tuple(inner)
    shape = tuple(int(v) for v in p.read(x[2])) if len(x) > 2 and x[2] is not None else full

    def make(i):
        place = i[0]
        for s, m in zip(i[1:], full[1:]):
            place = f"({place}) * {m} + {s}"
        inside = " && ".join(f"{s} < {m}" for s, m in zip(i, full))
        return p.reduce("sum", x[0].shape, lambda r: x[0][r], lambda r: f"{inside} && {x[1][r]} == {place}")

    return [p.define(x[0].element, shape, make)]


@op("Col2Im")
def col2im(p, n, x):
    a = attributes(n)
    image, block = [int(v) for v in p.read(x[1])], [int(v) for v in p.read(x[2])]
    d = len(image)
    dilation, stride, pads = a.get("dilations", [1] * d), a.get("strides", [1] * d), a.get("pads", [0] * (2 * d))
    count = [
        (m + pads[k] + pads[k + d] - (dilation[k] * (block[k] - 1) + 1)) // stride[k] + 1 for k, m in enumerate(image)
    ]
    channels = x[0].shape[1] // math.prod(block)

    def make(i):
        def where(r):
            return " && ".join(
                f"{o} * {s} + {t} * {w} - {b} == {at}"
                for at, t, o, s, w, b in zip(i[2:], r[:d], r[d:], stride, dilation, pads)
            )

        def body(r):
            tap, window = "0", "0"
            for t, k in zip(r[:d], block):
                tap = f"({tap}) * {k} + {t}"
            for o, k in zip(r[d:], count):
                window = f"({window}) * {k} + {o}"
            return x[0][[i[0], f"{i[1]} * {math.prod(block)} + {tap}", window]]

        return p.reduce("sum", block + count, body, where)

    return [p.define(x[0].element, (x[0].shape[0], channels) + tuple(image), make)]
