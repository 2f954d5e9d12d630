# SPDX-License-Identifier: BSD-2-Clause
"""Options that several verbs have, and the types that turn their text into numbers: nothing below the commands reads text."""

import argparse
import contextlib
import math
import re
import shlex
import textwrap
from collections.abc import Callable, Generator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NoReturn, Protocol, TypedDict, cast

import litepulse
from litepulse import output, recording
from litepulse.errors import BadInput, LitePulseError
from litepulse.limits import BREAK_MAX, DEFAULT_BAUD, LONGEST_STEP, LOWEST_BAUD, STEP
from litepulse.line import Format
from litepulse.named_time import NamedTime, clock_name, named_time
from litepulse.units import Duration, Timescale, parse_byte, parse_count, parse_duration, parse_rate

HIGHEST_BAUD = 12_000_000
WIRES = ("rx", "bus", "none", "0", "1", "2", "3")
DEVICE = "device"
STYLES = {"json": "one JSON object at the end", "csv": "CSV rows while it runs", "vnl": "vnlog rows while it runs, for feedgnuplot --vnl"}


class Help(argparse.RawDescriptionHelpFormatter):
    """Descriptions and examples in the width of the terminal; an example that is too long goes on in the next line, as in a shell."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(indent + line for whole in text.splitlines() for line in fitted(whole, width - len(indent)))

    def _split_lines(self, text: str, width: int) -> list[str]:
        return Lines(width).wrap(" ".join(text.split()))


class Lines(textwrap.TextWrapper):
    """Wraps text. A word wider than a line is a list of choices: it is broken behind one of them, not within a name."""

    def _split(self, text: str) -> list[str]:
        words = super()._split(text)
        return [part for word in words for part in ([word] if len(word) <= self.width else re.split(r"(?<=[,|])(?=.)", word))]


def fitted(line: str, width: int) -> list[str]:
    """A line of help as lines of at most `width` columns: prose, or behind two blanks an example
    and its remark."""
    if len(line) <= width:
        return [line]
    if not line.startswith("  "):
        return textwrap.wrap(line, width)
    command, _, remark = line.strip().partition("  ")
    words = shlex.split(command, posix=False)  # what is in quotes is one word
    lines = ["  " + words[0]]
    for word in words[1:]:
        if len(lines[-1]) + len(word) + 3 > width:
            lines[-1] += " \\"
            lines.append("     ")
        lines[-1] += f" {word}"
    return lines + [f"      {each}" for each in textwrap.wrap(remark.strip(), max(20, width - 6))]


class Parser(argparse.ArgumentParser):
    """argparse whose complaints are one line, and which takes no abbreviated options."""

    def __init__(self, *args: Any, **options: Any) -> None:
        options.setdefault("allow_abbrev", False)
        options.setdefault("formatter_class", Help)
        super().__init__(*args, **options)
        self._given: list[str] = []

    def format_help(self) -> str:
        """As argparse writes it, with what a verb has of its own first."""
        self._action_groups.sort(key=lambda group: group.title == DEVICE)
        return super().format_help()

    def parse_known_args(self, *args: Any, **options: Any) -> Any:
        """As argparse does, and remembers the words for error()."""
        self._given = list(args[0])
        return super().parse_known_args(*args, **options)

    def parse(self, words: list[str], whole: "Callable[[], Parser] | None" = None) -> argparse.Namespace:
        """As parse_args(), but a word that is left over is judged by what the verb takes, and by what others do: `whole` has these."""
        found, rest = self.parse_known_args(words)
        if rest:
            self._verb(found)._refuse(rest, whole() if whole else self)
        return found

    def given(self, found: argparse.Namespace) -> list[str]:
        """The options of the verb that were given, in their order; none of those that choose a device."""
        verb = self._verb(found)
        own = {
            word for group in verb._action_groups if group.title != DEVICE for each in group._group_actions for word in each.option_strings
        }
        return [word for word in dict.fromkeys(word.partition("=")[0] for word in verb._given) if word in own]

    def error(self, message: str) -> NoReturn:
        raise BadInput(f"{message}{did_you_mean(message, self._given, self)} ('{self.prog} --help' lists what there is)")

    def _verb(self, found: argparse.Namespace) -> "Parser":
        """The parser of the verb that was given."""
        for action in self._actions:
            if isinstance(action.choices, Mapping):
                return cast(Mapping[str, Parser], action.choices)[getattr(found, action.dest)]._verb(found)
        return self

    def _refuse(self, rest: Sequence[str], top: "Parser") -> NoReturn:
        """Words that this verb does not take."""
        word = rest[0].partition("=")[0]
        if word in top.words():
            what = "device" if word in top._option_string_actions and word not in ("--version", "--help") else "such option"
            raise BadInput(f"{word}: {self.prog.removeprefix(f'{top.prog} ')} takes no {what} ('{self.prog} --help' lists what there is)")
        self.error(f"unrecognized arguments: {' '.join(rest)}")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Help and version, to an output that may be full or closed."""
        del file
        output.write(message, end="")

    def words(self) -> set[str]:
        """All verbs and options."""
        found = set(self._option_string_actions)
        for action in self._actions:
            if isinstance(action.choices, Mapping):  # the verbs
                for name, verb in cast(Mapping[str, Parser], action.choices).items():
                    found |= {name, *verb.words()}
        return found


