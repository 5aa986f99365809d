"""ONNX operators that read or write elements at places that data says: gathers, scatters."""

from onnx_shapes import moved
from onnx_table import attributes, axis_of, op
from program import digits, flat_place


def with_sign(index, size):
    """An index that may count from the end, as the i64 that counts from the start."""
    return f"where({index} < 0, cast<i64>({index}) + {size}, cast<i64>({index}))"


@op("Gather")
def gather(p, n, x):
    axis = axis_of(attributes(n).get("axis", 0), x[0].rank)
    shape = x[0].shape[:axis] + x[1].shape + x[0].shape[axis + 1 :]
    last = axis + x[1].rank
    return [moved(p, x[0], shape, lambda i: i[:axis] + [with_sign(x[1][i[axis:last]], x[0].shape[axis])] + i[last:])]


@op("GatherElements")
def gather_elements(p, n, x):
    axis = axis_of(attributes(n).get("axis", 0), x[0].rank)
    return [
        moved(
            p,
            x[0],
            x[1].shape,
            lambda i: [with_sign(x[1][i], x[0].shape[axis]) if d == axis else a for d, a in enumerate(i)],
        )
    ]


@op("GatherND")
def gather_nd(p, n, x):
    batch = attributes(n).get("batch_dims", 0)
    width = x[1].shape[-1]
    outer = x[1].rank - 1
    shape = x[1].shape[:-1] + x[0].shape[batch + width :]
    return [
        moved(
            p,
            x[0],
            shape,
            lambda i: i[:batch]
            + [with_sign(x[1][i[:outer] + [str(k)]], x[0].shape[batch + k]) for k in range(width)]
            + i[outer:],
        )
    ]


def scattered(p, x, updates, places, kind, make):
    """x where no update goes, else what the reduction makes of it: make(indices of x) gives the condition on the
    updates' indices and their element."""

    def body(i):
        def extents():
            return places

        condition = {}

        def where(r):
            condition["is"], condition["of"] = make(i, r)
            return condition["is"]

        if kind in ("add", "mul", "max", "min"):
            fold = {"add": "sum", "mul": "prod"}.get(kind, kind)
            total = p.reduce(fold, extents(), lambda r: make(i, r)[1], where)
            return {
                "add": f"{x[i]} + {total}",
                "mul": f"{x[i]} * {total}",
                "max": f"maximum({x[i]}, {total})",
                "min": f"minimum({x[i]}, {total})",
            }[kind]
        last = p.reduce("max", extents(), lambda r: flat_place(r, places), where)
        return f"where({last} >= 0, {updates(i, last)}, {x[i]})"

    return p.define(x.element, x.shape, body)


@op("ScatterElements", "Scatter")
def scatter_elements(p, n, x):
    a = attributes(n)
    axis = axis_of(a.get("axis", 0), x[0].rank)
    kind = a.get("reduction", b"none").decode()
    size = x[1].shape[axis]

    def make(i, r):
        at = [r[0] if d == axis else s for d, s in enumerate(i)]
        inside = [f"{s} < {m}" for d, (s, m) in enumerate(zip(i, x[1].shape)) if d != axis and m < x[0].shape[d]]
        same = f"{with_sign(x[1][at], x[0].shape[axis])} == {i[axis]}"
        return " && ".join(inside + [same]), x[2][at]

    return [
        scattered(
            p, x[0], lambda i, last: x[2][[last if d == axis else s for d, s in enumerate(i)]], [size], kind, make
        )
    ]


@op("ScatterND")
def scatter_nd(p, n, x):
    kind = attributes(n).get("reduction", b"none").decode()
    width, places = x[1].shape[-1], list(x[1].shape[:-1])

    def make(i, r):
        same = [f"{with_sign(x[1][r + [str(k)]], x[0].shape[k])} == {i[k]}" for k in range(width)]
        return " && ".join(same), x[2][r + i[width:]]

    return [scattered(p, x[0], lambda i, last: x[2][digits(last, places) + i[width:]], places, kind, make)]


@op("TensorScatter")
def tensor_scatter(p, n, x):
    a = attributes(n)
    axis = axis_of(a.get("axis", -2), x[0].rank)
    circular = a.get("mode", b"linear") == b"circular"
    size, count = x[0].shape[axis], x[1].shape[axis]

    def make(i):
        start = f"cast<i64>({x[2][i[0]]})" if len(x) > 2 and x[2] is not None else "0"
        at = f"{i[axis]} - {start}"
        at = f"remainder({at}, {size})" if circular else f"({at})"
        update = x[1][[at if d == axis else s for d, s in enumerate(i)]]
        return f"where(0 <= {at} && {at} < {count}, {update}, {x[0][i]})"

    return [p.define(x[0].element, x[0].shape, make)]
