# SPDX-License-Identifier: BSD-2-Clause
"""LIN (ISO 17987) on a LitePulse board: a master without jitter, a slave that the board plays, a monitor, and faults on purpose.

from litepulse import lin

with litepulse.open() as board:
    network = lin.Description("door.ldf")
    with lin.master(board, network, "Normal") as master:
        for frame in master:
            print(frame.name, frame.data.hex(), frame.error)
"""

from litepulse.lin.description import Description, Raw, Slot, Value
from litepulse.lin.faults import Injection
from litepulse.lin.frames import CLASSIC, ENHANCED, Assembler, Expected, Frame, Spaces
from litepulse.lin.inject import inject
from litepulse.lin.link import Link, Missed, link
from litepulse.lin.master import Master, Request, master, request
from litepulse.lin.monitor import Monitor, monitor
from litepulse.lin.protocol import checksum, frame_id_of, protected_id
from litepulse.lin.slave import Slave, slave
from litepulse.lin.transport import Reassembly, segments

__all__ = [
    "CLASSIC",
    "ENHANCED",
    "Assembler",
    "Description",
    "Expected",
    "Frame",
    "Injection",
    "Link",
    "Master",
    "Missed",
    "Monitor",
    "Raw",
    "Reassembly",
    "Request",
    "Slave",
    "Slot",
    "Spaces",
    "Value",
    "checksum",
    "frame_id_of",
    "inject",
    "link",
    "master",
    "monitor",
    "protected_id",
    "request",
    "segments",
    "slave",
]
