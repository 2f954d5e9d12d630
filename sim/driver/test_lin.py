# SPDX-License-Identifier: BSD-2-Clause
"""lin0 in the debug kernel, on a simulated board whose RX is a bus: what programs read and send is compared with the recorded pins."""

import functools
import time
from itertools import pairwise

import pytest

from litepulse import regs
from sim.core.model import BREAK, TTY, Grant, Launch, edges
from sim.driver.cable_rig import Between, Board, PowerCut, cable_files, mistake, modules
from sim.driver.slow_lin import MODULES, ON_BUS, boot_on_bus
from sim.driver.uml import boot
from sim.guest.frames import wave
from sim.guest.lin_bus import DATA, PIDS, checksum
from sim.guest.lin_bus import SLOW_BUS as BUS
from sim.guest.lin_bus import SLOW_HZ as HZ
from sim.guest.lin_log import ERROR, LinLog

pytestmark = pytest.mark.seconds(60)
RTR, EFF = 0x4000_0000, 0x8000_0000
TIMEOUT, CHECKSUM, FRAMING = 0x4000, 0x8000, 0x10000
WAKE, SLEEP = 0x200, 0x400
PROTOCOL, NO_ACK, BUS_OFF, RESTARTED = 0x8, 0x20, 0x40, 0x100  # classes of a CAN error frame
# The driver may take a board that falls behind, on a busy machine, for one that was reset.
STOPPED = ": what ran on it has stopped"


class Run(LinLog):
    """What the guest's program printed, and the pins."""

    def __init__(self, booted, tx):
        super().__init__(booted.lines(3))
        self.tx = tx


