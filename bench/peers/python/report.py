"""What scripts/bench makes of its JSON lines, with the standard library alone.

report.py compare JSON            the table of Sheaf beside its peers, for a terminal
report.py table JSON FILE          the same as markdown, between the marks of FILE
report.py traffic OUTPUT FILE      kernels, bytes and workspace of each row, from what
                                   bench_workloads writes at SHEAF_DEBUG=3
report.py math LINES FILE          the table of vector functions, between the marks of FILE
report.py plots JSON SWEEP DIR    percent.svg and a drawing for each series of the sweep
"""
import datetime
import json
import os
import re
import sys
from pathlib import Path

from draw import bars, lines


def read(path):
    rows, peers = {}, {}
    for text in Path(path).read_text().splitlines():
        one = json.loads(text)
        if not re.match(r"W\d+$", one["id"]):
            continue
        key = (one["id"], one["what"])
        if "peer" in one:
            peers.setdefault(key, {})[one["peer"]] = one
        else:
            rows[key] = one
    return rows, peers


def best_of(key, peers):
    return min(peers.get(key, {}).values(), key=lambda one: one["value"], default=None)


def number(value):
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def compared(rows, peers):
    """For each row: id, what, ms, bound, percent, best peer, its ms, ratio, errors."""
    for key, own in rows.items():
        best, torch = best_of(key, peers), peers.get(key, {}).get("PyTorch")
        yield [key[0], key[1], number(own["value"]), number(own.get("bound", 0)),
               f'{own.get("percent_of_bound", 0):.0f}',
               best["peer"] if best else "", number(best["value"]) if best else "",
               f'{best["value"] / own["value"]:.2f}' if best else "", f'{own["error"]:.1e}' if "error" in own else "",
               f'{torch["error"]:.1e}' if torch and "error" in torch else ""]


HEAD = ["id", "what", "Sheaf ms", "bound ms", "%", "best peer", "ms", "ratio", "error", "PyTorch's"]


def compare(path):
    form = "{:<5} {:<30} {:>9} {:>9} {:>5}   {:<14} {:>9} {:>7} {:>9} {:>10}"
    print(form.format(*HEAD))
    for row in compared(*read(path)):
        print(form.format(*row))


def markdown(head, rows):
    out = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return out + ["| " + " | ".join(row) + " |" for row in rows]


def every_peer(rows, peers):
    names = sorted({name for of in peers.values() for name in of})
    body = [[f"{key[0]} {key[1]}", number(own["value"])] +
            [number(peers[key][name]["value"]) if name in peers.get(key, {}) else "" for name in names]
            for key, own in rows.items()]
    return markdown(["row", "Sheaf"] + names, body)


def plans(path):
    """The plans made before each row, and the row: kernels and checks of a call with their bytes as predicted,
    what the call takes of
    memory and what it keeps, figures of the row."""
    made, of, first, workspace, kept = {}, [], False, 0, 0
    for text in Path(path).read_text(errors="replace").splitlines():
        if text.startswith("kernel "):  # of a plan, or of the code: only the first has stages
            kernel, first = text.split()[1].rstrip(","), "in the first call only" in text
        elif found := re.match(r"\s+predicted: (\S+) bytes read, (\S+) written", text):
            of += [] if first else [(kernel, float(found[1]), float(found[2]))]
        elif found := re.match(r"workspace: (\d+) bytes(?:, and (\d+) kept)?", text):
            workspace, kept = max(workspace, int(found[1])), max(kept, int(found[2] or 0))
        elif text.startswith("row "):
            _, name, what, *figures = text.split()
            checks = [name for name, _, _ in of if name.startswith("check_")]
            made[name, what] = (len(of) - len(checks), len(checks), sum(r for _, r, _ in of), sum(w for _, _, w in of),
                                workspace,
                                kept, figures)
            of, workspace, kept = [], 0, 0
    return made


def megabytes(n):
    return f"{n / 1e6:.3g}"


def traffic(path, file):
    """Two tables. Rows have value, unit, bound, percent, error, bytes read, bytes written: those that have bytes."""
    body, room, cores = [], [], max(1, os.cpu_count() or 1)
    for (name, what), (kernels, checks, read_, written, workspace, kept, figures) in plans(path).items():
        if len(figures) < 7 or not re.match(r"(W\d+|kept)$", name):
            continue
        value, bound, least_read, least_written = (float(figures[k]) for k in (0, 2, 5, 6))
        body.append([f"{name} {what}", str(kernels), str(checks), megabytes(least_read),
                     megabytes(least_written), megabytes(read_),
                     megabytes(written), megabytes(read_ + written),
                      megabytes((least_read + least_written) * value / bound)])
        allowed = least_written + cores * 2**20
        room.append([f"{name} {what}", megabytes(workspace), megabytes(allowed),
                     "yes" if workspace <= allowed else "**no**",
                     megabytes(kept) if kept else ""])
    head = ["row", "kernels", "checks", "MB read", "MB written", "MB read, planned", "MB written, planned",
            "MB moved, planned",
            "MB that the time is worth"]
    text = put(Path(file).read_text(), "traffic", markdown(head, body))
    text = put(text, "workspace", markdown(["row", "MB of workspace", "MB allowed", "met",
                                              "MB kept between calls"], room))
    Path(file).write_text(text)
    broken = [row for row in room if row[3] != "yes"]
    print(f"workspace: {len(room)} programs, {len(broken)} take more than their outputs and 1 MB a thread")
    for name, took, allowed, *_ in broken:
        print(f"  {name}: {took} MB of {allowed}")


