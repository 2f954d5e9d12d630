# SPDX-License-Identifier: BSD-2-Clause
"""litepulse lin: monitor, master, slave, request, inject, header"""

import contextlib
import math
import re
import time
from argparse import Action, ArgumentParser, Namespace
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, TypeVar

from litepulse import Board, LostEvent, lin, output
from litepulse.backends import Losses
from litepulse.commands import VERBS, arguments
from litepulse.commands.arguments import Verbs
from litepulse.commands.following import to_the_end
from litepulse.commands.frames import FrameTable, fits
from litepulse.commands.report import LOST, clock_note, ended, headline, records_lost, shared
from litepulse.errors import BadInput
from litepulse.interrupt import Interrupt
from litepulse.job import Job
from litepulse.limits import BREAK_MAX
from litepulse.lin.frames import BINS, Spaces
from litepulse.lin.log import FrameLog
from litepulse.lin.monitor import DEFAULT_BAUD
from litepulse.lin.node import SlaveNode, checked_response
from litepulse.lin.protocol import CLASSIC_IDS, ID_MAX, SPACE_BITS, hexadecimal
from litepulse.lin.slave import DEFAULT_SPACE, play
from litepulse.output import ns
from litepulse.spool import Spool
from litepulse.units import Timescale, counted, exact, fixed, parse_byte, to_fraction

Key = TypeVar("Key")
Given = TypeVar("Given")
COLUMNS = ("t_ns", "tick", "id", "name", "pid", "data", "checksum", "model", "space_ticks", "spaces_ticks", "limit_ticks", "own", "error")
MONITOR = """  litepulse lin monitor --ldf door.ldf
  litepulse lin monitor --baud 9600 --for 10s --json > frames.json
  litepulse lin monitor --ldf door.ldf --log drive.asc"""
MASTER = """  litepulse lin master door.ldf --schedule Normal --set WindowUp=1
  litepulse --sim lin master door.ldf --schedule Normal --rounds 3"""
SLAVE = """  litepulse lin slave door.ldf --node Window --set WindowPlace=40
  litepulse lin slave door.ldf --node Window --flip-checksum WindowState=0x80
  litepulse lin slave door.ldf --node Window --keep"""
REQUEST = """  litepulse lin request door.ldf --node Window --data b200ff7fffff
  litepulse lin request door.ldf --nad 0x02 --data 22f190 --schedule Normal"""
HEADER = """  litepulse lin header --id 0x20 > header.txt
  litepulse lin header --id 0x10 --data 2aff --id 0x20 --every 20ms > nodes.txt"""
INJECT = """  litepulse lin inject --id 0x10 --data 4a5593e5 --flip-checksum 0x01
  litepulse lin inject --id 0x11 --break 9
  litepulse --sim lin inject --id 0x12 --data 00 --stretch 2.3=+0.4 --json"""


