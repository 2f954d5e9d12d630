# SPDX-License-Identifier: BSD-2-Clause
"""litepulse info"""

from argparse import Namespace

from litepulse import compatibility, output
from litepulse.backends import others
from litepulse.commands import VERBS, arguments
from litepulse.commands.arguments import Verbs
from litepulse.commands.report import clock_note, headline, shared
from litepulse.units import counted, exact, hexadecimal, si

EXAMPLES = """  litepulse info                      the board that the kernel drives
  litepulse --port /dev/ttyUSB1 info  a board on a USB plug
  litepulse --sim info --json         the simulated SoC, for programs"""


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    arguments.add_verb(verbs, "info", run, VERBS["info"], ("json",), EXAMPLES)


def run(args: Namespace) -> None:
    """litepulse info"""
    with arguments.board(args, own=False) as board:
        identity, status = board.identity, board.status()
        tick, beside = board.now().tick, [] if args.sim else others(identity.name)
        version, session = compatibility.named(identity.version), f"0x{identity.session:04x}"
        levels, note = status.levels, compatibility.note(identity.version)
        result = shared(board, "info") | {
            "version": version,
            "inputs": identity.inputs,
            "event_depth": identity.event_depth,
            "receive_depth": identity.receive_depth,
            "transmit_depth": identity.transmit_depth,
            "launch_depth": identity.launch_depth,
            "lin_entries": identity.lin_entries,
            "port": identity.port,
            "sequence": identity.sequence,
            "session": session,
            "tick": tick,
            "train_running": status.train_running,
            "responder_armed": status.responder_armed,
            "queue_idle": status.queue_idle,
            "line_busy": status.line_busy,
            "levels": {"inputs": [int(level) for level in levels[:-1]], "rx": int(levels[-1])} if levels else None,
            "version_note": note or None,
            "nodes": dict(identity.nodes),
            "others": beside,
        }
        if args.style == "json":
            output.write_json(result)
            return
        ts = board.timescale
        going_on = (
            ("a train runs", status.train_running),
            ("responder armed", status.responder_armed),
            ("timed launches wait", not status.queue_idle),
            ("line busy", status.line_busy),
        )
        samples = identity.samples_per_cycle
        rows = [
            ("core", f"version {version}, {counted(samples, 'sample')} per cycle"),
            ("clock", f"{si(identity.clock_hz, 'Hz', 6)} ({exact(identity.clock_hz)} Hz)"),
            ("tick", f"{si(1 / ts.tick_hz, 's')} ({exact(ts.tick_hz)} Hz)"),
            ("channels", f"{', '.join(str(i) for i in range(identity.inputs))} and rx"),
            *([("levels", f"{', '.join(str(int(level)) for level in levels[:-1])} and {levels[-1]:d}, on the pins")] if levels else []),
            (
                "room",
                f"{identity.event_depth} events, {identity.receive_depth} received bytes, {identity.transmit_depth} bytes to send, "
                f"{identity.launch_depth} timed launches",
            ),
            ("LIN slave", f"identifiers 0x00 to {hexadecimal(identity.lin_entries - 1)}" if identity.lin_entries else "none in this core"),
            ("marker port", "8 pins" if identity.port else "none in this core"),
            ("waits", "in the launch queue" if identity.sequence else "by the host"),
            ("session", session),
            ("running", f"{si(ts.seconds(tick), 's', 6)} since reset (tick {tick})"),
            ("now", ", ".join(word for word, on in going_on if on) or "idle"),
        ]
        if identity.nodes:
            rows.append(("devices", ", ".join(identity.nodes.values())))
        if beside:
            rows.append(("also", "; ".join(beside)))
        if note:
            rows.append(("version", note))
        rows.append(("note", clock_note(board)))
        output.write("\n".join([headline(board), *output.aligned(rows)]))
