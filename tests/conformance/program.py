"""A program of Sheaf as text, put together definition by definition. All extents are numbers.

p = Program()
x = p.input("x", "f32", (3, 4), data)
y = p.define("f32", (3,), lambda i: p.reduce("sum", [4], lambda r: x[i[0], r[0]]))
"""

import math

import ml_dtypes
import numpy

NAMES = {
    "bool": numpy.bool_,
    "i8": numpy.int8,
    "u8": numpy.uint8,
    "i16": numpy.int16,
    "u16": numpy.uint16,
    "i32": numpy.int32,
    "u32": numpy.uint32,
    "i64": numpy.int64,
    "u64": numpy.uint64,
    "f16": numpy.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": numpy.float32,
    "f64": numpy.float64,
}
ELEMENTS = {numpy.dtype(t): name for name, t in NAMES.items()}
FLOATS = ("f16", "bf16", "f32", "f64")


class Inexpressible(Exception):
    """Why an operator has no program, in a few words."""


def element_of(dtype):
    name = ELEMENTS.get(numpy.dtype(dtype))
    if name is None:
        raise Inexpressible(f"no element type for {numpy.dtype(dtype).name}")
    return name


def number(value, element):
    """A literal of an element type."""
    if element == "bool":
        return "true" if value else "false"
    if element not in FLOATS:
        value = int(value)
        return f"(-{-value}{element})" if value < 0 else f"{value}{element}"
    value = float(value)
    if math.isnan(value):
        return f"cast<{element}>(nan)"
    if math.isinf(value):
        return f"cast<{element}>({'-' if value < 0 else ''}inf)"
    text = f"{abs(value)!r}{element}"
    return f"(-{text})" if math.copysign(1, value) < 0 else text


class Value:
    """A tensor of the program. `known`: its elements, where they are known before the program runs."""

    def __init__(self, program, name, element, shape, known=None):
        self.program, self.name, self.element, self.shape, self.known = program, name, element, tuple(shape), known

    @property
    def rank(self):
        return len(self.shape)

    @property
    def floating(self):
        return self.element in FLOATS

    @property
    def size(self):
        return math.prod(self.shape)

    def __getitem__(self, subscripts):
        subscripts = subscripts if isinstance(subscripts, (tuple, list)) else (subscripts,)
        if len(subscripts) != self.rank:
            raise ValueError(f"{self.name}: {self.rank} subscripts, got {len(subscripts)}")
        if self.known is not None and self.known.size == 1:
            return number(self.known.reshape(()).item(), self.element)
        self.program.use(self)
        return f"{self.name}({', '.join(map(str, subscripts))})" if subscripts else self.name

    def broadcast(self, subscripts):
        """Its element at the subscripts of a shape that it broadcasts to."""
        own = subscripts[len(subscripts) - self.rank :]
        return self[[("0" if n == 1 else s) for s, n in zip(own, self.shape)]]


class Program:
    """wide: what is computed of f16 is f32 until it is returned, which is one operator made of several."""

    def __init__(self, wide=False):
        self.wide = wide
        self.inputs, self.lines, self.arguments, self.outputs, self.counter = [], [], {}, [], 0

    def fresh(self, stem):
        self.counter += 1
        return f"{stem}{self.counter}"

    def input(self, element, shape, data):
        """An argument of the call; `data` is its value in this test."""
        value = Value(self, self.fresh("x"), element, shape)
        value.data = data
        self.declare(value, data)
        if self.kept(element) == element:
            return value
        made = self.define(element, shape, lambda i: value[i])
        made.data = numpy.asarray(data, numpy.float32)
        return made

    def kept(self, element):
        """The element type of what is defined as one of this type."""
        return "f32" if self.wide and element == "f16" else element

    def declare(self, value, data):
        extents = ", ".join(map(str, value.shape))
        self.inputs.append(f"input {value.name}: {value.element}" + (f"[{extents}]" if value.shape else ""))
        self.arguments[value.name] = numpy.ascontiguousarray(data).reshape(value.shape)

    def constant(self, data):
        data = numpy.asarray(data)
        if self.wide and data.dtype == numpy.float16:
            data = data.astype(numpy.float32)
        return Value(self, self.fresh("c"), element_of(data.dtype), data.shape, data)

    def use(self, value):
        if value.known is not None and value.name not in self.arguments:
            self.declare(value, value.known)

    def define(self, element, shape, make):
        if len(shape) > 8:
            raise Inexpressible("more than eight dimensions")
        element = self.kept(element)
        value = Value(self, self.fresh("y"), element, shape)
        indices = [f"i{k}" for k in range(len(shape))]
        body = "0" if 0 in shape else make(indices)
        # As in ONNX each operator rounds; between definitions in one kernel Sheaf need not.
        body = f"cast<f32>({body})" if element in ("f16", "bf16") else body
        domain = ", ".join(f"{i}.in(0, {n})" for i, n in zip(indices, shape))
        self.lines.append(f"{value.name}" + (f"({domain})" if shape else "") + f" = cast<{element}>({body})")
        return value

    def reduce(self, name, extents, make, where=None):
        """name(over(r.in(0, extent), ...), make(r)), where a condition of the indices holds."""
        indices = [self.fresh("r") for _ in extents]
        body = make(indices)
        if not extents:
            return {"any": f"({body})", "all": f"({body})"}.get(name, f"({body})") if where is None else None
        domains = [f"{r}.in(0, {n})" for r, n in zip(indices, extents)]
        if where is not None:
            domains[-1] += f".where({where(indices)})"
        domain = domains[0] if len(domains) == 1 else f"over({', '.join(domains)})"
        return f"{name}({domain}, {body})"

    def output(self, value, element=None):
        """What the call returns, of this element type: a definition of its own."""
        self.wide = False
        made = self.define(element or value.element, value.shape, lambda i: value[i])
        self.outputs.append(made)
        return made

    def text(self):
        return "\n".join(self.inputs + self.lines + ["output " + ", ".join(v.name for v in self.outputs)]) + "\n"


def broadcast_shape(*shapes):
    return numpy.broadcast_shapes(*shapes)


def flat_place(indices, shape):
    """The place of an element in row-major order."""
    place = "0"
    for i, n in zip(indices, shape):
        place = i if place == "0" else f"({place}) * {n} + {i}"
    return place


def digits(place, shape):
    """The subscripts of the element at a place in row-major order."""
    out, stride = [], 1
    for n in reversed(shape):
        here = place if stride == 1 else f"quotient({place}, {stride})"
        out.insert(0, "0" if n == 1 else f"remainder({here}, {n})")
        stride *= n
    return out
