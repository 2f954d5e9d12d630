# SPDX-License-Identifier: BSD-2-Clause
"""litepulse capture"""

import math
from argparse import Namespace
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from litepulse import Board, Capture, PinFile, SampleStream, SrFile, VcdFile, output
from litepulse.backends import CLOCKS, Losses
from litepulse.board import FILTER_MAX
from litepulse.capture import LOST_BYTES
from litepulse.commands import VERBS, arguments
from litepulse.commands.arguments import Parser, Verbs
from litepulse.commands.following import to_the_end
from litepulse.commands.report import LOST, ended, headline, records_lost, shared
from litepulse.errors import BadInput
from litepulse.interrupt import Interrupt
from litepulse.named_time import time_text
from litepulse.output import ms, ns
from litepulse.spool import Spool
from litepulse.streams import Lost, RxByte
from litepulse.units import counted, si

EXAMPLES = """  litepulse capture --inputs 0,1,rx --for 2s
  litepulse capture --bytes --inputs none --baud 115200 --csv > bytes.csv
  litepulse capture --bytes --inputs none --clock realtime --csv > log.csv
  litepulse capture --inputs 0,1,rx --vcd pins.vcd       the pins for GTKWave, until Ctrl-C; --sr: for PulseView
  litepulse --sim --stimulus edges.txt capture --inputs 0 --count 3"""


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    sub = arguments.add_verb(verbs, "capture", run, VERBS["capture"], ("json", "csv", "vnl"), EXAMPLES, pins=False)
    add_wanted(sub)
    add_files(sub)
    sub.add_argument(
        "--clock",
        dest="event_clock",
        metavar="CLOCK",
        type=arguments.clock,
        help="also show each time in a clock, and by how much it may be wrong: utc, tai, monotonic, realtime, phc, phc:0 for /dev/ptp0, "
        "pps:0 or harp:0 for input 0 (default: the board's ticks alone)",
    )


def add_files(sub: Parser) -> None:
    """The options of the files of pins; files_of() takes them."""
    group = sub.add_argument_group("what is captured, as levels of the pins")
    group.add_argument("--vcd", dest="captured_vcd", metavar="FILE", help="to a VCD, for GTKWave and others; - for standard output")
    group.add_argument(
        "--unit",
        metavar="T",
        type=arguments.duration("unit", positive=True),
        help="unit of the VCD's times, e.g. 1ns (default: the largest that tells each tick)",
    )
    group.add_argument("--sr", dest="captured_sr", metavar="FILE", help="to a sigrok session, for PulseView: a sample per tick")
    group.add_argument(
        "--divide", default="1", metavar="N", type=arguments.count("divide", 1), help="of the session: a sample per N ticks (default 1)"
    )
    group.add_argument(
        "--binary",
        metavar="RATE",
        type=arguments.whole_rate("binary"),
        help="samples of this rate on standard output, at once: for sigrok-cli -I binary",
    )


def add_wanted(sub: Parser) -> None:
    """The options of what is captured; begin() takes them."""
    sub.add_argument(
        "--inputs",
        default="rx",
        metavar="LIST",
        type=arguments.channels,
        help="channels whose edges are shown, e.g. 0,1,rx, or none with --bytes (default rx)",
    )
    sub.add_argument("--edges", choices=("both", "rise", "fall"), default="both", help="which edges are shown (default both)")
    sub.add_argument(
        "--filter",
        default="0",
        metavar="N",
        type=arguments.count("filter", 0, FILTER_MAX),
        help="ignore levels shorter than N samples, up to 63 (default 0: off)",
    )
    sub.add_argument("--bytes", action="store_true", help="decode received bytes, too (with --baud, --format)")
    sub.add_argument("--count", default="0", metavar="N", type=arguments.count(), help="stop after N edges and bytes")
    sub.add_argument(
        "--for", dest="duration", metavar="T", type=arguments.duration("for"), help="stop after this time of the board's clock"
    )
    arguments.add_line(sub)
    arguments.add_move_tx(sub)


