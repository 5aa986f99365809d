"""PyTorch operators as expressions: name of the sample's operator to a function of the program and the arguments."""

import math

import torch

from onnx_elementwise import each, together
from onnx_reductions import folded, soft
from onnx_shapes import moved, reshaped
from program import FLOATS, Inexpressible, Value, broadcast_shape, digits, flat_place, number

RULES = {}


def op(*names):
    def put(rule):
        for name in names:
            RULES[name] = rule
        return rule

    return put


def dims_of(x, dim):
    """The dimensions that an argument names: all of them where it names none."""
    if dim is None or dim == () or dim == []:
        return list(range(x.rank))
    given = [dim] if isinstance(dim, int) else list(dim)
    return sorted({d % x.rank if x.rank else 0 for d in given} if x.rank else set())


def at(i, d, s):
    return [s if k == d else t for k, t in enumerate(i)]


UNARY = {
    "abs": "abs({x})",
    "acos": "acos({x})",
    "acosh": "acosh({x})",
    "asin": "asin({x})",
    "asinh": "asinh({x})",
    "atan": "atan({x})",
    "atanh": "atanh({x})",
    "ceil": "ceil({x})",
    "cos": "cos({x})",
    "cosh": "cosh({x})",
    "erf": "erf({x})",
    "exp": "exp({x})",
    "expm1": "expm1({x})",
    "floor": "floor({x})",
    "log": "log({x})",
    "log1p": "log1p({x})",
    "neg": "-({x})",
    "reciprocal": "1 / {x}",
    "rsqrt": "rsqrt({x})",
    "sigmoid": "sigmoid({x})",
    "sign": "sign({x})",
    "sin": "sin({x})",
    "sinh": "sinh({x})",
    "sqrt": "sqrt({x})",
    "square": "{x} * {x}",
    "tan": "tan({x})",
    "tanh": "tanh({x})",
    "trunc": "trunc({x})",
    "nn.functional.relu": "relu({x})",
    "nn.functional.silu": "silu({x})",
    "nn.functional.softsign": "{x} / (1 + abs({x}))",
    "nn.functional.logsigmoid": "-softplus(-({x}))",
    "nn.functional.tanhshrink": "{x} - tanh({x})",
    "nn.functional.mish": "{x} * tanh(softplus({x}))",
    "positive": "{x}",
}
for name, form in UNARY.items():
    op(name)(lambda p, x, form=form, inplace=False: each(p, x, lambda e: form.format(x=e)))
for name, form in {"isnan": "isnan({x})", "isinf": "isinf({x})", "isfinite": "isfinite({x})"}.items():
    op(name)(lambda p, x, form=form: each(p, x, lambda e: form.format(x=e), "bool"))


def as_value(p, v, like):
    if isinstance(v, Value):
        return v
    import numpy
    from program import NAMES

    return p.constant(numpy.asarray(v, NAMES[like.element]))


BINARY = {
    "mul": "{a} * {b}",
    "maximum": "maximum({a}, {b})",
    "minimum": "minimum({a}, {b})",
    "pow": "pow({a}, {b})",
    "remainder": "remainder({a}, {b})",
    "fmod": "fmod({a}, {b})",
}
for name, form in BINARY.items():
    op(name)(lambda p, a, b, form=form: together(p, [a, as_value(p, b, a)], lambda u, v: form.format(a=u, b=v)))
