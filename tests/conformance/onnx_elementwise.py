"""ONNX operators that take each element by itself."""

import numpy
import onnx

from onnx_table import attributes, element_of_onnx, op
from program import FLOATS, Inexpressible, NAMES, broadcast_shape, number


def each(p, x, make, element=None):
    """A definition of x's shape: make(expression of an element)."""
    return p.define(element or x.element, x.shape, lambda i: make(x[i]))


def together(p, values, make, element=None):
    """The same of several that broadcast to one shape."""
    shape = broadcast_shape(*[v.shape for v in values])
    return p.define(element or values[0].element, shape, lambda i: make(*[v.broadcast(i) for v in values]))


UNARY = {
    "Abs": "abs({x})",
    "Acos": "acos({x})",
    "Acosh": "acosh({x})",
    "Asin": "asin({x})",
    "Asinh": "asinh({x})",
    "Atan": "atan({x})",
    "Atanh": "atanh({x})",
    "Ceil": "ceil({x})",
    "Cos": "cos({x})",
    "Cosh": "cosh({x})",
    "Erf": "erf({x})",
    "Exp": "exp({x})",
    "Floor": "floor({x})",
    "Identity": "{x}",
    "Log": "log({x})",
    "Neg": "-({x})",
    "Reciprocal": "1 / {x}",
    "Relu": "relu({x})",
    "Round": "round({x})",
    "Sigmoid": "sigmoid({x})",
    "Sign": "sign({x})",
    "Sin": "sin({x})",
    "Sinh": "sinh({x})",
    "Softplus": "softplus({x})",
    "Softsign": "{x} / (1 + abs({x}))",
    "Sqrt": "sqrt({x})",
    "Tan": "tan({x})",
    "Tanh": "tanh({x})",
    "BitwiseNot": "bit_not({x})",
    "HardSwish": "{x} * clamp({x} / 6 + 0.5, 0, 1)",
    "Mish": "{x} * tanh(softplus({x}))",
}
for name, form in UNARY.items():
    op(name)(lambda p, n, x, form=form: [each(p, x[0], lambda e: form.format(x=e))])

for name, form in {"Not": "!{x}", "IsNaN": "isnan({x})"}.items():
    op(name)(lambda p, n, x, form=form: [each(p, x[0], lambda e: form.format(x=e), "bool")])

BINARY = {
    "Add": "{a} + {b}",
    "Sub": "{a} - {b}",
    "Mul": "{a} * {b}",
    "BitwiseAnd": "bit_and({a}, {b})",
    "BitwiseOr": "bit_or({a}, {b})",
    "BitwiseXor": "bit_xor({a}, {b})",
}
for name, form in BINARY.items():
    op(name)(lambda p, n, x, form=form: [together(p, x, lambda a, b: form.format(a=a, b=b))])

TRUTHS = {
    "And": "{a} && {b}",
    "Or": "{a} || {b}",
    "Xor": "{a} != {b}",
    "Equal": "{a} == {b}",
    "Less": "{a} < {b}",
    "LessOrEqual": "{a} <= {b}",
    "Greater": "{a} > {b}",
    "GreaterOrEqual": "{a} >= {b}",
}
for name, form in TRUTHS.items():
    op(name)(lambda p, n, x, form=form: [together(p, x, lambda a, b: form.format(a=a, b=b), "bool")])


@op("Div")
def div(p, n, x):
    if x[0].floating:
        return [together(p, x, lambda a, b: f"{a} / {b}")]
    # Towards zero, as C++.
    return [together(p, x, lambda a, b: f"sign({a}) * sign({b}) * quotient(abs({a}), abs({b}))")]


@op("Pow")
def power(p, n, x):
    wide = "f64" if x[0].element == "f64" or not x[0].floating else "f32"
    return [together(p, x, lambda a, b: f"pow(cast<{wide}>({a}), cast<{wide}>({b}))")]


