#!/usr/bin/env python3
"""Calls kernels of a shared library that sheaf_add_kernels(... SHARED) made, by its manifest: ctypes and NumPy only.

Usage: ahead_of_time.py LIBRARY.so MANIFEST.json
"""
import ctypes
import json
import sys

import numpy

TYPES = {"bool": "bool", "i8": "int8", "u8": "uint8", "i16": "int16", "u16": "uint16", "i32": "int32",
         "u32": "uint32", "i64": "int64", "u64": "uint64", "f16": "float16", "bf16": "uint16", "f32": "float32",
         "f64": "float64"}


class Kernels:
    """Kernels by name: kernels.step(x=rows, cut=bounds) returns the outputs."""

    def __init__(self, library, manifest):
        self._library = ctypes.CDLL(library)
        with open(manifest, encoding="utf-8") as file:
            self._manifest = json.load(file)
        self._name = self._manifest["library"]
        self._message = self._library[self._name + "_message"]
        self._message.restype = ctypes.c_char_p
        for kernel in self._manifest["kernels"]:
            setattr(self, kernel["name"], self._caller(kernel))

    def _expect_ok(self, status):
        if status != 0:
            raise ValueError(self._message().decode())

    def _caller(self, kernel):
        function, name = self._library[kernel["function"]], kernel["function"]

        def numbers(values):
            return (ctypes.c_int64 * max(len(values), 1))(*values)

        def strides(array):
            return numbers([s // array.itemsize for s in array.strides])

        def call(**given):
            arguments, extents = [], []
            for row in kernel["inputs"]:
                array = numpy.asarray(given[row["name"]], dtype=TYPES[row["type"]])
                if array.ndim != row["rank"]:
                    raise ValueError(f"{row['name']} has rank {row['rank']}, got {array.ndim}")
                given[row["name"]] = array  # alive until the call is done
                arguments.append(array.ctypes.data_as(ctypes.c_void_p))
                if row["rank"] > 0:
                    extents.append(numbers(array.shape))
                    arguments += [extents[-1], strides(array)]
            shapes = [numbers([0] * row["rank"]) for row in kernel["outputs"]]
            if any(row["rank"] > 0 for row in kernel["outputs"]):
                ranked = [shape for shape, row in zip(shapes, kernel["outputs"]) if row["rank"] > 0]
                self._expect_ok(self._library[name + "_extents"](*extents, *ranked))
            results = []
            for row, shape in zip(kernel["outputs"], shapes):
                results.append(numpy.empty(tuple(shape)[:row["rank"]], dtype=TYPES[row["type"]]))
                arguments.append(results[-1].ctypes.data_as(ctypes.c_void_p))
                if row["rank"] > 0:
                    arguments.append(strides(results[-1]))
            self._expect_ok(function(*arguments, None))
            return results

        call.__doc__ = kernel["text"]
        return call


def main():
    kernels = Kernels(sys.argv[1], sys.argv[2])
    x = numpy.arange(40, dtype="float32").reshape(10, 4)
    loss, gradient = kernels.step(x=x, cut=[[3, 5], [1, 8], [4, 8], [6, 9]])
    print(f"loss {loss:g}, dloss/dx[4][0] {gradient[4, 0]:g}")
    (sums,) = kernels.row_sums(x=x[::2, ::-1])  # any strides
    assert numpy.allclose(sums, x[::2].sum(1)), sums
    try:
        kernels.step(x=x, cut=[[3, 5], [1, 12], [4, 8], [6, 9]])
    except ValueError as error:
        print(error)


if __name__ == "__main__":
    main()
