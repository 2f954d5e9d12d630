# SPDX-License-Identifier: BSD-2-Clause
"""The result of a run as one object of JSON's types; schema.json beside this file says what is in it."""

import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from litepulse import __version__
from litepulse.autocorrelation import Autocorrelation
from litepulse.certify import PROCEDURE
from litepulse.certify.analysis import (
    LEAST_ROW,
    Baud,
    Bits,
    Enable,
    Latency,
    Loss,
    baud_of,
    bits_of,
    breaks_of,
    enable_of,
    gaps_of,
    latency_of,
    loss_of,
    runs_of,
    slope_of,
)
from litepulse.certify.records import LOADS, Records, Transfer
from litepulse.certify.selftest import SelfResult
from litepulse.distribution import PERCENTILES, Distribution
from litepulse.line import Profile
from litepulse.units import exact, fixed

SCHEMA = Path(__file__).with_name("schema.json")


def schema() -> dict[str, Any]:
    """The JSON Schema of results."""
    return dict(json.loads(SCHEMA.read_text(encoding="utf-8")))


def stamp() -> dict[str, Any]:
    """Which procedure, which version of the package, when."""
    date = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return {"procedure": PROCEDURE, "litepulse": __version__, "date": date}


def distribution(values: Distribution, unit: str) -> dict[str, Any]:
    """Figures and histogram; null where there are no values."""
    some = bool(values.count)
    names = ("median", "p99", "p99_9")
    return {
        "unit": unit,
        "count": values.count,
        "least": values.least if some else None,
        **{name: values.percentile(percent) if some else None for name, percent in zip(names, PERCENTILES)},
        "most": values.most if some else None,
        "mean": exact(values.mean) if some else None,
        "histogram": [list(row) for row in values.rows()],
    }


def figures(records: Records, tick_hz: Fraction) -> dict[str, Any]:
    """All figures of what was seen."""
    fmt = records.format
    nominal = tick_hz / records.baud
    bits = bits_of([block.edges for block in records.blocks], fmt, nominal, tick_hz)
    bit = bits.bit.value if bits.bit else nominal
    every_row = [row.starts for load in LOADS for row in records.from_patient.get(load, ())]
    runs = [run for starts in every_row for run in runs_of(starts, fmt.bits * bit, bit) if len(run) >= LEAST_ROW]
    row = slope_of(runs)
    baud = Fraction(records.baud)
    by_bits = baud_of(bit, bits.uncertainty, baud, tick_hz) if bits.bit else None
    by_rows = baud_of(row.value / fmt.bits, row.bound / fmt.bits, baud, tick_hz) if row else None
    enable = None
    if records.enable:
        blocks = [(block.edges, block.enable, block.enable_before) for block in records.blocks]
        enable = enable_of(blocks, fmt, bit, tick_hz)
    breaks = breaks_of(records.breaks)
    losses = {
        load: {"from_port": _total(records.from_patient[load]), "to_port": _total(records.to_patient[load])}
        for load in LOADS
        if load in records.from_patient
    }
    latencies = {load: latency_of(echo, tick_hz) for load, echo in records.echo.items()}
    return {
        "baud": {"nominal": records.baud, "bits": _baud(by_bits), "rows": _baud(by_rows)},
        "bits": _bits(bits, fmt.stop_bits * nominal),
        "gap_uncertainty_ns": math.ceil((fmt.bits * bits.uncertainty + 1) / tick_hz * 10**9),
        "gaps": {
            load: distribution(gaps_of([row.starts for row in rows], fmt.bits * bit, tick_hz), "ns")
            for load, rows in records.from_patient.items()
        },
        "periods": {load: _periods(rows) for load, rows in records.from_patient.items()},
        "loss": {load: {way: _loss(loss) for way, loss in ways.items()} for load, ways in losses.items()},
        "latency": {load: _latency(latency) for load, latency in latencies.items()},
        "break": {"asked": breaks.requested, "seen": distribution(breaks.seen, "ticks"), "program": distribution(breaks.program, "ns")},
        "driver_enable": _enable(enable, records.rs485) if enable else None,
        "counters": records.counters,
        "busy_processes": records.load,
        "complaints": complaints(bits, losses, latencies, enable),
    }


