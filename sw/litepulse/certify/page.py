# SPDX-License-Identifier: BSD-2-Clause
"""A result as one self-contained HTML page. It says what the JSON says, and nothing else."""

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from html import escape

from litepulse.certify.records import LOADS
from litepulse.certify.words import (
    NAMES,
    UNITS,
    WRONG,
    Json,
    break_text,
    counters_text,
    enable_text,
    one_way_text,
    periods_text,
    self_rows,
    spread_text,
    time_text,
    unit_of,
)
from litepulse.units import si

BINS, LEAST_BINS = 64, 24  # bars of a histogram
PROCEDURE = (
    ("Identification", "Port, driver, chip or adapter, kernel, processors, and the load before."),
    ("Wiring", "16 bytes each way; the run ends here unless they come."),
    ("Bits", "Blocks of up to 24 bytes whose bits alternate, each block in one write(); the board stamps every edge."),
    ("Breaks", "Five breaks of 10 ms or three frames, whichever is longer, begun and ended by the program on the port."),
    ("Bytes from the port", "Bytes that count up, up to 256 in one write(); the board stamps every start edge."),
    ("Bytes to the port", "Bytes that count up, launched without a pause, as many as the board's queue holds."),
    ("Latency", "One byte after the other, at random distances; a program on the port reads each and writes it back."),
    ("Under load", "The last three again, with a busy process for each processor."),
)

STYLE = """
:root { color-scheme: light dark; --paper: #fcfcfa; --ink: #1c2024; --quiet: #5b6470; --rule: #d9dcd6; --card: #f1f3ee;
  --idle: #0b7285; --loaded: #b35900; --good: #2b7a3d; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171a; --ink: #e4e7ea; --quiet: #9aa4af; --rule: #333a41; --card: #1d2226;
  --idle: #4fc3d9; --loaded: #f2a154; --good: #6fcf85; --bad: #ff8a80; } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 60rem; padding: 1.5rem 1rem 3rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .25rem } h2 { font-size: 1.15rem; margin: 2.5rem 0 .5rem }
p { margin: .4rem 0; max-width: 46rem } .quiet { color: var(--quiet) }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .6rem; margin: 1.25rem 0; padding: 0;
  list-style: none }
.tiles li { background: var(--card); border-radius: .5rem; padding: .7rem .8rem }
.tiles b { display: block; font-size: 1.2rem; font-variant-numeric: tabular-nums; line-height: 1.3 }
.tiles span { color: var(--quiet); font-size: .85rem }
.notice { border-left: .25rem solid var(--loaded); background: var(--card); padding: .5rem .9rem; margin: 1rem 0; border-radius: .25rem }
.notice.bad { border-color: var(--bad) } .notice ul { margin: .2rem 0; padding-left: 1.1rem }
.scroll { overflow-x: auto } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .92rem }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem .35rem 0; border-bottom: 1px solid var(--rule);
  overflow-wrap: break-word }
th { font-weight: 600; color: var(--quiet) } td.n, th.n { text-align: right; white-space: nowrap; padding-left: .6rem }
figure { margin: 1.1rem 0 } figcaption { font-size: .92rem } svg { display: block; width: 100%; height: 6.5rem }
.idle { fill: var(--idle) } .loaded { fill: var(--loaded) }
.axis { display: flex; justify-content: space-between; color: var(--quiet); font-size: .8rem; border-top: 1px solid var(--rule) }
.key { font-weight: 600 } .key.idle { color: var(--idle) } .key.loaded { color: var(--loaded) }
dl { display: grid; grid-template-columns: minmax(7rem, 12rem) 1fr; gap: .2rem .8rem }
dt { color: var(--quiet) } dd { margin: 0 } ol { padding-left: 1.2rem; max-width: 46rem }
@media (max-width: 30rem) { table { font-size: .8rem } dl { grid-template-columns: 6rem 1fr } }
@media print { body { max-width: none } }
"""


def html(result: Json) -> str:
    """The page."""
    body = _self_page(result) if result["kind"] == "self" else _port_page(result)
    title = escape(f"Certificate of {subject(result)}")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n" + "\n".join(body) + "\n</body>\n</html>\n"
    )


def subject(result: Json) -> str:
    """What was measured."""
    return "LitePulse's own port" if result["kind"] == "self" else str(result["port"]["port"])