class Silent(Between):
    """After TRIGGER was sent to the board, no request reaches it for SECONDS except one that clears
    its session, as its watchdog would."""

    TRIGGER = bytes.fromhex("deadbeef")
    SECONDS = 6

    def __init__(self, near, far):
        self.since, self.named = None, True
        super().__init__(near, far)

    def carry(self, data, to_board):
        if not to_board:
            return data
        if self.since is None:
            # A word is sent from its high byte on.
            self.since = time.monotonic() if self.TRIGGER[::-1] in data else None
            return data
        silent = time.monotonic() - self.since
        # The bridge takes plain commands again after two seconds without a frame.
        if self.named and silent > self.SECONDS / 2:
            self.named = False
            (session,) = (register.index for register in regs.CSRS if register.name == "session")
            return b"\x01\x01" + (regs.CSR_BASE // 4 + session).to_bytes(4, "big") + bytes(4)
        return data if silent > self.SECONDS else b""


def run(steps, *, stimulus=(), uses=(), made=None, between=None):
    """(Run, Boot): does the steps of cable/lin.c, and then those of `uses`. `stimulus`: [(tick, level)] of the other nodes."""
    jobs = [f"run /lin /dev/ttyS0 {words}" for words in (steps, *uses)]
    booted, tx = boot_on_bus(jobs, ["lin"], stimulus, made=made, between=between)
    return Run(booted, tx), booted


def test_master():
    """Headers and published frames lie at the requested ticks; the core's own table answers;
    sockets that request errors get them."""
    report, _ = run(
        f"role=master bitrate={BUS.baud} up busy send=00000850#{DATA.hex()} id=20=enhanced_a1_b2 at=600 send=010#R "
        f"at=+200 send=011#{DATA.hex()} at=+200 send=091#{DATA.hex()} at=+200 send=012#R at=+200 send=020#R wait=2500 errno=16=role=slave "
        "show=responses/10 show=responses/20 show=response_space at=-1000 send=010#R wait=100 down role=slave free"
    )
    at = int(report.found("at")[0][0])
    # The first clock reading after `at` is the stamp of the first break, one tick after it.
    first = report.ticks[min(ns for ns in report.ticks if ns > at)] - 1
    assert min(ns for ns in report.ticks if ns > at) - at < 2 * 10**9 // HZ + 1
    starts = [first + n * HZ // 5 for n in range(5)]
    space, classic, both = BUS.bits(1), bytes([checksum(DATA)]), bytes([checksum(b"\xa1\xb2", PIDS[0x20])])
    responses = [
        BUS.answer(starts[0], DATA + classic, space),
        BUS.published(starts[1], PIDS[0x11], DATA + classic)[3:],
        BUS.published(starts[2], PIDS[0x11], DATA + bytes([checksum(DATA, PIDS[0x11])]))[3:],
        [],
        BUS.answer(starts[4], b"\xa1\xb2" + both, space),
    ]
    sent = [
        one
        for start, number, response in zip(starts, (0x10, 0x11, 0x11, 0x12, 0x20), responses)
        for one in (*BUS.header(start, PIDS[number]), *response)
    ]
    assert edges(report.tx) == edges(wave(sent))
    # Our own headers are not reported; a missing response is, at its break.
    assert report.arrived() == [
        (0x10, DATA, responses[0][0].tick + 1),
        (0x11, DATA, responses[1][0].tick + 1),
        (0x11, DATA, responses[2][0].tick + 1),
        (EFF | TIMEOUT | 0x12, b"", starts[3] + 1),
        (0x20, b"\xa1\xb2", responses[4][0].tick + 1),
    ]
    assert report.found("attribute responses/10") == [["classic", *DATA.hex(" ").split()]]
    assert report.found("attribute responses/20") == [["enhanced", "a1", "b2"]]
    assert report.found("attribute response_space") == [[str(space * 10**9 // HZ)]]


SENDING = 0x80  # CAN_ERR_PROT_TX
LATE = 0x1  # class of a CAN error frame: a frame was not sent
COUNTERS = "show=statistics/tx_packets show=statistics/tx_errors"


def breaks(tx):
    """Ticks at which breaks of the board begin."""
    return [tick for (tick, level), (end, _) in pairwise(edges(tx)) if not level and end - tick == BUS.bits(13)]


def test_horizon():
    """A frame for a time that is too far away is refused, counted, and reported once; the frames
    behind it are sent as without it."""
    report, _ = run(
        f"role=master bitrate={BUS.baud} up at=1000000000 send=010#R at=10100 send=010#R at=-1 send=010#R soon send=012#R wait=1500 "
        f"{COUNTERS} down"
    )
    assert [word for word, *_ in report.frames if word & ERROR] == [ERROR | LATE] * 3 + [ERROR | NO_ACK]
    assert [(word, data) for word, data, _ in report.arrived()] == [(EFF | TIMEOUT | 0x12, b"")]
    assert edges(report.tx) == edges(wave(BUS.header(breaks(report.tx)[0], PIDS[0x12])))
    assert report.found("attribute statistics/tx_packets") == [["1"]]
    assert report.found("attribute statistics/tx_errors") == [["3"]]


def test_frames_without_a_time_wait_for_those_with_one():
    """A header without a time among slots: each slot is at its tick, and the header follows the last of them."""
    report, _ = run(
        f"role=master bitrate={BUS.baud} up at=900 send=010#R soon send=011#R wait=100 at=+60 send=010#R at=+60 send=010#R wait=2500 "
        f"{COUNTERS} down"
    )
    starts = breaks(report.tx)
    slots = [starts[0] + n * 60 * HZ // 1000 for n in range(3)]
    assert starts[:3] == slots and len(starts) == 4
    # The last slot may have a response of eight bytes that takes the time which the standard allows: 1.4 times its 124 bits.
    assert starts[3] - slots[2] >= BUS.bits(173)
    sent = [one for start, number in zip(starts, (0x10, 0x10, 0x10, 0x11)) for one in BUS.header(start, PIDS[number])]
    assert edges(report.tx) == edges(wave(sent))
    assert report.found("attribute statistics/tx_packets") == [["4"]]
    assert report.found("attribute statistics/tx_errors") == [["0"]]


def test_both_dialects():
    """Two ways to write a frame give the same on the pins; a frame without a meaning is refused and
    changes nothing; 60 is always classic."""
    sleep = bytes([0, *[0xFF] * 7])
    report, _ = run(
        f"role=commander bitrate={BUS.baud} up send=00000052#0102 send=00004012# send=00000052#R send=052#03 send=00001052#04 "
        f"at=1500 send=010#R at=+200 send=010# at=+200 send=091#{DATA.hex()} at=+200 send=111#{DATA.hex()} at=+200 send=0BC#{sleep.hex()} "
        f"wait=8000 show=responses/12 show=role {COUNTERS} down"
    )
    starts = breaks(report.tx)
    enhanced, classic = bytes([checksum(DATA, PIDS[0x11])]), bytes([checksum(sleep)])
    sent = [
        *BUS.header(starts[0], PIDS[0x10]),
        *BUS.header(starts[1], PIDS[0x10]),
        *BUS.published(starts[2], PIDS[0x11], DATA + enhanced),
        *BUS.published(starts[3], PIDS[0x11], DATA + enhanced),
        *BUS.published(starts[4], 0x3C, sleep + classic),
    ]
    assert edges(report.tx) == edges(wave(sent)) and [start - starts[0] for start in starts] == [n * HZ // 5 for n in range(5)]
    heard = [(EFF | TIMEOUT | 0x10, b"")] * 2 + [(0x11, DATA)] * 2 + [(0x3C, sleep), (EFF | SLEEP, b"")]
    assert [(word, data) for word, data, _ in report.arrived()] == heard
    # Sockets that request errors get the missing responses as errors, too.
    assert [word for word, *_ in report.frames if word & ERROR] == [ERROR | LATE] * 4 + [ERROR | NO_ACK] * 2
    assert report.found("attribute responses/12") == [["classic", "01", "02"]]
    assert report.found("attribute role") == [["master"]]
    assert report.found("uevent") == [["lin", "5"]]
    assert report.found("attribute statistics/tx_errors") == [["4"]]


def test_a_responder_publishes_data():
    """Data without EFF are the response from the next header on, with the checksum that they name,
    or the known one; headers are refused."""
    report, _ = run(
        f"role=responder bitrate={BUS.baud} up send=010#0102 wait=300 show=responses/10 send=090#03 wait=300 show=responses/10 send=010#04 "
        "wait=300 show=responses/10 send=010# send=0BD#05 wait=300 show=responses/10 show=responses/3d show=role down"
    )
    assert report.found("attribute responses/10") == [["classic", "01", "02"], ["enhanced", "03"], ["enhanced", "04"], ["enhanced", "04"]]
    assert report.found("attribute responses/3d") == [["classic", "05"]]
    assert report.found("attribute role") == [["slave"]]
    assert [word for word, *_ in report.frames if word & ERROR] == [ERROR | LATE]


def test_a_header_that_is_not_heard():
    """On a bus that is held low no node hears our header: each is reported with its identifier and
    as an error, none is dropped silently."""
    report, _ = run(
        f"role=master bitrate={BUS.baud} up at=2000 send=010#R at=+200 send=011#{DATA.hex()} wait=6000 {COUNTERS} down", stimulus=[(10, 0)]
    )
    assert [(word, data) for word, data, _ in report.frames if word & EFF] == [(EFF | TIMEOUT | number, b"") for number in (0x10, 0x11)]
    unheard = [data for word, data, _ in report.frames if word == ERROR | PROTOCOL and data[2] == SENDING]
    assert len(unheard) == 2
    assert report.found("attribute statistics/tx_packets") == [["2"]]
    assert report.found("attribute statistics/tx_errors") == [["2"]]


def test_echo():
    """A frame that a program sends is echoed when it begins on the bus, with that time; words to
    the device at once; refused frames are not echoed."""
    report, _ = run(
        f"role=master bitrate={BUS.baud} up stampsent send=00000050#{DATA.hex()} wait=300 at=600 send=010#R at=+200 send=011#{DATA.hex()} "
        "at=+200 send=00000400# at=+200 send=00000200# at=-1000 send=012#R wait=2500 sent down"
    )
    first = breaks(report.tx)[0]
    starts = [first + n * HZ // 5 for n in range(4)]
    sent = [(RTR | 0x10, b""), (0x11, DATA), (EFF | SLEEP, b""), (EFF | WAKE, b"")]
    # One tick before that of the break as it was received.
    tick_ns = 10**9 // HZ
    expected = [(word, data, start) for (word, data), start in zip(sent, starts)]
    for name in ("echo", "own"):
        setting, *frames = report.printed(name)
        assert setting == (EFF | 0x50, DATA, 0)
        assert [(word, data, report.ticks[ns + tick_ns] - 1) for word, data, ns in frames] == expected
    assert [(word, data, report.ticks[ns + tick_ns] - 1) for word, data, ns in report.printed("sent")] == expected


# The first frame without a time goes to the board for the next tick, which is too late.
TOO_LATE = [
    mistake(
        "litepulse_lin_queue.c",
        "\treturn max(now + queue->ahead, queue->free);",
        """\tstatic bool late;

\tif (!late) {
\t\tlate = true;
\t\treturn now + 1;
\t}
\treturn max(now + queue->ahead, queue->free);""",
    ),
    mistake("litepulse_entry.c", "entry->tick <= now", "entry->tick < 1"),
]


def test_late_frames_are_sent_again():
    """A header without a time that reaches the board too late is sent again, once; only its echo is
    reported."""
    report, _ = run(
        f"role=master bitrate={BUS.baud} up send=010#R wait=1500 soon send=011#R wait=1500 {COUNTERS} down", made=modules(*TOO_LATE)
    )
    starts = breaks(report.tx)
    assert len(starts) == 2
    # Of an attempt that is late the bytes behind the break may have been sent. A busy machine is late by itself, too.
    for start, number in zip(starts, (0x10, 0x11)):
        header = edges(wave(BUS.header(start, PIDS[number])))
        assert [edge for edge in edges(report.tx) if header[0][0] <= edge[0] <= header[-1][0]] == header
    assert [word for word, *_ in report.echoes] == [RTR | 0x10, RTR | 0x11]
    assert [word for word, *_ in report.frames if word & ERROR] == [ERROR | NO_ACK] * 2
    assert report.found("attribute statistics/tx_packets") == [["2"]]
    assert report.found("attribute statistics/tx_errors") == [["0"]]


def until_mtu(mtu, what):
    """A block of C that waits until another program has set the MTU of `lo`, and logs whether it
    did."""
    return f"""{{
\t\tint turn;

\t\tfor (turn = 0; turn < 15 * HZ && READ_ONCE(init_net.loopback_dev->mtu) != {mtu}; turn++)
\t\t\tschedule_timeout_uninterruptible(1);
\t\tpr_info("litepulse_lin: {what} after %s\\n", turn < 15 * HZ ? "a while" : "too long");
\t}}"""


# The board is set up, and its line released, only after another program has changed the network.
MTU_UP, MTU_DOWN = 1234, 1235
SLOW_BOARD = [
    mistake("litepulse_lin_net.c", line, f"{until_mtu(mtu, str(mtu))}\n{line}")
    for line, mtu in (
        ("\t\terror = litepulse_lin_respond_set_up(lin);", MTU_UP),
        ("\tlitepulse_consumer_release(lin->lp, &lin->claimant);", MTU_DOWN),
    )
]


def test_the_network_does_not_wait_for_the_board():
    """While a board is slow to be set up, or to release its line, programs can still change the
    network; then lin0 works."""
    report, booted = run(
        f"role=master bitrate={BUS.baud} up mtu={MTU_UP} at=1500 send=012#R wait=3000 down mtu={MTU_DOWN} wait=500 free",
        made=modules(*SLOW_BOARD),
    )
    assert booted.log.count("after a while") == 2 and "too long" not in booted.log
    assert edges(report.tx) == edges(wave(BUS.header(breaks(report.tx)[0], PIDS[0x12])))


FIRST, SLOT, SLOTS = 8 * HZ, HZ // 5, 80


@pytest.mark.seconds(90)
def test_slave():
    """Headers of another master are answered to the tick, and reported with the time of their
    break; invalid ones are neither."""
    wrong = [
        lambda tick: BUS.header(tick, PIDS[0x10]),  # answered
        lambda tick: BUS.published(tick, PIDS[0x11], DATA + bytes([checksum(DATA)])),
        lambda tick: BUS.published(tick, PIDS[0x11], DATA + bytes([checksum(DATA) ^ 1])),
        lambda tick: BUS.header(tick, PIDS[0x10] ^ 0x80),
        lambda tick: BUS.header(tick, PIDS[0x10], 0x54),
        lambda tick: BUS.header(tick, PIDS[0x12]),
    ]
    starts = [FIRST + n * SLOT for n in range(SLOTS)]
    others = [one for n, start in enumerate(starts) for one in wrong[n % len(wrong)](start)]
    report, _ = run(
        f"space=1000000 bitrate={BUS.baud} up send=00000050#{DATA.hex()} send=00000011#{DATA.hex()} wait=9000 send=012#R wait=100 "
        f"send=00000050#0102 wait=3000 send=00000050# wait=1500 down",
        stimulus=edges(wave(others)),
    )
    space = 1_000_000 * HZ // 10**9
    arrived = report.arrived()
    # The stimulus is seen a tick late, as what comes over a wire is.
    breaks = {start + 1: n for n, start in enumerate(starts)}
    headers = [(word & 0x3F, breaks[tick]) for word, _, tick in arrived if word & RTR]
    assert len(headers) > 20 and all(wrong[n % 6](0)[2].launch.data & 0x3F == number for number, n in headers)
    turns = [n for _, n in headers]
    # From the first header on, each valid one is reported, and no other.
    assert turns == [n for n in range(turns[0], turns[-1] + 1) if n % 6 not in (3, 4)]
    # The core has sent a response to each header of its identifier, wholly of the old or new data.
    sent = [edge for edge in edges(report.tx)]
    expected, versions = [], []
    for n in (n for n in turns if n % 6 == 0):
        data = next((data for word, data, tick in arrived if word == 0x10 and starts[n] < tick < starts[n] + SLOT), None)
        if data is not None:
            versions.append(data)
            response = BUS.answer(starts[n], data + bytes([checksum(data)]), space)
            expected += response
            assert (0x10, data, response[0].tick + 1) in arrived
    assert sent == edges(wave(expected))
    assert sorted(set(versions), key=versions.index) == [DATA, b"\x01\x02"] and versions == sorted(versions, key=[DATA, b"\x01\x02"].index)
    # Others' responses, valid and invalid, and missing ones.
    for n in turns[:-1]:
        inside = [(word, data) for word, data, tick in arrived if starts[n] <= tick < starts[n] + SLOT and not word & RTR]
        if n % 6 == 1:
            assert inside == [(0x11, DATA)]
        elif n % 6 == 2:
            assert inside == [(EFF | CHECKSUM | 0x11, b"")]
        elif n % 6 == 5:
            assert inside == [(EFF | TIMEOUT | 0x12, b"")]
    assert [word for word, _, ns in report.frames if word & ERROR and word & PROTOCOL and ns], "broken headers are reported on request"
    # A slave sends no header.
    assert "role is not master" in report.log


def test_the_line_has_one_owner():
    """The tty, a claim and lin0 exclude each other; rates that LIN or the core cannot do are refused; no slave's role while it is up."""
    run(
        f"bitrate={BUS.baud} tty errno=16=up closetty up busy down free errno=22=bitrate=2401 bitrate=19200 errno=34=up bitrate={BUS.baud} "
        "errno=22=role=none errno=22=id=10=enhanced errno=22=id=10=1_2 errno=22=id=10=00_00_00_00_00_00_00_00_00 id=10=once_01 "
        "show=responses/10 id=10=off show=responses/10 up down"
    )


def test_once():
    """A single response is sent once."""
    report, _ = run(
        f"role=master bitrate={BUS.baud} up send=00000150#0102 at=600 send=010#R at=+200 send=010#R wait=1500 show=responses/10 down"
    )
    assert [word for word, *_ in report.arrived()] == [0x10, EFF | TIMEOUT | 0x10]
    assert report.found("attribute responses/10") == [["off"]]


def test_sleep_and_wake_up():
    """The master's request to sleep, and a pulse of 250 us or more, at their ticks; a slave may
    wake the bus, and reports other nodes' pulses."""
    report, _ = run(f"role=master bitrate={BUS.baud} up at=600 send=00000400# at=+300 send=00000200# wait=1500 down")
    at = int(report.found("at")[0][0])
    first = report.ticks[min(ns for ns in report.ticks if ns > at)] - 1
    request = bytes([0, *[0xFF] * 7])
    pulse = Grant(first + 3 * HZ // 10, Launch(BREAK, BUS.form, 1), TTY, 0)  # a bit lasts 417 us
    frame = BUS.published(first, 0x3C, request + bytes([checksum(request)]))
    assert edges(report.tx) == edges(wave([*frame, pulse]))
    assert report.arrived() == [(0x3C, request, frame[3].tick + 1), (EFF | SLEEP, b"", frame[3].tick + 1)]
    # Two bits of another node are 833 us; thirteen, a break, are 5.4 ms.
    starts = [FIRST + n * SLOT for n in range(40)]
    pulses = [Grant(start, Launch(BREAK, BUS.form, 2 + 11 * (n % 2)), TTY, 0) for n, start in enumerate(starts)]
    report, _ = run(f"bitrate={BUS.baud} up wait=9000 at=1000 send=00000200# wait=2500 down", stimulus=edges(wave(pulses)))
    heard = [(word, tick) for word, _, tick in report.arrived()]
    assert {word for word, _ in heard} == {EFF | WAKE} and {tick - 1 for _, tick in heard} <= set(starts) and len(heard) > 5
    ((_, low), (_, high)) = edges(report.tx)
    assert (low, high) == (0, 1) and edges(report.tx)[1][0] - edges(report.tx)[0][0] == BUS.bits(1)


def test_suspend():
    """After a suspend the core answers as before."""
    report, _ = run(f"role=master bitrate={BUS.baud} up send=00000050#0102 suspend wait=500 at=600 send=010#R wait=1500 down")
    assert [(word, data) for word, data, _ in report.arrived()] == [(0x10, b"\x01\x02")]


# Setting up the board again fails this many times.
FAILURES = 2
NOT_SET_UP = (
    "litepulse_lin_net.c",
    "\terror = litepulse_consumer_renew(lin->lp, &lin->claimant) ?:",
    f"""\tstatic int failed;

\t\terror = failed < {FAILURES} ? -EIO : 0;
\t\tfailed++;
\t\terror = error ?: litepulse_consumer_renew(lin->lp, &lin->claimant) ?:""",
)


def test_bus_off_ends_by_itself():
    """A board that cannot be set up is bus-off: the kernel tries again after restart-ms, until it can be."""
    report, _ = run(
        f"restartms=100 role=master bitrate={BUS.baud} up send=00000050#0102 errno=22=restart suspend wait=1500 show=carrier at=600 "
        "send=010#R wait=1500 down",
        made=modules(NOT_SET_UP),
    )
    assert [word for word, *_ in report.frames if word & ERROR] == [ERROR | BUS_OFF, ERROR | RESTARTED] * FAILURES
    assert report.found("attribute carrier") == [["1"]]
    assert [(word, data) for word, data, _ in report.arrived()] == [(0x10, b"\x01\x02")]


def test_bus_off_ends_by_hand():
    """With restart-ms 0 a board stays bus-off, whatever is sent meanwhile, until a user restarts
    it, or sets it down and up."""
    report, _ = run(
        f"restartms=0 role=master bitrate={BUS.baud} up send=00000050#0102 errno=16=restart suspend wait=800 show=carrier restart wait=800 "
        "show=carrier restart wait=800 show=carrier errno=16=restart at=600 send=010#R wait=1500 down",
        made=modules(NOT_SET_UP),
    )
    assert [word for word, *_ in report.frames if word & ERROR] == [ERROR | BUS_OFF, ERROR | RESTARTED] * FAILURES
    assert report.found("attribute carrier") == [["0"], ["0"], ["1"]]
    assert [(word, data) for word, data, _ in report.arrived()] == [(0x10, b"\x01\x02")]
    report, _ = run(
        f"restartms=0 role=master bitrate={BUS.baud} up send=00000050#0102 suspend wait=800 show=carrier down up show=carrier at=600 "
        "send=010#R wait=1500 down",
        made=modules(NOT_SET_UP),
    )
    assert report.found("attribute carrier") == [["0"], ["1"]]
    assert [(word, data) for word, data, _ in report.arrived()] == [(0x10, b"\x01\x02")]


# Setting up the board again fails when the device has gone down meanwhile.
FAILS_LATE = (
    "litepulse_lin_net.c",
    "\terror = litepulse_consumer_renew(lin->lp, &lin->claimant) ?:",
    f"""{until_mtu(MTU_DOWN, "not set up")}
\terror = -EIO;
\terror = error ?: litepulse_consumer_renew(lin->lp, &lin->claimant) ?:""",
)


def test_a_device_that_is_down_is_not_bus_off():
    """A board that cannot be set up after its device went down does not make the device bus-off,
    which nothing would end before the device is gone."""
    report, booted = run(
        f"restartms=0 role=master bitrate={BUS.baud} up suspend wait=300 down mtu={MTU_DOWN} wait=500 up show=carrier at=600 send=012#R "
        "wait=1500 down",
        made=modules(FAILS_LATE),
    )
    assert "not set up after a while" in booted.log and "bus-off" not in booted.log
    assert report.found("attribute carrier") == [["1"]]
    assert edges(report.tx) == edges(wave(BUS.header(breaks(report.tx)[0], PIDS[0x12])))


@pytest.mark.parametrize("clock", ["mono", "real", "tai"])
def test_times_of_the_host(clock):
    """A time of a kernel clock means that clock, also if the PTP clock shows another time; the PTP
    clock of the time stamps is named."""
    report, _ = run(
        f"role=master bitrate={BUS.baud} up stamps errno=22=clock=tai settai=37 shiftptp=3600 {clock}=1500 send=010#R wait=3000 "
        "settai=0 down"
    )
    (first, last), (word, _, reported_at) = map(int, report.found("ptp")[0]), report.frames[-1]
    assert word == EFF | TIMEOUT | 0x10
    # A busy machine may take long to read both clocks; another clock would be 37 s or an hour away.
    assert first - 500_000_000 < reported_at < last + 500_000_000, (reported_at, first, last)


# The tty's start fails once, as on a cable that fails at that moment: root still has it open.
NO_START = (
    "litepulse_tty.c",
    "\tif (t->lent) {\n\t\tmutex_unlock(&lp->setup.mutex);\n\t\treturn -EBUSY;",
    """\tstatic int tries;

\tif (!tries++) {
\t\tmutex_unlock(&lp->setup.mutex);
\t\treturn -EIO;
\t}
\tif (t->lent) {
\t\tmutex_unlock(&lp->setup.mutex);
\t\treturn -EBUSY;""",
)


def test_a_tty_that_did_not_start_leaves_the_bus_alone():
    """A program that has the tty open can neither change the bit rate of the bus nor hold it low."""
    report, _ = run(
        f"deadtty role=master bitrate={BUS.baud} up errno=5=ttybaud=9600 errno=5=ttybreak at=1000 send=012#R wait=2000 closetty down",
        made=modules(NO_START),
    )
    assert edges(report.tx) == edges(wave(BUS.header(breaks(report.tx)[0], PIDS[0x12])))


def test_reset():
    """A board that has stopped gets entries and responder again, without a command, and sockets
    that request errors get an error frame."""
    data = Silent.TRIGGER
    report, booted = run(
        f"role=master bitrate={BUS.baud} up send=00000050#{data.hex()} until=100 send=010#R wait=4000 down", between=Silent
    )
    assert STOPPED in booted.log
    assert [word for word, *_ in report.frames if word & ERROR] == [ERROR | RESTARTED]
    assert [(word, found) for word, found, _ in report.arrived()] == [(0x10, data)]


POWER_CUT = functools.partial(PowerCut, PIDS[0x12], ON_BUS)


def test_a_reset_in_the_middle_of_a_frame():
    """The board counts its ticks from 0 again while a response is awaited: the next missing one is
    reported as soon as usual."""
    report, booted = run(
        f"role=master bitrate={BUS.baud} up at=3000 send=012#R until=100 wait=500 soon send=011#R wait=1000 down", between=POWER_CUT
    )
    assert "the board was reset" in booted.log
    assert [(word, data) for word, data, _ in report.frames] == [
        (ERROR | RESTARTED, bytes(8)),
        (ERROR | NO_ACK, bytes(8)),
        (EFF | TIMEOUT | 0x11, b""),
    ]


def test_once_after_a_reset():
    """A single response is sent once by a board that was reset before, and by one that is set up
    again afterwards."""
    report, booted = run(
        # Long before that tick the second board has answered.
        f"role=master bitrate={BUS.baud} up wait=6000 send=00000150#0102 at=1000 send=012#R until=100 wait=500 show=responses/10 soon "
        "send=010#R wait=1000 show=responses/10 suspend wait=500 soon send=010#R wait=1000 down",
        between=POWER_CUT,
    )
    assert "the board was reset" in booted.log
    assert [(word, data) for word, data, _ in report.frames if not word & ERROR] == [(0x10, b"\x01\x02"), (EFF | TIMEOUT | 0x10, b"")]
    assert report.found("attribute responses/10") == [["classic", "once", "01", "02"], ["off"]]


# The claim is had again only when it is tried for the second time.
NO_CLAIM = (
    "litepulse_consumer.c",
    "\t\terror = litepulse_output_claim(lp, claimant);\n",
    """{
\t\tstatic int tries;

\t\terror = tries++ ? litepulse_output_claim(lp, claimant) : -EINTR;
}
""",
)


def test_a_claim_that_is_not_had_again_at_once():
    """After a reset lin0 is bus-off until it has its claim again: then the core answers as before.
    No other program gets the claim."""
    report, _ = run(
        f"restartms=100 role=master bitrate={BUS.baud} up send=00000050#0102 at=600 send=012#R until=40 wait=1500 soon send=010#R "
        "wait=1000 busy down",
        made=modules(NO_CLAIM),
        between=POWER_CUT,
    )
    assert [word for word, *_ in report.frames if word & ERROR] == [ERROR | RESTARTED, ERROR | BUS_OFF, ERROR | RESTARTED]
    assert [(word, data) for word, data, _ in report.frames if not word & ERROR] == [(0x10, b"\x01\x02")]


# Of the third frame the board gets two launches, as over a cable that fails then.
PARTLY = (
    "litepulse_consumer.c",
    "\t\terror = litepulse_output_launch(lp, claimant, launches, count);\n",
    """{
\t\tstatic int turn;

\t\terror = litepulse_output_launch(lp, claimant, launches, ++turn == 3 ? 2 : count);
}
""",
)


def test_a_frame_that_the_board_gets_in_part():
    """It is taken back, and with it the frames that waited in the board: each is counted and
    reported, none is sent or echoed."""
    report, _ = run(
        f"role=master bitrate={BUS.baud} up at=1500 send=010#R at=+200 send=011#{DATA.hex()} at=+200 send=012#R wait=2500 {COUNTERS} "
        f"soon send=020#R wait=1000 {COUNTERS} down",
        made=modules(PARTLY),
    )
    assert edges(report.tx) == edges(wave(BUS.header(breaks(report.tx)[0], PIDS[0x20])))
    # One for those that were taken back, one for the frame itself; then the missing response.
    assert [word for word, *_ in report.frames if word & ERROR] == [ERROR | LATE] * 2 + [ERROR | NO_ACK]
    assert [(word, data) for word, data, _ in report.frames if not word & ERROR] == [(EFF | TIMEOUT | 0x20, b"")]
    assert [word for word, *_ in report.echoes] == [RTR | 0x20]
    assert report.found("attribute statistics/tx_packets") == [["0"], ["1"]]
    assert report.found("attribute statistics/tx_errors") == [["3"], ["3"]]


SHALLOW = (
    "litepulse_board.c",
    "lp->launch_depth = 1 << FIELD_GET(LITEPULSE_CSR_ID_GEOMETRY_LAUNCH_DEPTH_MASK, geometry);",
    "lp->launch_depth = 8;",
)


def test_a_core_that_cannot_hold_a_frame():
    """There is no lin0, and a message says why: a frame of eight bytes would wait forever. All else
    works."""
    made = modules(SHALLOW)
    loads = [f"insmod {name}.ko" for name in MODULES]
    removes = [f"rmmod {name}" for name in MODULES[::-1]]
    with Board(wired=False) as board:
        files = cable_files(made, ("cable",)) | {"litepulse_lin.ko": made["litepulse_lin"]}
        booted = boot([*loads, "run /cable loop /dev/ttyS0", *removes, "leaks"], files, lines=[board.line])
    assert not any(booted.status) and not booted.complaints, booted.log
    assert "no LIN device: this core holds 8 launches, a frame has 12" in booted.log and "lin0" not in booted.log


# The board cannot be reached just when a frame must be over: once, which a cable would need seconds for.
UNREACHED = (
    "litepulse_lin_net.c",
    "\terror = litepulse_consumer_seen(lin->lp, &tick);\n\tif (error",
    """\tstatic bool failed;

\terror = litepulse_consumer_seen(lin->lp, &tick);
\tif (!error && !failed && tick > lin->frame.deadline + lin->margin) {
\t\tfailed = true;
\t\tpr_info("litepulse_lin: not reached\\n");
\t\terror = -EIO;
\t}
\tif (error""",
)


def test_a_cable_that_fails_when_a_frame_must_be_over():
    """If errors are requested, a missing response is reported a little later."""
    report, booted = run(f"role=master bitrate={BUS.baud} up at=600 send=012#R wait=4000 down", made=modules(UNREACHED))
    assert "litepulse_lin: not reached" in booted.log
    assert [(word, data) for word, data, _ in report.arrived()] == [(EFF | TIMEOUT | 0x12, b"")]


def test_reset_under_traffic():
    """Headers are sent and answered until the board stops, and again when it has its earlier
    entries again."""
    data = Silent.TRIGGER
    report, booted = run(
        f"role=master bitrate={BUS.baud} up fill=10000000 wait=1500 send=00000051#{data.hex()} until=100 wait=2500 endfill wait=1500 "
        "send=011#R wait=5000 down",
        between=Silent,
    )
    assert STOPPED in booted.log
    heard = [(word, found) for word, found, ns in report.frames if ns or word & ERROR]
    (reset,) = [n for n, (word, _) in enumerate(heard) if word == ERROR | RESTARTED]
    before, after = heard[:reset], heard[reset + 1 :]
    assert len([word for word, _ in before if word == 0x10]) > 3 < len([word for word, _ in after if word == 0x10])
    assert after[-1] == (0x11, data)


def test_taken_away_under_traffic():
    """The board is removed while frames are sent and received, several times, and then the module:
    no complaint, no leak."""
    run(
        f"role=master bitrate={BUS.baud} up fill=200 wait=400 detach",
        uses=[f"role=master bitrate={BUS.baud} up fill=100 wait={wait} detach" for wait in (20, 90)],
    )