def _total(rows: Sequence[Transfer]) -> Loss:
    return sum(map(loss_of, rows), Loss())


def _periods(rows: Sequence[Transfer]) -> dict[str, Any]:
    """From start edge to start edge, of rows that came whole."""
    sums = Autocorrelation()
    for row in rows:
        if len(row.starts) == len(row.sent):
            sums.row(later - tick for tick, later in zip(row.starts, row.starts[1:]))
    values = [None if each is None else round(each, 6) for each in sums.values()]
    return {"count": sums.count, "autocorrelation": values}


def _baud(baud: Baud | None) -> dict[str, Any] | None:
    if baud is None:
        return None
    ppm = {"ppm": float(fixed(baud.ppm, 3)), "uncertainty_ppm": float(fixed(baud.uncertainty, 3))}
    return {"baud": exact(baud.baud), **ppm}


def _bits(bits: Bits, stop: Fraction) -> dict[str, Any]:
    return {
        "frames": bits.frames,
        "bad_frames": bits.bad,
        "bit_ticks": exact(bits.bit.value) if bits.bit else None,
        "deviation": distribution(bits.deviations, "ps"),
        "stop_bit": distribution(bits.stops, "ticks"),
        "nominal_stop_ticks": exact(stop),
    }


def _loss(loss: Loss) -> dict[str, int]:
    return {
        "sent": loss.sent,
        "received": loss.received,
        "lost": loss.lost,
        "wrong": loss.wrong,
        "added": loss.added,
        "errors": loss.errors,
    }


def _latency(latency: Latency) -> dict[str, Any]:
    def resolved(values: Distribution) -> bool | None:
        if latency.uncertainty is None or not values.count:
            return None
        return latency.uncertainty < values.percentile(50)

    return {
        "missing": latency.missing,
        "left_out": latency.left_out,
        "round_trip": distribution(latency.round_trip, "ticks"),
        "program": distribution(latency.program, "ns"),
        "pin_to_read": distribution(latency.read, "ns"),
        "write_to_pin": distribution(latency.write, "ns"),
        "uncertainty_ns": latency.uncertainty,
        "resolved": {"pin_to_read": resolved(latency.read), "write_to_pin": resolved(latency.write)},
    }


def _enable(enable: Enable, by_driver: bool) -> dict[str, Any]:
    return {
        "active_level": enable.active,
        "by_driver": by_driver,
        "lead": distribution(enable.lead, "ns"),
        "lag": distribution(enable.lag, "ns"),
        "uncovered_frames": enable.uncovered,
    }


def complaints(bits: Bits, losses: Mapping[str, Mapping[str, Loss]], latencies: Mapping[str, Latency], enable: Enable | None) -> list[str]:
    """What was lost or wrong, a sentence each."""
    found: list[str] = []
    if bits.bad:
        found.append(f"{bits.bad} of {bits.frames + bits.bad} frames of alternating bits were bad")
    for load, ways in losses.items():
        for way, loss in ways.items():
            if not loss.clean:
                what = f"{loss.lost} bytes lost, {loss.wrong} wrong, {loss.added} added, {loss.errors} with errors, of {loss.sent}"
                found.append(f"{what} sent {'from' if way == 'from_port' else 'to'} the port, {load}")
    for load, latency in latencies.items():
        if latency.missing:
            found.append(f"{latency.missing} requests had no answer, {load}")
    if enable and enable.uncovered:
        found.append(f"{enable.uncovered} frames began while driver enable was not active")
    return found


def self_figures(found: SelfResult, profile: Profile) -> dict[str, Any]:
    """All figures of the board's own port."""
    return {
        "baud": exact(profile.bit_period.baud),
        "bit_ticks": exact(profile.bit_period.ticks),
        "frames": found.frames,
        "edges": found.edges,
        "delay": distribution(found.delays, "ticks"),
        "missing": found.missing,
        "extra": found.extra,
        "moved": found.moved,
        "refused": found.refused,
        "complaints": found.complaints,
    }