def add(verbs: Verbs) -> None:
    """The verb and its own verbs, to the command line."""
    examples = "examples:\n" + "\n".join((MONITOR, MASTER, SLAVE, REQUEST, INJECT, HEADER))
    parser = verbs.add_parser("lin", help=VERBS["lin"], description=VERBS["lin"] + ".", epilog=examples)
    arguments.add_device(parser)
    inner = parser.add_subparsers(dest="lin_verb", metavar="VERB", required=True, parser_class=arguments.Parser)
    sub = arguments.add_verb(inner, "monitor", monitor, "show the frames on the bus, with their ticks", ("json", "csv", "vnl"), MONITOR)
    sub.add_argument("--ldf", metavar="FILE", help="description of the network: names, lengths, checksums, signals, bit rate")
    add_encoding(sub)
    sub.add_argument("--log", metavar="FILE", help="also write the frames to FILE.asc, FILE.blf (Vector) or FILE.log (candump)")
    add_end(sub)
    add_bus(sub)
    arguments.add_move_tx(sub)
    sub = arguments.add_verb(inner, "master", master, "run a schedule: each header at its tick exactly", ("json", "csv", "vnl"), MASTER)
    sub.add_argument("ldf", metavar="FILE", help="description of the network (LDF)")
    add_encoding(sub)
    sub.add_argument("--schedule", metavar="NAME", help="which of its schedules (default: the only one)")
    sub.add_argument("--rounds", default="0", metavar="N", type=arguments.count("rounds"), help="end after so many (default 0: at Ctrl-C)")
    add_set(sub)
    sub.add_argument("--start", metavar="T", type=arguments.duration("start"), help="first slot: +10ms from now, or a tick (default: soon)")
    add_bus(sub)
    sub = arguments.add_verb(inner, "slave", slave, "answer as a node: each byte at its tick exactly", ("json", "csv", "vnl"), SLAVE)
    sub.add_argument("ldf", metavar="FILE", help="description of the network (LDF)")
    add_encoding(sub)
    sub.add_argument("--node", metavar="NAME", required=True, help="which of its slaves")
    add_set(sub)
    sub.add_argument(
        "--space",
        metavar="BITS",
        type=lambda text: to_fraction(text, "space"),
        help=f"bit times before each byte of an answer (default {DEFAULT_SPACE}; the standard allows {SPACE_BITS})",
    )
    sub.add_argument(
        "--respond",
        metavar="HEX",
        action="append",
        default=[],
        type=lambda text: checked_response(data_bytes(text, "respond")),
        help="eight bytes for the next header of SlaveResp; repeatable, one for each header",
    )
    own = sub.add_argument_group("what the master can read and configure")
    own.add_argument(
        "--identifier",
        metavar="N=HEX",
        action="append",
        default=[],
        type=lambda text: identified(text, "identifier"),
        help="what ReadByIdentifier reads: 0x01=78563412 the serial number, 0x20 to 0x3f one to five bytes; repeatable (default: refused)",
    )
    own.add_argument(
        "--dump", metavar="HEX", type=lambda text: data_bytes(text, "dump"), help="five bytes that answer DataDump (default: refused)"
    )
    own.add_argument(
        "--configuration",
        metavar="FILE",
        help="SaveConfiguration writes NAD and identifiers to it; they are taken from it at the beginning (default: refused)",
    )
    sub.add_argument(
        "--keep",
        action="store_true",
        help="leave the board answering and return; 'litepulse stop' ends it. Answers stay as they are: response_error is not set, and "
        "event-triggered frames and SlaveResp are answered once",
    )
    add_end(sub)
    wrong = sub.add_argument_group("what is wrong with the answers")
    wrong.add_argument(
        "--flip-checksum",
        metavar="ID=MASK",
        action="append",
        default=[],
        type=lambda text: frame_byte(text, "flip-checksum"),
        help="bits of the checksum; ID is an identifier or the name of a frame; repeatable",
    )
    wrong.add_argument(
        "--checksum",
        metavar="ID=B",
        action="append",
        default=[],
        type=lambda text: frame_byte(text, "checksum"),
        help="sent instead of the right one; repeatable",
    )
    add_bus(sub)
    sub = arguments.add_verb(inner, "request", request, "send a diagnostic request to a node, and wait for its answer", ("json",), REQUEST)
    sub.add_argument("ldf", metavar="FILE", help="description of the network (LDF)")
    add_encoding(sub)
    which = sub.add_mutually_exclusive_group(required=True)
    which.add_argument("--node", metavar="NAME", help="the slave; its NAD is that of the description")
    which.add_argument("--nad", metavar="N", type=lambda text: parse_byte(text, "nad"), help="address of the node, e.g. 0x02")
    sub.add_argument(
        "--data",
        metavar="HEX",
        required=True,
        type=data_bytes,
        help="service and its data, up to 4095 bytes, e.g. b200ff7fffff: ReadByIdentifier 0 of any product",
    )
    sub.add_argument("--schedule", metavar="NAME", help="runs meanwhile (default: nothing else is sent)")
    sub.add_argument(
        "--timeout",
        metavar="T",
        default="1s",
        type=arguments.duration("timeout"),
        help="end if no frame of the answer comes for so long (default 1s)",
    )
    add_bus(sub)
    sub = inner.add_parser(
        "header",
        help="write a file for --stimulus: another node's frames",
        description="Write a file for --stimulus to the standard output: frames of another node for the simulated board.",
        epilog=f"examples:\n{HEADER}",
    )
    sub.set_defaults(function=header, style=None)
    sub.add_argument(
        "--id",
        dest="frames",
        metavar="N",
        required=True,
        action=NextFrame,
        type=identifier,
        help="identifier of a frame, 0x00 to 0x3f; repeatable",
    )
    sub.add_argument(
        "--data", dest="frames", metavar="HEX", action=NextData, type=data_bytes, help="of the frame before it (default: none)"
    )
    sub.add_argument("--model", choices=(lin.ENHANCED, lin.CLASSIC), default=lin.ENHANCED, help="checksum (default enhanced)")
    sub.add_argument("--at", metavar="T", default="40ms", type=arguments.duration("at"), help="first break (default 40ms)")
    sub.add_argument("--every", metavar="T", default="20ms", type=arguments.duration("every"), help="from break to break (default 20ms)")
    sub.add_argument("--baud", metavar="RATE", type=arguments.rate("baud"), help=f"bit rate (default {DEFAULT_BAUD})")
    sub.add_argument(
        "--clock", metavar="HZ", default="48M", type=arguments.rate("clock"), help="ticks per second of the simulated board (default 48M)"
    )
    sub = arguments.add_verb(inner, "inject", inject, "send one frame, right or wrong on purpose", ("json",), INJECT)
    sub.add_argument("--id", metavar="N", required=True, type=identifier, help="identifier, 0x00 to 0x3f")
    sub.add_argument("--data", metavar="HEX", type=data_bytes, help="1 to 8 bytes, e.g. 4a5593e5 (default: the header alone)")
    sub.add_argument("--model", choices=(lin.ENHANCED, lin.CLASSIC), default=lin.ENHANCED, help="checksum (default enhanced)")
    sub.add_argument("--at", metavar="T", type=arguments.duration("at"), help="+10ms from now, or a tick (default: soon)")
    wrong = sub.add_argument_group("what is wrong with it")
    wrong.add_argument(
        "--break", dest="break_bits", default="13", metavar="N", type=arguments.count("break", 1, BREAK_MAX), help="its length"
    )
    wrong.add_argument("--sync", default="0x55", metavar="B", type=lambda text: parse_byte(text, "sync"), help="instead of 0x55")
    wrong.add_argument(
        "--flip-parity", default="0", metavar="MASK", type=arguments.count("flip-parity", 0, 3), help="of the two parity bits"
    )
    wrong.add_argument(
        "--flip-checksum", default="0", metavar="MASK", type=lambda text: parse_byte(text, "flip-checksum"), help="bits of the checksum"
    )
    wrong.add_argument(
        "--stretch",
        metavar="BYTE.BIT=BITS",
        action="append",
        default=[],
        type=stretched,
        help="a bit that is longer by so many bit times, or shorter: 1.0=+0.3 is the start bit of the identifier; repeatable",
    )
    add_bus(sub)


