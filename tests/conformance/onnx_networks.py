"""ONNX operators of networks and signals: losses, recurrences, optimisers, transforms, attention's parts."""

import math

import numpy

from onnx_elementwise import each, together
from onnx_table import attributes, axis_of, element_of_onnx, op
from onnx_reductions import soft
from program import Inexpressible, NAMES, number


@op("NegativeLogLikelihoodLoss")
def nll(p, n, x):
    a = attributes(n)
    return [
        loss(p, x[0], x[1], x[2] if len(x) > 2 else None, a.get("reduction", b"mean").decode(), a.get("ignore_index"))
    ]


def loss(p, logs, target, weight, reduction, ignored):
    element = logs.element

    def term(i):
        t = f"cast<i64>({target[i]})"
        safe = t if ignored is None else f"where({t} == {ignored}, 0, {t})"
        scale = weight[[safe]] if weight is not None else number(1, element)
        scale = scale if ignored is None else f"where({t} == {ignored}, 0, {scale})"
        return scale, logs[[i[0], safe] + i[1:]]

    if reduction == "none":
        return p.define(element, target.shape, lambda i: "-({} * {})".format(*term(i)))
    total = p.reduce("sum", target.shape, lambda r: "-({} * {})".format(*term(r)))
    if reduction == "mean":
        total = f"{total} / {p.reduce('sum', target.shape, lambda r: term(r)[0])}"
    return p.define(element, (), lambda i: total)


@op("SoftmaxCrossEntropyLoss")
def cross_entropy(p, n, x):
    a = attributes(n)
    logs = soft(p, x[0], 1, True)
    return [
        loss(p, logs, x[1], x[2] if len(x) > 2 else None, a.get("reduction", b"mean").decode(), a.get("ignore_index")),
        logs,
    ]


class Recurrence:
    """The inputs of RNN, GRU and LSTM by direction and step; each step is a definition."""

    def __init__(self, p, n, x, gates):
        a = attributes(n)
        if any(f not in (b"Tanh", b"Sigmoid") for f in a.get("activations", [])):
            raise Inexpressible("activations other than the defaults are not written")
        self.p, self.x, self.gates = p, x + [None] * (8 - len(x)), gates
        self.batch_first, self.clip = a.get("layout", 0), a.get("clip", None)
        self.directions = [
            d == "b"
            for d in {"forward": "f", "reverse": "b", "bidirectional": "fb"}[a.get("direction", b"forward").decode()]
        ]
        shape = x[0].shape
        self.steps, self.batch = (shape[1], shape[0]) if self.batch_first else shape[:2]
        self.hidden = x[2].shape[2]
        self.element = x[0].element

    def read(self, t, b, k):
        return self.x[0][[b, t, k] if self.batch_first else [t, b, k]]

    def start(self, d, which):
        value = self.x[which]
        shape = (self.batch, self.hidden)
        if value is None:
            return self.p.define(self.element, shape, lambda i: "0")
        return self.p.define(
            self.element, shape, lambda i: value[[i[0], str(d), i[1]] if self.batch_first else [str(d), i[0], i[1]]]
        )

    def gate(self, d, t, g, h, scale=None, part="wrb"):
        """W x + R h + b of gate g at step t, for one batch and unit."""
        p, w, r, bias = self.p, self.x[1], self.x[2], self.x[3]
        row = lambda u: f"{g * self.hidden} + {u}"

        def make(i):
            text = []
            if "w" in part:
                text.append(
                    p.reduce(
                        "sum",
                        [self.x[0].shape[2]],
                        lambda k: f"{self.read(str(t), i[0], k[0])} * {w[[str(d), row(i[1]), k[0]]]}",
                    )
                )
            if "r" in part:
                text.append(
                    p.reduce(
                        "sum",
                        [self.hidden],
                        lambda k: (f"{scale[[i[0], k[0]]]} * " if scale else "")
                        + f"{h[[i[0], k[0]]]} * {r[[str(d), row(i[1]), k[0]]]}",
                    )
                )
            if bias is not None:
                if "w" in part:
                    text.append(bias[[str(d), row(i[1])]])
                if "r" in part:
                    text.append(bias[[str(d), f"{(self.gates + g) * self.hidden} + {i[1]}"]])
            return self.clipped(" + ".join(text))

        return make

    def clipped(self, e):
        return e if self.clip is None else f"clamp({e}, {-self.clip}, {self.clip})"

    def kept(self, t, new, old):
        """The state stays as it is where a sequence has ended."""
        if self.x[4] is None:
            return new
        return self.p.define(self.element, new.shape, lambda i: f"where({t} < {self.x[4][i[0]]}, {new[i]}, {old[i]})")

    def order(self, backwards):
        return reversed(range(self.steps)) if backwards else range(self.steps)

    def outputs(self, n, states, last):
        """Y of all steps, and the last states."""
        p = self.p
        shape = (self.steps, len(self.directions), self.batch, self.hidden)
        if self.batch_first:
            shape = (self.batch, self.steps, len(self.directions), self.hidden)

        def make(i):
            t, d, b = (i[1], i[2], i[0]) if self.batch_first else i[:3]
            text = "0"
            for (step, direction), state in states.items():
                text = f"where({t} == {step} && {d} == {direction}, {state[[b, i[3]]]}, {text})"
            return text

        out = [p.define(self.element, shape, make)]
        for which in last:
            size = (self.batch, len(which), self.hidden) if self.batch_first else (len(which), self.batch, self.hidden)

            def final(i, which=which):
                d, b = (i[1], i[0]) if self.batch_first else (i[0], i[1])
                text = "0"
                for k, state in enumerate(which):
                    text = f"where({d} == {k}, {state[[b, i[2]]]}, {text})"
                return text

            out.append(p.define(self.element, size, final))
        return out


