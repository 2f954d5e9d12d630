# SPDX-License-Identifier: BSD-2-Clause
"""lin0 of a board on the cable, on Debian's kernels, by independent programs: ip, cansend, cangen,
candump. Pins compared."""

from itertools import pairwise

import pytest

from sim import series
from sim.core.model import edges
from sim.guest.frames import wave
from sim.guest.lin_bus import DATA, PIDS, checksum
from sim.guest.lin_log import ERROR, LinLog
from sim.pc import pc_rig
from sim.pc.lin_rig import BUS, DUMPED, HZ, LISTENS, breaks, compare, dumped, run

TICK_US = 10**6 // HZ
LATE = 0x1  # class of a CAN error frame
EACH = pytest.mark.parametrize("line", series.each(pc_rig.LINES))


@pytest.mark.seconds(40)
@pytest.mark.full
@EACH
def test_master(pc, line):
    """Headers, a published frame, our own table: edge by edge as they should be, and candump -H
    prints their times."""
    result = run(
        pc(line),
        f"""
        echo master >/sys/class/net/lin0/role
        up
        (./candump -H -ta -x lin0 >dump &)
        listens
        ./cangen lin0 -e -I 50 -n 1 -L 4 -D {DATA.hex()}
        ./cansend lin0 010#R
        seen 'RX.* 010 '
        ./cansend lin0 011#A1B2
        seen 'RX.* 011 '
        ./cansend lin0 012#R
        seen 'RX.* 00004012 '
        """,
    )
    tx = result.pin("tx")
    starts = breaks(tx)
    assert len(starts) == 3
    response = BUS.answer(starts[0], DATA + bytes([checksum(DATA)]), BUS.bits(1))
    sent = BUS.published(starts[1], PIDS[0x11], b"\xa1\xb2" + bytes([checksum(b"\xa1\xb2")]))
    compare(tx, [[*BUS.header(starts[0], PIDS[0x10]), *response], sent, BUS.header(starts[2], PIDS[0x12])])
    heard = dumped(result, "RX")
    assert [(word, data) for _, word, data in heard] == [("010", DATA), ("011", b"\xa1\xb2"), ("00004012", b"")]
    ticks = [response[0].tick, sent[3].tick, starts[2]]
    assert {us - TICK_US * tick for (us, *_), tick in zip(heard, ticks)} == {heard[0][0] - TICK_US * ticks[0]}
    sent = dumped(result, "TX")
    assert [word for _, word, _ in sent] == ["00000050", "010", "011", "012"]
    # What is on the line at a tick is received one tick later.
    assert {us - TICK_US * start for (us, *_), start in zip(sent[1:], starts)} == {heard[0][0] - TICK_US * (ticks[0] + 1)}