class NextFrame(Action):
    """--id begins a frame."""

    def __call__(self, parser: ArgumentParser, namespace: Namespace, values: Any, option_string: str | None = None) -> None:
        setattr(namespace, self.dest, [*(getattr(namespace, self.dest) or []), (values, None)])


class NextData(Action):
    """--data gives the frame before it its data."""

    def __call__(self, parser: ArgumentParser, namespace: Namespace, values: Any, option_string: str | None = None) -> None:
        frames: list[tuple[int, bytes | None]] = getattr(namespace, self.dest) or []
        if not frames or frames[-1][1] is not None:
            raise BadInput("data: give it behind the --id that it belongs to, once")
        setattr(namespace, self.dest, [*frames[:-1], (frames[-1][0], values)])


def add_encoding(sub: ArgumentParser) -> None:
    """How the text of a description is to be read."""
    sub.add_argument(
        "--encoding",
        metavar="NAME",
        help="of the description's text, e.g. gbk (default: by its byte order mark, else UTF-8, else Windows-1252)",
    )


def add_set(sub: ArgumentParser) -> None:
    """Values of signals."""
    sub.add_argument(
        "--set",
        metavar="SIGNAL=V",
        action="append",
        default=[],
        type=signal_value,
        help="value of a signal, else its initial one: physical (23.5), by its name (open), raw (0x1f, raw:31), or the bytes of an array "
        "(1,2,3 or 0x010203); repeatable",
    )


