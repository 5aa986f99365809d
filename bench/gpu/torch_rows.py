"""The rows of bench_gpu in torch.compile: `row torch:ID what ms`, medians by events. Stops when its seconds are used up.

Usage: torch_rows.py [SECONDS [ID...]]
"""
import sys
import time

import torch
import torch.nn.functional as F

limit = time.monotonic() + float(sys.argv[1] if len(sys.argv) > 1 else 240)
wanted = set(sys.argv[2:])
device = "cuda"


def median_of(call, repeats=21):
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    times = []
    for _ in range(repeats):
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record()
        call()
        last.record()
        last.synchronize()
        times.append(first.elapsed_time(last))
    return sorted(times)[repeats // 2]


def row(name, f, inputs, cotangent, others=()):
    """Forward, and forward with the gradients of `inputs`; each compiled anew."""
    id, _, what = name.partition(" ")
    what = what + ":" if what else ""
    if wanted and id not in wanted:
        return
    for backward in (False, True):
        if time.monotonic() > limit:
            print(f"note torch:{id} {what} not measured: the time is used up", flush=True)
            return
        torch._dynamo.reset()
        compiled = torch.compile(f, dynamic=False)
        if backward:
            leaves = [x.detach().requires_grad_() for x in inputs]

            def call():
                y = compiled(*leaves, *others)
                torch.autograd.grad(y, leaves, cotangent)
        else:
            def call():
                with torch.no_grad():
                    compiled(*inputs, *others)
        try:
            ms = median_of(call)
            print(f"row torch:{id} {what}forward{'+backward' if backward else ''} {ms:.6g} ms 0 0", flush=True)
        except Exception as e:  # one row that fails is no reason to lose the others
            print(f"note torch:{id} {what} failed: {type(e).__name__}: {str(e).splitlines()[0]}", flush=True)


def random(low, high, *shape):
    return torch.empty(shape, device=device).uniform_(low, high)


def dense():
    side = 32768
    x, dy = random(-1, 1, side, side), random(-1, 1, side)
    row("W5 axis0", lambda x: x.mean(0), [x], dy)
    row("W5 axis1", lambda x: x.mean(1), [x], dy)
    row("W6", lambda x: ((x - 1) * (x - 1)).mean(), [x], None)
    for name, f in (("logsumexp", torch.logsumexp), ("var", torch.var), ("norm", lambda x, d: torch.linalg.vector_norm(x, dim=d))):
        for d in (0, 1):
            row(f"W12 {name}{d}", lambda x, f=f, d=d: f(x, d), [x], dy)


def rows():
    count, width = 262144, 1024
    x, dy = random(-4, 4, count, width), random(-1, 1, count, width)
    w, b = random(0.5, 1.5, width), random(-1, 1, width)
    row("W8", lambda x, w, b: F.layer_norm(x, (width,), w, b), [x, w, b], dy)
    row("W9 softmax", lambda x: torch.softmax(x, 1), [x], dy)
    target = torch.randint(width, (count,), device=device)
    row("W9 cross_entropy", lambda x, t: F.cross_entropy(x, t), [x], None, [target])


def gathers():
    B, T, width, K = 512, 2048, 256, 64
    x, dy = random(0, 1, B, T, width), random(-1, 1, B, width)
    picks = torch.randint(T, (B, K), device=device)
    row("W1", lambda x, p: torch.gather(x, 1, p[:, :, None].expand(B, K, width)).mean(1), [x], dy, [picks])
    keep = torch.zeros(B, T, device=device, dtype=torch.bool).scatter_(1, picks, True)
    row("W2", lambda x, k: torch.bmm(k.to(x.dtype)[:, None], x)[:, 0] / k.sum(1, keepdim=True), [x], dy, [keep])


def bags():
    words, width, count = 1000000, 128, 262144
    table, dy = random(-1, 1, words, width), random(-1, 1, count, width)
    size = torch.randint(1, 101, (count,), device=device)
    off = torch.cumsum(size, 0) - size
    rank = (float(words) ** torch.rand(int(size.sum()), device=device, dtype=torch.float64) - 1).long()
    ids = rank * 611953 % words
    row("W10 sum", lambda t, i, o: F.embedding_bag(i, t, o, mode="sum"), [table], dy, [ids, off])


def windows():
    x, dy = random(-1, 1, 128, 64, 224, 224), random(-1, 1, 128, 64, 112, 112)
    row("W7 avg", lambda x: F.avg_pool2d(x, 3, 2, 1), [x], dy)
    row("W7 max", lambda x: F.max_pool2d(x, 3, 2, 1), [x], dy)
    s, ds = random(0, 1, 1, 1, 1 << 28), random(-1, 1, 1, 1, (1 << 28) - 1023)
    row("W13", lambda x: F.avg_pool1d(x, 1024, 1), [s], ds)


for group in (rows, dense, gathers, bags, windows):
    try:
        group()
    except Exception as e:
        print(f"note torch {group.__name__} failed: {type(e).__name__}: {str(e).splitlines()[0]}", flush=True)
    torch.cuda.empty_cache()
