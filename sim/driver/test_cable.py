# SPDX-License-Identifier: BSD-2-Clause
"""A board behind a serial line of the debug kernel: used, taken away, found again, on a good cable and a bad one; no complaint, no leak."""

import bisect
import re
import signal
import socket
import threading
import time

import pytest

from sim.bridge_frames import MARKER
from sim.bridge_rules import RULES
from sim.driver import fuzz_boots
from sim.driver.cable_rig import (
    LINE,
    REPORTS_RATE,
    Ahead,
    Board,
    Damage,
    EachPlace,
    LateOnce,
    NothingWaits,
    OtherBridge,
    Plain,
    Raised,
    Rated,
    ShortOfBreath,
    Through,
    Watched,
    Witness,
    cable_boot,
    mistake,
    modules,
)
from sim.driver.hostile import CannotPack
from sim.long_runs import LONG

pytestmark = pytest.mark.seconds(120)
SLOW_HZ = 2_000_000  # of a board whose time goes by the clock on the wall
STOPS_IN = 30  # seconds; a board whose machine is busy beside loses time, and its watchdog needs eight of its own
FEW = 3  # repeats of this and more have another reason than a machine that stood still and was late with an answer


def check(run, uses):
    """All jobs succeeded, and the kernel has no complaint."""
    assert run.status == [0] * (uses + 5) and not run.complaints, run.log


def counted(run, job=2):
    """{name: value} of what `cable counters` printed."""
    return {name: value for name, value in re.findall(r"(?m)^(\w+) (\S+)$", run.lines(job))}


def counters(board):
    """What `cable counters` printed on that board. All else was right."""
    run = cable_boot(["counters"], [board])
    check(run, 1)
    return counted(run)


def test_a_good_cable():
    """Everything works with few repeats, and a kept train is found again, one that was not kept is
    not."""
    uses = ["use", "keep", "counters", "bursts", "storm 40"]
    with Board() as board:
        run = cable_boot(uses, [board])
    check(run, len(uses))
    # The storm's trains go on between: the board is found each time, also when it is full of unread
    # records.
    assert run.log.count(" is a LitePulse") > 35 and "do not arrive" not in run.log
    counts = counted(run, 4)
    # A serial line of this kernel has no bit rate, and always says 38400.
    assert {name: counts[name] for name in ("port", "baud", "checked", "packed", "poll_us", "idle_us", "failures")} == {
        "port": "ttyS0",
        "baud": "38400",
        "checked": "1",
        "packed": "1",
        "poll_us": "1000",
        "idle_us": "10000",
        "failures": "0",
    }
    assert int(counts["transactions"]) > 100 and int(counts["round_trip_ns"]) > 0 and int(counts["repeats"]) < FEW, counts


@pytest.mark.parametrize("damage", [Damage(lose=2e-4), Damage(double=2e-4), Damage(flip=2e-4)], ids=["lost", "doubled", "flipped"])
def test_a_bad_cable(damage):
    """Nothing is lost, done twice or done wrong: `counters` checks each byte, launch and pulse of the train."""
    with Board(damage=damage) as board:
        counts = counters(board)
        suffered = board.between.lost + board.between.doubled + board.between.flipped
    assert suffered > 10 and int(counts["repeats"]) > 5 and counts["failures"] == "0", (suffered, counts)


@pytest.mark.parametrize("damage", [Damage(lose=4e-4), Damage(double=4e-4), Damage(flip=4e-4)], ids=["lost", "doubled", "flipped"])
def test_bursts_over_a_bad_cable(damage):
    """No edge is lost of those that fill the board's FIFO, while requests overlap."""
    with Board(damage=damage) as board:
        run = cable_boot(["bursts"], [board])
        suffered = board.between.lost + board.between.doubled + board.between.flipped
    check(run, 1)
    counts = counted(run)
    assert suffered > 5 and int(counts["repeats"]) > 2 and counts["failures"] == "0", (suffered, counts)


@pytest.mark.parametrize("between, most", [(Ahead, 2), (NothingWaits, 1)], ids=["waits", "no frame waits"])
def test_requests_overlap(between, most):
    """While there are more records than an answer holds, the next request waits in the board; not
    in a bridge that would lose it."""
    with Board(between=between) as board:
        run = cable_boot(["bursts"], [board])
        under_way = board.between.most
    check(run, 1)
    counts = counted(run)
    assert under_way == most and counts["packed"] == "1" and counts["failures"] == "0" and int(counts["repeats"]) < FEW, (under_way, counts)