class Found:
    """What was captured, as it is written down: everything for JSON, else only how much it was."""

    def __init__(self, style: str | None, clock: str | None = None) -> None:
        self.keep, self.clock = style == "json", clock
        self.edges, self.bytes = Spool(), Spool()
        self.edge_count = self.byte_count = 0

    def add(self, tick: int, what: str, value: int | RxByte | Lost, ns: int | None, uncertainty: int) -> tuple[int, str | None, str]:
        """An edge or a byte, with its time in the requested clock; returns (value and flags for
        programs, text for people)."""
        if isinstance(value, Lost):
            return value.count, "at_least" if value.at_least else None, f"LOST {value}"
        more: dict[str, Any] = {}
        if self.clock is not None:
            more = {"ns": ns, "uncertainty_ns": None if ns is None else uncertainty}
            if self.clock not in CLOCKS:
                more["time"] = None if ns is None else time_text(self.clock, ns)
        if isinstance(value, RxByte):
            self.byte_count += 1
            flags = value.flags
            if self.keep:
                self.bytes.add({"tick": value.tick, "data": value.data, "flags": flags} | more)
            return value.data, "+".join(flags) or None, f"byte 0x{value.data:02x}{''.join(f' {flag}' for flag in flags)}"
        self.edge_count += 1
        if self.keep:
            self.edges.add({"tick": tick, "channel": what, "level": value} | more)
        return value, None, f"{what} {'↑' if value else '↓'}"

    @property
    def count(self) -> int:
        """Edges and bytes."""
        return self.edge_count + self.byte_count


def check_wanted(args: Namespace) -> None:
    """BadInput if there would be nothing to capture."""
    arguments.check_driven(args)
    if not args.inputs and not args.bytes:
        raise BadInput("inputs: none leaves nothing to capture without --bytes")


def begin(args: Namespace, board: Board, files: Sequence[PinFile] = ()) -> Capture:
    """The capture that the options ask for."""
    return board.capture(
        args.inputs,
        edges=args.edges,
        filter=args.filter,
        bytes=args.bytes,
        count=args.count,
        duration=args.duration,
        **arguments.line_of(args),
        move_tx=args.move_tx,
        to=files,
        clock=getattr(args, "event_clock", None),
    )


def files_of(args: Namespace) -> list[PinFile]:
    """The files that the options ask for. BadInput."""
    if not args.sim:  # before the verb, too, where there is no simulator that these could mean
        args.captured_vcd, args.captured_sr = args.captured_vcd or args.vcd, args.captured_sr or args.sr
        args.vcd = args.sr = None
    files: list[PinFile] = []
    if args.captured_vcd:
        files.append(VcdFile(output.Binary() if args.captured_vcd == "-" else args.captured_vcd, args.unit))
    elif args.unit is not None:
        raise BadInput("unit: give --vcd, too")
    if args.captured_sr:
        if args.captured_sr == "-":
            raise BadInput("sr: a session cannot be written to standard output; --vcd - and --binary can")
        files.append(SrFile(args.captured_sr, args.divide))
    elif args.divide != 1:
        raise BadInput("divide: give --sr, too")
    if args.binary:
        files.append(SampleStream(output.Binary(), args.binary))
    names = [Path(name).resolve() for name in (args.captured_vcd, args.captured_sr) if name]
    if len(names) > len(set(names)):
        raise BadInput("--vcd and --sr name the same file")
    if args.binary and getattr(args, "event_clock", None):
        raise BadInput("--binary: samples have no place for the times of --clock")
    piped = ["--vcd -"] * (args.captured_vcd == "-") + ["--binary"] * bool(args.binary) + [f"--{args.style}"] * bool(args.style)
    if len(piped) > 1 and piped[0] != f"--{args.style}":
        raise BadInput(f"{piped[0]} and {piped[1]} both write to standard output")
    return files


def run(args: Namespace) -> int:
    """litepulse capture"""
    check_wanted(args)
    files = files_of(args)
    args.wall_clock = clock_of_open(args.event_clock)
    with arguments.board(args) as board, Interrupt() as interrupt:
        return follow(args, board, begin(args, board, files), interrupt, files)


def clock_of_open(clock: str | None) -> str | None:
    """The clock that the board itself gives events, for one that is wanted."""
    return clock if clock in CLOCKS else "realtime" if clock == "utc" else None


