"""PyTorch's operator samples as cases: values, gradients and gradients of gradients, against autograd."""

import warnings

import numpy
import torch

import torch_networks, torch_table, torch_tensors  # noqa: fill the table
from onnx_elementwise import each
from program import FLOATS, NAMES, Inexpressible, Program, Value, element_of
from torch_table import RULES

DTYPES = {torch.float64: "f64", torch.float32: "f32", torch.bfloat16: "bf16"}
MOST_SAMPLES = 12  # of an operator and type


def to_numpy(t):
    t = t.detach().clone()  # a tensor of zeros may have no memory
    if t.dtype == torch.bfloat16:
        return t.to(torch.float32).numpy().astype(NAMES["bf16"])
    return t.numpy().copy()


def differentiated(y, leaves, *seed, **options):
    """Gradients of y; nothing where PyTorch has none."""
    try:
        return torch.autograd.grad(y, leaves, *seed, allow_unused=True, **options)
    except RuntimeError as why:
        if "not implemented" not in str(why):
            raise
        return None


class Case:
    """A sample in one type: the value; in f64 its gradients too."""

    def __init__(self, info, sample, dtype, number):
        self.operator = info.name + (f".{info.variant_test_name}" if info.variant_test_name else "")
        self.name = f"{self.operator}[{DTYPES[dtype]} {number}]"
        self.reason, self.text, self.extra = None, "", []
        # torch.testing.assert_close's.
        self.rtol, self.atol = {"f64": (1e-7, 1e-7), "f32": (1.3e-6, 1e-5), "bf16": (1.6e-2, 1e-5)}[DTYPES[dtype]]
        self.leaves, self.dtype = [], dtype
        try:
            self.build(info, sample, dtype)
        except Inexpressible as why:
            self.reason = str(why)

    def build(self, info, sample, dtype):
        rule = RULES.get(self.operator, RULES.get(info.name))
        p = Program()
        p.read = lambda v: v.data
        given = [self.value(p, a, dtype) for a in (sample.input, *sample.args)]
        options = {k: self.value(p, v, dtype) for k, v in sample.kwargs.items()}
        try:
            made = rule(p, *given, **options)
        except (TypeError, KeyError, ValueError, IndexError, AttributeError, ZeroDivisionError) as why:
            raise Inexpressible(f"arguments that are not written ({why})"[:90]) from None
        found = self.called(info, sample)
        made = [self.narrowed(v) for v in (made if isinstance(made, tuple) else [made])]
        found = list(found) if isinstance(found, (tuple, list)) else [found]
        outputs = [p.output(v) for v in made]
        if dtype == torch.bfloat16:
            found = [t.to(dtype) if t.dtype == torch.float64 else t for t in found]
        self.expected = [to_numpy(t) for t in found]
        if dtype == torch.float64 and found[0].requires_grad and found[0].numel():
            self.gradients(p, outputs[0], found[0])
        self.text, self.arguments = p.text(), p.arguments
        if self.extra:
            self.text = self.text.rstrip("\n") + ", " + ", ".join(self.extra) + "\n"

    def called(self, info, sample):
        """PyTorch's answer. Some have no derivative by targets and their kin, and say so."""
        run = lambda: info.op(
            *[self.plain(a) for a in (sample.input, *sample.args)],
            **{k: self.plain(v) for k, v in sample.kwargs.items()},
        )
        try:
            return run()
        except RuntimeError as why:
            if "not differentiable" not in str(why):
                raise
        for leaf, _ in self.leaves[1:]:
            leaf.requires_grad_(False)
        del self.leaves[1:]
        return run()

    def value(self, p, a, dtype):
        """A tensor argument as an input of the program."""
        if isinstance(a, (list, tuple)) and any(isinstance(v, torch.Tensor) for v in a):
            return [self.value(p, v, dtype) for v in a]
        if not isinstance(a, torch.Tensor):
            return a
        leaf = a.detach().clone()
        data = to_numpy(leaf)
        value = p.input(element_of(data.dtype), data.shape, data)
        if dtype == torch.float64 and leaf.dtype == dtype and leaf.numel():
            leaf.requires_grad_()
            self.leaves.append((leaf, value))
        # Of halves PyTorch's own answer in f64, rounded once: many of its kernels round in between.
        a.sheaf_leaf = leaf.double() if leaf.dtype == torch.bfloat16 else leaf
        value.given = value.element
        if value.element != "bf16":
            return value
        wide = each(p, value, lambda e: f"cast<f32>({e})", "f32")  # as PyTorch, whose functions count in f32
        wide.given = "f64"
        return wide

    def narrowed(self, v):
        """The result in the type of the arguments."""
        if self.dtype != torch.bfloat16 or v.element not in ("f32", "f64"):
            return v
        return each(v.program, v, lambda e: e, "bf16")

    def plain(self, a):
        if isinstance(a, (list, tuple)) and any(isinstance(v, torch.Tensor) for v in a):
            return [v.sheaf_leaf for v in a]
        return a.sheaf_leaf if isinstance(a, torch.Tensor) else a

    def gradients(self, p, y, found):
        """vjp along random cotangents; and the vjp of its product with random directions."""
        generator = torch.Generator().manual_seed(1)
        draw = lambda shape: torch.rand(shape, generator=generator, dtype=torch.float64) + 0.5
        seed = draw(found.shape)
        c = p.input("f64", tuple(found.shape), to_numpy(seed))
        leaves = [t for t, _ in self.leaves]
        first = differentiated(found, leaves, seed, create_graph=True)
        if first is None:
            return
        along = 0
        for (leaf, x), g in zip(self.leaves, first):
            self.extra.append(f"vjp({y.name}, {x.name}, {c.name})")
            self.expected.append(to_numpy(torch.zeros_like(leaf) if g is None else g))
            if g is not None and g.requires_grad:
                v = draw(leaf.shape)
                along = along + (g * v).sum()
                direction = p.input("f64", tuple(leaf.shape), to_numpy(v))
                r = [p.fresh("r") for _ in leaf.shape]
                product = (
                    f"vjp({y.name}, {x.name}, {c.name})({', '.join(r)}) * {direction[r]}"
                    if r
                    else f"vjp({y.name}, {x.name}, {c.name}) * {direction[[]]}"
                )
                domain = ", ".join(f"{s}.in(0, {n})" for s, n in zip(r, leaf.shape))
                name = p.fresh("d")
                p.lines.append(
                    f"{name} = "
                    + (
                        f"sum(over({domain}), {product})"
                        if len(r) > 1
                        else f"sum({domain}, {product})" if r else product
                    )
                )
                self.second = getattr(self, "second", []) + [name]
        if not torch.is_tensor(along):
            return
        total = p.fresh("d")
        p.lines.append(f"{total} = " + " + ".join(self.second))
        second = differentiated(along, leaves) or []
        for (leaf, x), g in zip(self.leaves, second):
            self.extra.append(f"grad({total}, {x.name})")
            self.expected.append(to_numpy(torch.zeros_like(leaf) if g is None else g))


def cases(pattern=""):
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_methods_invocations import op_db

    made = []
    for info in op_db:
        name = info.name + (f".{info.variant_test_name}" if info.variant_test_name else "")
        if (name not in RULES and info.name not in RULES) or pattern not in name:
            continue
        for dtype in DTYPES:
            if dtype not in info.dtypes:
                continue
            torch.manual_seed(0)
            for k, sample in enumerate(info.sample_inputs("cpu", dtype, requires_grad=False)):
                if k == MOST_SAMPLES:
                    break
                made.append(Case(info, sample, dtype, k))
    return made
