"""Two kinds of drawings as SVG text: bars in groups, and lines over a logarithmic axis of sizes."""
from html import escape
from math import log10

COLOURS = ["#1b6ca8", "#d1495b", "#e9a03b", "#66a182", "#7b5ea7", "#555555"]


def text(x, y, words, anchor="start", size=11, turn=None):
    turned = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn is not None else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"{turned}>{escape(words)}</text>'


def legend(names, x, y):
    out = []
    for k, name in enumerate(names):
        out.append(f'<rect x="{x}" y="{y + 16 * k - 9}" width="10" height="10" fill="{COLOURS[k % len(COLOURS)]}"/>')
        out.append(text(x + 15, y + 16 * k, name))
    return out


def page(width, height, body):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">\n'
            f'<rect width="{width}" height="{height}" fill="white"/>\n' + "\n".join(body) + "\n</svg>\n")


def bars(title, names, series):
    """Horizontal, a group a name; None is left out; 100 is the limit, longer bars are cut at 130."""
    left, top, thick, gap, wide = 250, 50, 7, 6, 600
    group = thick * len(series) + gap
    height = top + group * len(names) + 40
    out = [text(left, 24, title, size=15)]
    for mark in range(0, 131, 25):
        x = left + wide * mark / 130
        out.append(f'<line x1="{x:.1f}" y1="{top - 6}" x2="{x:.1f}" y2="{height - 34}" '
                   f'stroke="{"#333" if mark == 100 else "#ddd"}"/>')
        out.append(text(x, height - 18, f"{mark} %", "middle"))
    for n, name in enumerate(names):
        y = top + n * group
        out.append(text(left - 8, y + group / 2, name, "end"))
        for k, values in enumerate(series.values()):
            if values[n] is not None:
                out.append(f'<rect x="{left}" y="{y + k * thick}" width="{wide * min(values[n], 130) / 130:.1f}" '
                           f'height="{thick - 1}" fill="{COLOURS[k]}">'
                           f'<title>{escape(name)}: {values[n]:.1f} %</title></rect>')
    return page(left + wide + 170, height, out + legend(series, left + wide + 20, top + 10))


def lines(title, series):
    """Of (size, value), both axes logarithmic."""
    left, top, wide, high = 70, 50, 760, 380
    sizes = [n for points in series.values() for n, _ in points]
    values = [v for points in series.values() for _, v in points]
    low, most = log10(min(values)) - 0.05, log10(max(values)) + 0.05

    def place(n, v):
        return left + wide * log10(n) / log10(max(sizes)), top + high * (1 - (log10(v) - low) / (most - low))
    out = [text(left, 24, title, size=15)]
    for n in (1, 2, 4, 8, 16, 32, 64, 128, 256, 1024, 4096, 16384):
        if n <= max(sizes):
            x, _ = place(n, 10**low)
            out.append(f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{top + high}" stroke="#ddd"/>')
            out.append(text(x, top + high + 18, str(n), "middle"))
    for power in range(-3, 4):
        for digit in (1, 2, 5):
            v = digit * 10.0**power
            if low <= log10(v) <= most:
                _, y = place(1, v)
                out.append(f'<line x1="{left}" y1="{y:.1f}" x2="{left + wide}" y2="{y:.1f}" stroke="#ddd"/>')
                out.append(text(left - 8, y + 4, f"{v:g}", "end"))
    for k, points in enumerate(series.values()):
        path = " ".join("%.1f,%.1f" % place(n, v) for n, v in points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{COLOURS[k]}" stroke-width="1.4"/>')
    return page(left + wide + 210, top + high + 40, out + legend(series, left + wide + 15, top + 10))