class Given(argparse.Action):
    """--device or --port: the last one is that of a verb with one board; `boards` has all, [(option, value)], in their order."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: str | None = None
    ) -> None:
        del parser, option_string
        setattr(namespace, self.dest, values)
        namespace.boards = [*getattr(namespace, "boards", ()), (self.dest, values)]


class Verbs(Protocol):
    """What adds verbs to the command line."""

    def add_parser(self, name: str, *, help: str, description: str, epilog: str | None) -> Parser:
        """The parser of a new verb."""
        ...


class Frame(TypedDict):
    """The options of add_frame(), as the library takes them."""

    byte: int | None
    width: Duration | None
    break_bits: int | None


class Line(TypedDict):
    """The options of add_line(), as the library takes them."""

    baud: Fraction
    format: Format
    loopback: bool


def did_you_mean(message: str, given: Sequence[str], parser: Parser) -> str:
    """'; did you mean --rate?' behind what argparse says of a word that it does not know, or of an option that is missing."""
    import difflib

    if "required" in message:
        for word in (word.partition("=")[0] for word in given if word.startswith("--")):
            if word not in parser.words() and (near := difflib.get_close_matches(word, parser.words(), 1)):
                return f"; {word} is unknown, did you mean {near[0]}?"
    match = re.match(r"unrecognized arguments: (-[^ =]+)|argument VERB: invalid choice: '([^']*)'", message)
    word = match and (match[1] or match[2])
    near = difflib.get_close_matches(word, parser.words(), 1) if word else []
    return f"; did you mean {near[0]}?" if near else ""


# Types ------------------------------------------------------------------------------------------------------------------


def rate(what: str) -> Callable[[str], Fraction]:
    """A rate or a bit rate."""
    return lambda text: parse_rate(text, what)


def duration(what: str, signed: bool = False, positive: bool = False) -> Callable[[str], Duration]:
    """A time."""

    def convert(text: str) -> Duration:
        value = parse_duration(text, what, signed)
        if positive and not value.positive:
            raise BadInput(f"{what}: {text} is not more than 0")
        return value

    return convert


def moment(what: str) -> Callable[[str], Duration | NamedTime]:
    """When something begins: a time or a tick of the board, or a time of a clock: utc:12:00:00."""
    return lambda text: named_time(text, what) or parse_duration(text, what)


def clock(text: str) -> str:
    """A clock by its name: utc, pps:0."""
    return clock_name(text)


def count(what: str = "count", low: int = 0, high: int = (1 << 32) - 1) -> Callable[[str], int]:
    """A whole number."""
    return lambda text: parse_count(text, what, low, high)


def whole_baud(what: str, low: int = 50) -> Callable[[str], int]:
    """A bit rate of whole baud, of a port: 1M, 1500000."""
    return lambda text: parse_count(str(parse_rate(text, what)), what, low, HIGHEST_BAUD)


def whole_rate(what: str) -> Callable[[str], int]:
    """A rate of whole Hz: 1M, 960k."""
    return lambda text: parse_count(str(parse_rate(text, what)), what, 1, 10**12)


def channels(text: str) -> tuple[str, ...]:
    """0,1,rx or none; which of them the device has is not known yet."""
    names = tuple(part.strip() for part in text.split(","))
    if "" in names:
        raise BadInput(f"inputs: '{text}' is not like 0,1,rx or none")
    return () if names == ("none",) else names


def trigger(text: str) -> "litepulse.Trigger":
    """edge:0:rise, byte:0x55/0xff, break."""
    kind, *rest = text.split(":")
    if kind == "break" and not rest:
        return litepulse.Break()
    if kind == "byte" and len(rest) == 1:
        value, _, mask = rest[0].partition("/")
        return litepulse.Byte(parse_byte(value, "on"), parse_byte(mask, "on") if mask else 0xFF)
    if kind == "edge" and 1 <= len(rest) <= 2:
        way = rest[1] if len(rest) == 2 else "fall" if rest[0] == "rx" else "rise"
        if way in ("rise", "fall", "both") and (rest[0] == "rx" or rest[0].isdigit()):
            return litepulse.Edge("rx" if rest[0] == "rx" else int(rest[0]), way)
    raise BadInput(f"on: '{text}' is not like edge:0:rise, edge:rx:fall, byte:0x55, byte:0x50/0xf0 or break")


def wired_to(text: str) -> str:
    """What TX is wired to."""
    if text not in WIRES:
        raise BadInput(f"wire: '{text}' is not rx, bus, 0, 1, 2, 3 or none")
    return text


# Groups -----------------------------------------------------------------------------------------------------------------


def add_device(parser: argparse.ArgumentParser, top: bool = False, pins: bool = True, wire: bool = True) -> None:
    """The options that choose a device; they may stand before or after the verb. pins: also those
    that record the simulator's; wire: also what its tx is wired to."""
    default: dict[str, Any] = {} if top else {"default": argparse.SUPPRESS}
    group = parser.add_argument_group(DEVICE, "Default: that of the kernel's driver, else the one that is plugged in.")
    group.add_argument("--device", metavar="DEV", action=Given, help="a device of the kernel's driver: /dev/litepulse0", **default)
    group.add_argument("--sim", action="store_true", help="use the simulated SoC (no board needed)", **default)
    group.add_argument(
        "--port",
        metavar="PORT",
        action=Given,
        help="a board behind LiteX's UARTBone: /dev/ttyUSB1 or tcp:host:port; behind a litex_server: remote:host:port",
        **default,
    )
    group.add_argument(
        "--csr", metavar="FILE", help="csr.csv or csr.json of the SoC on that port, where LiteX wrote what lies where", **default
    )
    group.add_argument("--core", metavar="NAME", help="which core of several in that file, e.g. pulse1", **default)
    group.add_argument(
        "--port-baud",
        metavar="N",
        type=count("port-baud", LOWEST_BAUD, HIGHEST_BAUD),
        help=f"speed of the bridge on a serial port (default {DEFAULT_BAUD})",
        **default,
    )
    group.add_argument(
        "--bridge-baud",
        metavar="RATE",
        type=whole_baud("bridge-baud", DEFAULT_BAUD),
        help="raise the bridge of a board on a serial port to this speed meanwhile, e.g. 1M",
        **default,
    )
    if pins:
        recording.add_options(group, default)
    group.add_argument("--stimulus", metavar="FILE", help="with --sim: lines 'tick channel level' that drive the inputs", **default)
    if not wire:
        return
    group.add_argument(
        "--wire",
        metavar="TO",
        action="append",
        type=wired_to,
        help="with --sim: wire tx to rx, an input 0-3, none, or as a bus to rx and the stimulus; repeatable (default rx; lin slave: bus)",
        **default,
    )


