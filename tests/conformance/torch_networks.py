"""PyTorch operators that pool, normalise, or are losses."""

import math

from onnx_elementwise import together
from onnx_reductions import folded
from onnx_shapes import reshaped
from program import Inexpressible
from torch_table import dims_of, op

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