@pytest.mark.seconds(40)
@pytest.mark.full
@EACH
def test_examples_of_sllin_for_a_master(pc, line):
    """The examples in sllin's README, one by one, with candump's output as shown there; a slave
    answers the identifier 1."""
    result = run(
        pc(line),
        """
        echo master >/sys/class/net/lin0/role
        up
        (./candump -H -ta -x lin0 >dump &)
        listens
        ./cangen lin0 -e -I 41 -n 1 -L 2 -D 0000
        ./cangen lin0 -R -I 1 -n 1 -L 0
        seen 'RX.* 001 '
        ./cangen lin0 -R -I 8 -n 1 -L 0
        seen 'RX.* 00004008 '
        ./cangen lin0 -e -I 848 -n 1 -L 2 -D beef
        ./cangen lin0 -R -I 8 -n 1 -L 0
        seen 'RX.* 008 '
        ./cangen lin0 -I 7 -n 1 -L 2 -D f00f
        seen 'RX.* 007 '
        for name in rx_packets rx_errors tx_packets tx_errors; do
            echo statistics $name $(cat /sys/class/net/lin0/statistics/$name)
        done
        """,
    )
    silent, beef, foof = b"\0\0", b"\xbe\xef", b"\xf0\x0f"
    starts = breaks(result.pin("tx"))
    assert len(starts) == 4
    sent = [
        [*BUS.header(starts[0], PIDS[0x01]), *BUS.answer(starts[0], silent + bytes([checksum(silent)]), BUS.bits(1))],
        BUS.header(starts[1], PIDS[0x08]),
        [*BUS.header(starts[2], PIDS[0x08]), *BUS.answer(starts[2], beef + bytes([checksum(beef)]), BUS.bits(1))],
        BUS.published(starts[3], PIDS[0x07], foof + bytes([checksum(foof)])),
    ]
    compare(result.pin("tx"), sent)
    printed = [(match[3], match[4], match[5].strip()) for line in result.lines if (match := DUMPED.match(line))]
    header = "remote request"
    assert printed == [
        ("TX", "00000041", "00 00"),
        ("TX", "001", header),
        ("RX", "001", "00 00"),
        ("TX", "008", header),
        ("RX", "00004008", ""),
        ("TX", "00000848", "BE EF"),
        ("TX", "008", header),
        ("RX", "008", "BE EF"),
        ("TX", "007", "F0 0F"),
        ("RX", "007", "F0 0F"),
    ]
    counted = dict(line.split()[1:] for line in result.lines if line.startswith("statistics "))
    # The missing response is a frame, too.
    assert counted == {"rx_packets": "4", "rx_errors": "1", "tx_packets": "4", "tx_errors": "0"}


