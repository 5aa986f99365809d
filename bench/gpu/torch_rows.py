"""The rows of bench_gpu in torch.compile: `row torch:ID what ms`, medians by events.
 Stops when its seconds are used up.

Usage: torch_rows.py [--warm] [SECONDS [ID...]]
--warm only compiles, for the caches on disk (TORCHINDUCTOR_CACHE_DIR).
"""
import sys
import time

import torch
import torch.nn.functional as F

words = sys.argv[1:]
warm = "--warm" in words[:1]
words = words[warm:]
limit = time.monotonic() + float(words[0] if words else 240)
wanted = set(words[1:])
device = "cuda"


def median_of(call, repeats=1 if warm else 21):
    for _ in range(0 if warm else 3):
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


def row(name, f, inputs, cotangent, others=(), whole=False):
    """Forward, and forward with the gradients of `inputs`; each compiled anew.
    whole: the value alone, and its row has that name."""
    id, _, what = name.partition(" ")
    what = what + ":" if what and not whole else what
    if wanted and id not in wanted:
        return
    for gradients in (False,) if whole else (False, True):
        kind = "" if whole else "forward+backward" if gradients else "forward"
        if time.monotonic() > limit:
            print(f"note torch:{id} {what}{kind} not measured: the time is used up", flush=True)
            return
        torch._dynamo.reset()
        compiled = torch.compile(f, dynamic=False)
        if gradients:
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
            print(f"row torch:{id} {what}{kind} {ms:.6g} ms 0 0", flush=True)
        except Exception as e:  # one row that fails is no reason to lose the others
            print(f"note torch:{id} {what}{kind} failed: {type(e).__name__}: {str(e).splitlines()[0]}", flush=True)


def random(low, high, *shape):
    return torch.empty(shape, device=device).uniform_(low, high)


def sums():
    row("sum 1GB", torch.sum, [random(0, 1, 1 << 28)], None, whole=True)


def dense():
    side = 32768
    x, dy = random(-1, 1, side, side), random(-1, 1, side)
    row("W5 axis0", lambda x: x.mean(0), [x], dy)
    row("W5 axis1", lambda x: x.mean(1), [x], dy)
    row("W6", lambda x: ((x - 1) * (x - 1)).mean(), [x], None)
    for name, f in (("logsumexp", torch.logsumexp), ("var", torch.var),
                    ("norm", lambda x, d: torch.linalg.vector_norm(x, dim=d))):
        for d in (0, 1):
            row(f"W12 {name}{d}", lambda x, f=f, d=d: f(x, d), [x], dy)
    for d in (0, 1):
        row(f"W12 argmax{d}:forward", lambda x, d=d: torch.argmax(x, d), [x], None, whole=True)


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

    def given(x, k):
        return torch.bmm(k.to(x.dtype)[:, None], x)[:, 0] / k.sum(1, keepdim=True)

    def mask(x, p):
        return given(x, torch.zeros(B, T, device=device, dtype=torch.bool).scatter(1, p, True))

    def onehot(x, p):
        return given(x, torch.zeros(B, T, device=device).scatter(1, p, 1.0))

    row("W2 given", given, [x], dy, [keep])
    row("W2 mask", mask, [x], dy, [picks])
    row("W2 onehot", onehot, [x], dy, [picks])


def gather_gradient():
    words, width = 1 << 20, 128
    count = 2 * words
    ids, dy = torch.randint(words, (count,), device=device), random(-1, 1, count, width)
    # The gradient alone, as an expression; sums differ from run to run.
    row("gather_gradient each_call", lambda dy, i: torch.zeros(words, width, device=device).index_add(0, i, dy),
        [dy], None, [ids],
        whole=True)


def slices():
    T, width = 262144 * 16, 128
    x = random(0, 1, T, width)
    sizes = torch.randint(32, 96, (65536,), device=device)
    ends = torch.clamp(torch.cumsum(sizes, 0), max=T)
    begins = torch.cat([ends.new_zeros(1), ends[:-1]])
    everything = torch.arange(T, device=device)
    row("W3", lambda x, i, b: F.embedding_bag(i, x, b, mode="mean"), [x], random(-1, 1, 65536, width),
        [everything[: int(ends[-1])], begins])
    low = torch.randint(T - 1536, (1048576,), device=device)
    high = low + torch.randint(512, 1536, (1048576,), device=device)

    def running(x, low, high):
        total = F.pad(torch.cumsum(x, 0, dtype=torch.float64), (0, 0, 1, 0))
        return ((total[high] - total[low]) / (high - low)[:, None]).float()

    row("W4", running, [x], random(-1, 1, 1048576, width), [low, high])


