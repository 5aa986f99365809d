"""The workloads in NumPy, results into arrays that are there: name -> (forward, forward and backward),
 each returning them."""
import numpy as np


def gathered(d):
    B, T, F = d.x.shape
    y, dx = np.empty((B, F), np.float32), np.empty_like(d.x)
    lines = np.arange(B)[:, None]

    def mean():
        return [np.mean(d.x[lines, d.picks], axis=1, out=y)]

    def mean_both():
        mean()
        dx.fill(0)
        for b in range(B):
            np.add.at(dx[b], d.picks[b], d.dy[b] / np.float32(d.picks.shape[1]))
        return [y, dx]

    def masked(keep):
        np.matmul(keep.astype(np.float32)[:, None], d.x, out=y[:, None])
        np.divide(y, keep.sum(1, keepdims=True, dtype=np.float32), out=y)
        return [y]

    def masked_both(keep):
        masked(keep)
        np.multiply(keep[:, :, None], (d.dy / keep.sum(1, keepdims=True, dtype=np.float32))[:, None], out=dx)
        return [y, dx]

    def made():
        keep = np.zeros((B, T), bool)
        np.put_along_axis(keep, d.picks, True, 1)
        return keep
    by_ids = (lambda: masked(made()), lambda: masked_both(made()))
    return {"W1 ": (mean, mean_both), "W2 given:": (lambda: masked(d.keep), lambda: masked_both(d.keep)),
            "W2 mask:": by_ids, "W2 onehot:": by_ids}


def slices(d):
    (T, F), M = d.x.shape, len(d.low)
    size = (d.high - d.low)[:, None]
    before, change = np.zeros((T + 1, F)), np.zeros((T + 1, F))
    y, dx = np.empty((M, F), np.float32), np.empty_like(d.x)

    def mean():
        np.cumsum(d.x, 0, out=before[1:])
        np.divide(before[d.high] - before[d.low], size, out=y, casting="same_kind")
        return [y]

    def both():
        mean()
        change.fill(0)
        share = d.dy / size
        np.add.at(change, d.low, share)
        np.subtract.at(change, d.high, share)
        np.cumsum(change, 0, out=change)
        dx[:] = change[:T]
        return [y, dx]
    return {d.row + " ": (mean, both)}


def matrix_means(d):
    n = d.x.shape[0]
    y, dx = np.empty(n, np.float32), np.empty_like(d.x)

    def both(k):
        np.mean(d.x, axis=k, out=y)
        dx[:] = np.expand_dims(d.dy / np.float32(n), k)
        return [y, dx]

    def square():
        np.subtract(d.x, np.float32(1), out=dx)
        return [np.einsum("ij,ij->i", dx, dx).mean(dtype=np.float64) / n]

    def square_both():
        value = square()[0]
        return [value, np.multiply(dx, np.float32(2 / d.x.size), out=dx)]
    return {"W5 axis0:": (lambda: [np.mean(d.x, axis=0, out=y)], lambda: both(0)),
            "W5 axis1:": (lambda: [np.mean(d.x, axis=1, out=y)], lambda: both(1)), "W6 ": (square, square_both)}


def pooling(d):
    y = np.empty_like(d.dy)
    taps = [(u, v) for u in range(3) for v in range(3)]

    def places(u, v, n=112):
        """The results that have tap (u, v) inside, and that tap of each: rows 2r - 1 + u."""
        r, c = (1 if u == 0 else 0), (1 if v == 0 else 0)
        return (np.s_[..., r:, c:],
                np.s_[..., 2 * r - 1 + u:2 * n - 2 + u + (u == 0):2, 2 * c - 1 + v:2 * n - 2 + v + (v == 0):2])

    def fold(f, start):
        y.fill(start)
        for u, v in taps:
            to, at = places(u, v)
            f(y[to], d.x[at], out=y[to])
        return [y]

    def average():
        fold(np.add, 0)
        return [np.divide(y, np.float32(9), out=y)]

    def average_both():
        average()
        dx.fill(0)
        share = d.dy / np.float32(9)
        for u, v in taps:
            to, at = places(u, v)
            dx[at] += share[to]
        return [y, dx]

    def maximum_both():
        fold(np.maximum, -np.inf)
        dx.fill(0)
        for u, v in taps:
            to, at = places(u, v)
            dx[at] += d.dy[to] * (d.x[at] == y[to])
        return [y, dx]
    dx = np.empty_like(d.x)
    return {"W7 avg:": (average, average_both), "W7 max:": (lambda: fold(np.maximum, -np.inf), maximum_both)}