def test_each_place_of_an_exchange():
    """A byte is lost, doubled or altered at each place of a request or an answer, packed ones too:
    `counters` finds nothing wrong."""
    with Board(between=EachPlace) as board:
        counts, between = counters(board), board.between
    assert between.packed > 50 and len(between.damaged) > 50, (between.packed, between.damaged)
    assert int(counts["repeats"]) > 50 and counts["failures"] == "0", counts


def test_long_answers_never_come():
    """Long answers are requested in parts, before the board counts as lost and its FIFOs
    overflow."""
    with Board(between=ShortOfBreath) as board:
        run = cable_boot(["bursts"], [board])
        damaged = board.between.damaged
    check(run, 1)
    counts = counted(run)
    # With a damaged answer that to the request behind it is given up. How many are long depends on the machine.
    assert damaged > 3 and damaged <= int(counts["repeats"]) < 2 * damaged + FEW and counts["failures"] == "0", (damaged, counts)


WORKER = "litepulse_board_write_line(container_of("
LATE_WORKER = mistake("litepulse_board.c", WORKER, f"schedule_timeout_uninterruptible(HZ / 20);\n\t{WORKER}")


def test_order_of_bytes_and_settings():
    """A byte is sent with the settings of the time when it was written, also when these are passed to the board late."""
    with Board(wired=False) as board:
        run = cable_boot(["loop"], [board], made=modules(LATE_WORKER))
    check(run, 1)


def test_baud_of_the_port():
    """Calls to the board's tty take the locks of the port's tty, which are of the same kind:
    lockdep does not complain."""
    with Board(between=Rated) as board:
        check(cable_boot(["baud"], [board]), 1)
        requested = board.between.register.requested
    assert requested, "no rate was requested, and so no lock of the port taken"


def test_programs_that_wait_can_be_killed():
    """Programs that wait for the cable while the driver tries a bit rate that the port cannot
    do."""
    with Board(between=Rated) as board:
        check(cable_boot(["killed"], [board]), 1)


def test_another_bridge_is_left_alone():
    """Its register does not read as at 115200 baud: the driver does not write it, and the board
    works at its present rate."""
    with Board(between=OtherBridge) as board:
        check(cable_boot(["baud"], [board]), 1)
        requested, watcher = board.between.register.requested, board.between.watcher
    assert watcher.broken == [] and not requested, (watcher.broken, requested)


def test_suspend():
    """The board is suspended before its port: its output is stopped, kept or not, and all works
    after the resume."""
    with Board() as board:
        check(cable_boot(["suspend"], [board]), 1)


def test_suspend_at_a_raised_rate():
    """The bridge has fallen back when the machine resumes: the driver finds it and raises the rate
    first, and nothing fails."""
    with Board(between=Raised) as board:
        run = cable_boot(["raised"], [board], made=modules(*REPORTS_RATE))
        requested, word = board.between.register.requested, board.between.register.word_of(1_000_000)
    check(run, 1)
    assert requested.count(word) == 4, requested


def test_rules_of_the_bridge():
    """The driver keeps all rules for a host that sends frames: with a pledge without an answer, a
    kept train, bursts, a suspend."""
    uses = ["keep", "bursts", "raised"]
    with Board(between=Watched) as board:
        run = cable_boot(uses, [board], made=modules(*REPORTS_RATE))
        watcher, limits = board.between.watcher, board.between.limits
        watcher.end(time.monotonic())
    check(run, len(uses))
    assert watcher.broken == []
    # In the last use, which has a claim, the board watches but for three times while the machine is suspended.
    assert limits[-6:] == 3 * [0, limits[-1]] and limits[-1], limits
    assert not [rule.name for rule in RULES if rule.of != "plain" and not watcher.judged[rule.name]], watcher.judged


@pytest.mark.wallclock  # the bridge's time goes by it
def test_a_machine_that_is_starved():
    """At the base rate: after a delay of the machine the driver checks the bridge and repeats the
    request that frees records; nothing fails."""
    stood = []

    def started(process, log):
        def stand_still():
            process.send_signal(signal.SIGSTOP)
            time.sleep(2)
            process.send_signal(signal.SIGCONT)
            stood.append(True)

        board.between.on_free = stand_still

    with Board(between=LateOnce) as board:
        run = cable_boot(["counters"], [board], started=started)
        watcher = board.between.watcher
    check(run, 1)
    counts = counted(run)
    assert stood and counts["failures"] == "0" and int(counts["repeats"]) > 0 and watcher.broken == [], (counts, watcher.broken)


