# SPDX-License-Identifier: BSD-2-Clause
"""The verbs attach, detach and doctor: from a board on a cable to devices of the kernel, and what may be wrong."""

import os

from litepulse import attach, attached, output
from litepulse.doctor import FAULT, NOTE, OK, SKIPPED, Doctor
from litepulse.errors import BadInput, OutputClosed
from litepulse.ports import Host, choose, preferred
from litepulse.transport import DEFAULT_BAUD, LOWEST_RAISED
from litepulse.units import parse_count, parse_rate

_SHOWN = {OK: "OK", FAULT: "FAULT", NOTE: "note", SKIPPED: "-"}


def add_verbs(verbs):
    """The verbs, to the command line."""

    def verb(name, function, text):
        sub = verbs.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        sub.set_defaults(function=function)
        sub.add_argument("where", metavar="PORT", nargs="?", help="serial port, best by its name below /dev/serial/by-id")
        sub.add_argument("--json", dest="style", action="store_const", const="json", help="one JSON object at the end")
        return sub

    port_baud = {"metavar": "N", "dest": "first_baud", "help": f"speed of a bridge that is not at {DEFAULT_BAUD} (its rate is then kept)"}
    sub = verb("attach", cmd_attach, "make a board on a serial port a device of the kernel, until detached or unplugged")
    sub.add_argument("--baud", metavar="RATE", help="raise the bridge to this speed at most; 115200: not at all (default: the highest)")
    sub.add_argument("--port-baud", **port_baud)
    sub.add_argument("--foreground", action="store_true", help="stay, and detach at the end: for systemd")
    verb("detach", cmd_detach, "give a serial port back that was attached")
    sub = verb("doctor", cmd_doctor, "check all there is between a board on a cable and its devices")
    sub.add_argument("--port-baud", **port_baud)


def asked_port(args):
    """PORT, or what was given as --port."""
    if args.sim:
        raise BadInput(f"{args.verb} is for a board on a serial port, not for --sim")
    if args.port and args.where and args.port != args.where:
        raise BadInput(f"{args.verb}: two ports, {args.port} and {args.where}")
    return args.where or args.port


def first_baud(args):
    """The rate at which the bridge is found."""
    return parse_count(args.first_baud, "port-baud", 50, 12_000_000) if args.first_baud else DEFAULT_BAUD


def asked_baud(args):
    """The rate of --baud, or None."""
    if args.baud is None:
        return None
    baud = parse_count(str(parse_rate(args.baud, "baud")), "baud", DEFAULT_BAUD, 12_000_000)
    if DEFAULT_BAUD < baud < LOWEST_RAISED:
        raise BadInput(f"baud: {baud} is neither {DEFAULT_BAUD} nor at least {LOWEST_RAISED}")
    return baud


def result_of(host, board, port, process):
    """What is told of an attached board, as JSON."""
    return {
        "command": "attach",
        "port": port.path,
        "stable_name": preferred(host, port.path),
        "board": port.title(),
        **{what: board.nodes(host).get(what) for what in ("pulse", "tty", "clock")},
        "baud": board.value("baud"),
        "frames_checked": bool(board.value("checked")),
        "latency_timer_ms": port.latency,
        "process": process,
    }


def show(args, result, remark=None):
    """The same for people, or as JSON."""
    if args.style == "json":
        output.write_json(result | {"remark": remark})
        return
    what = f"{result['board']} on {result['port']}" if result["board"] else result["port"]
    timer = f", latency timer {result['latency_timer_ms']} ms" if result["latency_timer_ms"] is not None else ""
    rows = [(name, result[name]) for name in ("pulse", "tty", "clock") if result[name]]
    rows.append(("cable", f"{result['baud']} baud, frames {'' if result['frames_checked'] else 'not '}checked{timer}"))
    if remark:
        rows.append(("note", remark))
    if result["stable_name"] != result["port"]:
        rows.append(("name", f"{result['stable_name']} is this port wherever else is plugged in: better use that"))
    held = f"process {result['process']} holds it; " if result["process"] else ""
    rows.append(("end", f"{held}'litepulse detach {result['stable_name']}', or unplug it"))
    # Not wrapped: names are to be copied.
    output.write("\n".join([f"{'attached already' if result['already'] else 'attached'}: {what}", *(f"  {n:<6} {t}" for n, t in rows)]))


def cmd_attach(args, host=None):
    """litepulse attach"""
    host = host or Host()
    path, wanted, baud = asked_port(args), asked_baud(args), first_baud(args)
    if wanted not in (None, DEFAULT_BAUD) and baud != DEFAULT_BAUD:
        raise BadInput(f"baud: only a bridge at {DEFAULT_BAUD} baud can be raised, not one at --port-baud {baud}")
    port = choose(host, path)
    board = attached.on_port(host, port.name)
    if board:
        show(args, result_of(host, board, port, attach.holding_process(port.path)) | {"already": True})
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


def cmd_detach(args, host=None):
    """litepulse detach"""
    host = host or Host()
    held = attach.find(host, asked_port(args))
    with output.Live("detaching", None, args.style):
        attach.detach(held)
    if args.style == "json":
        output.write_json({"command": "detach", "port": held.path, "pulse": str(host.dev / held.board.name), "process": held.process})
    else:
        output.write(f"detached: {held.path} is free, /dev/{held.board.name} is gone")


def cmd_doctor(args, host=None):
    """litepulse doctor"""
    doctor = Doctor(host or Host(), asked_port(args), first_baud(args))
    checks = doctor.run()
    wrong = any(check.state == FAULT for check in checks)
    if args.style == "json":
        rows = [{"check": c.name, "state": c.state, "said": c.said, "fix": c.fix or None} for c in checks]
        output.write_json({"command": "doctor", "port": doctor.path, "wrong": wrong, "checks": rows})
    else:
        for check in checks:
            fix = f"; {check.fix}" if check.fix else ""
            output.write(f"{_SHOWN[check.state]:<6}{check.name:<14} {check.said}{fix}")
    return int(wrong)