for name, form in {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    op(name)(lambda p, a, b, form=form: together(p, [a, as_value(p, b, a)], lambda u, v: f"{u} {form} {v}", "bool"))


@op("add", "sub")
def add(p, a, b, alpha=1):
    return together(p, [a, as_value(p, b, a)], lambda u, v: f"{u} + {number(alpha, a.element)} * {v}")


@op("sub")
def sub(p, a, b, alpha=1):
    return together(p, [a, as_value(p, b, a)], lambda u, v: f"{u} - {number(alpha, a.element)} * {v}")


@op("div")
def div(p, a, b, rounding_mode=None):
    form = {None: "{} / {}", "floor": "quotient({}, {})", "trunc": "trunc({} / {})"}[rounding_mode]
    return together(p, [a, as_value(p, b, a)], lambda u, v: form.format(u, v))


@op("where")
def where(p, a, c, b):
    shape = broadcast_shape(c.shape, a.shape, b.shape)
    return p.define(a.element, shape, lambda i: f"where({c.broadcast(i)}, {a.broadcast(i)}, {b.broadcast(i)})")


@op("clamp")
def clamp(p, x, low=None, high=None, min=None, max=None):
    low, high = (low if min is None else min), (high if max is None else max)
    if not isinstance(low, Value) and not isinstance(high, Value) and low is not None and high is not None:
        return each(p, x, lambda e: f"clamp({e}, {number(low, x.element)}, {number(high, x.element)})")
    given = [v for v in (low, high) if isinstance(v, Value)]
    shape = broadcast_shape(x.shape, *[v.shape for v in given])
    part = lambda v, i: v.broadcast(i) if isinstance(v, Value) else number(v, x.element)

    def make(i):
        e = x.broadcast(i)
        if low is not None:
            e = f"maximum({e}, {part(low, i)})" if given else f"where({e} <= {part(low, i)}, {part(low, i)}, {e})"
        if high is not None:
            e = f"minimum({e}, {part(high, i)})" if given else f"where({e} >= {part(high, i)}, {part(high, i)}, {e})"
        return e

    return p.define(x.element, shape, make)


@op("nn.functional.gelu")
def gelu(p, x, approximate="none"):
    return each(p, x, lambda e: f"gelu_tanh({e})" if approximate == "tanh" else f"gelu({e})")


def activations(name, form, **defaults):
    @op("nn.functional." + name)
    def rule(p, x, *args, inplace=False, **options):
        values = dict(defaults) | dict(zip(defaults, args)) | options
        return each(p, x, lambda e: form.format(x=e, **{k: f"({float(v)!r})" for k, v in values.items()}))


activations("elu", "where({x} > 0, {x}, {alpha} * expm1(where({x} > 0, 0, {x})))", alpha=1.0)
activations("celu", "where({x} > 0, {x}, {alpha} * expm1(where({x} > 0, 0, {x}) / {alpha}))", alpha=1.0)
activations("selu", "1.0507009873554805 * where({x} > 0, {x}, 1.6732632423543772 * expm1(where({x} > 0, 0, {x})))")
activations("leaky_relu", "where({x} > 0, {x}, {negative_slope} * {x})", negative_slope=0.01)
activations("hardtanh", "clamp({x}, {min_val}, {max_val})", min_val=-1.0, max_val=1.0)
activations("relu6", "clamp({x}, 0, 6)")
activations("hardsigmoid", "clamp({x} / 6 + 0.5, 0, 1)")
activations("hardswish", "where({x} <= -3, 0, where({x} >= 3, {x}, {x} * ({x} / 6 + 0.5)))")
activations("hardshrink", "where({x} >= -{lambd} && {x} <= {lambd}, 0, {x})", lambd=0.5)
activations(
    "softshrink", "where({x} > {lambd}, {x} - {lambd}, where({x} < -{lambd}, {x} + {lambd}, 0 * {x}))", lambd=0.5
)
activations("threshold", "where({x} <= {threshold}, {value}, {x})", threshold=0.0, value=0.0)
activations(
    "softplus", "where({x} * {beta} > {threshold}, {x}, softplus({x} * {beta}) / {beta})", beta=1.0, threshold=20.0
)


# ---- reductions


TYPES = {torch.float64: "f64", torch.float32: "f32", torch.bfloat16: "bf16", torch.int32: "i32", torch.int64: "i64"}


def as_type(p, x, dtype):
    """What is computed of an argument is asked for in a type of its own."""
    return x if dtype is None else each(p, x, lambda e: f"cast<{TYPES[dtype]}>({e})", TYPES[dtype])


def reductions(name, monoid, make="{e}", element=None, finish="{e}"):
    @op(name)
    def rule(p, x, dim=None, keepdim=False, dtype=None):
        x = as_type(p, x, dtype)
        return folded(
            p, x, dims_of(x, dim), keepdim, monoid, lambda e: make.format(e=e), lambda e: finish.format(e=e), element
        )


reductions("sum", "sum")
reductions("mean", "mean")
reductions("prod", "prod")
reductions("amax", "max")
reductions("amin", "min")
reductions("all", "all", "{e} != 0", "bool")
reductions("any", "any", "{e} != 0", "bool")
reductions("count_nonzero", "count", "{e} != 0", "i64")
reductions("nansum", "sum", "where(isnan({e}), 0, {e})")
reductions("logsumexp", "logsumexp")


for _name in ("argmax", "argmin"):
    op(_name)(
        lambda p, x, dim=None, keepdim=False, name=_name: (
            folded(p, x, dims_of(x, dim), keepdim, name, element="i64") if x.rank else each(p, x, lambda e: "0", "i64")
        )
    )


def extremum(name):
    def rule(p, x, dim=None, keepdim=False):
        if dim is None:
            return folded(p, x, dims_of(x, None), False, name)
        if isinstance(dim, Value):
            return together(p, [x, dim], lambda a, b: f"{name}imum({a}, {b})")
        axes = dims_of(x, dim)
        if not x.rank:
            return each(p, x, lambda e: e), each(p, x, lambda e: "0", "i64")
        return (
            folded(p, x, axes, keepdim, name + "<ties::first>"),
            folded(p, x, axes, keepdim, "arg" + name, element="i64"),
        )

    return rule


op("max.reduction_with_dim", "max.reduction_no_dim", "max.binary")(extremum("max"))
op("min.reduction_with_dim", "min.reduction_no_dim", "min.binary")(extremum("min"))


def variance(p, x, dim, keepdim, correction, root):
    axes = dims_of(x, dim)
    count = math.prod(x.shape[d] for d in axes)
    mean = folded(p, x, axes, True, "mean")
    away = p.define(x.element, x.shape, lambda i: f"{x[i]} - {mean.broadcast(i)}")
    scale = max(count - correction, 0)
    form = "{e} / " + f"{float(scale)!r}"
    return folded(
        p,
        away,
        axes,
        keepdim,
        "sum",
        lambda e: f"{e} * {e}",
        lambda e: f"sqrt({form.format(e=e)})" if root else form.format(e=e),
    )


for _name, _root in (("var", False), ("std", True), ("var.unbiased", False), ("std.unbiased", True)):
    op(_name)(
        lambda p, x, dim=None, keepdim=False, unbiased=None, correction=None, root=_root: variance(
            p,
            x,
            None if isinstance(dim, bool) else dim,
            keepdim,
            (
                (int(dim) if isinstance(dim, bool) else 1 if unbiased is None else int(unbiased))
                if correction is None
                else correction
            ),
            root,
        )
    )


for _name, _log, _sign in (("softmax", False, 1), ("log_softmax", True, 1), ("nn.functional.softmin", False, -1)):

    def _rule(p, x, dim, dtype=None, log=_log, sign=_sign):
        x = as_type(p, x, dtype)
        x = x if sign > 0 else each(p, x, lambda e: f"-({e})")
        if not x.rank:
            return each(p, x, lambda e: f"({e} - {e})" if log else f"exp({e} - {e})")
        return soft(p, x, dim % x.rank, log)

    op(_name)(_rule)


# ---- scans


def scan(name, monoid):
    @op(name)
    def rule(p, x, dim, dtype=None):
        x = as_type(p, x, dtype)
        if not x.rank:
            return each(p, x, lambda e: e)
        d, r = dim % x.rank, p.fresh("r")
        return p.define(x.element, x.shape, lambda i: f"{monoid}({r}.in(0, {i[d]} + 1), {x[at(i, d, r)]})")


scan("cumsum", "sum")
scan("cumprod", "prod")
scan("logcumsumexp", "logsumexp")
