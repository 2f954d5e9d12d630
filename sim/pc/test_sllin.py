# SPDX-License-Identifier: BSD-2-Clause
"""lin0 and sllin on one bus, each as the other's master: SLLIN names a clone of https://github.com/lin-bus/linux-lin.

Two boards on the cable: litepulse_lin has one, sllin the tty of the other. TX of both make the bus.

sllin gives a frame up after 240 bits by the PC's clock, while the boards of a busy machine fall behind. So there are more headers than are
needed: what sllin gives up on time must be reported as that and nothing else, and WANTED frames must be whole. What lin0 sends is compared
to the tick in any case.
"""

import os
from itertools import pairwise
from pathlib import Path

import pytest

from sim.core.model import edges
from sim.guest.frames import wave
from sim.guest.lin_bus import DATA, PIDS, SLOW_HZ, Bus, checksum
from sim.guest.lin_log import ERROR, LinLog
from sim.pc import kernels
from sim.pc.lin_rig import LISTENS, SECONDS

SLLIN = os.environ.get("SLLIN")
pytestmark = [pytest.mark.skipif(not SLLIN, reason="SLLIN names no clone of linux-lin"), pytest.mark.seconds(60)]
# On 7.x sllin itself is not certain to work.
KERNELS = ("6.1", "6.12")
BUS = Bus(1000, SLOW_HZ)  # so that 240 bits are long
ANSWER = DATA + bytes([checksum(DATA)])
EFF, TIMEOUT, WAKE = 0x8000_0000, 0x4000, "00000200#"
WANTED, HEADERS = 3, 12
TRIES = 40  # of sllin as the master, which ends when WANTED are whole
RESPONSE_BITS = 240  # what lin0 allows a response, from the start of its header's last byte on, and a header


@pytest.fixture(params=KERNELS)
def guest(request, pc):
    return pc(request.param)


def run(guest, role, commands, folder):
    """The Run of commands with lin0, of the first board, which is still down, and sllin0, of the other one's tty, which has that role."""
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
        await /sys/class/net/lin0
        insmod sllin.ko baudrate={BUS.baud} master={int(role == "master")} || exit 92
        (./attach /dev/ttyPULSE1 28 >sllin.log &)
        await /sys/class/net/sllin0
        ./ip link set sllin0 up
        (./candump -L any >dump &)
        {LISTENS}
        listens
        {commands}
        cat dump
        ./ip link set sllin0 down
        """,
        {**more, **can, "sllin.ko": sllin, "lin": guest.guest_program("lin")},
        boards=[{"hz": SLOW_HZ, "options": ["--bus"], "link": folder / "wire"} for _ in range(2)],
        seconds=SECONDS,
    )


def frames_on(recorded):
    """[(tick of a break, [tick of each byte behind it])] on a pin."""
    frames, until = [], 0
    for (tick, level), (end, _) in pairwise([*edges(recorded), (1 << 62, 1)]):
        if level or tick < until:
            continue
        if end - tick > BUS.bits(10):
            frames.append((tick, []))
            until = end
        else:
            assert frames, "a byte before the first break"
            frames[-1][1].append(tick)
            until = tick + BUS.bits(9) + BUS.bits(1) // 2
    return frames


def dumped(result, device):
    """What candump has printed of a device."""
    return [words[2] for words in (line.split() for line in result.lines) if len(words) > 2 and words[1] == device]


def test_sllin_is_the_master(guest, tmp_path):
    """Its headers are answered by the core, at the tick behind each; sllin accepts the answers."""
    good = f"010#{DATA.hex().upper()}"
    result = run(
        guest,
        "master",
        f"""
        ./ip link set lin0 type can bitrate {BUS.baud}
        ./ip link set lin0 up
        ./cansend lin0 00000050#{DATA.hex()}
        ./cansend sllin0 00000010#{DATA.hex()}
        until grep -q "lin0 00000050#" dump; do usleep 10000; done
        tries=0
        until [ $(grep -c " sllin0 {good}" dump) -ge {WANTED} ] || [ $tries -eq {TRIES} ]; do
            tries=$((tries + 1))
            ./cansend sllin0 010#R
            usleep 600000
        done
        usleep 600000
        ./ip link set lin0 down
        """,
        tmp_path,
    )
    board = result.boards[0]
    # sllin may give a header up behind its break, which then is a pulse that wakes the bus. The others have two bytes.
    frames = frames_on(board.pins_of("rx"))
    headers = [(tick, bytes_[1]) for tick, bytes_ in frames if len(bytes_) > 1]
    answers = [BUS.answer(end - BUS.bits(24), ANSWER, BUS.bits(1)) for _, end in headers]
    assert edges(board.pins_of("tx")) == edges(wave([one for answer in answers for one in answer]))
    # The core knows no time within which a header must be whole, lin0 does.
    in_time = [end for tick, end in headers if end <= tick + BUS.bits(RESPONSE_BITS)]
    heard = [frame for frame in dumped(result, "lin0") if frame != f"00000050#{DATA.hex().upper()}"]
    whole = [frame for frame in heard if frame != WAKE]
    assert whole == ["010#R", good] * len(in_time), "\n".join(map(str, result.lines))
    assert heard.count(WAKE) <= len(frames) - len(in_time)
    known = {good, "010#R", f"00000010#{DATA.hex().upper()}", "00004010#"}
    seen = dumped(result, "sllin0")
    assert set(seen) <= known and WANTED <= seen.count(good) <= len(headers), (seen, headers)


def test_sllin_is_the_slave(guest, tmp_path):
    """Headers leave to the tick; sllin's responses are received unchanged."""
    steps = [f"bitrate={BUS.baud}", "role=master", "up", "at=1500", *["send=010#R", "at=+600"] * HEADERS, f"wait=3000,{HEADERS}", "down"]
    result = run(guest, "slave", f"./cansend sllin0 00000050#{DATA.hex()}\nusleep 100000\n./lin {' '.join(steps)}", tmp_path)
    board, report = result.boards[0], LinLog("\n".join(result.lines))
    starts = [tick for tick, _ in frames_on(board.pins_of("tx"))]
    slot = 600 * SLOW_HZ // 1000
    assert [tick - starts[0] for tick in starts] == [n * slot for n in range(HEADERS)], report.frames
    assert edges(board.pins_of("tx")) == edges(wave([one for start in starts for one in BUS.header(start, PIDS[0x10])]))
    whole = 0
    # A response that is so late that it comes into the next header, or is over only then, belongs to no header.
    for tick, bytes_ in frames_on(board.pins_of("rx")):
        response = bytes_[2:]
        inside = [(word, data) for word, data, at in report.arrived() if tick <= at < tick + slot and not word & ERROR]
        in_time = [one for one in response if one <= bytes_[1] + BUS.bits(RESPONSE_BITS)]
        if in_time == response and len(response) == len(ANSWER):
            whole += 1
            assert inside == [(0x10, DATA)]
        elif not in_time:
            assert inside == [(EFF | TIMEOUT | 0x10, b"")]
    assert whole >= WANTED
