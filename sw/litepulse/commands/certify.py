# SPDX-License-Identifier: BSD-2-Clause
"""litepulse certify"""

import sys
from argparse import Namespace
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from litepulse import Board, output
from litepulse.certify.files import Files
from litepulse.certify.host import machine_of, not_real, port_of
from litepulse.certify.patient import Patient
from litepulse.certify.procedure import Options, Procedure
from litepulse.certify.result import figures, self_figures, stamp
from litepulse.certify.selftest import SelfTest
from litepulse.certify.words import summary
from litepulse.commands import VERBS, arguments
from litepulse.commands.arguments import Verbs
from litepulse.commands.report import LOST, clock_note, ended, headline, shared
from litepulse.errors import BadInput
from litepulse.interrupt import Interrupt
from litepulse.line import Format
from litepulse.plan import profile_of
from litepulse.ports import Host
from litepulse.units import parse_rate

BAUD, SELF_BAUD, EDGES = "115200", 1_000_000, 1_000_000
SELF_STEP = 5_000  # cycles: a board that holds 256 records is looked at often enough
EXAMPLES = """  litepulse certify /dev/ttyUSB3 --baud 115200 -o ttyUSB3
  litepulse certify /dev/ttyS1 --baud 19200 --de 0
  litepulse certify --self
  litepulse --sim certify --self --edges 20000"""


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    sub = arguments.add_verb(verbs, "certify", run, VERBS["certify"], ("json",), EXAMPLES)
    what = sub.add_argument_group("what is measured")
    what.add_argument("patient", nargs="?", metavar="SERIAL_PORT", help="the serial port of this PC whose TX and RX are wired to the board")
    what.add_argument("--self", action="store_true", dest="own", help="the board's own port, its tx wired to its rx")
    what.add_argument("--baud", metavar="RATE", help=f"bit rate (default {BAUD}; with --self 1M, or an eighth of the clock)")
    what.add_argument("--format", default="8N1", metavar="F", type=Format.parse, help="data bits, parity, stop bits (default 8N1)")
    what.add_argument("--de", metavar="N", type=arguments.count("de", 0, 15), help="input that the port's driver enable (RTS) is wired to")
    size = sub.add_argument_group("how much")
    size.add_argument(
        "--samples", default="1000", metavar="N", type=arguments.count("samples", 1), help="latencies under each load (default 1000)"
    )
    size.add_argument(
        "--bytes", default="4096", metavar="N", type=arguments.count("bytes", 1), help="bytes each way under each load (default 4096)"
    )
    size.add_argument(
        "--blocks", default="32", metavar="N", type=arguments.count("blocks", 1), help="blocks of alternating bits (default 32)"
    )
    size.add_argument(
        "--edges", default=str(EDGES), metavar="N", type=arguments.count("edges", 1), help="with --self: edges (default 1000000)"
    )
    size.add_argument("--seed", default="1", metavar="N", type=arguments.count("seed"), help="of the random numbers (default 1)")
    sub.add_argument("-o", dest="name", metavar="NAME", help="write NAME.html and NAME.json")


def check(args: Namespace) -> None:
    """BadInput if options do not fit together."""
    if args.own and args.patient:
        raise BadInput("certify: --self is about the board's own port: leave out the other one")
    if not args.own and not args.patient:
        raise BadInput("certify: name the serial port to measure, or --self for the board's own")
    if args.own and args.de is not None:
        raise BadInput("certify: --self has no driver enable of another port: leave out --de")
    if args.patient and args.sim:
        raise BadInput("certify: a port of this PC is not wired to the simulated SoC of --sim; docs/certify.md shows how to wire one")


def run(args: Namespace) -> int:
    """litepulse certify"""
    check(args)
    with Files(args.name) as files, arguments.board(args, step=SELF_STEP) as board, Interrupt() as interrupt:
        try:
            result = own(args, board, interrupt) if args.own else other(args, board, interrupt)
        except KeyboardInterrupt:
            return ended(interrupt, False) or 130
        files.write(result)
        if args.style == "json":
            output.write_json(result)
        else:
            rows = [*summary(result), ("clock", clock_note(board))]
            output.write("\n".join(line.rstrip() for line in output.aligned(rows)))
            if args.name:
                output.write(f"written: {args.name}.html, {args.name}.json")
    return LOST if result["complaints"] else 0


def whole_baud(args: Namespace) -> int:
    """Of another port: whole."""
    return arguments.whole_baud("baud")(args.baud or BAUD)


def other(args: Namespace, board: Board, interrupt: Interrupt) -> dict[str, Any]:
    """The certificate of another port."""
    options = Options(whole_baud(args), args.format, args.samples, args.bytes, args.blocks, args.de, args.seed)
    if args.de is not None:
        board.channel(args.de)
    profile = profile_of(board.timescale, options.baud, options.format)
    host = Host()
    patient = Patient(args.patient, options.baud, options.format)
    port, machine = port_of(host, args.patient, patient.kind), machine_of(host)
    if args.style is None:
        output.write(f"{headline(board)}\n{args.patient} is {port['says']}")
    with patient:
        procedure = Procedure(board.backend, profile, patient, options, interrupt, lambda step, done: None)
        with output.Live("certify", sum(procedure.steps.values()), args.style) as live:
            procedure.progress = shown(live, procedure.steps, args.style is None and not sys.stdout.isatty())
            records = procedure.run()
    return (
        shared(board, "certify")
        | stamp()
        | {
            "kind": "port",
            "port": port,
            "machine": machine,
            "settings": {
                "baud": options.baud,
                "format": str(options.format),
                "samples": options.samples,
                "bytes": options.size,
                "blocks": options.blocks,
                "enable_input": options.enable,
                "seed": options.seed,
            },
            "not_real": not_real(board.simulated, port, machine),
        }
        | figures(records, board.tick_hz)
    )


def shown(live: output.Live, steps: dict[str, int], lines: bool) -> Callable[[str, int], None]:
    """What shows progress: on a terminal live, else a line for each step if `lines`."""
    before: dict[str, int] = {}
    total = 0
    for name, count in steps.items():
        before[name] = total
        total += count

    def progress(step: str, done: int) -> None:
        if lines and not done:
            output.write(f"  measuring {step}")
        live.update(before[step] + done, wait=f": {step}")

    return progress


def own(args: Namespace, board: Board, interrupt: Interrupt) -> dict[str, Any]:
    """The certificate of the board's own port."""
    rate = parse_rate(args.baud, "baud") if args.baud else min(Fraction(SELF_BAUD), board.timescale.clock_hz / 8)
    profile = profile_of(board.timescale, rate, args.format)
    machine = machine_of(Host())
    if args.style is None:
        output.write(headline(board))
    with output.Live("edges", args.edges, args.style) as live:
        test = SelfTest(board.backend, profile, args.edges, args.seed, interrupt, live.update)
        found = test.run()
    settings = {"format": str(args.format), "edges": args.edges, "seed": args.seed}
    return (
        shared(board, "certify")
        | stamp()
        | {"kind": "self", "machine": machine, "settings": settings, "not_real": not_real(board.simulated, None, machine)}
        | self_figures(found, profile)
    )
