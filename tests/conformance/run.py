"""Runs conformance tests: run.py RUNNER onnx|torch [PATTERN] [--table FILE] [--text]. See scripts/conformance."""

import argparse
import collections
import importlib
import struct
import subprocess
import sys
import tempfile

import numpy

from program import NAMES


def packed_text(s):
    s = s.encode() if isinstance(s, str) else s
    return struct.pack("<q", len(s)) + s


def write(cases, path):
    with open(path, "wb") as out:
        out.write(struct.pack("<q", len(cases)))
        for case in cases:
            out.write(packed_text(case.name) + packed_text(case.text) + struct.pack("<q", len(case.arguments)))
            for name, data in case.arguments.items():
                element = next(e for e, t in NAMES.items() if numpy.dtype(t) == data.dtype)
                out.write(packed_text(name) + packed_text(element) + struct.pack("<q", data.ndim))
                out.write(struct.pack(f"<{data.ndim}q", *data.shape) + packed_text(data.tobytes()))


class Reader:
    def __init__(self, path):
        self.data, self.at = open(path, "rb").read(), 0

    def number(self):
        self.at += 8
        return struct.unpack_from("<q", self.data, self.at - 8)[0]

    def text(self):
        size = self.number()
        self.at += size
        return self.data[self.at - size : self.at]

    def result(self):
        """A case's outputs, or the message of its error."""
        name, count = self.text().decode(), self.number()
        if count < 0:
            return name, self.text().decode()
        outputs = []
        for _ in range(count):
            element = self.text().decode()
            shape = [self.number() for _ in range(self.number())]
            outputs.append(numpy.frombuffer(self.text(), NAMES[element]).reshape(shape))
        return name, outputs


def difference(case, outputs):
    """What is wrong with the outputs, or nothing."""
    if isinstance(outputs, str):
        return outputs
    for k, (found, expected) in enumerate(zip(outputs, case.expected)):
        if found.dtype != expected.dtype or found.shape != expected.shape:
            return f"output {k}: {found.dtype} {found.shape}, expected {expected.dtype} {expected.shape}"
        wide = numpy.float64 if found.dtype.kind not in "iub" else found.dtype
        found, expected = found.astype(wide), expected.astype(wide)
        if not numpy.allclose(found, expected, rtol=case.rtol, atol=case.atol, equal_nan=True):
            with numpy.errstate(all="ignore"):
                worst = numpy.nanmax(numpy.abs(found.astype(float) - expected.astype(float)))
            return f"output {k} differs by {worst}"
    return ""


def run(runner, cases):
    """Name to what is wrong, of all cases that have a program. A runner that ends early costs its case only."""
    wrong, left = {}, [c for c in cases if c.reason is None]
    while left:
        with tempfile.NamedTemporaryFile() as given, tempfile.NamedTemporaryFile() as made:
            write(left, given.name)
            status = subprocess.run([runner, given.name, made.name]).returncode
            reader = Reader(made.name)
            done = {}
            while reader.at < len(reader.data):
                try:
                    name, outputs = reader.result()
                except (struct.error, ValueError):
                    break
                done[name] = outputs
        for case in left:
            if case.name in done:
                wrong[case.name] = difference(case, done[case.name])
        left = [c for c in left if c.name not in done]
        if status != 0 and left:
            wrong[left[0].name] = f"the program ended with status {status}"
            left = left[1:]
    return wrong


def table(cases, wrong):
    """A row for each operator."""
    rows = collections.OrderedDict()
    for case in sorted(cases, key=lambda c: c.operator):
        row = rows.setdefault(case.operator, [0, 0, collections.Counter()])
        if case.reason is not None:
            row[2][case.reason] += 1
        else:
            row[1 if wrong[case.name] else 0] += 1
    lines = ["| operator | pass | fail | not expressible |", "|---|---|---|---|"]
    for name, (good, bad, reasons) in rows.items():
        why = "; ".join(f"{count}: {reason}" for reason, count in reasons.items())
        lines.append(f"| {name} | {good} | {bad or ''} | {why} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("runner")
    parser.add_argument("suite", choices=["onnx", "torch"])
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--table", help="a file for the table of operators")
    parser.add_argument("--text", action="store_true", help="print the programs")
    chosen = parser.parse_args()
    cases = importlib.import_module(f"{chosen.suite}_cases").cases(chosen.pattern)
    for case in cases if chosen.text else []:
        print(f"# {case.name}: {case.reason or ''}\n{case.text}")
    wrong = run(chosen.runner, cases)
    for case in cases:
        if case.reason is None and wrong[case.name]:
            print(f"{case.name}: {wrong[case.name][:300]}")
    failed = sum(1 for w in wrong.values() if w)
    print(f"{len(cases)} tests: {len(wrong) - failed} pass, {failed} fail, {len(cases) - len(wrong)} not expressible")
    if chosen.table:
        open(chosen.table, "w").write(table(cases, wrong) + "\n")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