def behind(rows, peers):
    for key, own in rows.items():
        best = best_of(key, peers)
        if best and best["value"] < own["value"]:
            yield [f"{key[0]} {key[1]}", best["peer"], f'{own["value"] / best["value"]:.2f}']


def put(text, mark, lines_):
    begin, end = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
    if begin not in text or end not in text:
        raise SystemExit(f"report.py: no {begin} ... {end} in the file")
    return text[:text.index(begin)] + "\n".join([begin, *lines_, end]) + text[text.index(end) + len(end):]


def processor():
    """As a class: what it can do, how many cores; no names."""
    info = Path("/proc/cpuinfo")
    text = info.read_text() if info.exists() else ""
    flags = (re.search(r"^flags\s*:(.*)$", text, re.M) or ["", ""])[1].split()
    wide = "AVX-512" if "avx512f" in flags else "AVX2" if "avx2" in flags else "no AVX2"
    maker = (re.search(r"^vendor_id\s*:\s*(\S+)", text, re.M) or ["", "unknown"])[1]
    family = (re.search(r"^cpu family\s*:\s*(\d+)", text, re.M) or ["", "?"])[1]
    return f"{max(1, text.count('processor'))} cores, {maker} family {family}, {wide}"


def table(path, file):
    rows, peers = read(path)
    text = Path(file).read_text()
    day = datetime.date.today().isoformat()
    text = put(text, "table", [f"Run of {day}: {processor()}. Milliseconds, medians.", "",
                               *markdown(HEAD, compared(rows, peers))])
    text = put(text, "peers", every_peer(rows, peers))
    text = put(text, "behind", markdown(["row", "faster peer", "times"], behind(rows, peers)))
    Path(file).write_text(text)


def math_table(path, file):
    """Of the lines of bench_math: a row for each function and type, the libraries side by side."""
    of, names = {}, []
    for text in Path(path).read_text().splitlines():
        if text.startswith("math "):
            _, function, kind, library, *figures = text.split()
            of.setdefault((function, kind), {})[library] = figures
            names += [library] if library not in names else []
    if not of:
        raise SystemExit("report.py: no lines of bench_math")
    head = ["function"] + [f"{n} {what}" for what in ("ns", "ulp", "same bits") for n in names]
    body = [[f"{key[0]} {key[1]}"] + [some[n][k] if n in some else "" for k in range(3) for n in names]
            for key, some in of.items()]
    text = put(Path(file).read_text(), "math",
               [f"Run of {datetime.date.today().isoformat()}: {processor()}.", "", *markdown(head, body)])
    Path(file).write_text(text)


def cliffs(points):
    """Pairs of neighbouring sizes whose cost per element differs by more than 2 times,
    downhill not counted from 1 to 8."""
    out = []
    for (n, a), (m, b) in zip(points, points[1:]):
        if m <= 1.3 * n + 1 and b > 2 * a or m <= 1.3 * n + 1 and a > 2 * b and n > 1:
            out.append((n, m, b / a))
    return out


def plots(path, sweep, folder):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    rows, peers = read(path)
    names = [f"{key[0]} {key[1]}" for key, own in rows.items() if own.get("bound")]
    series = {"Sheaf": [own["percent_of_bound"] for own in rows.values() if own.get("bound")]}
    if peers:
        all_names = sorted({name for of in peers.values() for name in of})
        wins = {name: sum(best_of(key, peers)["peer"] == name for key in peers) for name in all_names}
        for name in sorted(all_names, key=lambda one: -wins[one])[:3]:
            series[name] = [100 * own["bound"] / peers[key][name]["value"] if name in peers.get(key, {}) else None
                            for key, own in rows.items() if own.get("bound")]
    (folder / "percent.svg").write_text(bars("Percent of what the bytes allow", names, series))
    of = {}
    for text in Path(sweep).read_text().splitlines():
        if found := re.match(r"sweep (.*): (\d+) (\S+)$", text):
            of.setdefault(found[1], []).append((int(found[2]), float(found[3])))
    for base in sorted({name.split(",")[0] for name in of}):
        some = {name: points for name, points in of.items() if name.split(",")[0] == base}
        (folder / f"sweep_{base.replace(' ', '_')}.svg").write_text(lines(f"{base}: ns an element by size", some))
    found = [(name, *cliff) for name, points in of.items() for cliff in cliffs(points)]
    print(f"sweep: {sum(map(len, of.values()))} points, {len(found)} cliffs of more than 2 between neighbours")
    for name, n, m, ratio in found:
        print(f"  {name}: {n} to {m}: {ratio:.2f} times")


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    {"compare": compare, "table": table, "traffic": traffic, "math": math_table, "plots": plots}[command](*arguments)
