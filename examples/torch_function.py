#!/usr/bin/env python3
"""Sheaf kernels as a torch.autograd.Function: PyTorch calls the value and the gradient of a program made ahead of time.

The kernels, in a file layer.sheaf of sheaf_add_kernels(layer SOURCES layer.sheaf SHARED):

    kernel value
    input x: f64[?, ?]
    input cut: i64[?, ?]
    y(m, f) = mean(t.in(cut(m, 0), cut(m, 1)), x(t, f))
    kernel gradient
    input x: f64[?, ?]
    input cut: i64[?, ?]
    input dy: f64[?, ?]
    y(m, f) = mean(t.in(cut(m, 0), cut(m, 1)), x(t, f))
    output vjp(y, x, dy)

Usage: torch_function.py LIBRARY.so MANIFEST.json
"""
import sys

import numpy
import torch

from ahead_of_time import Kernels


class RaggedMean(torch.autograd.Function):
    """Means of the rows [cut[m, 0], cut[m, 1]) of x. Tensors are shared with the kernels, not copied,
    with any strides."""

    kernels = None

    @staticmethod
    def forward(ctx, x, cut):
        ctx.save_for_backward(x, cut)
        (y,) = RaggedMean.kernels.value(x=x.detach().numpy(), cut=cut.numpy())
        return torch.from_numpy(y)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy):
        x, cut = ctx.saved_tensors
        (dx,) = RaggedMean.kernels.gradient(x=x.detach().numpy(), cut=cut.numpy(), dy=dy.numpy())
        return torch.from_numpy(dx), None


def main():
    RaggedMean.kernels = Kernels(sys.argv[1], sys.argv[2])
    torch.manual_seed(0)
    cut = torch.tensor([[3, 5], [1, 8], [4, 8], [6, 9]])
    x = torch.randn(10, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(RaggedMean.apply, (x, cut))
    strided = torch.randn(4, 20, dtype=torch.float64).t()[::2].requires_grad_()
    assert torch.autograd.gradcheck(RaggedMean.apply, (strided, cut))

    layer = torch.nn.Linear(4, 1, dtype=torch.float64)  # trained together with PyTorch's own layers
    target = torch.from_numpy(numpy.array([[1.0], [2.0], [3.0], [4.0]]))
    adam = torch.optim.Adam([x, *layer.parameters()], lr=0.1)
    losses = []
    for _ in range(50):
        loss = torch.nn.functional.mse_loss(layer(RaggedMean.apply(x, cut)), target)
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(loss.item())
    assert losses[-1] < 0.1 * losses[0], losses
    print("gradcheck: passed; a training loop lowers its loss")


if __name__ == "__main__":
    main()