def _head(result: Json, what: str, tiles: Sequence[tuple[str, str]]) -> list[str]:
    date = result["date"].replace("T", " ").replace("Z", " UTC")
    tick = si(1 / Fraction(result["tick_hz"]), "s")
    board = f"{result['device']}{', simulated' if result['simulated'] else ''}, a tick is {tick}"
    out = [
        f"<header><h1>{escape(subject(result))}</h1>",
        f"<p>{escape(what)}</p>",
        f'<p class="quiet">Measured {escape(date)} by LitePulse {escape(result["litepulse"])} ({escape(board)}), '
        f"certify procedure {result['procedure']}.</p></header>",
        '<ul class="tiles">' + "".join(f"<li><b>{escape(value)}</b><span>{escape(name)}</span></li>" for name, value in tiles) + "</ul>",
    ]
    for name, texts, kind in (("Lost or wrong", result["complaints"], " bad"), ("Simulated, or not real", result["not_real"], "")):
        if texts:
            items = "".join(f"<li>{escape(text[0].upper() + text[1:])}.</li>" for text in texts)
            out.append(f'<section class="notice{kind}"><strong>{name}</strong><ul>{items}</ul></section>')
    return out


def _self_page(result: Json) -> list[str]:
    delay = result["delay"]
    worst = (
        "none" if not delay["count"] else f"{delay['least']}" if delay["least"] == delay["most"] else f"{delay['least']} to {delay['most']}"
    )
    tiles = [
        ("edges launched", f"{result['edges']:,}"),
        ("ticks from launch to capture", worst),
        ("missing", str(result["missing"])),
        ("edges that nobody launched", str(result["extra"])),
    ]
    what = "The tick at which the board launched each edge, against the tick at which it captured it, over one wire from tx to rx."
    out = _head(result, what, tiles)
    out += [
        "<h2>Delay of every edge</h2>",
        _histogram("From launch to capture", {"idle": delay}, result),
        _table(("", "value"), self_rows(result)),
        "<h2>Settings</h2>",
        _definitions(
            [
                ("frames", f"{result['frames']:,}, of random bytes at random distances, seed {result['settings']['seed']}"),
                ("line", f"{float(Fraction(result['baud'])):.3f} baud, {result['settings']['format']}, {result['bit_ticks']} ticks a bit"),
                ("requested again", f"{result['refused']} frames that came to the board too late to leave in time"),
                *_machine(result["machine"]),
            ]
        ),
    ]
    return out


def _port_page(result: Json) -> list[str]:
    best, idle, loaded = result["baud"]["bits"], result["latency"]["idle"], result["latency"]["loaded"]
    wrong = sum(loss[name] for ways in result["loss"].values() for loss in ways.values() for name in WRONG)
    sent = sum(loss["sent"] for ways in result["loss"].values() for loss in ways.values())

    def median(values: Json) -> str:
        return time_text(values["median"], unit_of(values, result)) if values["count"] else "none"

    deviation = result["bits"]["deviation"]
    jitter = time_text(deviation["most"] - deviation["least"], UNITS["ps"]) if deviation["count"] else "none"
    tiles = [
        (
            f"true baud, ± {best['uncertainty_ppm']:.1f} ppm" if best else "true baud",
            f"{round(best['ppm'], 1) + 0:+.1f} ppm" if best else "not measured",
        ),
        ("bit jitter, peak to peak", jitter),
        ("round trip, median, idle", median(idle["round_trip"])),
        ("round trip, median, under load", median(loaded["round_trip"])),
        (f"of {sent:,} bytes lost or wrong", f"{wrong:,}"),
    ]
    settings = result["settings"]
    what = result["port"]["says"]
    out = _head(result, f"{what[0].upper()}{what[1:]}. Measured at {settings['baud']} baud, {settings['format']}.", tiles)
    out += _bits_section(result) + _gaps_section(result) + _latency_section(result) + _loss_section(result) + _rest_section(result)
    out += _setup_section(result)
    return out


def _bits_section(result: Json) -> list[str]:
    baud, bits = result["baud"], result["bits"]
    rows = [
        (name, f"{float(Fraction(each['baud'])):.3f}", f"{each['ppm']:+.3f}", f"{each['uncertainty_ppm']:.3f}")
        for name, each in (("bits: edges within each frame", baud["bits"]), ("bytes in a row: start edges", baud["rows"]))
        if each
    ]
    frames = f"{bits['frames']:,} frames of alternating bits" + (f", {bits['bad_frames']} more were bad" if bits["bad_frames"] else "")
    return [
        "<h2>Bits</h2>",
        f"<p>{frames}. Nominal: {baud['nominal']} baud. Bytes in a row are slower than their bits if stop bits are longer than they should "
        "be.</p>",
        _table(("rate of", "baud", "ppm", "± ppm"), rows) if rows else "<p>No bit rate could be measured.</p>",
        _histogram("Edges, against the line through their frame", {"idle": bits["deviation"]}, result),
        _histogram("Length of the stop bit", {"idle": bits["stop_bit"]}, result),
    ]


