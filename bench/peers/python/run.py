"""run.py [--peers torch,compile,jax,numpy] [ID...]: the workloads in the Python peers.

A line each, as the C++ programs report them: peer NAME ID WHAT ms MS ERROR. The error is against PyTorch in f64.
"""
import argparse
import functools
import os
import statistics
import sys
import time
import warnings

warnings.filterwarnings("ignore")
import numpy as np
import torch

import data
import torch_rows

NAMES = {"torch": "PyTorch", "compile": "torch.compile", "jax": "JAX", "numpy": "NumPy"}
FLUSH = [np.ones(1 << 24, np.float32), np.ones(1 << 24, np.float32)]  # 64 MB each


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


AWAKE = torch.ones(1 << 18)


def wake_torch():
    torch.sqrt(AWAKE)


@functools.cache
def jax_sum():
    import jax
    return jax.jit(lambda x: (x * x).sum())


def wake_jax():
    jax_sum()(AWAKE.numpy()).block_until_ready()

#Wakes a peer's threads, as the call before has done where calls follow each other, see bench/support/pairs.hpp.
# NumPy has none.
WAKE = {"torch": wake_torch, "compile": wake_torch, "jax": wake_jax, "numpy": lambda: None}


def timed(call, wake, patience=1.2, repeats=7):
    """Milliseconds, caches cold as in bench/workloads, and the last result.
    The first run, which compiles, never counts."""
    result, spent = call(), []
    start = time.perf_counter()
    for k in range(-1, repeats):
        result = None  # its memory is what the next one gets
        np.copyto(FLUSH[1], FLUSH[0])
        wake()
        before = time.perf_counter()
        result = call()
        after = time.perf_counter()
        if k >= 0 or after - before > patience:
            spent.append(1e3 * (after - before))
        if spent and after - start > patience:
            break
    return statistics.median(spent), result


def error_of(got, want):
    worst = 0.0
    for g, w in zip(got, want):
        g, w = np.asarray(g).reshape(-1), np.asarray(w).reshape(-1)
        step = 1 << 22
        apart = max(float(np.abs(g[k:k + step].astype(np.float64) - w[k:k + step]).max())
                    for k in range(0, len(w), step))
        worst = max(worst, apart / (float(max(abs(w.max()), abs(w.min()))) or 1.0))
    return worst


def report(peer, row, what, ms, error):
    progress("")
    print(f"peer {NAMES[peer]} {row.id} {row.name}{what} ms {ms:.6g} {error:.2g}", flush=True)


def values(form, inputs):
    with torch.no_grad():
        return [form(*inputs)]


def with_gradients(form, inputs, cotangent):
    leaves = [t.detach().requires_grad_() for t in inputs]
    y = form(*leaves)
    return [y.detach(), *torch.autograd.grad(y, leaves, cotangent)]


def reference(row):
    doubles = [t.double() for t in row.inputs]
    if not row.differentiable:
        return [t.numpy() for t in values(row.forms[0], row.inputs)]
    cotangent = None if row.cotangent is None else row.cotangent.double()
    return [t.numpy() for t in with_gradients(row.forms[0], doubles, cotangent)]


def measure(peer, row, wanted, forward, both):
    for what, calls in (("forward", forward), ("forward+backward", both)):
        best = None
        for call in calls:
            progress(f"{row.id} {row.name}{what}: {NAMES[peer]}")
            try:
                ms, got = timed(call, WAKE[peer])
            except Exception as e:  # a form that this peer can't do
                print(f"note {NAMES[peer]} {row.id} {row.name}{what}: {type(e).__name__}: "
                      f"{str(e).splitlines()[0][:100]}")
                continue
            if best is None or ms < best[0]:
                best = (ms, error_of(got, wanted))
            del got
        if best is not None:
            report(peer, row, what, *best)


def measure_torch(peer, row, wanted):
    forms = row.forms
    if peer == "compile":
        torch._dynamo.reset()
        forms = [torch.compile(f, dynamic=False) for f in forms]
    forward = [lambda f=f: values(f, row.inputs) for f in forms]
    if row.into is not None and peer == "torch":
        forward.append(lambda: [row.into()])
    both = [lambda f=f: with_gradients(f, row.inputs, row.cotangent) for f in forms] if row.differentiable else []
    measure(peer, row, wanted, forward, both)


def measure_jax(row, wanted, made):
    import jax
    f, inputs, cotangent, constants = made
    value = jax.jit(f)

    def pulled(inputs, cotangent, constants):
        y, back = jax.vjp(lambda *a: f(*a, *constants), *inputs)
        return (y, *back(y * 0 + 1 if cotangent is None else cotangent))
    gradient = jax.jit(pulled)
    both = [lambda: jax.block_until_ready(gradient(inputs, cotangent, constants))] if row.differentiable else []
    measure("jax", row, wanted, [lambda: [jax.block_until_ready(value(*inputs, *constants))]], both)


def extended(ids, d):
    """Sizes and the like, for the peers that need them; prepared outside of what is measured."""
    d.row = ids[0]
    if ids[0] == "W3":
        d.size = d.high - d.low
        d.slice_of = np.repeat(np.arange(len(d.size)), d.size)
        d.ids = np.concatenate([np.arange(low, high) for low, high in zip(d.low, d.high)])
    if ids[0] == "W10":
        d.size = np.diff(d.off)
        d.bag = np.repeat(np.arange(len(d.size)), d.size)
    if ids[0] == "W11":
        d.sizes = np.diff(d.off)
    return d


def as_tensors(d, convert):
    out = type(d)(**vars(d))
    for name, value in vars(d).items():
        if isinstance(value, np.ndarray):
            setattr(out, name, convert(value))
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--peers", default="torch,compile,jax,numpy")
    parser.add_argument("ids", nargs="*")
    wanted = parser.parse_args()
    peers = wanted.peers.split(",")
    torch.set_num_threads(data.CORES)
    if "jax" in peers:
        import jax
        jax.config.update("jax_enable_x64", True)
        import jax_rows
    if "numpy" in peers:
        import numpy_rows
    for ids, make in data.GROUPS:
        if wanted.ids and not set(ids) & set(wanted.ids):
            continue
        progress(f"{' '.join(ids)}: data")
        d = extended(ids, make())
        rows = [r for r in torch_rows.rows_of(ids, as_tensors(d, torch.from_numpy))
                if not wanted.ids or r.id in wanted.ids]
        jax_made = jax_rows.rows_of(ids, as_tensors(d, jax.numpy.asarray)) if "jax" in peers else {}
        numpy_made = numpy_rows.rows_of(ids, d) if "numpy" in peers else {}
        for row in rows:
            key = f"{row.id} {row.name}"
            progress(f"{key} in f64")
            want = reference(row)
            for peer in peers:
                if peer in ("torch", "compile"):
                    measure_torch(peer, row, want)
                elif peer == "jax" and key in jax_made:
                    measure_jax(row, want, jax_made[key])
                elif peer == "numpy" and key in numpy_made:
                    forward, both = numpy_made[key]
                    measure(peer, row, want, [forward], [both] if both else [])


if __name__ == "__main__":
    main()
