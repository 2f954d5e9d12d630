# SPDX-License-Identifier: BSD-2-Clause
"""litepulse serve"""

import contextlib
import time
from argparse import Namespace
from dataclasses import dataclass, field

import serial

from litepulse import Board, output
from litepulse.board import open_named
from litepulse.commands import VERBS, arguments
from litepulse.commands.arguments import Verbs
from litepulse.commands.report import ended, headline
from litepulse.errors import BadInput, LitePulseError
from litepulse.interrupt import Interrupt
from litepulse.serial_port import Serial
from litepulse.teensy_pulse import TeensyPulse, serve
from litepulse.terminal_port import Terminal
from litepulse.terminal_server import CLOCK, LOOPBACK, TerminalServer, check_protection
from litepulse.units import counted, parse_count

EXAMPLES = """  litepulse serve --baud 19200
  litepulse serve :7001 times:7003 --gather 200ms
  litepulse serve :7001=/dev/litepulse0 :7011=/dev/litepulse1
  litepulse --port /dev/ttyUSB1 serve --teensy-pulse --link ~/pulses"""
PORTS = (":7001", "raw:7002", "times:7003")
OFFERS = {"telnet": "telnet, RFC 2217", "raw": "plain TCP", "times": "JSON lines with times"}
LOOK_SECONDS = 0.1  # between two looks at Ctrl-C


@dataclass
class Line:
    """A board, by its name or None for that of the options, and the TCP ports on which it is offered."""

    board: str | None
    ports: dict[str, int] = field(default_factory=dict[str, int])


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    sub = arguments.add_verb(verbs, "serve", run, VERBS["serve"], (), EXAMPLES)
    sub.add_argument(
        "ports",
        nargs="*",
        metavar="[KIND:]PORT[=BOARD]",
        help=f"a TCP port, 0 for any: telnet (the default kind), raw or times; of another board: /dev/litepulse1, port:/dev/ttyUSB1 "
        f"(default {' '.join(PORTS)})",
    )
    arguments.add_terminal_line(sub, "a client", "data bits, parity, stop bits until a client sets others")
    net = sub.add_argument_group("network")
    net.add_argument(
        "--gather",
        default="0",
        metavar="T",
        type=arguments.duration("gather"),
        help="send received bytes together, the first one T after it came",
    )
    net.add_argument("--listen", default=LOOPBACK, metavar="ADDRESS", help=f"address of this machine (default {LOOPBACK})")
    net.add_argument("--tls", metavar="FILE", help="speak TLS: certificate and key of this server, in PEM")
    net.add_argument("--clients", metavar="FILE", help="certificates of those who sign for clients, in PEM; others cannot connect")
    teensy = sub.add_argument_group("a device that other programs know")
    teensy.add_argument(
        "--teensy-pulse", action="store_true", help="a Teensy with Micro-Manager's pulse generator: high pulses on tx, on a terminal"
    )
    teensy.add_argument("--link", metavar="FILE", help="also make this symbolic link to the terminal, until the command ends")
    teensy.add_argument("--input", metavar="N", help="input whose rising edges pulses wait for on request (default 0)")


def run(args: Namespace) -> int:
    """litepulse serve"""
    if args.teensy_pulse:
        if args.ports:
            raise BadInput(f"{args.ports[0]}: --teensy-pulse has a terminal, no TCP port")
        return be_teensy(args)
    for name in ("link", "input"):
        if getattr(args, name) is not None:
            raise BadInput(f"--{name} goes with --teensy-pulse")
    return be_server(args)


def lines_of(words: list[str]) -> list[Line]:
    """The lines that are served, in the order of their first ports."""
    found: dict[str | None, Line] = {}
    for word in words:
        place, equals, board = word.partition("=")
        kind, _, number = place.rpartition(":")
        kind = kind or "telnet"
        if kind not in OFFERS or (equals and not board):
            raise BadInput(f"'{word}' is not like :7001, raw:7002, times:7003 or :7001=/dev/litepulse0")
        line = found.setdefault(board or None, Line(board or None))
        if kind in line.ports:
            raise BadInput(f"'{word}': this line has a port of the kind {kind} already")
        line.ports[kind] = parse_count(number, "port", 0, 65535)
    return list(found.values())


def be_server(args: Namespace) -> int:
    """A terminal server."""
    lines = lines_of(args.ports or list(PORTS))
    check_protection(args.listen, args.tls, args.clients)
    args.wall_clock = CLOCK
    with contextlib.ExitStack() as stack:
        interrupt = stack.enter_context(Interrupt())
        servers: list[TerminalServer] = []
        try:
            for line in lines:
                board = stack.enter_context(open_board(args, line.board))
                port = stack.enter_context(Serial(board, **arguments.terminal_of(args)))
                server = TerminalServer(
                    port,
                    **line.ports,
                    listen=args.listen,
                    gather=args.gather,
                    tls=args.tls,
                    clients=args.clients,
                    report=lambda text: output.note(f"litepulse: {text}"),
                )
                servers.append(stack.enter_context(server))
                output.write(headline(board))
                for kind, number in server.ports.items():
                    output.write(f"  {args.listen} port {number}: {OFFERS[kind]}")
            output.write("Ctrl-C ends it")
            while not interrupt:
                output.check()
                for server in servers:
                    server.check()
                time.sleep(LOOK_SECONDS)
        except serial.SerialException as error:
            raise LitePulseError(str(error)) from None
        except ValueError as error:
            raise BadInput(str(error)) from None
    for server in servers:
        dropped = f", {counted(server.dropped, 'byte')} lost by slow clients" if server.dropped else ""
        name = f"{server.name}: " if len(servers) > 1 else ""
        output.write(f"{name}{counted(server.sent, 'byte')} sent, {server.received} received, {server.lost} lost{dropped}")
    return ended(interrupt, True)


def open_board(args: Namespace, name: str | None) -> contextlib.AbstractContextManager[Board]:
    """The board of the options, or one that is named with its port."""
    return arguments.board(args) if name is None else open_named(name, clock=CLOCK, stay_in_touch=False)


def be_teensy(args: Namespace) -> int:
    """Micro-Manager's pulse generator."""
    with arguments.board(args) as board, Interrupt() as interrupt:

        def report(complaint: str) -> None:
            output.note(f"litepulse: {terminal.path}: {complaint}")

        with TeensyPulse(board, args.input or "0", report) as device, Terminal(args.link) as terminal:
            where = terminal.path if args.link is None else f"{args.link} ({terminal.path})"
            output.write(f"{headline(board)}\n{where}: give it to Micro-Manager as the port of a TeensyPulseGenerator; Ctrl-C ends it")
            serve(device, terminal, interrupt)
            device.stop()
        output.write(f"{counted(device.total, 'pulse')} after {counted(device.starts, 'start')}")
    return ended(interrupt, True)