@op("RNN")
def rnn(p, n, x):
    s = Recurrence(p, n, x, 1)
    states, last = {}, []
    for d, backwards in enumerate(s.directions):
        h = s.start(d, 5)
        for t in s.order(backwards):
            make = s.gate(d, t, 0, h)
            states[t, d] = h = s.kept(t, p.define(s.element, h.shape, lambda i: f"tanh({make(i)})"), h)
        last.append(h)
    return s.outputs(n, states, [last])


@op("GRU")
def gru(p, n, x):
    s = Recurrence(p, n, x, 3)
    before = attributes(n).get("linear_before_reset", 0)
    states, last = {}, []
    for d, backwards in enumerate(s.directions):
        h = s.start(d, 5)
        for t in s.order(backwards):
            z, r = (p.define(s.element, h.shape, lambda i, g=g: f"sigmoid({s.gate(d, t, g, h)(i)})") for g in (0, 1))
            if before:
                make = lambda i: "{} + {} * ({})".format(
                    s.gate(d, t, 2, h, part="w")(i), r[i], s.gate(d, t, 2, h, part="r")(i)
                )
            else:
                make = s.gate(d, t, 2, h, scale=r)
            new = p.define(s.element, h.shape, lambda i: f"(1 - {z[i]}) * tanh({make(i)}) + {z[i]} * {h[i]}")
            states[t, d] = h = s.kept(t, new, h)
        last.append(h)
    return s.outputs(n, states, [last])


@op("LSTM")
def lstm(p, n, x):
    s = Recurrence(p, n, x, 4)
    if attributes(n).get("input_forget", 0):
        raise Inexpressible("input_forget is not written")
    states, hs, cs = {}, [], []
    for d, backwards in enumerate(s.directions):
        h, c = s.start(d, 5), s.start(d, 6)
        for t in s.order(backwards):
            peep = (
                (lambda k, cell: lambda i: "")
                if s.x[7] is None
                else (lambda k, cell: lambda i: f" + {s.x[7][[str(d), f'{k * s.hidden} + {i[1]}']]} * {cell[i]}")
            )
            gate = lambda g, k, cell: p.define(
                s.element, h.shape, lambda i: f"sigmoid({s.gate(d, t, g, h)(i)}{peep(k, cell)(i)})"
            )
            i_, f_ = gate(0, 0, c), gate(2, 2, c)
            new = p.define(s.element, c.shape, lambda i: f"{f_[i]} * {c[i]} + {i_[i]} * tanh({s.gate(d, t, 3, h)(i)})")
            o_ = gate(1, 1, new)
            out = p.define(s.element, h.shape, lambda i: f"{o_[i]} * tanh({new[i]})")
            h, c = s.kept(t, out, h), s.kept(t, new, c)
            states[t, d] = h
        hs.append(h)
        cs.append(c)
    return s.outputs(n, states, [hs, cs])