def add_end(sub: ArgumentParser) -> None:
    """When it ends by itself."""
    sub.add_argument("--count", default="0", metavar="N", type=arguments.count(), help="stop after so many frames")
    sub.add_argument(
        "--for", dest="duration", metavar="T", type=arguments.duration("for"), help="stop after this time of the board's clock"
    )


def add_bus(sub: ArgumentParser) -> None:
    """How the bus is used."""
    group = sub.add_argument_group("bus")
    group.add_argument(
        "--baud", metavar="RATE", type=arguments.rate("baud"), help=f"bit rate (default: the description's, or {DEFAULT_BAUD})"
    )
    group.add_argument("--loopback", action="store_true", help="the receiver listens to the transmitter inside the core, not to the pin")


def signal_value(text: str) -> tuple[str, lin.Value]:
    """NAME=VALUE: a physical number, what the description calls a value, raw:N or 0xN as it is sent, bytes with commas between them."""
    name, sign, value = text.partition("=")
    if not name or not sign or not value:
        raise BadInput(f"set: '{text}' is not like SIGNAL=VALUE")
    word = value.strip()
    if word.lower().startswith("raw:"):
        try:
            return name, lin.Raw(int(word[4:], 0))
        except ValueError:
            raise BadInput(f"set: '{text}' is not like SIGNAL=raw:31 or SIGNAL=raw:0x1f") from None
    with contextlib.suppress(ValueError):
        return name, lin.Raw(int(word, 0)) if re.match("(?i)0[xbo]", word) else int(word, 10)
    with contextlib.suppress(ValueError):
        return name, float(word)
    if "," in word:
        with contextlib.suppress(ValueError):
            return name, [int(byte, 0) for byte in re.sub(r"^\s*[\[{]|[\]}]\s*$", "", word).split(",")]
    return name, value


def identifier(text: str) -> int:
    """0 to 0x3f."""
    try:
        number = int(text, 0)
    except ValueError:
        raise BadInput(f"id: '{text}' is not an identifier, like 0x10") from None
    if not 0 <= number <= ID_MAX:
        raise BadInput(f"id: {hexadecimal(number)} is outside 0x00 to {hexadecimal(ID_MAX)}")
    return number


def frame_byte(text: str, what: str) -> tuple[int | str, int]:
    """ID=BYTE; ID is an identifier or the name of a frame."""
    name, sign, value = text.partition("=")
    if not name or not sign or not value:
        raise BadInput(f"{what}: '{text}' is not like 0x20=0x01")
    frame: int | str = name
    with contextlib.suppress(ValueError):
        frame = int(name, 0)
    return frame, parse_byte(value, what)


def identified(text: str, what: str) -> tuple[int, bytes]:
    """N=HEX."""
    name, sign, value = text.partition("=")
    if not name or not sign or not value:
        raise BadInput(f"{what}: '{text}' is not like 0x20=0a0b")
    return parse_byte(name, what), data_bytes(value, what)


def data_bytes(text: str, what: str = "data") -> bytes:
    """Hexadecimal digits, blanks and commas between them allowed."""
    try:
        return bytes.fromhex(re.sub(r"[\s,]|0x", "", text))
    except ValueError:
        raise BadInput(f"{what}: '{text}' is not bytes in hexadecimal, like 4a5593e5") from None


def stretched(text: str) -> tuple[tuple[int, int], Fraction]:
    """BYTE.BIT=BITS."""
    match = re.fullmatch(r"(\d+)\.(\d+)=([+-]?[0-9./]+)", text.strip())
    if not match:
        raise BadInput(f"stretch: '{text}' is not like 2.3=+0.4")
    return (int(match[1]), int(match[2])), to_fraction(match[3], "stretch")


# What was heard ---------------------------------------------------------------------------------------------------------