def add_verb(
    verbs: Verbs,
    name: str,
    function: Callable[[argparse.Namespace], int | None],
    text: str,
    styles: tuple[str, ...] = (),
    examples: str = "",
    pins: bool = True,
    wire: bool = True,
) -> Parser:
    """A verb with the options of devices and output. pins, wire: see add_device()."""
    sub = verbs.add_parser(
        name, help=text, description=text[0].upper() + text[1:] + ".", epilog=f"examples:\n{examples}" if examples else None
    )
    sub.set_defaults(function=function)
    add_device(sub, pins=pins, wire=wire)
    add_styles(sub, styles)
    return sub


def add_styles(sub: argparse.ArgumentParser, styles: tuple[str, ...]) -> None:
    """How results are written."""
    if styles:
        group = sub.add_argument_group("output (default: for people)").add_mutually_exclusive_group()
        for style in styles:
            group.add_argument(f"--{style}", dest="style", action="store_const", const=style, help=STYLES[style])
    sub.set_defaults(style=None)


def add_frame(sub: argparse.ArgumentParser) -> None:
    """What goes on the line."""
    group = sub.add_argument_group("what goes on the line")
    group.add_argument("--high", action="store_true", help="with --width: a pulse from 0 to 1, tx rests at 0 (default: from 1 to 0)")
    what = group.add_mutually_exclusive_group()
    what.add_argument("--byte", metavar="B", type=parse_byte, help="a frame with this byte (default 0xff)")
    what.add_argument("--width", metavar="T", type=duration("width"), help="a raw pulse of this length instead of a frame")
    what.add_argument(
        "--break", dest="break_bits", metavar="N", type=count("break", 1, BREAK_MAX), help="a break of N bit times instead of a frame"
    )


