"""Writes docs/conformance.md from what run.py found: page.py FOLDER."""

import pathlib
import sys

folder = pathlib.Path(sys.argv[1])
here = pathlib.Path(__file__).parent
versions = dict(line.split("==") for line in (here / "requirements.txt").read_text().split())


def last_line(suite):
    return (folder / f"{suite}.txt").read_text().strip().splitlines()[-1]


def table(suite):
    return (folder / f"{suite}.md").read_text().strip()


print(f"""# Conformance
What other projects test their operators with, written as programs of Sheaf and run: each operator is a few lines of
text that [tests/conformance](../tests/conformance) makes of a test's node and extents. `scripts/conformance` runs them
and writes this page.

- An extent is part of a program: what shapes a result (the shape of a Reshape, the ends of a Slice) is read when the
  program is written. Where an extent depends on other data there is no program.
- Results are compared with the tolerances of each test.
- A result that is right may lie outside of them where the expected numbers carry the rounding of another order of
  operations; such tests are named in [cases](../tests/conformance/onnx_cases.py) and count as not expressible.

## ONNX {versions['onnx']}: node tests, without the `_expanded` ones
{last_line('onnx')}.

{table('onnx')}

## PyTorch {versions['torch']}: operator samples
`op_db` of PyTorch's own tests: reductions, indexing, pooling, normalisation, losses, scans and elementwise functions.
Values in f32, f64 and bf16; in f64 also the gradient by every floating argument, and the gradient of that along a
direction, against PyTorch's autograd.

{last_line('torch')}.

{table('torch')}""")
