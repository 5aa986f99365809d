"""The workloads in PyTorch: for each row one form or several, of which the fastest counts.

A form is a function of the tensors that gradients are taken of. Index data is prepared outside: that favours the peer.
"""
from dataclasses import dataclass, field
from typing import Any, Callable

import torch
import torch.nn.functional as F


@dataclass
class Row:
    id: str
    name: str  # ends in a colon, or empty
    inputs: list  # what gradients are taken of
    cotangent: Any  # None: the result is a number, or has no gradient
    forms: list  # f(*inputs)
    into: Callable | None = None  # the value into an array that is there
    differentiable: bool = True
    left_out: dict = field(default_factory=dict)  # by peer, why


def prefix_mean(x, low, high):
    """Differences of a running sum; in f64, for in f32 every digit is lost."""
    before = torch.cat((x.new_zeros((1,) + x.shape[1:], dtype=torch.float64), torch.cumsum(x, 0, dtype=torch.float64)))
    size = (high - low).reshape((-1,) + (1,) * (x.dim() - 1))
    return ((before[high] - before[low]) / size).to(x.dtype)


def gathered(d):
    B, T, width = d.x.shape
    places = (d.picks + torch.arange(B)[:, None] * T)
    inputs = [d.x]
    lines = torch.arange(T)

    def given(keep):
        def product(x):
            return torch.bmm(keep.to(x.dtype)[:, None], x)[:, 0] / keep.sum(1, keepdim=True)

        def filled(x):
            return x.masked_fill(~keep[:, :, None], 0).sum(1) / keep.sum(1, keepdim=True)
        return [product, filled]

    def bag(x):
        return F.embedding_bag(places, x.reshape(B * T, width), mode="mean")

    def picked(x):
        return x[torch.arange(B)[:, None], d.picks].mean(1)

    def masked(x):
        keep = (d.picks[:, :, None] == lines).any(1)
        return torch.bmm(keep.to(x.dtype)[:, None], x)[:, 0] / keep.sum(1, keepdim=True)

    def scattered(x):
        keep = torch.zeros(B, T, dtype=x.dtype).scatter_(1, d.picks, 1)
        return torch.bmm(keep[:, None], x)[:, 0] / keep.sum(1, keepdim=True)

    def hot(x):
        keep = F.one_hot(d.picks, T).amax(1)
        return torch.bmm(keep.to(x.dtype)[:, None], x)[:, 0] / keep.sum(1, keepdim=True)

    return [Row("W1", "", inputs, d.dy, [bag, picked]), Row("W2", "given:", inputs, d.dy, given(d.keep)),
            Row("W2", "mask:", inputs, d.dy, [scattered, masked]), Row("W2", "onehot:", inputs, d.dy, [scattered, hot])]


def slices(name, d):
    forms = [lambda x: prefix_mean(x, d.low, d.high)]
    if name == "W3":
        size = d.high - d.low
        begin = torch.cumsum(size, 0) - size
        ids = torch.repeat_interleave(d.low - begin, size) + torch.arange(int(size.sum()))
        forms.insert(0, lambda x: F.embedding_bag(ids, x, begin, mode="mean"))
    return [Row(name, "", [d.x], d.dy, forms)]


def matrix_means(d):
    y = torch.empty(d.x.shape[0])
    ones = torch.ones_like(d.x)
    out = [Row("W5", f"axis{k}:", [d.x], d.dy, [lambda x, k=k: x.mean(k)], lambda k=k: torch.mean(d.x, k, out=y))
           for k in (0, 1)]
    return out + [Row("W6", "", [d.x], None,
                      [lambda x: F.mse_loss(x, ones.to(x.dtype)), lambda x: ((x - 1) ** 2).mean()])]


def pooling(d):
    return [Row("W7", "avg:", [d.x], d.dy, [lambda x: F.avg_pool2d(x, 3, 2, 1)]),
            Row("W7", "max:", [d.x], d.dy, [lambda x: F.max_pool2d(x, 3, 2, 1)])]


def rows(d):
    y = torch.empty_like(d.x)
    return [Row("W8", "", [d.x, d.w, d.b], d.dy, [lambda x, w, b: F.layer_norm(x, (x.shape[1],), w, b, 1e-5)]),
            Row("W9", "softmax:", [d.x], d.dy, [lambda x: torch.softmax(x, 1)],
                lambda: torch._softmax(d.x, 1, False, out=y)),
            Row("W9", "cross_entropy:", [d.x], None, [lambda x: F.cross_entropy(x, d.target)])]


def bags(d):
    def form(mode):
        return [lambda table: F.embedding_bag(d.ids, table, d.off[:-1], mode=mode)]
    return [Row("W10", "sum:", [d.table], d.dy, form("sum")), Row("W10", "mean:", [d.table], d.dy, form("mean")),
            Row("W10", "weighted:", [d.table, d.weight], d.dy,
                [lambda table, weight: F.embedding_bag(d.ids, table, d.off[:-1], mode="sum",
                                                          per_sample_weights=weight)]),
            Row("W10", "max:", [d.table], d.dy, form("max"))]


def segments(d):
    count = len(d.off) - 1
    size = torch.diff(d.off)

    def reduced(x):
        return torch.segment_reduce(x, "mean", offsets=d.off)

    def added(x):
        return x.new_zeros(count).index_add(0, d.segment, x) / size

    def soft(x):
        most = torch.segment_reduce(x.detach(), "max", offsets=d.off)
        e = torch.exp(x - most[d.segment])
        return e / x.new_zeros(count).index_add(0, d.segment, e)[d.segment]

    return [Row("W11", "mean:", [d.x], d.dmeans, [reduced, added]), Row("W11", "softmax:", [d.x], d.dy, [soft])]


def axis_reductions(d):
    out = []
    y, where = torch.empty(d.x.shape[0]), torch.empty(d.x.shape[0], dtype=torch.int64)
    for name, f in (("logsumexp", torch.logsumexp), ("var", torch.var), ("norm", torch.linalg.vector_norm)):
        for k in (0, 1):
            def call(x, k=k, f=f):
                return f(x, dim=k)

            def into(k=k, f=f):
                return f(d.x, dim=k, out=y)
            out.append(Row("W12", f"{name}{k}:", [d.x], d.dy, [call], into))
    return out + [Row("W12", f"argmax{k}:", [d.x], None, [lambda x, k=k: torch.argmax(x, k)],
                      lambda k=k: torch.argmax(d.x, k, out=where), differentiable=False) for k in (0, 1)]


def windows(d):
    n = d.x.shape[0]
    w = d.width

    def running(x):
        before = F.pad(torch.cumsum(x, 0, dtype=torch.float64), (1, 0))
        return ((before[w:] - before[:n - w + 1]) / w).to(x.dtype)
    return [Row("W13", "", [d.x], d.dy, [running])]


def rows_of(ids, d):
    """d holds tensors."""
    if ids[0] in ("W3", "W4"):
        return slices(ids[0], d)
    return {"W1": gathered, "W5": matrix_means, "W7": pooling, "W8": rows, "W10": bags, "W11": segments,
            "W12": axis_reductions, "W13": windows}[ids[0]](d)