@op("Adagrad")
def adagrad(p, n, x):
    a = attributes(n)
    count = (len(x) - 2) // 3
    out, sums = [], []
    rate, t = x[0], x[1]
    for k in range(count):
        w, g, h = x[2 + k], x[2 + count + k], x[2 + 2 * count + k]
        slope = together(p, [w, g], lambda u, v: f"{a.get('norm_coefficient', 0.0)} * {u} + {v}")
        total = together(p, [h, slope], lambda u, v: f"{u} + {v} * {v}")
        r = f"{rate[()]} / (1 + cast<f32>({t[()]}) * {a.get('decay_factor', 0.0)})"
        out.append(
            p.define(
                w.element,
                w.shape,
                lambda i: f"{w[i]} - {r} * {slope[i]} / (sqrt({total[i]}) + {a.get('epsilon', 0.0)})",
            )
        )
        sums.append(total)
    return out + sums


@op("Momentum")
def momentum(p, n, x):
    a = attributes(n)
    count = (len(x) - 2) // 3
    out, speeds = [], []
    for k in range(count):
        w, g, v = x[2 + k], x[2 + count + k], x[2 + 2 * count + k]
        slope = together(p, [w, g], lambda u, e: f"{a['norm_coefficient']} * {u} + {e}")
        beta = f"where({x[1][()]} > 0, {a['beta']}f32, 1)"
        speed = p.define(w.element, w.shape, lambda i: f"{a['alpha']} * {v[i]} + {beta} * {slope[i]}")
        step = (
            (lambda i: f"{slope[i]} + {a['alpha']} * {speed[i]}") if a["mode"] == b"nesterov" else (lambda i: speed[i])
        )
        out.append(p.define(w.element, w.shape, lambda i: f"{w[i]} - {x[0][()]} * ({step(i)})"))
        speeds.append(speed)
    return out + speeds


@op("Adam")
def adam(p, n, x):
    a = attributes(n)
    count = (len(x) - 2) // 4
    alpha, beta, first = a.get("alpha", 0.9), a.get("beta", 0.999), [[], [], []]
    for k in range(count):
        w, g, v, h = (x[2 + j * count + k] for j in range(4))
        slope = together(p, [w, g], lambda u, e: f"{a.get('norm_coefficient', 0.0)} * {u} + {e}")
        mean = together(p, [v, slope], lambda u, e: f"{alpha} * {u} + {1 - alpha} * {e}")
        square = together(p, [h, slope], lambda u, e: f"{beta} * {u} + {1 - beta} * {e} * {e}")
        t = f"cast<f32>({x[1][()]})"
        later = f"sqrt(1 - pow({beta}f32, {t})) / (1 - pow({alpha}f32, {t}))"
        rate = f"{x[0][()]} * where({x[1][()]} > 0, {later}, 1)"
        new = p.define(
            w.element, w.shape, lambda i: f"{w[i]} - {rate} * {mean[i]} / (sqrt({square[i]}) + {a.get('epsilon', 0.0)})"
        )
        scale = 1 - a.get("norm_coefficient_post", 0.0)
        first[0].append(each(p, new, lambda e: f"{scale} * {e}"))
        first[1].append(mean)
        first[2].append(square)
    return first[0] + first[1] + first[2]


@op("HannWindow", "HammingWindow", "BlackmanWindow")
def signal_window(p, n, x):
    a = attributes(n)
    size = int(p.read(x[0]))
    steps = size if a.get("periodic", 1) else size - 1
    to = element_of_onnx(a.get("output_datatype", 1))
    parts = {
        "HannWindow": (0.5, 0.5, 0.0),
        "HammingWindow": (25 / 46, 21 / 46, 0.0),
        "BlackmanWindow": (0.42, 0.5, 0.08),
    }[n.op_type]
    wave = lambda i, k: f"cos({2 * k * math.pi / steps} * cast<f64>({i}))"
    return [
        p.define(to, (size,), lambda i: f"{parts[0]} - {parts[1]} * {wave(i[0], 1)} + {parts[2]} * {wave(i[0], 2)}")
    ]


