# SPDX-License-Identifier: BSD-2-Clause
"""lin0 and sllin on one bus, each as the other's master: SLLIN names a clone of https://github.com/lin-bus/linux-lin.

Two boards on the cable: sllin has the tty of one, litepulse_lin the other. TX of both make the bus.
"""

import os
from itertools import pairwise
from pathlib import Path

import pytest

from sim.core.model import edges
from sim.guest.frames import wave
from sim.guest.lin_bus import DATA, PIDS, checksum
from sim.guest.lin_bus import SLOW_BUS as BUS
from sim.guest.lin_bus import SLOW_HZ as HZ
from sim.pc import kernels

SLLIN = os.environ.get("SLLIN")
pytestmark = [pytest.mark.skipif(not SLLIN, reason="SLLIN names no clone of linux-lin"), pytest.mark.seconds(60)]
# On 7.x sllin itself is not certain to work.
KERNELS = ("6.1", "6.12")
ANSWER = DATA + bytes([checksum(DATA)])


@pytest.fixture(params=KERNELS)
def guest(request, pc):
    return pc(request.param)


def run(guest, role, commands, folder):
    """The Run of commands with lin1, of the second board, and sllin0, of the first one's tty, which has that role; both are up."""
    source = Path(str(SLLIN)) / "sllin"
    files = [path for path in sorted(source.rglob("*")) if path.suffix in (".c", ".h") or path.name == "Makefile"]
    sllin = kernels.modules(guest.kernel.line, source, files, "sllin")["sllin"]
    loaded, can = guest.with_can()
    before, more = guest.attaching(2)
    return guest.run(
        f"""
        {loaded}
        {before}
        insmod litepulse_lin.ko || exit 91
        await /sys/class/net/lin1
        insmod sllin.ko baudrate={BUS.baud} master={int(role == "master")} || exit 92
        (./attach /dev/ttyPULSE0 28 >sllin.log &)
        await /sys/class/net/sllin0
        ./ip link set sllin0 up
        ./ip link set lin1 type can bitrate {BUS.baud}
        echo {"slave" if role == "master" else "master"} >/sys/class/net/lin1/role
        ./ip link set lin1 up
        (./candump -L any >dump &)
        usleep 300000
        {commands}
        cat dump
        ./ip link set sllin0 down
        ./ip link set lin1 down
        """,
        {**more, **can, "sllin.ko": sllin},
        boards=[{"hz": HZ, "options": ["--bus"], "link": folder / "wire"} for _ in range(2)],
    )


def frame_starts(recorded):
    """Ticks at which breaks, and those at which bytes begin on a pin."""
    breaks, bytes_, until = [], [], 0
    for (tick, level), (end, _) in pairwise([*edges(recorded), (1 << 62, 1)]):
        if level or tick < until:
            continue
        long = end - tick > BUS.bits(10)
        (breaks if long else bytes_).append(tick)
        until = end if long else tick + BUS.bits(9) + BUS.bits(1) // 2
    return breaks, bytes_


def test_sllin_is_the_master(guest, tmp_path):
    """Its headers are answered by the core, at the tick behind each; sllin takes the answers for right."""
    known = f"./cansend lin1 00000050#{DATA.hex()}\n./cansend sllin0 00000010#{DATA.hex()}\n"  # sllin's is the length
    result = run(guest, "master", known + "./cansend sllin0 010#R\nusleep 500000\n" * 3, tmp_path)
    first, second = (board.pins_of("tx") for board in result.boards)
    breaks, sent = frame_starts(first)
    assert len(breaks) == 3 and len(sent) == 6, "break, sync and identifier of each header"
    _, heard = frame_starts(result.boards[1].pins_of("rx"))
    identifiers = heard[1 :: 2 + len(ANSWER)]
    answers = [BUS.answer(tick - BUS.bits(24), ANSWER, BUS.bits(1)) for tick in identifiers]
    assert edges(second) == edges(wave([one for answer in answers for one in answer])) and len(answers) == 3
    said = [line.split()[1:] for line in result.lines if " sllin0 010#" in line and "#R" not in line]
    assert said == [["sllin0", f"010#{DATA.hex().upper()}"]] * 3


def test_sllin_is_the_slave(guest, tmp_path):
    """Headers leave to the tick; what sllin answers is received as it was meant."""
    result = run(
        guest, "slave", f"./cansend sllin0 00000050#{DATA.hex()}\nusleep 100000\n" + "./cansend lin1 010#R\nusleep 500000\n" * 3, tmp_path
    )
    first, second = (board.pins_of("tx") for board in result.boards)
    breaks, _ = frame_starts(second)
    assert edges(second) == edges(wave([one for start in breaks for one in BUS.header(start, PIDS[0x10])])) and len(breaks) == 3
    _, sent = frame_starts(first)
    assert len(sent) == 3 * len(ANSWER)
    said = [line.split()[1:] for line in result.lines if " lin1 010#" in line and "#R" not in line]
    assert said == [["lin1", f"010#{DATA.hex().upper()}"]] * 3