def follow(args: Namespace, board: Board, job: Capture, interrupt: Interrupt, files: Sequence[PinFile] = ()) -> int:
    """Shows what comes until it ends."""
    clock: str | None = args.event_clock
    style = "piped" if args.binary or args.captured_vcd == "-" else args.style
    ts, found, rows_out = board.timescale, Found(style, clock), None
    names = ("t_ns", "dt_ms", "tick", "channel", "value", "flags", *((column_of(clock), "uncertainty_ns") if clock else ()))
    untimed = 0

    def look() -> None:
        nonlocal rows_out, untimed
        if style == "piped":
            output.note(headline(board) + (hint(args, job) if args.binary else ""))
        elif style in ("csv", "vnl"):
            rows_out = output.Rows(style, names, board.identity.backend)
        elif style is None:
            heading = f"{'t [ms]':>18}  {'dt [ms]':>16}  {'tick':>14}  what" if clock is None else f"{clock:<42}  {'tick':>14}  what"
            output.write(f"{headline(board)}\n{heading}")
        last = None
        for batch in job.rows():
            if style == "piped":
                output.check()
            for tick, what, value, nanoseconds, uncertainty in batch:
                dt = ms(ts, tick - last) if last is not None else None
                untimed += nanoseconds is None and not isinstance(value, Lost)
                shown, flags, text = found.add(tick, what, value, nanoseconds, uncertainty)
                if style is None and clock is not None:
                    output.write(f"{moment_of(clock, nanoseconds, uncertainty):<42}  {tick:>14}  {text}")
                elif style is None:
                    output.write(f"{ms(ts, tick):>18}  {dt or '-':>16}  {tick:>14}  {text}")
                elif rows_out:
                    timed = () if clock is None else (cell_of(clock, nanoseconds), None if nanoseconds is None else uncertainty)
                    rows_out.row(ns(ts, tick), dt, tick, "lost" if what == LOST_BYTES else what, shown, flags, *timed)
                last = tick

    def report(losses: Losses) -> tuple[dict[str, Any], str]:
        result = (
            shared(board, "capture")
            | ({"clock": clock} if clock else {})
            | ({"files": written} if (written := written_by(files)) else {})
            | {"edges": found.edges, "lost": losses.total, "lost_at_least": losses.at_least, "bytes": found.bytes}
        )
        where, lost = "SIMULATED: " if board.simulated else "", records_lost(losses.total, losses.at_least)
        if clock and untimed:
            lost += f"; {counted(untimed, 'time')} in {clock} not known yet: two of its seconds have to come in before"
        begun = [f"\n{each['file']}: sample 0 is tick {each['first_tick']}" for each in written_by(files) if each["kind"] == "sr"]
        return result, f"{where}{counted(found.edge_count, 'edge')}, {counted(found.byte_count, 'byte')}, {lost}{''.join(begun)}"

    losses = to_the_end(job, style, look, lambda: found.count, report)
    return ended(interrupt, not args.count and args.duration is None) or (LOST if losses.total else 0)


def written_by(files: Sequence[PinFile]) -> list[dict[str, Any]]:
    """Of each file its kind, name and first tick."""
    parts = [(file.kind, part) for file in files for part in (file.parts if isinstance(file, SrFile) else [(file.name, file.first_tick)])]
    return [{"kind": kind, "file": name, "first_tick": tick} for kind, (name, tick) in parts]


def hint(args: Namespace, job: Capture) -> str:
    """How sigrok-cli reads the samples."""
    return f"\nread it by sigrok-cli -I binary:numchannels={len(job.plan.channels)}:samplerate={args.binary} -i -"


def column_of(clock: str) -> str:
    """Its name: 'realtime_ns', or of a clock whose times are written as --at takes them 'pps_time'."""
    return f"{clock}_ns" if clock in CLOCKS else f"{clock.partition(':')[0]}_time"


def cell_of(clock: str, nanoseconds: int | None) -> int | str | None:
    """A time for programs."""
    return nanoseconds if nanoseconds is None or clock in CLOCKS else time_text(clock, nanoseconds)


def moment_of(clock: str, nanoseconds: int | None, uncertainty: int) -> str:
    """A time of a clock for people, in UTC where it is a time of day, and by how much it may be wrong."""
    if nanoseconds is None:
        return "-"
    bound = si(Fraction(uncertainty, 10**9), "s", 1, math.ceil)
    text = time_text("realtime" if clock in ("tai", "phc") else clock, nanoseconds)  # as gmtime() has it
    if "T" not in text:
        return f"{text:>28} s ± {bound}"
    return f"{text.replace('T', ' ').removesuffix('Z')} ± {bound}"