@op("DFT")
def dft(p, n, x):
    a = attributes(n)
    axis = int(p.read(x[2])) if len(x) > 2 and x[2] is not None else a.get("axis", -2)
    axis = axis_of(axis, x[0].rank)
    inverse, onesided = a.get("inverse", 0), a.get("onesided", 0)
    size = int(p.read(x[1])) if len(x) > 1 and x[1] is not None else x[0].shape[axis]
    if inverse and onesided:
        raise Inexpressible("inverse one-sided transforms are not written")
    count = size // 2 + 1 if onesided else size
    shape = tuple(count if d == axis else s for d, s in enumerate(x[0].shape[:-1])) + (2,)
    given = min(size, x[0].shape[axis])

    def make(i):
        def body(r):
            at = lambda part: x[0][[r[0] if d == axis else s for d, s in enumerate(i[:-1])] + [str(part)]]
            angle = (
                f"({(1 if inverse else -1) * 2 * math.pi / size} * cast<f64>(remainder({i[axis]} * {r[0]}, {size})))"
            )
            real, imaginary = at(0), at(1) if x[0].shape[-1] == 2 else "0"
            return (
                f"where({i[-1]} == 0, cast<f64>({real}) * cos{angle} - cast<f64>({imaginary}) * sin{angle}, "
                f"cast<f64>({real}) * sin{angle} + cast<f64>({imaginary}) * cos{angle})"
            )

        total = p.reduce("sum", [given], body)
        return f"{total} / {size}" if inverse else total

    return [p.define(x[0].element, shape, make)]


@op("STFT")
def stft(p, n, x):
    step = int(p.read(x[1]))
    window = x[2] if len(x) > 2 else None
    size = window.shape[0] if window is not None else int(p.read(x[3]))
    count = size // 2 + 1 if attributes(n).get("onesided", 1) else size
    frames = (x[0].shape[1] - size) // step + 1

    def make(i):
        def body(r):
            angle = f"({-2 * math.pi / size} * cast<f64>(remainder({i[2]} * {r[0]}, {size})))"
            scale = f" * {window[[r[0]]]}" if window is not None else ""
            at = lambda part: f"cast<f64>({x[0][[i[0], f'{i[1]} * {step} + {r[0]}', part]]}{scale})"
            if x[0].shape[2] == 1:
                return f"{at('0')} * where({i[3]} == 0, cos{angle}, sin{angle})"
            return (
                f"where({i[3]} == 0, {at('0')} * cos{angle} - {at('1')} * sin{angle}, "
                f"{at('0')} * sin{angle} + {at('1')} * cos{angle})"
            )

        return p.reduce("sum", [size], body)

    return [p.define(x[0].element, (x[0].shape[0], frames, count, 2), make)]


@op("Det")
def determinant(p, n, x):
    size = x[0].shape[-1]
    if size > 3:
        raise Inexpressible("determinants of more than 3 x 3")

    def make(i):
        at = lambda r, c: x[0][i + [str(r), str(c)]]
        if size == 2:
            return f"{at(0, 0)} * {at(1, 1)} - {at(0, 1)} * {at(1, 0)}"
        minor = lambda c: "({} * {} - {} * {})".format(
            at(1, (c + 1) % 3), at(2, (c + 2) % 3), at(1, (c + 2) % 3), at(2, (c + 1) % 3)
        )
        return " + ".join(f"{at(0, c)} * {minor(c)}" for c in range(3))

    return [p.define(x[0].element, x[0].shape[:-2], make)]


@op("AffineGrid")
def affine_grid(p, n, x):
    size = [int(v) for v in p.read(x[1])][2:]
    corners, d = attributes(n).get("align_corners", 0), len(size)

    def make(i):
        def place(k):  # the coordinate that goes with column k: the last dimension first
            s, m = i[d - k], size[d - 1 - k]
            return (
                (f"(cast<f64>({s}) * {2 / (m - 1)} - 1)" if m > 1 else "-1f64")
                if corners
                else f"((cast<f64>({s}) * 2 + 1) / {m} - 1)"
            )

        row = i[d + 1]
        terms = [f"{x[0][[i[0], row, str(k)]]} * {place(k)}" for k in range(d)]
        return " + ".join(terms + [x[0][[i[0], row, str(d)]]])

    return [p.define(x[0].element, [x[0].shape[0]] + size + [d], make)]