# Watched reports a faster bus clock than this slow board has. The driver would compute the watchdog's limit from it.
SLOW_CLOCK = mistake("litepulse_board.c", "(bus_hz ?: lp->clock_num / lp->clock_den)", "(lp->clock_num / lp->clock_den / 2)")
# At the base rate what comes first afterwards is to be the poller, which frees records: not who looks every second, and only reads.
RARE_WATCH = mistake("litepulse_core.c", "#define WATCH_INTERVAL HZ", "#define WATCH_INTERVAL (60 * HZ)")


@pytest.mark.wallclock  # the board's time goes by it
@pytest.mark.parametrize(
    "seconds, baud, left",
    [
        (4.7, "", {"runs": "1", "restarts": "0", "stops": "0"}),
        (4.7, "1000000", {"runs": "1", "restarts": "0", "stops": "0"}),
        (STOPS_IN, "1000000", {"runs": "0", "restarts": "1"}),
    ],
)
def test_a_machine_that_stands_still(seconds, baud, left):
    """For less than 5 s: nothing stops, also at a raised bit rate, although the bridge has fallen
    back. After STOPS_IN all has stopped."""

    def stop(process, log):
        while process.poll() is None and not re.search(r"(?m)\btrain\r?$", log.read_text(errors="replace")):
            time.sleep(0.1)
        time.sleep(1)
        stopped = threading.Event()

        def now():
            process.send_signal(signal.SIGSTOP)
            stopped.set()

        board.between.on_records = now
        if stopped.wait(20):
            time.sleep(seconds)
            process.send_signal(signal.SIGCONT)

    def started(*arguments):
        threading.Thread(target=stop, args=arguments, daemon=True).start()

    with Board("--pace", "--pulse-hz", SLOW_HZ, between=Watched, lockstep=None) as board:
        board.between.watcher.bus_hz = SLOW_HZ / 2
        run = cable_boot(
            [f"standstill {baud}"], [board], made=modules(*REPORTS_RATE, SLOW_CLOCK, *([] if baud else [RARE_WATCH])), started=started
        )
        requested, word = board.between.register.requested, board.between.register.word_of(1_000_000)
    check(run, 1)
    assert counted(run).items() >= left.items() and requested.count(word) == (2 if baud else 0), (counted(run), requested)
    watcher = board.between.watcher
    assert watcher.broken == [] and watcher.judged["first"] > 1, watcher.judged


def test_breaks():
    """TIOCSBRK and TIOCCBRK return when the break has begun and ended: none is shortened or lost, however late the worker is."""
    with Board() as board:
        run = cable_boot(["breaks"], [board], made=modules(LATE_WORKER))
    check(run, 1)


def test_xoff():
    """At most the 64 bytes that the driver gives to the board at once, and two that the board has
    begun, are sent before XOFF."""
    with Board() as board:
        run = cable_boot(["xoff"], [board])
    check(run, 1)
    assert int(re.search(r"(?m)^after (\d+)$", run.lines(2))[1]) <= 66, run.log


def test_any_uartbone():
    """A bridge that knows no frames, as LiteX's own: all works, unchecked."""
    with Board(between=Plain) as board:
        counts = counters(board)
    assert (counts["checked"], counts["packed"], counts["failures"]) == ("0", "0", "0") and int(counts["repeats"]) < FEW, counts


def test_a_bridge_that_cannot_pack():
    """All works over a bridge that is older than packed answers, and none is requested of it."""
    with Board(between=CannotPack) as board:
        counts, between = counters(board), board.between
    assert between.altered >= 1 and between.begun == {MARKER}, between.begun
    assert (counts["checked"], counts["packed"], counts["failures"]) == ("1", "0", "0"), counts


STALL = (
    mistake(
        LINE,
        "static int litepulse_line_send_some(",
        "static bool stalled;\nmodule_param(stalled, bool, 0600);\n\nstatic int litepulse_line_send_some(",
    ),
    mistake(
        LINE,
        "sent = link->tty->ops->write(link->tty, bytes, count);",
        "sent = stalled && litepulse_link_flight(link, 0)->stamper ? 0 : link->tty->ops->write(link->tty, bytes, count);",
    ),
)


def stall(*mistakes):
    """A Boot: the port does not send a request that reads the clocks, and a byte comes after the
    program has ended."""
    outside, inside = socket.socketpair()
    with outside, inside, Board(between=Through) as board:

        def answer():
            if outside.recv(1):
                board.between.say(b"\x55")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        run = cable_boot(["stall"], [board, inside], made=modules(*STALL, *mistakes))
        inside.shutdown(socket.SHUT_RDWR)
        thread.join()
    return run


def test_a_port_that_takes_nothing():
    """The reading of the clocks fails after more than a second, and its memory is not used when a
    byte comes later."""
    check(stall(), 1)