def value_of(frame: lin.Frame) -> dict[str, Any]:
    """A frame as --json has it."""
    return {
        "tick": frame.tick,
        "id": frame.frame_id,
        "name": frame.name or None,
        "pid": frame.pid,
        "data": frame.data.hex(),
        "checksum": frame.checksum,
        "model": frame.model,
        "space_ticks": None if frame.space is None else exact(frame.space),
        "spaces_ticks": None if frame.spaces is None else exact(frame.spaces),
        "limit_ticks": None if frame.limit is None else exact(frame.limit),
        "slow": frame.slow,
        "own_header": frame.own_header,
        "own_response": frame.own_response,
        "error": frame.error,
    }


def shown_byte(value: int | None) -> str | None:
    """An identifier or a byte."""
    return None if value is None else hexadecimal(value)


def row_of(frame: lin.Frame, timescale: Timescale) -> tuple[int | str | None, ...]:
    """A frame as CSV and vnlog have it."""
    own = {(True, True): "both", (True, False): "header", (False, True): "response"}.get((frame.own_header, frame.own_response))
    return (
        ns(timescale, frame.tick),
        frame.tick,
        shown_byte(frame.frame_id),
        frame.name or None,
        shown_byte(frame.pid),
        frame.data.hex() or None,
        shown_byte(frame.checksum),
        frame.model,
        None if frame.space is None else fixed(frame.space, 3),
        None if frame.spaces is None else fixed(frame.spaces, 3),
        None if frame.limit is None else fixed(frame.limit, 3),
        own,
        frame.error.replace(" ", "_") if frame.error else None,
    )


class Report:
    """Shows frames as they come, and in the end what they add up to."""

    def __init__(self, args: Namespace, board: Board, verb: str, bit: Fraction, description: lin.Description | None) -> None:
        self.args, self.board, self.verb, self.bit, self.description = args, board, verb, bit, description
        self.frames = Spool()
        self.spaces: dict[int, Spaces] = {}
        self.errors: dict[str, int] = {}
        self.count = 0
        self.log: FrameLog | None = None
        self.log_offset = 0.0  # seconds since 1970 at tick 0
        self.rows: output.Rows | None = None
        if args.style in ("csv", "vnl"):
            self.rows = output.Rows(args.style, COLUMNS, board.identity.backend)
        self.table = FrameTable(board, bit, description, fits())
        if args.style is None:
            output.write(f"{headline(board)}\n{self.table.heading()}")

    def show(self, item: lin.Frame | LostEvent) -> None:
        """A frame, or a loss."""
        if isinstance(item, LostEvent):
            if self.args.style is None:
                output.write(self.table.loss(item))
            return
        self.count += 1
        if self.log:
            self.log.add(item, self.log_offset + float(self.board.timescale.seconds(item.tick)))
        if item.error:
            self.errors[item.error] = self.errors.get(item.error, 0) + 1
        if item.frame_id is not None and not item.error:
            self.spaces.setdefault(item.frame_id, Spaces()).add(item)
        if self.args.style is None:
            output.write(self.table.frame(item))
        elif self.rows:
            self.rows.row(*row_of(item, self.board.timescale))
        else:
            self.frames.add(value_of(item))

    def histogram(self) -> list[str]:
        """Lines: how long the responses let wait, by identifier."""
        lines: list[str] = []
        for frame_id, spaces in sorted(self.spaces.items()):
            if spaces.least is None or spaces.most is None:
                continue
            bits = [fixed(value / self.bit, 2) for value in (spaces.least, spaces.most)]
            share = fixed(100 * spaces.share, 0)
            answers = counted(spaces.count, "response")
            heading = f"id {hexadecimal(frame_id)}: {answers}, spaces {bits[0]} to {bits[1]} bits, {share} % of the limit"
            lines.append(output.folded(heading))
            top, bar = max(spaces.bins.values()), min(40, (fits() or 80) - 28)
            for number, count in sorted(spaces.bins.items()):
                label = "more than the limit" if number == BINS else f"{100 * number // BINS:3d} to {100 * (number + 1) // BINS:3d} %"
                lines.append(f"{label:>19} {count:7d} {'#' * max(1, bar * count // top)}")
        return lines

    def end(self, losses: Losses, interrupt: Interrupt, more: dict[str, Any], rows: list[tuple[str, str]]) -> tuple[dict[str, Any], str]:
        """What it adds up to, for programs and for people."""
        wrong = ", ".join(f"{count} {what}" for what, count in sorted(self.errors.items())) or "none with an error"
        slow = sum(spaces.slow for spaces in self.spaces.values())
        said = [("frames", f"{self.count}, {wrong}; {slow} slow; {records_lost(losses.total, losses.at_least)}")]
        said += [*rows, ("clock", clock_note(self.board))]
        result = (
            shared(self.board, f"lin {self.verb}")
            | {"bit_period_ticks": exact(self.bit)}
            | more
            | {
                "frames": self.frames,
                "count": self.count,
                "errors": self.errors,
                "spaces": {
                    hexadecimal(frame_id): {
                        "count": spaces.count,
                        "slow": spaces.slow,
                        "least_ticks": None if spaces.least is None else exact(spaces.least),
                        "most_ticks": None if spaces.most is None else exact(spaces.most),
                        "histogram": [spaces.bins.get(number, 0) for number in range(BINS + 1)],
                    }
                    for frame_id, spaces in sorted(self.spaces.items())
                },
                "lost": losses.total,
                "lost_at_least": losses.at_least,
                "ended": "interrupt" if interrupt else "all there",
            }
        )
        return result, "\n".join([*self.histogram(), *output.aligned(said)])

    def follow(
        self,
        job: Job[lin.Frame | LostEvent],
        interrupt: Interrupt,
        endless: bool,
        more: Callable[[], dict[str, Any]] = dict[str, Any],
        rows: Callable[[], list[tuple[str, str]]] = list[tuple[str, str]],
    ) -> int:
        """Shows what comes of a job until it ends; the exit status. more: for --json; rows: for people, in the end."""

        def look() -> None:
            for batch in job.batches():
                output.check()
                for item in batch:
                    self.show(item)

        losses = to_the_end(job, self.args.style, look, lambda: self.count, lambda losses: self.end(losses, interrupt, more(), rows()))
        return ended(interrupt, endless) or (LOST if losses.total or self.errors or not self.count else 0)