@op("Mod")
def mod(p, n, x):
    name = "fmod" if attributes(n).get("fmod", 0) else "remainder"
    return [together(p, x, lambda a, b: f"{name}({a}, {b})")]


@op("BitShift")
def shift(p, n, x):
    name = "shift_left" if attributes(n)["direction"] == b"LEFT" else "shift_right"
    return [together(p, x, lambda a, b: f"{name}({a}, {b})")]


def folded(name, form):
    @op(name)
    def variadic(p, n, x):
        total = x[0]
        for value in x[1:]:
            total = together(p, [total, value], lambda a, b: form.format(a=a, b=b))
        return [each(p, total, lambda e: f"{e} / {len(x)}") if name == "Mean" else total]


for name, form in {
    "Max": "maximum({a}, {b})",
    "Min": "minimum({a}, {b})",
    "Sum": "{a} + {b}",
    "Mean": "{a} + {b}",
}.items():
    folded(name, form)


@op("Where")
def where(p, n, x):
    shape = broadcast_shape(*[v.shape for v in x])
    return [p.define(x[1].element, shape, lambda i: "where({}, {}, {})".format(*[v.broadcast(i) for v in x]))]


@op("IsInf")
def is_inf(p, n, x):
    a = attributes(n)
    signs = [s for s, wanted in (("inf", a.get("detect_positive", 1)), ("-inf", a.get("detect_negative", 1))) if wanted]
    return [each(p, x[0], lambda e: " || ".join(f"{e} == {s}" for s in signs) or "false", "bool")]


@op("Clip")
def clip(p, n, x):
    low, high = (x + [None, None])[1:3]

    def make(e):
        e = f"maximum({e}, {low[()]})" if low is not None else e
        return f"minimum({e}, {high[()]})" if high is not None else e

    return [each(p, x[0], make)]


@op("Elu", "Celu", "Selu", "LeakyRelu", "ThresholdedRelu", "HardSigmoid", "Shrink", "Swish", "Gelu", "Binarizer")
def activation(p, n, x):
    a = attributes(n)
    alpha, beta, gamma = a.get("alpha"), a.get("beta", 0.5), a.get("gamma", 1.0507009873554805)
    one = 1.0 if alpha is None else alpha
    forms = {
        "Elu": f"where({{x}} < 0, {one} * expm1({{x}}), {{x}})",
        "Celu": f"maximum({{x}}, 0) + minimum({one} * expm1({{x}} / {one}), 0)",
        "Selu": f"{gamma} * where({{x}} > 0, {{x}}, {1.6732632423543772 if alpha is None else alpha} * expm1({{x}}))",
        "LeakyRelu": f"where({{x}} < 0, {0.01 if alpha is None else alpha} * {{x}}, {{x}})",
        "ThresholdedRelu": f"where({{x}} > {one}, {{x}}, 0)",
        "HardSigmoid": f"clamp({0.2 if alpha is None else alpha} * {{x}} + {beta}, 0, 1)",
        "Shrink": "where({{x}} < -({l}), {{x}} + {b}, where({{x}} > {l}, {{x}} - {b}, 0))".format(
            l=a.get("lambd", 0.5), b=a.get("bias", 0.0)
        ),
        "Swish": f"{{x}} * sigmoid({one} * {{x}})",
        "Gelu": "gelu_tanh({x})" if a.get("approximate") == b"tanh" else "gelu({x})",
        "Binarizer": f"where({{x}} > {a.get('threshold', 0.0)}, 1, 0)",
    }
    return [each(p, x[0], lambda e: forms[n.op_type].format(x=e))]


@op("PRelu")
def prelu(p, n, x):
    return [
        p.define(
            x[0].element, x[0].shape, lambda i: f"where({x[0][i]} < 0, {x[1].broadcast(i)} * {x[0][i]}, {x[0][i]})"
        )
    ]