def rows(d):
    R, W = d.x.shape
    y, dx, form = np.empty_like(d.x), np.empty_like(d.x), np.empty_like(d.x)

    def norm():
        np.subtract(d.x, d.x.mean(1, keepdims=True), out=form)
        scale = 1 / np.sqrt(np.einsum("rc,rc->r", form, form)[:, None] / np.float32(W) + np.float32(1e-5))
        np.multiply(form, scale, out=form)
        np.multiply(form, d.w, out=y)
        return [np.add(y, d.b, out=y)], scale

    def norm_both():
        _, scale = norm()
        dw, db = np.einsum("rc,rc->c", d.dy, form), d.dy.sum(0)
        np.multiply(d.dy, d.w, out=dx)
        total, along = dx.mean(1, keepdims=True), np.einsum("rc,rc->r", dx, form)[:, None] / np.float32(W)
        np.subtract(dx, total, out=dx)
        np.multiply(form, along, out=form)
        np.subtract(dx, form, out=dx)
        np.multiply(dx, scale, out=dx)
        return [y, dx, dw, db]

    def soft():
        np.subtract(d.x, d.x.max(1, keepdims=True), out=y)
        np.exp(y, out=y)
        return [np.divide(y, y.sum(1, keepdims=True), out=y)]

    def soft_both():
        soft()
        np.subtract(d.dy, np.einsum("rc,rc->r", y, d.dy)[:, None], out=dx)
        return [y, np.multiply(dx, y, out=dx)]

    lines = np.arange(R)

    def loss():
        most = d.x.max(1, keepdims=True)
        np.subtract(d.x, most, out=y)
        np.exp(y, out=y)
        total = y.sum(1, keepdims=True)
        return [np.array((np.log(total) + most)[:, 0].mean() - d.x[lines, d.target].mean())], total

    def loss_both():
        value, total = loss()
        np.multiply(y, 1 / (total * np.float32(R)), out=dx)
        dx[lines, d.target] -= np.float32(1 / R)
        return value + [dx]
    return {"W8 ": (lambda: norm()[0], norm_both), "W9 softmax:": (soft, soft_both),
            "W9 cross_entropy:": (lambda: loss()[0], loss_both)}


def bags(d):
    y, dtable = np.empty_like(d.dy), np.empty_like(d.table)
    size = d.size[:, None].astype(np.float32)

    def total(values):
        return [np.add.reduceat(values, d.off[:-1], axis=0, out=y)]

    def table(shares):
        dtable.fill(0)
        np.add.at(dtable, d.ids, shares)
        return dtable

    def mean():
        total(d.table[d.ids])
        return [np.divide(y, size, out=y)]

    def weighted_both():
        rows = d.table[d.ids]
        total(rows * d.weight[:, None])
        of_bag = d.dy[d.bag]
        return [y, table(of_bag * d.weight[:, None]), np.einsum("nf,nf->n", of_bag, rows)]
    return {"W10 sum:": (lambda: total(d.table[d.ids]), lambda: total(d.table[d.ids]) + [table(d.dy[d.bag])]),
            "W10 mean:": (mean, lambda: mean() + [table((d.dy / size)[d.bag])]),
            "W10 weighted:": (lambda: total(d.table[d.ids] * d.weight[:, None]), weighted_both),
            "W10 max:": (lambda: [np.maximum.reduceat(d.table[d.ids], d.off[:-1], axis=0, out=y)], None)}