# The verbs --------------------------------------------------------------------------------------------------------------


def monitor(args: Namespace) -> int:
    """litepulse lin monitor"""
    if args.sim:
        check_driven(args)
    description = described(args) if args.ldf else None
    if args.encoding and not args.ldf:
        raise BadInput("encoding: there is no description whose text it could be: give --ldf FILE")
    with arguments.board(args) as board, Interrupt() as interrupt:
        job = lin.monitor(
            board, description, baud=args.baud, loopback=args.loopback, move_tx=args.move_tx, count=args.count, duration=args.duration
        )
        report = Report(args, board, "monitor", job.bit, description)
        with contextlib.closing(FrameLog(args.log)) if args.log else contextlib.nullcontext() as report.log:
            report.log_offset = time.time() - float(board.timescale.seconds(board.now().tick))
            return report.follow(job, interrupt, not args.count and args.duration is None)


def described(args: Namespace, node: str = "") -> lin.Description:
    """The description, and a line for each thing in it that is not used."""
    description = lin.Description(args.ldf, args.encoding)
    for note in (*description.notes, *description.notes_of(node)):
        output.note(f"litepulse: {description.path.name}: {note}")
    return description


def check_driven(args: Namespace) -> None:
    """BadInput if a simulated board would hear nothing forever."""
    if not args.stimulus and not args.count and args.duration is None:
        raise BadInput("nothing drives the simulated bus: give --stimulus FILE (lines 'tick rx level'), or --count or --for")