def add_line(sub: argparse.ArgumentParser) -> None:
    """How the line is used."""
    group = sub.add_argument_group("line")
    group.add_argument("--baud", default="9600", metavar="RATE", type=rate("baud"), help="bit rate, also a fraction (default 9600)")
    group.add_argument(
        "--format", default="8N1", metavar="F", type=Format.parse, help="data bits, parity N/O/E/M/S, stop bits 1/1.5/2 (default 8N1)"
    )
    group.add_argument("--invert", action="store_true", help="idle level 0, start bit 1; a pulse of --width is then high, too")
    group.add_argument("--loopback", action="store_true", help="the receiver listens to the transmitter inside the core, not to the pin")


def add_terminal_line(sub: argparse.ArgumentParser, who: str, fmt: str) -> None:
    """Of verbs that make the line a terminal. who: sets another bit rate, 'a program'; fmt: what --format is."""
    group = sub.add_argument_group("line")
    help = f"bit rate until {who} sets another one (default 9600)"
    group.add_argument("--baud", default="9600", metavar="RATE", type=rate("baud"), help=help)
    group.add_argument("--format", default="8N1", metavar="F", type=Format.parse, help=f"{fmt} (default 8N1)")


class TerminalLine(TypedDict):
    """The line of such a verb, as litepulse.Serial takes it."""

    baudrate: Fraction
    bytesize: int
    parity: str
    stopbits: float
    timeout: float
    write_timeout: None


def terminal_of(args: argparse.Namespace) -> TerminalLine:
    """The options of add_terminal_line(): reads do not wait, writes do."""
    fmt = args.format
    return {
        "baudrate": args.baud,
        "bytesize": fmt.data_bits,
        "parity": fmt.letter,
        "stopbits": float(fmt.stop_bits),
        "timeout": 0,
        "write_timeout": None,
    }


def add_move_tx(sub: argparse.ArgumentParser) -> None:
    """Of verbs that listen: the receiver's polarity is also that of TX at rest."""
    sub.add_argument("--move-tx", action="store_true", help="let TX move to the idle level that is received with; else that is refused")


def frame_of(args: argparse.Namespace) -> Frame:
    """The options of add_frame(), as the library takes them."""
    return {"byte": args.byte, "width": args.width, "break_bits": args.break_bits}


def line_of(args: argparse.Namespace) -> Line:
    """The options of add_line(), as the library takes them."""
    fmt, high = args.format, bool(getattr(args, "high", False))
    if high and args.width is None:
        raise BadInput("high: only a pulse (--width) is high or low; --invert turns frames and breaks around")
    return {"baud": args.baud, "format": Format(fmt.data_bits, fmt.parity, fmt.stop, args.invert or high), "loopback": args.loopback}


def join_negatives(argv: list[str]) -> list[str]:
    """'--step -5us' as '--step=-5us': argparse would take the value for an option."""
    joined: list[str] = []
    for number, argument in enumerate(argv):
        if argument == "--":
            return joined + argv[number:]  # what is behind is another program's
        if re.match(r"-[0-9.]", argument) and joined and re.fullmatch(r"--[a-z-]+", joined[-1]):
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined


# The board --------------------------------------------------------------------------------------------------------------