def segments(d):
    y, dx, means = np.empty_like(d.x), np.empty_like(d.x), np.empty_like(d.dmeans)
    size = d.sizes.astype(np.float32)

    def mean():
        np.add.reduceat(d.x, d.off[:-1], out=means)
        return [np.divide(means, size, out=means)]

    def mean_both():
        dx[:] = np.repeat(d.dmeans / size, d.sizes)
        return mean() + [dx]

    def soft():
        np.subtract(d.x, np.repeat(np.maximum.reduceat(d.x, d.off[:-1]), d.sizes), out=y)
        np.exp(y, out=y)
        return [np.divide(y, np.repeat(np.add.reduceat(y, d.off[:-1]), d.sizes), out=y)]

    def soft_both():
        soft()
        np.multiply(y, d.dy, out=dx)
        np.subtract(d.dy, np.repeat(np.add.reduceat(dx, d.off[:-1]), d.sizes), out=dx)
        return [y, np.multiply(dx, y, out=dx)]
    return {"W11 mean:": (mean, mean_both), "W11 softmax:": (soft, soft_both)}


def axis_reductions(d):
    n = d.x.shape[0]
    y, dx, where = np.empty(n, np.float32), np.empty_like(d.x), np.empty(n, np.int64)

    def log(k):
        most = d.x.max(k, keepdims=True)
        np.subtract(d.x, most, out=dx)
        np.exp(dx, out=dx)
        np.log(dx.sum(k), out=y)
        return [np.add(y, most.squeeze(k), out=y)]

    def log_both(k):
        log(k)
        np.subtract(d.x, np.expand_dims(y, k), out=dx)
        np.exp(dx, out=dx)
        return [y, np.multiply(dx, np.expand_dims(d.dy, k), out=dx)]

    def var_both(k):
        np.subtract(d.x, d.x.mean(k, keepdims=True), out=dx)
        np.divide(np.einsum("ij,ij->j" if k == 0 else "ij,ij->i", dx, dx), np.float32(n - 1), out=y)
        return [y, np.multiply(dx, np.expand_dims(d.dy * np.float32(2 / (n - 1)), k), out=dx)]

    def norm(k):
        return [np.sqrt(np.einsum("ij,ij->j" if k == 0 else "ij,ij->i", d.x, d.x), out=y)]

    def norm_both(k):
        norm(k)
        return [y, np.multiply(d.x, np.expand_dims(d.dy / y, k), out=dx)]
    out = {}
    for k in (0, 1):
        out[f"W12 logsumexp{k}:"] = (lambda k=k: log(k), lambda k=k: log_both(k))
        out[f"W12 var{k}:"] = (lambda k=k: [np.var(d.x, axis=k, ddof=1, out=y)], lambda k=k: var_both(k))
        out[f"W12 norm{k}:"] = (lambda k=k: norm(k), lambda k=k: norm_both(k))
        out[f"W12 argmax{k}:"] = (lambda k=k: [np.argmax(d.x, axis=k, out=where)], None)
    return out


def windows(d):
    n, w = len(d.x), d.width
    before, after = np.zeros(n + 1), np.zeros(n + w)
    y, dx = np.empty(n - w + 1, np.float32), np.empty_like(d.x)

    def mean():
        np.cumsum(d.x, out=before[1:], dtype=np.float64)
        return [np.divide(before[w:] - before[:n - w + 1], w, out=y, casting="same_kind")]

    def both():
        mean()
        np.cumsum(d.dy, out=after[w:n + 1], dtype=np.float64)
        after[n + 1:] = after[n]
        return [y, np.divide(after[w:] - after[:n], w, out=dx, casting="same_kind")]
    return {"W13 ": (mean, both)}


def rows_of(ids, d):
    return {"W1": gathered, "W3": slices, "W4": slices, "W5": matrix_means, "W7": pooling, "W8": rows, "W10": bags,
            "W11": segments, "W12": axis_reductions, "W13": windows}[ids[0]](d)