def master(args: Namespace) -> int:
    """litepulse lin master"""
    description = described(args)
    names = description.schedules()
    if args.schedule is None and len(names) != 1:
        raise BadInput(f"schedule: {description.path.name} has {', '.join(names) or 'none'}: give one with --schedule")
    schedule = args.schedule or names[0]
    description.schedule(schedule)
    values = dict(args.set)
    description.check_values(values)
    with arguments.board(args) as board, Interrupt() as interrupt:
        start = None if args.start is None else arguments.when(args.start, board)
        job = lin.master(
            board, description, schedule, start=start, rounds=args.rounds, values=values, baud=args.baud, loopback=args.loopback
        )
        for name in job.run.tight_slots():
            output.note(f"litepulse: the slot of {name} is shorter than the longest frame allowed: a slow answer runs into the next")
        report = Report(args, board, "master", job.bit, description)
        return report.follow(job, interrupt, not args.rounds, lambda: {"start": job.start, "schedule": job.run.schedule})


def slave(args: Namespace) -> int:
    """litepulse lin slave"""
    if args.keep:
        check_keep(args)
    if args.sim:
        check_driven(args)
        args.wire = args.wire or ["bus"]
    description = described(args, args.node)
    flips, checksums = merged(args.flip_checksum, "flip-checksum"), merged(args.checksum, "checksum")
    node = SlaveNode(description, args.node, flips, checksums, merged(args.identifier, "identifier"), args.dump, args.configuration)
    values = dict(args.set)
    node.changed(values)
    with arguments.board(args) as board, Interrupt() as interrupt:
        job = play(board, node, values, args.respond, args.space, args.baud, args.loopback, args.count, args.duration)
        if args.space is not None and args.space > SPACE_BITS:
            output.note(f"litepulse: space: the standard allows {SPACE_BITS} bit times before each byte")
        if args.keep:
            job.detach()
            return told_to_keep(args, board, job)
        report, run = Report(args, board, "slave", job.run.bit, description), job.run

        def more() -> dict[str, Any]:
            return {"node": args.node, "space_ticks": run.space, "answered": run.answered, "missed": run.missed}

        def rows() -> list[tuple[str, str]]:
            return [("answers", f"{run.answered} sent whole, {run.missed} missed")]

        return report.follow(job, interrupt, not args.count and args.duration is None, more, rows)


def check_keep(args: Namespace) -> None:
    """BadInput if the slave cannot go on without this command, or the command would have to stay."""
    if args.sim:
        raise BadInput("--keep needs a device that outlives this command; the simulated SoC of --sim ends with it")
    if args.count or args.duration is not None:
        raise BadInput("--keep returns at once: --count and --for have nothing to count")
    if args.loopback:
        raise BadInput("--keep and --loopback exclude each other: the receiver is wired back to the bus when the command ends")
    if args.style in ("csv", "vnl"):
        raise BadInput(f"--keep returns at once: there are no rows for --{args.style}")
    if args.identifier or args.dump is not None or args.configuration is not None:
        raise BadInput("--keep returns at once: nobody would answer the requests for --identifier, --dump and --configuration")
    if len(args.respond) > 1:
        raise BadInput("respond: with --keep the board can answer one header of SlaveResp, so give it once")


def told_to_keep(args: Namespace, board: Board, job: lin.Slave) -> int:
    """Says what goes on."""
    run = job.run
    frames = sorted(run.node.published.items())
    if args.style == "json":
        answers = {str(frame_id): name for frame_id, name in frames}
        output.write_json(shared(board, "lin slave") | {"armed": True, "node": args.node, "space_ticks": run.space, "answers": answers})
    else:
        words = arguments.device_words(args, board)
        names = ", ".join(f"{name} ({hexadecimal(frame_id)})" for frame_id, name in frames) or "no frame"
        output.write(f"{headline(board)}\narmed: {args.node} answers {names}; 'litepulse{words} stop' ends it")
    return 0