def check_driven(args: argparse.Namespace, what: str = "inputs", columns: str = "tick channel level") -> None:
    """BadInput if a simulated board would hear nothing forever."""
    if args.sim and not args.stimulus and not args.count and args.duration is None:
        raise BadInput(f"nothing drives the simulated {what}: give --stimulus FILE (lines '{columns}'), or --count or --for")


def step(args: argparse.Namespace, wanted: Callable[[Timescale], int]) -> int:
    """Cycles between two looks at the simulator: `wanted` of its clock, which is known before it is started, within limits."""
    if not args.sim:
        return STEP
    try:
        from litex_soc.sim_soc import PULSE_HZ
    except ImportError:
        return STEP  # the program that starts the simulator reports what is missing
    return min(max(wanted(Timescale(PULSE_HZ)), 2_000), LONGEST_STEP)


def several(args: argparse.Namespace) -> int:
    """How many boards are given, if more than one; else 0."""
    number = len(getattr(args, "boards", ()))
    return number if number > 1 else 0


@contextlib.contextmanager
def boards(args: argparse.Namespace) -> "Generator[litepulse.Boards]":
    """Several boards, released in the end."""
    for name in (*recording.OPTIONS, "stimulus", "wire", "csr", "core", "sim"):
        if getattr(args, name, None):
            raise BadInput(f"--{name} does not work with several boards")
    if args.style in ("csv", "vnl") and args.verb != "align":
        raise BadInput(f"--{args.style} has the rows of one board, and {several(args)} are given: choose --json")
    ports: list[dict[str, Any]] = []
    for kind, value in args.boards:
        more = {"port_baud": args.port_baud or DEFAULT_BAUD, "bridge_baud": args.bridge_baud} if kind == "port" else {}
        ports.append({kind: value, **more})
    with litepulse.open_all(*ports, stay_in_touch=False) as opened:
        yield opened


@contextlib.contextmanager
def board(args: argparse.Namespace, own: bool = True, step: int = STEP) -> "Generator[litepulse.Board]":
    """The requested board, released in the end."""
    if (number := several(args)) and len({kind for kind, _ in args.boards}) == 1:
        raise BadInput(f"{args.verb}: it takes one board, and {number} are given")
    for name in (*recording.OPTIONS, "stimulus", "wire"):
        if getattr(args, name) and not args.sim:
            raise BadInput(f"--{name} works with --sim only")
    from litepulse.backends import NotOne

    with recording.Recording(args.vcd, args.sr) as pins:
        try:
            opened = open_board(args, pins.vcd, own, step)
        except NotOne as error:
            raise LitePulseError(error.options) from None
        try:
            with opened:
                yield opened
        finally:
            pins.finish(opened.timescale.tick_hz)


def open_board(args: argparse.Namespace, vcd: str | None, own: bool, step: int) -> "litepulse.Board":
    """The requested board."""
    return litepulse.open(
        args.device,
        port=args.port,
        sim=args.sim,
        clock=getattr(args, "wall_clock", None),
        port_baud=args.port_baud or DEFAULT_BAUD,
        bridge_baud=args.bridge_baud,
        vcd=vcd,
        stimulus=args.stimulus,
        wires=[name for name in args.wire or ["rx"] if name != "none"],
        step=step,
        own=own,
        csr=args.csr,
        core=args.core,
        stay_in_touch=False,  # a command that stands still counts as dead
    )


@contextlib.contextmanager
def named(**options: str) -> Generator[None]:
    """BadInput that names an argument of the library names the option of the command instead: start="at"."""
    try:
        yield
    except BadInput as error:
        text = str(error)
        for argument, option in options.items():
            text = re.sub(rf"(^|: ){argument}: ", rf"\1{option}: ", text, count=1)
        error.args = (text,)
        raise


def when(moment: Duration | NamedTime, board: "litepulse.Board") -> Duration | NamedTime | int:
    """A time as the library takes it: '+10ms' is from now, else it is the board's tick, or a time of a clock."""
    if isinstance(moment, NamedTime):
        return moment
    return moment if moment.relative else math.floor(board.timescale.ticks(moment))


def device_words(args: argparse.Namespace, board: "litepulse.Board") -> str:
    """The words with which another command means the same board: ' --port /dev/ttyUSB1'."""
    if args.port:
        return f" --port {args.port}" + (f" --csr {args.csr}" if args.csr else "") + (f" --core {args.core}" if args.core else "")
    return f" --device {board.name}" if args.device else ""