@pytest.mark.seconds(40)
@pytest.mark.full
@EACH
def test_examples_of_sllin_for_a_slave(pc, line, tmp_path):
    """Headers of 2, without a response, and of 1, with one, in turn: candump prints what sllin's
    README shows."""
    nodes, data = tmp_path / "nodes", b"\x08\x80"
    others = [BUS.header(10 * HZ + 2 * n * HZ // 2, PIDS[0x02]) for n in range(20)]
    others += [BUS.published(10 * HZ + (2 * n + 1) * HZ // 2, PIDS[0x01], data + bytes([checksum(data)])) for n in range(20)]
    line_of_bus = wave(sorted((one for frame in others for one in frame), key=lambda one: one.tick))
    nodes.write_text("".join(f"{tick} rx {level}\n" for tick, level in edges(line_of_bus)))
    result = run(
        pc(line),
        """
        up
        (./candump -H -ta -x lin0 >dump &)
        seen 'RX.* 001  .* 80' 3
        """,
        nodes,
    )
    heard = dumped(result, "RX")
    first = next(n for n, (_, word, _) in enumerate(heard) if word == "002")
    turn = [("002", "remote request"), ("00004002", b""), ("001", "remote request"), ("001", data)]
    printed = [(word, found) for _, word, found in heard[first:]]
    assert len(printed) >= 8 and printed == (turn * len(printed))[: len(printed)]
    times = [us for us, word, found in heard[first:] if found == "remote request"]
    assert {later - us for us, later in pairwise(times)} == {500_000}


@pytest.mark.seconds(40)
@pytest.mark.full
@EACH
def test_renamed_and_moved(pc, line):
    """lin0 gets another name and a longer queue, and goes to another network namespace: it sends
    there, and returns when that ends."""
    result = run(
        pc(line),
        f"""
        echo master >/sys/class/net/lin0/role
        ./ip link set lin0 txqueuelen 100 name bus0
        ./ip -details link show bus0
        cat >there <<'end'
        {LISTENS}
        until ./ip link show bus0 >/dev/null 2>&1; do usleep 10000; done
        ./ip link set bus0 up
        (./candump -x bus0 >dump &)
        listens
        ./cansend bus0 012#R
        until grep -q 00004012 dump; do usleep 10000; done
        ./ip link set bus0 down
        killall candump
end
        unshare -n sh there &
        usleep 200000
        ./ip link set bus0 netns $!
        gone /sys/class/net/bus0
        wait
        await /sys/class/net/bus0
        ./ip link set bus0 name lin0
        """,
    )
    assert any("qlen 100" in line for line in result.lines) and any("restart-ms 100" in line for line in result.lines)
    (start,) = breaks(result.pin("tx"))
    assert edges(result.pin("tx")) == edges(wave(BUS.header(start, PIDS[0x12])))


@pytest.mark.seconds(40)
@EACH
def test_slave(pc, line, tmp_path):
    """Another master's headers are answered to the tick, and each is reported with the time of its break."""
    starts = [10 * HZ + n * HZ // 5 for n in range(60)]
    nodes = tmp_path / "nodes"
    others = wave([one for start in starts for one in BUS.header(start, PIDS[0x10])])
    nodes.write_text("".join(f"{tick} rx {level}\n" for tick, level in edges(others)))
    result = run(
        pc(line),
        f"""
        up
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
    # The first byte of its answer shows which header was reported first.
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
    """The adapter is unplugged while headers are sent: lin0 disappears, and all modules can be
    removed."""
    result = run(
        pc(line),
        """
        echo master >/sys/class/net/lin0/role
        up
        (./candump -x lin0 >dump &)
        (./cangen lin0 -g 20 -I 10 -R -L 0 -i &)
        (./cangen lin0 -g 20 -I 50 -e -L 4 -i &)
        seen 'TX.* 010 ' 5
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
    """`cangen -t` gives each header a time: the slots are equal to the tick, also on a busy PC."""
    result = run(
        pc(line),
        """
        echo master >/sys/class/net/lin0/role
        echo phc >/sys/class/net/lin0/transmit_clock
        up
        (while :; do :; done) &
        (./candump -H -ta -x lin0 >dump &)
        listens
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
    """CAN_BCM sends headers periodically; each is answered at its exact tick."""
    guest = pc(line)
    result = run(
        guest,
        f"./lin role=master up send=00000050#{DATA.hex()} cyclic=5,200,010#R wait=1500 down",
        files={"lin": guest.guest_program("lin")},
    )
    tx, report = edges(result.pin("tx")), LinLog("\n".join(result.lines))
    starts = breaks(result.pin("tx"))
    answers = [BUS.answer(start, DATA + bytes([checksum(DATA)]), BUS.bits(1)) for start in starts]
    for start, answer in zip(starts, answers):
        sent = edges(wave([*BUS.header(start, PIDS[0x10]), *answer]))
        assert [edge for edge in tx if start <= edge[0] <= sent[-1][0]] == sent
    assert report.arrived() == [(0x10, DATA, answer[0].tick + 1) for answer in answers]
    # A header that a busy PC gives to the board too late is not sent, and is reported.
    assert len(starts) + [word for word, *_ in report.frames].count(ERROR | LATE) == 5 and len(starts) > 2


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
            up
            (./candump -x lin0 >dump &)
            (./cangen lin0 -g 20 -I 10 -R -L 0 -i &)
            (./cangen lin0 -g 20 -I 50 -e -L 4 -i &)
            seen 'TX.* 010 ' 2
            usleep $((turn * 20000))
            rmmod litepulse_lin || exit 92
            gone /sys/class/net/lin0
            insmod litepulse_lin.ko || exit 93
            await /sys/class/net/lin0
            ./ip link set lin0 type can bitrate {BUS.baud}
        done
        echo master >/sys/class/net/lin0/role
        up
        (./candump -x lin0 >dump &)
        listens
        ./cansend lin0 012#R
        seen 00004012
        """,
    )
    tx = result.pin("tx")
    starts = breaks(tx)
    assert len(starts) > 4
    after = [(tick, level) for tick, level in edges(tx) if tick >= starts[-1]]
    assert after == edges(wave(BUS.header(starts[-1], PIDS[0x12])))
