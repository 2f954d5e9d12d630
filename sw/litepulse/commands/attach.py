# SPDX-License-Identifier: BSD-2-Clause
"""litepulse attach"""

import os
from argparse import Namespace
from typing import Any

from litepulse import attach, attached, output, ports, tuning
from litepulse.backends.uartbone import LOWEST_RAISED
from litepulse.commands import VERBS, arguments, cable
from litepulse.commands.arguments import Verbs
from litepulse.errors import BadInput, OutputClosed
from litepulse.limits import DEFAULT_BAUD

EXAMPLES = """  sudo litepulse attach                     the board that is plugged in
  sudo litepulse attach /dev/ttyUSB1 --baud 1M
  sudo litepulse attach --realtime         before a measurement"""


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    sub = cable.add_verb(verbs, "attach", run, VERBS["attach"], EXAMPLES)
    sub.add_argument(
        "--baud",
        metavar="RATE",
        type=arguments.whole_baud("baud", DEFAULT_BAUD),
        help="raise the bridge to this speed at most; 115200: not at all (default: the highest)",
    )
    sub.add_argument(
        "--realtime",
        action="store_true",
        help="give the kernel's workers that carry received bytes the highest priority (from Linux 7.2 on)",
    )
    sub.add_argument("--foreground", action="store_true", help="stay, and detach at the end: for systemd")


def result_of(host: ports.Host, board: attached.Attached, port: ports.Port, process: int | None) -> dict[str, Any]:
    """An attached board, as JSON."""
    return {
        "command": "attach",
        "port": port.path,
        "stable_name": ports.preferred(host, port.path),
        "board": port.title(),
        **{what: board.nodes(host).get(what) for what in ("pulse", "tty", "clock")},
        "baud": board.value("baud"),
        "frames_checked": bool(board.value("checked")),
        "latency_timer_ms": port.latency,
        "process": process,
        "raised": [],
    }


def show(args: Namespace, result: dict[str, Any], remark: str | None = None) -> None:
    """The same for people, or as JSON."""
    if args.style == "json":
        output.write_json(result | {"remark": remark})
        return
    what = f"{result['board']} on {result['port']}" if result["board"] else result["port"]
    timer = f", latency timer {result['latency_timer_ms']} ms" if result["latency_timer_ms"] is not None else ""
    rows = [(name, result[name]) for name in ("pulse", "tty", "clock") if result[name]]
    rows.append(("cable", f"{result['baud']} baud, frames {'' if result['frames_checked'] else 'not '}checked{timer}"))
    if result["raised"]:
        rows.append(("nice", f"{tuning.HIGHEST_NICE} of the workers {', '.join(result['raised'])}"))
    if remark:
        rows.append(("note", remark))
    if result["stable_name"] != result["port"]:
        rows.append(("name", f"{result['stable_name']} is this port wherever else is plugged in: better use that"))
    held = f"process {result['process']} holds it; " if result["process"] else ""
    rows.append(("end", f"{held}'litepulse detach {result['stable_name']}', or unplug it"))
    # Not wrapped: names are to be copied.
    output.write("\n".join([f"{'attached already' if result['already'] else 'attached'}: {what}", *(f"  {n:<6} {t}" for n, t in rows)]))


def run(args: Namespace) -> int:
    """litepulse attach"""
    host = ports.Host()
    path, wanted, baud = cable.requested_port(args), args.baud, cable.first_baud(args)
    if wanted and DEFAULT_BAUD < wanted < LOWEST_RAISED:
        raise BadInput(f"baud: {wanted} is neither {DEFAULT_BAUD} nor at least {LOWEST_RAISED}")
    if wanted not in (None, DEFAULT_BAUD) and baud != DEFAULT_BAUD:
        raise BadInput(f"baud: only a bridge at {DEFAULT_BAUD} baud can be raised, not one at --port-baud {baud}")
    port = ports.choose(host, path)
    board = attached.on_port(host, port.name)
    if args.realtime:
        attach.workers(host, port)  # before anything is done
    if board:
        result = result_of(host, board, port, attach.holding_process(port.path)) | {"already": True}
        if args.realtime:
            result["raised"] = attach.raise_workers(host, port)
        show(args, result)
        return 0
    with output.Live("attaching", None, args.style):  # rates that do not work take a while
        link = attach.Link(host, port, baud)
        try:
            remark = link.raise_baud(wanted)
        except BaseException:
            link.release()
            raise
    try:
        result = result_of(host, link.board, port, os.getpid()) | {"already": False}
        if args.realtime:
            result["raised"] = attach.raise_workers(host, port)
        if args.foreground:
            show(args, result, remark)
            gone = attach.serve(link)
            output.note(f"{port.path}: {'the port is gone' if gone else 'detached'}")
            return 0
        result["process"] = attach.start_service(link)
    except BaseException:
        link.release()
        raise
    try:
        show(args, result, remark)
    except OutputClosed:
        pass
    return 0
