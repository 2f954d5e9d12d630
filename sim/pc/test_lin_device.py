# SPDX-License-Identifier: BSD-2-Clause
"""lin0 of a board on the cable, on Debian's kernels, by programs that know nothing of it: ip, cansend, cangen, candump. Pins compared."""

import re
from itertools import pairwise

import pytest

from sim import series
from sim.core.model import edges
from sim.guest.frames import wave
from sim.guest.lin_bus import DATA, PIDS, checksum
from sim.guest.lin_bus import SLOW_BUS as BUS
from sim.guest.lin_bus import SLOW_HZ as HZ
from sim.guest.lin_log import ERROR, LinLog
from sim.pc import pc_rig

TICK_US = 10**6 // HZ
LATE = 0x1  # class of a CAN error frame
DUMPED = re.compile(r"^ \((\d+)\.(\d+)\)  lin0  (TX|RX) . .\s+([0-9A-F]+)   \[\d\]  ?(.*)$")


EACH = pytest.mark.parametrize("line", series.each(pc_rig.LINES))


def run(guest, command, stimulus=None, files=None, **options):
    """The Run of a command: lin0 is down, its bit rate set; `dump` is to have what `candump` said."""
    loaded, can = guest.with_can()
    before, driver = guest.attaching()
    nodes = ["--stimulus", stimulus] if stimulus else []
    return guest.run(
        f"""
        {loaded}
        {before}
        insmod litepulse_lin.ko || exit 91
        await /sys/class/net/lin0
        ./ip link set lin0 type can bitrate {BUS.baud} restart-ms 100
        touch dump
        {command}
        cat dump
        ./ip link set lin0 down
        rmmod litepulse_lin
        """,
        {**driver, **can, **(files or {})},
        boards=[{"hz": HZ, "options": ["--bus", *nodes]}],
        **options,
    )


def dumped(result, way):
    """[(microseconds, id, data)] of what candump printed for a direction."""
    found = [match for line in result.lines if (match := DUMPED.match(line))]
    return [
        (int(s) * 10**6 + int(us), word, data if data == "remote request" else bytes.fromhex(data))
        for s, us, direction, word, data in (match.groups() for match in found)
        if direction == way
    ]


def breaks(recorded):
    """Ticks at which breaks begin on a pin."""
    return [tick for (tick, level), (end, _) in pairwise(recorded) if not level and end - tick == BUS.bits(13)]


@pytest.mark.seconds(40)
@pytest.mark.full
@EACH
def test_master(pc, line):
    """Headers, a published frame, our own table: edge by edge as they should be, and candump -H tells when."""
    result = run(
        pc(line),
        f"""
        echo master >/sys/class/net/lin0/role
        ./ip link set lin0 up
        (./candump -H -ta -x lin0 >dump &)
        usleep 300000
        ./cangen lin0 -e -I 50 -n 1 -L 4 -D {DATA.hex()}
        ./cansend lin0 010#R
        usleep 400000
        ./cansend lin0 011#A1B2
        usleep 400000
        ./cansend lin0 012#R
        usleep 600000
        """,
    )
    tx = result.pin("tx")
    starts = breaks(tx)
    assert len(starts) == 3
    response = BUS.answer(starts[0], DATA + bytes([checksum(DATA)]), BUS.bits(1))
    sent = BUS.published(starts[1], PIDS[0x11], b"\xa1\xb2" + bytes([checksum(b"\xa1\xb2")]))
    assert edges(tx) == edges(wave([*BUS.header(starts[0], PIDS[0x10]), *response, *sent, *BUS.header(starts[2], PIDS[0x12])]))
    heard = dumped(result, "RX")
    assert [(word, data) for _, word, data in heard] == [("010", DATA), ("011", b"\xa1\xb2"), ("00004012", b"")]
    ticks = [response[0].tick, sent[3].tick, starts[2]]
    assert {us - TICK_US * tick for (us, *_), tick in zip(heard, ticks)} == {heard[0][0] - TICK_US * ticks[0]}
    assert [word for _, word, _ in dumped(result, "TX")] == ["00000050", "010", "011", "012"]