def _gaps_section(result: Json) -> list[str]:
    return [
        "<h2>Gaps between bytes of one write()</h2>",
        f"<p>From the end of a frame to the start of the next, ± {time_text(result['gap_uncertainty_ns'], UNITS['ns'])}: a gap of nothing "
        "may show as more or less.</p>",
        _figures(result["gaps"], result),
        _histogram("Gap between two bytes", result["gaps"], result),
        "<p>Periods, from start edge to start edge. At lag 1, an autocorrelation of -1 says that each error comes back with the other sign "
        "in the next period, -0.5 that the errors of the edges are independent, 0 that those of the periods are.</p>",
        _definitions((NAMES[load], periods_text(each)) for load, each in result["periods"].items()),
    ]


def _latency_section(result: Json) -> list[str]:
    latency = result["latency"]
    out = [
        "<h2>Latency</h2>",
        "<p>Round trip: from the end of a byte on the wire, through the port to a program and back, to the start edge of its answer. It is "
        "exact: both ends are ticks of the board.</p>",
        _figures({load: each["round_trip"] for load, each in latency.items()}, result),
        _histogram("Round trip", {load: each["round_trip"] for load, each in latency.items()}, result),
        "<p>The same in its parts. The times of pin and program come from two clocks, so each has an uncertainty.</p>",
    ]
    rows = [
        (label, *(one_way_text(latency[load], name, result) for load in LOADS))
        for name, label in (("pin_to_read", "pin to read()"), ("write_to_pin", "write() to pin"))
    ]
    rows.insert(1, ("in the program", *(spread_text(latency[load]["program"], result) for load in LOADS)))
    out.append(_table(("", *(NAMES[load] for load in LOADS)), rows, numbers=False))
    for name, label in (("pin_to_read", "pin to read()"), ("write_to_pin", "write() to pin")):
        if all(latency[load]["resolved"][name] for load in LOADS):
            out.append(_histogram(label, {load: each[name] for load, each in latency.items()}, result))
    left = sum(each["left_out"] for each in latency.values())
    if left:
        out.append(f'<p class="quiet">{left} exchanges count for the round trip alone: the two clocks were not known well enough.</p>')
    return out


def _loss_section(result: Json) -> list[str]:
    names = ("sent", "received", *WRONG)
    rows = [
        (f"{'from' if way == 'from_port' else 'to'} the port, {NAMES[load]}", *(f"{loss[name]:,}" for name in names))
        for load, ways in result["loss"].items()
        for way, loss in ways.items()
    ]
    counters = counters_text(result["counters"])
    missing = ", ".join(f"{each['missing']} {NAMES[load]}" for load, each in result["latency"].items())
    return [
        "<h2>Loss</h2>",
        _table(("bytes in a row", "sent", "received", "lost", "wrong", "added", "errors"), rows),
        f"<p>Requests without an answer: {missing}. The kernel's counters of the port went on by: {escape(counters)}.</p>",
    ]


def _rest_section(result: Json) -> list[str]:
    rows = [("break", break_text(result))]
    enable = result["driver_enable"]
    if enable:
        by = "the port itself: its driver knows no RS-485"
        if enable["by_driver"]:
            by = "the port's driver, set by TIOCSRS485"
        rows += [("driver enable", enable_text(enable, result)), ("driven by", by)]
        rows.append(("frames outside", f"{enable['uncovered_frames']}"))
    else:
        rows.append(("RS-485", "not measured: no driver enable was wired to an input (--de)"))
    return ["<h2>Break and driver enable</h2>", _definitions(rows)]


def _setup_section(result: Json) -> list[str]:
    port, settings = result["port"], result["settings"]
    rows = [("port", port["says"])]
    rows += [
        (name.replace("_", " "), str(port[name]))
        for name in ("driver", "uart", "latency_timer_ms", "low_latency")
        if port[name] is not None
    ]
    rows += [
        (
            "samples",
            f"{settings['samples']} latencies, {settings['bytes']} bytes each way, under each load; {settings['blocks']} blocks of bits",
        ),
        ("load", f"{result['busy_processes']} busy processes of the ordinary kind, one for each processor"),
        *_machine(result["machine"]),
    ]
    steps = "".join(f"<li><strong>{escape(name)}.</strong> {escape(text)}</li>" for name, text in PROCEDURE)
    return [
        "<h2>Setup</h2>",
        _definitions(rows),
        f"<h2>Procedure {result['procedure']}</h2>",
        f"<ol>{steps}</ol>",
        '<p class="quiet">Ticks are those of the board\'s crystal, typically within ±50 ppm of true time until it is disciplined; every '
        "ppm above is against it.</p>",
    ]


