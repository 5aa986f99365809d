"""The data of bench/workloads, number for number (data.hpp and the headers beside it)."""
from concurrent.futures import ThreadPoolExecutor
from os import sched_getaffinity
from types import SimpleNamespace

import numpy as np

CORES = len(sched_getaffinity(0))


def bits_at(position):
    z = (np.asarray(position, np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def uniform_at(position):
    return (bits_at(position) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def noise(low, high, *extents):
    """Uniform values in [low, high)."""
    values = np.empty(int(np.prod(extents)), np.float32)
    step = 1 << 18

    def fill(first):
        last = min(first + step, values.size)
        values[first:last] = low + (high - low) * uniform_at(np.arange(first, last, dtype=np.uint64))

    with ThreadPoolExecutor(CORES) as pool:
        list(pool.map(fill, range(0, values.size, step)))
    return values.reshape(extents)


def gathered():
    B, T, F, K = 32, 2048, 256, 64
    picks = (bits_at(np.arange(B * K)) % np.uint64(T)).astype(np.int64).reshape(B, K)
    keep = np.zeros((B, T), bool)
    np.put_along_axis(keep, picks, True, 1)
    return SimpleNamespace(x=noise(0, 1, B, T, F), dy=noise(-1, 1, B, F), picks=picks, keep=keep)


ROWS, COLUMNS = 262144, 128


def lengths(count, about):
    return about // 2 + (bits_at(np.arange(count)) % np.uint64(about)).astype(np.int64)


def sliced(count):
    return SimpleNamespace(x=noise(0, 1, ROWS, COLUMNS), dy=noise(-1, 1, count, COLUMNS))


def side_by_side(count=4096, about=64):
    d = sliced(count)
    ends = np.cumsum(lengths(count, about))
    d.low = np.minimum(np.concatenate(([0], ends[:-1])), ROWS - 1)
    d.high = np.minimum(ends, ROWS)
    return d


def anywhere(count=65536, about=1024):
    d = sliced(count)
    size = lengths(count, about)
    d.low = (bits_at(count + np.arange(count)) % (ROWS - size + 1).astype(np.uint64)).astype(np.int64)
    d.high = d.low + size
    return d


def matrix(low, high, side=8192):
    return SimpleNamespace(x=noise(low, high, side, side), dy=noise(-1, 1, side))


def images():
    return SimpleNamespace(x=noise(-1, 1, 8, 64, 224, 224), dy=noise(-1, 1, 8, 64, 112, 112))


def rows():
    R, W = 16384, 1024
    return SimpleNamespace(
        x=noise(-4, 4, R, W), dy=noise(-1, 1, R, W), w=noise(0.5, 1.5, W), b=noise(-1, 1, W),
        target=(bits_at(np.arange(R)) % np.uint64(W)).astype(np.int64))


def bags():
    words, features, count = 1000000, 64, 4096
    off = np.concatenate(([0], np.cumsum(1 + (bits_at(np.arange(count)) % np.uint64(100)).astype(np.int64))))
    upto = np.cumsum(1.0 / np.arange(1, words + 1))
    rank = np.searchsorted(upto, uniform_at(np.arange(off[-1]) + 1000000) * upto[-1])
    return SimpleNamespace(
        table=noise(-1, 1, words, features), dy=noise(-1, 1, count, features), off=off,
        ids=(rank * 611953 % words).astype(np.int64), weight=noise(0, 1, int(off[-1])))


def segments():
    elements = 1 << 22
    ends = [0]
    while ends[-1] < elements:
        ends.append(min(elements, ends[-1] + 1 + int(bits_at(len(ends)) % np.uint64(10000))))
    off = np.array(ends, np.int64)
    return SimpleNamespace(
        x=noise(-4, 4, elements), dy=noise(-1, 1, elements), off=off, dmeans=noise(-1, 1, len(off) - 1),
        segment=np.repeat(np.arange(len(off) - 1), np.diff(off)))


def signal(length=1 << 24, width=1024):
    return SimpleNamespace(x=noise(0, 1, length), dy=noise(-1, 1, length - width + 1), width=width)


# The rows that share data, in the order of the table.
GROUPS = [
    (("W1", "W2"), gathered), (("W3",), side_by_side), (("W4",), anywhere),
    (("W5", "W6"), lambda: matrix(0, 1)), (("W7",), images), (("W8", "W9"), rows), (("W10",), bags),
    (("W11",), segments), (("W12",), lambda: matrix(-4, 4)), (("W13",), signal)]