@pytest.mark.seconds(40)
@EACH
def test_slave(pc, line, tmp_path):
    """Another master's headers are answered to the tick, and each is told with the time of its break."""
    starts = [10 * HZ + n * HZ // 5 for n in range(60)]
    nodes = tmp_path / "nodes"
    others = wave([one for start in starts for one in BUS.header(start, PIDS[0x10])])
    nodes.write_text("".join(f"{tick} rx {level}\n" for tick, level in edges(others)))
    result = run(
        pc(line),
        f"""
        ./ip link set lin0 up
        ./cansend lin0 00000050#{DATA.hex()}
        (./candump -H -ta -x lin0 >dump &)
        usleep 12000000
        """,
        nodes,
    )
    heard, tx = dumped(result, "RX"), edges(result.pin("tx"))
    firsts = [us for us, _, data in heard if data == "remote request"]
    assert len(firsts) > 10 and {later - us for us, later in pairwise(firsts)} == {200_000}
    # The dump may begin between a header and its answer, and end there.
    data = [us for us, _, found in heard if found == DATA and us > firsts[0]]
    # Which of the headers was the first that was told, the first byte of its answer says.
    answers = [BUS.answer(start, DATA + bytes([checksum(DATA)]), BUS.bits(1)) for start in starts]
    first = next(n for n, frames in enumerate(answers) if frames[0].tick == tx[0][0])
    count = -(-len(tx) // len(edges(wave(answers[0]))))
    # The PC may go, and the recording with it, within an answer.
    assert count >= 10 and tx == edges(wave([one for frames in answers[first : first + count] for one in frames]))[: len(tx)]
    after = [us - max(header for header in firsts if header < us) for us in data]
    assert len(data) >= len(firsts) - 1 and after == [TICK_US * (answers[0][0].tick - starts[0])] * len(data)


@pytest.mark.seconds(40)
@pytest.mark.full
@EACH
def test_pulled_out_under_traffic(pc, line):
    """The adapter is pulled out while headers are sent: lin0 goes, and so can all modules."""
    result = run(
        pc(line),
        """
        echo master >/sys/class/net/lin0/role
        ./ip link set lin0 up
        (./cangen lin0 -g 20 -I 10 -R -L 0 -i &)
        (./cangen lin0 -g 20 -I 50 -e -L 4 -i &)
        usleep 1000000
        echo pull
        gone /sys/class/net/lin0
        rmmod litepulse_lin && rmmod litepulse_uartbone && rmmod litepulse && exit 0
        exit 92
        """,
        when={"pull": lambda machine: machine.unplug(0)},
    )
    assert len(breaks(result.pin("tx"))) > 3


@pytest.mark.seconds(40)
@EACH
def test_exact_slots(pc, line):
    """`cangen -t` gives each header a time: the slots are equal to the tick, on a PC that is busy meanwhile."""
    result = run(
        pc(line),
        """
        echo master >/sys/class/net/lin0/role
        echo phc >/sys/class/net/lin0/transmit_clock
        ./ip link set lin0 up
        (while :; do :; done) &
        (./candump -H -ta -x lin0 >dump &)
        usleep 300000
        ./cangen lin0 -t -a -g 200 -R -I 10 -L 0 -n 8
        usleep 2500000
        """,
    )
    starts = breaks(result.pin("tx"))
    assert {later - start for start, later in pairwise(starts)} == {HZ // 5} and len(starts) == 8
    assert edges(result.pin("tx")) == edges(wave([one for start in starts for one in BUS.header(start, PIDS[0x10])]))


@pytest.mark.seconds(40)
@pytest.mark.full
@EACH
def test_cyclic(pc, line):
    """CAN_BCM sends headers again and again; each is answered to the tick from where it lies."""
    guest = pc(line)
    result = run(
        guest,
        f"./lin role=master up send=00000050#{DATA.hex()} cyclic=5,200,010#R wait=1500 down",
        files={"lin": guest.guest_program("lin")},
    )
    tx, told = edges(result.pin("tx")), LinLog("\n".join(result.lines))
    starts = breaks(result.pin("tx"))
    answers = [BUS.answer(start, DATA + bytes([checksum(DATA)]), BUS.bits(1)) for start in starts]
    for start, answer in zip(starts, answers):
        sent = edges(wave([*BUS.header(start, PIDS[0x10]), *answer]))
        assert [edge for edge in tx if start <= edge[0] <= sent[-1][0]] == sent
    assert told.arrived() == [(0x10, DATA, answer[0].tick + 1) for answer in answers]
    # A header that a busy PC gives to the board too late is not sent, and is told.
    assert len(starts) + [word for word, *_ in told.frames].count(ERROR | LATE) == 5 and len(starts) > 2


@pytest.mark.seconds(40)
@pytest.mark.full
@EACH
def test_module_removed_under_traffic(pc, line):
    """While lin0 is up and frames are sent; then it comes again, and sends."""
    result = run(
        pc(line),
        f"""
        for turn in 1 2 3 4; do
            echo master >/sys/class/net/lin0/role
            ./ip link set lin0 up
            (./cangen lin0 -g 20 -I 10 -R -L 0 -i &)
            (./cangen lin0 -g 20 -I 50 -e -L 4 -i &)
            usleep $((300000 + turn * 70000))
            rmmod litepulse_lin || exit 92
            gone /sys/class/net/lin0
            insmod litepulse_lin.ko || exit 93
            await /sys/class/net/lin0
            ./ip link set lin0 type can bitrate {BUS.baud}
        done
        echo master >/sys/class/net/lin0/role
        ./ip link set lin0 up
        ./cansend lin0 012#R
        usleep 400000
        """,
    )
    tx = result.pin("tx")
    starts = breaks(tx)
    assert len(starts) > 4
    after = [(tick, level) for tick, level in edges(tx) if tick >= starts[-1]]
    assert after == edges(wave(BUS.header(starts[-1], PIDS[0x12])))
