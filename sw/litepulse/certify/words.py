# SPDX-License-Identifier: BSD-2-Clause
"""Figures of a result in words and units for people, on the terminal and on the page: never without what they are uncertain by."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from litepulse.autocorrelation import describe
from litepulse.certify.records import LOADS
from litepulse.units import counted, in_ticks, si

Json = Mapping[str, Any]
UNITS = {"ns": Fraction(1, 10**9), "ps": Fraction(1, 10**12)}  # seconds; a tick's is the board's
NAMES = {"idle": "idle", "loaded": "under load"}
WRONG = {"lost": "lost", "wrong": "wrong", "added": "added", "errors": "with errors"}


def unit_of(values: Json, result: Json) -> Fraction:
    """Seconds of one unit of a distribution."""
    return UNITS.get(values["unit"], 1 / Fraction(result["tick_hz"]))


def time_text(value: int | Fraction, unit: Fraction) -> str:
    """A time: '12.3 µs'."""
    return si(value * unit, "s")


def spread_text(values: Json, result: Json) -> str:
    """'median 10 µs, 9 µs to 12 µs, 1000 samples'"""
    if not values["count"]:
        return "no samples"
    unit = unit_of(values, result)
    median, least, most = (time_text(values[name], unit) for name in ("median", "least", "most"))
    return f"median {median}, {least} to {most}, {samples_text(values)}"


def samples_text(values: Json) -> str:
    """'1 sample', '1000 samples'"""
    return counted(values["count"], "sample")


def baud_text(baud: Json | None) -> str:
    """'+12.3 ppm ± 0.4 ppm'"""
    if baud is None:
        return "not measured"
    return f"{baud['ppm']:+.3f} ppm ± {baud['uncertainty_ppm']:.3f} ppm"


def periods_text(periods: Json) -> str:
    """Whether the error of one comes back in the next ones."""
    return describe(periods["autocorrelation"], periods["count"])


def loss_text(loss: Json) -> str:
    """'none of 4096 lost' or what was."""
    named = [f"{loss[name]} {text}" for name, text in WRONG.items() if loss[name]]
    return f"{', '.join(named)} of {loss['sent']}" if named else f"none of {loss['sent']} bytes lost or wrong"


def one_way_text(latency: Json, name: str, result: Json) -> str:
    """A latency between pin and program, never without what it is uncertain by."""
    values = latency[name]
    if not values["count"]:
        return "not measured"
    unit = UNITS["ns"]
    uncertain = time_text(latency["uncertainty_ns"], unit)
    if latency["resolved"][name]:
        return f"{spread_text(values, result)}, ± {uncertain}"
    return f"too small to tell: less than its uncertainty of {uncertain} ({samples_text(values)})"


def break_text(result: Json) -> str:
    """Breaks on the line beside what was requested."""
    found = result["break"]
    if not found["seen"]["count"]:
        return f"none seen, {found['asked']} requested"
    took = spread_text(found["program"], result).partition(", ")[0]
    return f"{found['seen']['count']} of {found['asked']}: {spread_text(found['seen'], result)}; the program's calls took {took}"


def enable_text(found: Json, result: Json) -> str:
    """Lead and lag."""
    if not found["lead"]["count"] and not found["lag"]["count"]:
        return "the input did not change around a frame"
    return f"lead {spread_text(found['lead'], result)}; lag {spread_text(found['lag'], result)}"


def counters_text(counters: Json | None) -> str:
    """The kernel's, that are no counts of good bytes."""
    if counters is None:
        return "this port has none"
    return ", ".join(f"{name} {value}" for name, value in counters.items())


def summary(result: Json) -> list[tuple[str, str]]:
    """(name, text) of each figure, of what is not real and what was wrong; a text that is '' makes the name a line of its own."""
    rows = self_rows(result) if result["kind"] == "self" else _port_rows(result)
    return [*rows, *(("not real", text) for text in result["not_real"]), *(("wrong", text) for text in result["complaints"])]


def self_rows(result: Json) -> list[tuple[str, str]]:
    """Figures of the board's own port."""
    delay = result["delay"]
    rows = ", ".join(f"{count} after {in_ticks(ticks)}" for ticks, count in delay["histogram"][:8])
    return [
        ("edges", f"{result['edges']} launched in {result['frames']} frames, {delay['count']} came"),
        ("delay", rows or "none"),
        ("missing", f"{result['missing']} missing, {result['extra']} that nobody launched, {result['moved']} frames at another tick"),
    ]


def _port_rows(result: Json) -> list[tuple[str, str]]:
    bits = result["bits"]
    rows = [
        ("true baud", baud_text(result["baud"]["bits"])),
        ("in a row", baud_text(result["baud"]["rows"])),
        ("bit jitter", spread_text(bits["deviation"], result)),
        ("stop bit", spread_text(bits["stop_bit"], result)),
    ]
    for load in LOADS:
        name = NAMES[load]
        latency, loss = result["latency"][load], result["loss"][load]
        rows += [
            (f"{name}:", ""),
            ("gaps", spread_text(result["gaps"][load], result)),
            ("periods", periods_text(result["periods"][load])),
            ("round trip", spread_text(latency["round_trip"], result)),
            ("pin to read()", one_way_text(latency, "pin_to_read", result)),
            ("write() to pin", one_way_text(latency, "write_to_pin", result)),
            ("from the port", loss_text(loss["from_port"])),
            ("to the port", loss_text(loss["to_port"])),
        ]
    rows += [("all:", ""), ("break", break_text(result)), ("counters", counters_text(result["counters"]))]
    if result["driver_enable"]:
        rows.append(("driver enable", enable_text(result["driver_enable"], result)))
    return rows
