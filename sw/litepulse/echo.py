# SPDX-License-Identifier: BSD-2-Clause
"""A program that answers on a serial port with the bytes that it gets: the other end of a latency measurement, on this PC.

It is a process of its own, so that the work of the measurement (reading the board, counting, drawing) does not delay it, and so that the
real-time settings are those of this small program alone. It waits in poll(), calls read(), calls write(), and does nothing else.
"""

import gc
import os
import select
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from litepulse.child import say
from litepulse.journal import Change
from litepulse.line import Format
from litepulse.port_program import PortProgram, opened, run, write_all
from litepulse.realtime import Realtime


class Echo(PortProgram):
    """The program, running. Leaving the context ends it; `echoed` is then how many bytes it answered.

    changes, refused, notes: as Realtime has them; `notes` is complete when it has ended.
    """

    def __init__(self, port: str, baud: int, fmt: Format, settings: Mapping[str, Any] | None = None) -> None:
        """settings: arguments of Realtime."""
        super().__init__("echo", "litepulse.echo", "the program that answers", port, baud, fmt, settings=dict(settings or {}))
        self.echoed = 0
        self.changes: list[Change] = []
        self.refused: list[str] = []
        self.notes: list[str] = []

    def check(self) -> None:
        """LitePulseError if it has ended by itself."""
        if self._child and self._child.ended:
            raise self.gone()

    def first_words(self, message: Mapping[str, Any]) -> None:
        self.changes = [Change(**each) for each in message["changes"]]
        self.refused, self.notes = list(message["refused"]), list(message["notes"])

    def last_words(self, message: Mapping[str, Any]) -> None:
        self.echoed = int(message.get("echoed", self.echoed))
        self.notes = list(message.get("notes", self.notes))


def answer(port: int, control: int) -> int:
    """Writes to a port what it reads from it, until `control` can be read or closes; returns how many bytes."""
    poll = select.poll()
    poll.register(port, select.POLLIN)
    poll.register(control, select.POLLIN)
    total = 0
    while True:
        for file, _ in poll.poll():
            if file == control:
                return total
            data = os.read(port, 4096)
            total += len(data)
            write_all(port, data)


def program(request: dict[str, Any]) -> None:
    """Prints a line when it is ready, and one when it ends."""
    with opened(request) as port, Realtime(**request["settings"], port=request["port"]) as held:
        gc.disable()  # nothing that answer() makes is a cycle
        say({"ready": True, "changes": [asdict(each) for each in held.changes], "refused": held.refused, "notes": held.notes})
        echoed = answer(port.fileno(), sys.stdin.fileno())
        gc.enable()
    say({"echoed": echoed, "notes": held.notes})


if __name__ == "__main__":
    sys.exit(run("echo", sys.argv[1], program))