@op("Cast")
def cast(p, n, x):
    to = p.kept(element_of_onnx(attributes(n)["to"]))
    return [each(p, x[0], lambda e: f"cast<{to}>({e})", to)]


@op("CastLike")
def cast_like(p, n, x):
    return [each(p, x[0], lambda e: f"cast<{x[1].element}>({e})", x[1].element)]


@op("Dropout")
def dropout(p, n, x):
    ratio = 0.5 if len(x) < 2 or x[1] is None else float(p.read(x[1]))
    training = len(x) > 2 and x[2] is not None and bool(p.read(x[2]))
    if training and ratio != 0:
        raise Inexpressible("random numbers")
    mask = p.define("bool", x[0].shape, lambda i: "true")
    return [each(p, x[0], lambda e: e), mask]


@op("SwiGLU")
def swiglu(p, n, x):
    alpha = attributes(n).get("alpha", 1.0)
    return [together(p, x, lambda a, b: f"{a} * sigmoid({alpha} * {a}) * {b}")]


def quantised_range(element):
    low, high = numpy.iinfo(NAMES[element]).min, numpy.iinfo(NAMES[element]).max
    return f"({low})" if low < 0 else str(low), str(high)


def by_blocks(n, x, values):
    """Subscripts of a scale or zero point: of the whole, of an axis, or of blocks along it."""
    a = attributes(n)
    axis, block = a.get("axis", 1), a.get("block_size", 0)
    axis += x.rank if axis < 0 else 0

    def subscripts(i):
        if values.rank == 0 or values.size == 1:
            return ["0"] * values.rank
        if values.rank == 1 and x.rank != 1:
            return [i[axis]]
        return [f"quotient({s}, {block})" if k == axis and block else s for k, s in enumerate(i)]

    return subscripts


@op("QuantizeLinear")
def quantize(p, n, x):
    a = attributes(n)
    to = x[2].element if len(x) > 2 and x[2] is not None else "u8"
    if a.get("output_dtype", 0):
        to = element_of_onnx(a["output_dtype"])
    low, high = quantised_range(to)
    wide = element_of_onnx(a["precision"]) if a.get("precision", 0) else x[1].element

    def make(i):
        at = by_blocks(n, x[0], x[1])(i)
        level = f"round(cast<{wide}>({x[0][i]}) / cast<{wide}>({x[1][at]}))"
        zero = x[2][by_blocks(n, x[0], x[2])(i)] if len(x) > 2 and x[2] is not None else "0"
        return f"clamp({level} + cast<f32>({zero}), {low}, {high})"

    return [p.define(to, x[0].shape, make)]


@op("DequantizeLinear")
def dequantize(p, n, x):
    a = attributes(n)
    to = element_of_onnx(a["output_dtype"]) if a.get("output_dtype", 0) else x[1].element

    def make(i):
        zero = f"cast<f32>({x[2][by_blocks(n, x[0], x[2])(i)]})" if len(x) > 2 and x[2] is not None else "0"
        return f"(cast<f32>({x[0][i]}) - {zero}) * cast<f32>({x[1][by_blocks(n, x[0], x[1])(i)]})"

    return [p.define(to, x[0].shape, make)]


@op("DynamicQuantizeLinear")
def dynamic_quantize(p, n, x):
    v = x[0]
    low = p.define("f32", (), lambda i: f"minimum({p.reduce('min', v.shape, lambda r: v[r])}, 0)")
    high = p.define("f32", (), lambda i: f"maximum({p.reduce('max', v.shape, lambda r: v[r])}, 0)")
    scale = p.define("f32", (), lambda i: f"({high[i]} - {low[i]}) / 255")
    zero = p.define("u8", (), lambda i: f"clamp(round(-({low[i]}) / {scale[i]}), 0, 255)")
    level = p.define("u8", v.shape, lambda i: f"clamp(round({v[i]} / {scale[()]}) + cast<f32>({zero[()]}), 0, 255)")
    return [level, scale, zero]
