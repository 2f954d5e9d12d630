# SPDX-License-Identifier: BSD-2-Clause
"""`make demo`: the 58 Hz train that an ordinary serial port cannot keep, on the simulated SoC, judged by an independent witness."""

import argparse
import json
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import litepulse
from litepulse import output, plot, witness
from litepulse.backends import LONGEST_STEP
from litepulse.commands.report import headline
from litepulse.commands.train import live_rows, train_result, train_text
from litepulse.errors import LitePulseError, OutputClosed
from litepulse.interrupt import Interrupt
from litepulse.layout import regs
from litepulse.units import exact
from litepulse.vcd import Vcd

RATE, BYTE, BAUD = 58, 0xFF, 9600


def main(argv: list[str] | None = None) -> int:
    """The demo; 0 if every edge was exact and the witness agrees."""
    parser = argparse.ArgumentParser(prog="python -m litepulse.demo", description=__doc__)
    parser.add_argument("--count", type=int, default=12, help="pulses (default %(default)s)")
    parser.add_argument("--output", type=Path, default=Path("build/demo"), help="folder for the results (default %(default)s)")
    args = parser.parse_args(argv)
    try:
        return demo(args.count, args.output)
    except OutputClosed:
        return 0
    except LitePulseError as error:
        output.note(f"demo: {error}")
        return 2


def demo(count: int, folder: Path) -> int:
    """Runs the train, prints the comparison, writes the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: folder / name for name in ("pins.vcd", "train.json", "period-error.png")}
    output.write(
        f"LitePulse demo: {count} pulses at exactly {RATE} Hz, each one the byte 0x{BYTE:02x}\n"
        f"at {BAUD} baud from a serial Tx line. No board needed: the SoC that goes into an\niCEBreaker runs here in simulation, "
        f"{count * 48_000_000 // RATE / 1e6:.0f} million clock cycles.\n"
    )
    result, seconds = simulate(count, files["pins.vcd"])
    files["train.json"].write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    series = plot.from_result(result)
    plot.save(series, files["period-error.png"])
    output.write("\n".join(plot.text(series, output.terminal_width(), output.is_plain())))
    good = compare(result, series)
    agrees = ask_witness(result, files["pins.vcd"])
    output.write(
        "\nThis was simulated, with a clock that is exact by definition. On a board, 58 Hz\n"
        "is 58 Hz of its crystal (typically within ±50 ppm until disciplined); the\n"
        "counting of ticks is the same.\n"
    )
    for name, what in (
        ("period-error.png", "picture of the period error"),
        ("pins.vcd", "the pins, for GTKWave or PulseView"),
        ("train.json", "every tick, for programs"),
    ):
        output.write(f"  {str(files[name]):<30} {what}")
    output.write(
        f"\nsimulated in {seconds:.1f} s; the same by hand (make setup installs the command):\n"
        f"  .venv/bin/litepulse --sim train --rate {RATE} --byte 0x{BYTE:02x} --baud {BAUD} --count {count}"
    )
    if not good or agrees is False:
        output.note("demo: FAILED: the edges are not where they belong")
        return 1
    return 0


def simulate(count: int, vcd: Path) -> tuple[dict[str, Any], float]:
    """(result, seconds) of the train, followed live."""
    begin = time.monotonic()
    with litepulse.open(sim=True, vcd=vcd, step=LONGEST_STEP) as board:
        output.write(headline(board))
        with Interrupt() as interrupt, output.Live("58 Hz train, SIMULATED", count) as live:
            with board.train(RATE, byte=BYTE, baud=BAUD, count=count) as train:
                for rows in train.rows():
                    live.update(train.record.launched_count, live_rows(train, rows))
        result = train_result(board, train, interrupt)
        output.write("\n".join([*train_text(board, train, result), ""]))
        if interrupt:
            raise LitePulseError("interrupted")
    return result, time.monotonic() - begin


def compare(result: dict[str, Any], series: plot.Series) -> bool:
    """Prints the figures of problem P1 beside ours; True if every edge is exact."""
    assert series.intervals_ns is not None  # it is a train
    worst = max((abs(v) for v in series.intervals_ns), default=0.0)
    error, count, wanted = result["max_error_ticks"], len(result["launched"]), result["count"]
    output.write("\n58 Hz from a serial Tx line: how far is a period from 1/58 s?\n")
    for name, figure in (
        ("usleep() and write(), tuned laptop, Linux 6.12", "±0.1 ms at best"),
        ("the same on a server", "worse"),
        ("the same through a USB-serial adapter", "worse again"),
        ("LitePulse (SIMULATED)", f"±{worst:.1f} ns, never adding up"),
    ):
        output.write(f"  {name:<49}{figure}")
    output.write("\nusleep, write(), tty, kworker and UART each add jitter; here a counter decides.\n")
    period = exact(Fraction(result["period_ticks"]))
    output.write(f"  {count} edges at start + floor(n · {period}) ticks: largest error {error} ticks")
    same = result["received"] == [t + regs.LOOPBACK_TICKS for t in result["launched"]]
    output.write(
        f"  {len(result['received'])} edges received, {'each' if same else 'NOT each'} {regs.LOOPBACK_TICKS} tick "
        f"after it was launched (a wire: always {regs.LOOPBACK_TICKS})"
    )
    output.write(f"  {result['lost']} records lost, {result['bad_frames']} bytes wrong")
    return error == 0 and count == wanted and same and result["lost"] == result["bad_frames"] == 0


def ask_witness(result: dict[str, Any], path: Path) -> bool | None:
    """True or False: do the pins, as the VCD and sigrok's decoder have them, agree? None if sigrok-cli is not there."""
    pins = Vcd(path, Fraction(result["tick_hz"]))
    if pins.falls("tx") != result["launched"]:
        output.write("  the pins in the VCD DIFFER from the timestamps")
        return False
    output.write("  the pin in the VCD falls at exactly these ticks")
    if not witness.available():
        output.write("  no independent witness: sigrok-cli is not installed (apt install sigrok-cli)")
        return None
    seen = witness.read_uart(path, pins.tick_hz, "tx", BAUD)
    wanted = [(tick, BYTE) for tick in result["launched"]]
    if seen != wanted:
        output.write(f"  sigrok-cli DISAGREES: it decoded {len(seen)} bytes, first {seen[:3]}")
        return False
    output.write(f"  sigrok-cli, an independent witness, reads {len(seen)} times 0x{BYTE:02X} at these ticks")
    return True


if __name__ == "__main__":
    sys.exit(main())