KEEPS_POINTER = mistake(LINE, "\tlitepulse_line_expect(link, flight, 0, 0, NULL);\n", "")


def test_a_port_that_takes_nothing_control():
    """A driver that keeps its pointer to the caller reads the stack of an ended program: KASAN
    reports it, or the kernel panics."""
    run = stall(KEEPS_POINTER)
    assert any("KASAN: " in line or "Segfault" in line for line in run.complaints), run.log


def test_no_bridge_answers():
    """No board at the other end, or one that only makes noise: no device, and the port is free again."""
    silent, guest_silent = socket.socketpair()
    with silent, guest_silent:
        run = cable_boot(["nobody"], [guest_silent])
    check(run, 1)
    assert "ttyS0: no LiteX UARTBone answers" in run.log


FUZZ_ROUNDS = 6


@pytest.mark.parametrize("number", [1, 2])
def test_fuzz(number):
    """Random calls of several processes, signals, and the board is detached meanwhile: no
    complaint, and it works afterwards."""
    calls, unplugs = fuzz_boots.on_a_cable(number, FUZZ_ROUNDS, timeout=300)
    assert calls > 100 * FUZZ_ROUNDS and unplugs == FUZZ_ROUNDS


def test_attaching_with_failures():
    """Each allocation in turn fails while the line discipline is set: the port is attached or not,
    and works afterwards."""
    with Board() as board:
        run = cable_boot(["/fail attach /dev/ttyS0", "use"], [board], also=("fail",))
    assert run.status == [0] * 7 and run.only_memory_was_missing(), run.log
    assert int(re.search(r"(?m)^attach (\d+)$", run.lines(2))[1]) > 5


def test_control():
    """A fault for which the tests above watch is reported: a link used after it was freed."""
    with Board() as board:
        run = cable_boot(
            ["run 1 1"],
            [board],
            name="fuzz",
            made=modules(
                (
                    "litepulse_uartbone_ldisc.c",
                    "\tlitepulse_ldisc_free_link(link);\n}",
                    "\tlitepulse_ldisc_free_link(link);\n\tWRITE_ONCE(link->pdev, NULL);\n}",
                )
            ),
        )
    assert any("KASAN: slab-use-after-free" in line for line in run.complaints), run.log


HZ = 250_000  # so slow a board keeps its time, also on a busy machine
SECONDS = 120 if LONG else 40
REMEMBERED = 20  # seconds: a stall of 20 ms


@pytest.mark.seconds(55)
def test_clocks_are_as_reported():
    """Each reading of the two clocks, and each event's time, is within the error bound that the driver reports."""
    with Board("--pace", "--pulse-hz", HZ, between=Witness, lockstep=None) as board:
        run = cable_boot([f"run {SECONDS}"], [board], name="clock")
        brackets = board.between.brackets
    check(run, 1)
    readings = [tuple(map(int, words)) for words in re.findall(r"(?m)^time (\d+) (\d+) (\d+) (\d+)$", run.lines(2))]
    events = [tuple(map(int, words)) for words in re.findall(r"(?m)^event (\d+) (\d+) (\d+)$", run.lines(2))]
    assert len(readings) > 2 * SECONDS and len(events) > 5 * SECONDS
    assert all(tick in brackets for tick, *_ in readings)
    # The guest's raw clock is the host's but for a constant. There is one with which all readings are true.
    least = max(brackets[tick][1] - after for tick, _, after, _ in readings)
    most = min(brackets[tick][0] - before for tick, before, _, _ in readings)
    assert least <= most, (least, most)
    assert all(uncertainty == (after - before + 1) // 2 for _, before, after, uncertainty in readings)
    # An event was after the latest look at the board that did not know of it yet, and before the next one was over. The simulated board
    # stands still now and then and catches up, which no crystal does: by so much as its latest looks show. The driver remembers a look
    # for as long as two crystals would need to part by that much, 1 in 1024.
    ticks = sorted(brackets)
    for tick, ns, uncertainty in events:
        at, since = bisect.bisect_left(ticks, tick), bisect.bisect_left(ticks, tick - REMEMBERED * HZ)
        earliest, latest = brackets[ticks[at - 1]][0] - most, brackets[ticks[at]][1] - least
        late = [[moment - look * 10**9 // HZ for moment in brackets[look]] for look in ticks[since : at + 1]]
        bound = uncertainty + max(answered for _, answered in late) - min(requested for requested, _ in late)
        assert ns + bound >= earliest and ns - bound <= latest, (tick, ns, uncertainty, bound, earliest, latest)
    print(f"readings +-{max(r[3] for r in readings)} ns at most, events +-{max(e[2] for e in events)} ns, of {len(ticks)} looks")