def _machine(machine: Json) -> list[tuple[str, str]]:
    load = machine["load_average"]
    rows = [
        ("kernel", f"Linux {machine['kernel']} ({machine['kernel_version']}), {machine['architecture']}"),
        ("processors", f"{machine['processors']}" + (f", {machine['processor']}" if machine["processor"] else "")),
        ("governor", machine["governor"] or "the kernel shows none"),
        ("idle states", machine["idle"]["says"]),
        ("load before", " ".join(f"{each:.2f}" for each in load) if load else "the kernel shows none"),
    ]
    return rows + ([("virtual", machine["virtual"])] if machine["virtual"] else [])


# Pieces ---------------------------------------------------------------------------------------------------------------


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: bool = True) -> str:
    mark = ' class="n"' if numbers and len(head) > 2 else ""
    first = "".join(f"<th{mark if k else ''}>{escape(name)}</th>" for k, name in enumerate(head))
    body = "".join("<tr>" + "".join(f"<td{mark if k else ''}>{escape(cell)}</td>" for k, cell in enumerate(row)) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{first}</tr></thead><tbody>{body}</tbody></table></div>'


def _definitions(rows: Iterable[tuple[str, str]]) -> str:
    return "<dl>" + "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in rows) + "</dl>"


def _figures(each: Mapping[str, Json], result: Json) -> str:
    names = {"count": "samples", "least": "least", "median": "median", "p99": "p99", "p99_9": "p99.9", "most": "most"}
    rows: list[Sequence[str]] = []
    for load, values in each.items():
        unit = unit_of(values, result)
        cells = ["-" if values[name] is None else time_text(values[name], unit) for name in names if name != "count"]
        rows.append((NAMES[load], f"{values['count']:,}", *cells))
    return _table(("", *names.values()), rows)


def _histogram(title: str, each: Mapping[str, Json], result: Json) -> str:
    """Bars of the same scale, one picture for each load. Values above p99 are listed and not drawn,
    as they would flatten the rest."""
    shown = {load: values for load, values in each.items() if values["count"]}
    if not shown:
        return f'<p class="quiet">{escape(title)}: no samples.</p>'
    unit = unit_of(next(iter(shown.values())), result)
    low = min(values["least"] for values in shown.values())
    high = max(values["p99"] for values in shown.values())
    width = (high - low) // BINS + 1
    size = (high - low) // width + 1
    if size < LEAST_BINS:  # a few values stand in the middle
        low -= (LEAST_BINS - size) // 2 * width
        size = LEAST_BINS
    out = [f"<figure><figcaption>{escape(title)}</figcaption>"]
    for load, values in shown.items():
        bins = [0] * size
        above = 0
        for value, count in values["histogram"]:
            if value > high:
                above += count
            else:
                bins[(value - low) // width] += count
        key = f'<span class="key {load}">{NAMES[load]}</span>, ' if len(each) > 1 else ""
        more = f"; {above:,} above p99, up to {time_text(values['most'], unit)}" if above else ""
        out.append(f'<p class="quiet">{key}{values["count"]:,} samples, highest bar {max(bins):,}{more}</p>{_bars(bins, load, title)}')
    ends = (time_text(low, unit), f"{time_text(width, unit)} a bar, heights logarithmic", time_text(low + width * size, unit))
    out.append('<div class="axis">' + "".join(f"<span>{escape(end)}</span>" for end in ends) + "</div>")
    return "".join(out) + "</figure>"


def _bars(bins: Sequence[int], load: str, title: str) -> str:
    """Heights grow with the logarithm, so that a single one among thousands is seen."""
    most = math.log1p(max(bins))
    bars = [
        f'<rect x="{10 * k}" y="{100 - height}" width="9" height="{height}"><title>{count:,}</title></rect>'
        for k, count in enumerate(bins)
        if count and (height := round(100 * math.log1p(count) / most))
    ]
    return (
        f'<svg class="{load}" viewBox="0 0 {10 * len(bins)} 100" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(title)}, {NAMES[load]}">{"".join(bars)}</svg>'
    )