def request(args: Namespace) -> int:
    """litepulse lin request"""
    description = described(args)
    nad: int | None = args.nad
    if args.node is not None:
        description.check_slave(args.node)
        nad = description.network.slaves[args.node].nad
        if nad is None:
            raise BadInput(f"{args.node} has no NAD in its Node_attributes: give it with --nad")
    assert nad is not None
    lin.segments(nad, args.data)
    if args.schedule is not None:
        description.schedule(args.schedule)
    with arguments.board(args) as board, Interrupt() as interrupt:
        begin = board.now().tick
        asked, frames = lin.request(
            board, description, nad, args.data, schedule=args.schedule, timeout=args.timeout, baud=args.baud, loopback=args.loopback
        )
        if interrupt:
            return ended(interrupt, False)
        answer = None if asked.answer is None else asked.answer.hex()
        if args.style == "json":
            result = {"nad": nad, "request": args.data.hex(), "answer": answer, "refused": asked.refused}
            output.write_json(shared(board, "lin request") | result | {"tick": begin, "frames": [value_of(one) for one in frames]})
        else:
            bit = board.timescale.bit_period(Fraction(args.baud or description.baud)).ticks
            table = FrameTable(board, bit, width=fits())
            shown = "\n".join(table.frame(frame) for frame in frames if frame.frame_id in CLASSIC_IDS)
            heading = "no answer" if answer is None else f"refused: {answer}" if asked.refused else f"answer: {answer}"
            lines = [headline(board), output.folded(f"to {hexadecimal(nad)}: {args.data.hex()}"), shown, output.folded(heading)]
            output.write("\n".join(line for line in lines if line))
        return LOST if answer is None or asked.refused else 0


def header(args: Namespace) -> int:
    """litepulse lin header"""
    timescale = Timescale(args.clock, 1)
    bit = timescale.bit_period(Fraction(args.baud or DEFAULT_BAUD)).ticks
    at, every = (math.floor(timescale.ticks(value)) for value in (args.at, args.every))
    last, lines = 0, list[str]()
    for number, (frame_id, data) in enumerate(args.frames):
        edges = lin.Injection(frame_id, data, args.model).edges(at + number * every, bit)
        if edges[0][0] <= last:
            raise BadInput("every: a frame is longer than that")
        last = edges[-1][0]
        lines += (f"{tick} rx {level}" for tick, level in edges)
    output.write("\n".join(lines))
    return 0


def inject(args: Namespace) -> int:
    """litepulse lin inject"""
    injection = lin.Injection(
        args.id, args.data, args.model, args.break_bits, args.sync, args.flip_parity, args.flip_checksum, stretches(args.stretch)
    )
    with arguments.board(args) as board, Interrupt() as interrupt:
        at = None if args.at is None else arguments.when(args.at, board)
        heard = lin.inject(board, injection, at=at, baud=args.baud or DEFAULT_BAUD, loopback=args.loopback)
        if interrupt:
            return ended(interrupt, False)
        if args.style == "json":
            records = [
                {"tick": one.tick, "byte": one.data, "break": one.is_break, "framing_error": one.framing_error} for one in heard.records
            ]
            sent = {"sent": injection.bytes.hex(), "tick": heard.tick, "break_bits": injection.break_bits}
            output.write_json(shared(board, "lin inject") | sent | {"frames": [value_of(one) for one in heard.frames], "records": records})
        else:
            bit = board.timescale.bit_period(Fraction(args.baud or DEFAULT_BAUD)).ticks
            said = " ".join(f"{byte:02x}" for byte in injection.bytes)
            sent = output.folded(f"sent at tick {heard.tick}: a break of {injection.break_bits} bits, {said}")
            output.write(f"{headline(board)}\n{sent}\nheard:")
            table = FrameTable(board, bit, width=fits())
            output.write("\n".join(table.frame(frame) for frame in heard.frames) or "nothing: is the line wired back to RX?")
        return 0 if heard.frames else LOST


def stretches(pairs: Iterable[tuple[tuple[int, int], Fraction]]) -> dict[tuple[int, int], Fraction]:
    """{(byte, bit): bit times}; one bit may be given once."""
    found: dict[tuple[int, int], Fraction] = {}
    for place, by in pairs:
        if place in found:
            raise BadInput(f"stretch: bit {place[1]} of byte {place[0]} is given twice")
        found[place] = by
    return found


def merged(pairs: Iterable[tuple[Key, Given]], what: str) -> dict[Key, Given]:
    """{identifier or frame: what is given for it}; one may be given once."""
    found: dict[Key, Given] = {}
    for frame, byte in pairs:
        if frame in found:
            raise BadInput(f"{what}: {hexadecimal(frame) if isinstance(frame, int) else frame} is given twice")
        found[frame] = byte
    return found