def segments():
    elements = 1 << 26
    x, dy = random(-4, 4, elements), random(-1, 1, elements)
    sizes = torch.clamp(1 / (1e-5 + torch.rand(elements // 8, device=device)), max=1e5).long()
    sizes = sizes[: int((torch.cumsum(sizes, 0) < elements).sum())]
    sizes = torch.cat([sizes, (elements - sizes.sum())[None]])
    off = F.pad(torch.cumsum(sizes, 0), (1, 0))
    of = torch.repeat_interleave(torch.arange(len(sizes), device=device), sizes)

    def mean(x, off):
        return torch.segment_reduce(x, "mean", offsets=off, axis=0)

    def soft(x, off, of):
        top = torch.segment_reduce(x, "max", offsets=off, axis=0)
        e = torch.exp(x - top[of])
        return e / torch.segment_reduce(e, "sum", offsets=off, axis=0)[of]

    row("W11 mean", mean, [x], random(-1, 1, len(sizes)), [off])
    row("W11 softmax", soft, [x], dy, [off, of])
    row("segmented power_law", lambda x, off: torch.segment_reduce(x, "sum", offsets=off, axis=0), [x], None, [off],
        whole=True)


def bags():
    words, width, count = 1000000, 128, 262144
    table, dy = random(-1, 1, words, width), random(-1, 1, count, width)
    size = torch.randint(1, 101, (count,), device=device)
    off = torch.cumsum(size, 0) - size
    rank = (float(words) ** torch.rand(int(size.sum()), device=device, dtype=torch.float64) - 1).long()
    ids = rank * 611953 % words
    for mode in ("sum", "mean", "max"):
        row(f"W10 {mode}", lambda t, i, o, mode=mode: F.embedding_bag(i, t, o, mode=mode), [table], dy, [ids, off])
    share = random(0, 1, len(ids))
    row("W10 weighted", lambda t, w, i, o: F.embedding_bag(i, t, o, mode="sum", per_sample_weights=w),
        [table, share], dy, [ids, off])


def windows():
    x, dy = random(-1, 1, 128, 64, 224, 224), random(-1, 1, 128, 64, 112, 112)
    row("W7 avg", lambda x: F.avg_pool2d(x, 3, 2, 1), [x], dy)
    row("W7 max", lambda x: F.max_pool2d(x, 3, 2, 1), [x], dy)
    s, ds = random(0, 1, 1, 1, 1 << 28), random(-1, 1, 1, 1, (1 << 28) - 1023)
    row("W13", lambda x: F.avg_pool1d(x, 1024, 1), [s], ds)


def products():
    side = 4096  # f32 as it is defined: allow_tf32 is off, unless someone sets it
    for name, kind in (("f32", torch.float32), ("f16", torch.float16), ("bf16", torch.bfloat16)):
        a, b, dy = (random(-1, 1, side, side).to(kind) for _ in range(3))
        row(f"matmul {name}", torch.matmul, [a, b], dy)


def catalogue():
    """Rows of the catalogue, by PyTorch's own kernels: one function each, so there is nothing to compile."""
    def eager(name, f, *inputs):
        if warm or (wanted and "catalogue" not in wanted):
            return
        if time.monotonic() > limit:
            print(f"note torch:catalogue {name} not measured: the time is used up", flush=True)
            return
        try:
            with torch.no_grad():
                print(f"row torch:catalogue {name} {median_of(lambda: f(*inputs)):.6g} ms 0 0", flush=True)
        except Exception as e:
            print(f"note torch:catalogue {name} failed: {type(e).__name__}: {str(e).splitlines()[0]}", flush=True)

    x, y = random(0, 1, 16384, 16384), random(0, 1, 16384, 16384)
    w, keep = random(0, 1, 16384), torch.rand(16384, 16384, device=device) < 0.5
    h = x.half()
    eager("map:gelu", F.gelu, x)
    eager("map:add", torch.add, x, y)
    eager("map:columns", torch.mul, x, w)
    eager("map:halves", torch.add, h, h)
    eager("map:cast", lambda x: x.half(), x)
    eager("map:select", lambda k, x: torch.where(k, x, 0), keep, x)
    eager("map:transpose", lambda x: x.t().contiguous(), x)
    del y, keep
    eager("sum:all", torch.sum, x)
    for d in (0, 1):
        eager(f"sum:axis{d}", lambda x, d=d: torch.sum(x, d), x)
        eager(f"logsumexp:axis{d}", lambda x, d=d: torch.logsumexp(x, d), x)
        eager(f"var:axis{d}", lambda x, d=d: torch.var(x, d), x)
        eager(f"cumsum:axis{d}", lambda x, d=d: torch.cumsum(x, d), x)
    eager("sum:halves", lambda h: torch.sum(h, 1, dtype=torch.float32), h)
    eager("max:axis0", lambda x: torch.amax(x, 0), x)
    eager("argmax:axis0", lambda x: torch.argmax(x, 0), x)
    eager("cummax:axis1", lambda x: torch.cummax(x, 1)[0], x)
    eager("matrix_vector", torch.mv, x, w)
    z = x.view(-1)
    eager("cumsum:line", lambda z: torch.cumsum(z, 0), z)
    eager("window:mean", lambda z: F.avg_pool1d(z[None, None], 1024, 1), z)
    eager("histogram", lambda z: torch.histc(z, 256, 0, 1), z)
    del h
    rows = random(0, 1, 262144, 1024)
    ids = torch.randint(1024, (262144,), device=device)
    eager("softmax", lambda x: torch.softmax(x, 1), rows)
    eager("cross_entropy", F.cross_entropy, rows, ids)
    eager("softmax:8192", lambda x: torch.softmax(x, 1), rows.view(32768, 8192))
    eager("softmax:64", lambda x: torch.softmax(x, 1), rows.view(-1, 64))
    eager("layer_norm", lambda x: F.layer_norm(x, (1024,)), rows)
    eager("max_pool", lambda x: F.max_pool2d(x, 3, 2, 1), random(0, 1, 128, 64, 224, 224))
    del x, z, rows
    n = torch.randint(16, (1 << 26,), device=device)
    eager("bincount:16", lambda n: torch.bincount(n, minlength=16), n)
    n = torch.randint(4096, (1 << 26,), device=device)
    eager("bincount:4096", lambda n, w: torch.bincount(n, w, 4096), n, random(0, 1, 1 << 26))
    n = torch.randint(65536, (1 << 26,), device=device)
    eager("bincount:weights", lambda n, w: torch.bincount(n, w, 65536), n, random(0, 1, 1 << 26))
    table = random(0, 1, 1 << 20, 128)
    picks = torch.randint(1 << 20, (1 << 21,), device=device)
    eager("gather", lambda t, i: t[i], table, picks)
    eager("gather:gradient", lambda d, i: torch.zeros_like(table).index_add(0, i, d), random(0, 1, 1 << 21, 128), picks)
    off = torch.linspace(0, 1 << 20, 65537, device=device).long()
    eager("segment_sum:rows", lambda t, o: torch.segment_reduce(t, "sum", offsets=o, axis=0), table, off)
    off = torch.linspace(0, 1 << 21, 65537, device=device).long()[:-1]
    eager("bag:sum", lambda t, i, o: F.embedding_bag(i, t, o, mode="sum"), table, picks, off)
    a, b = random(-1, 1, 4096, 4096), random(-1, 1, 4096, 4096)
    eager("matmul:4096", torch.matmul, a, b)
    eager("matmul_bf16:4096", torch.matmul, a.bfloat16(), b.bfloat16())
    a, b, d = a.half(), b.half(), random(-1, 1, 4096, 4096).half()
    eager("matmul_f16:gradients", lambda a, b, d: (d @ b.t(), a.t() @ d), a, b, d)


for group in (sums, rows, dense, gathers, bags, windows, slices, segments, gather_gradient, products,
              catalogue):
    try:
        group()
    except Exception as e:
        print(f"note torch {group.__name__} failed: {type(e).__name__}: {str(e).splitlines()[0]}", flush=True)
    torch.cuda.empty_cache()
