# SPDX-License-Identifier: BSD-2-Clause
"""The device layer against a board in Python: identification, confirmed writes, guarded acknowledgements, loss, restarts."""

import contextlib
from fractions import Fraction

import pytest

from litepulse.backends.bus import queue, registers, session
from litepulse.backends.bus.backend import BusBackend
from litepulse.backends.bus.registers import WATCHDOG_SECONDS
from litepulse.errors import BadInput, NotLitePulse, Refused, Restarted, TransportError
from litepulse.interrupt import Interrupt
from litepulse.job import tidy
from litepulse.launch import SendRun
from litepulse.layout import CHANGE_MIN_PERIOD, CSRS, regs
from litepulse.line import Format, Launch, Profile, Response, Trigger
from litepulse.plan import train_plan
from litepulse.respond import Responder, RespondPlan
from litepulse.streams import Event, Lost, RxByte
from litepulse.train import Train
from litepulse.units import Duration, Timescale

from .fake_board import FakeBoard

EVENT_ACK = regs.WINDOW_BASE + regs.REGIONS["EVENTS"][0]


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    """The board's time passes by transactions, there is nothing to wait for."""
    monkeypatch.setattr("litepulse.job.POLL_SECONDS", 0.0)
    monkeypatch.setattr("litepulse.train.SLOW_POLL_SECONDS", 0.0)


def connect(board):
    return BusBackend(board, "test", "fake")


def train_of(device, rate=58, count=10, **options):
    return Train(device, train_plan(device.identity.timescale, rate=rate, count=count, **options))


def started(device, count=0, **options):
    run = train_of(device, count=count, **options)
    run.begin(lambda: None)
    return run


def run_train(device, **options):
    run = train_of(device, **options)
    run.begin(lambda: None)
    return run, [row for batch in run.rows() for row in batch]


# Identification ---------------------------------------------------------------------------------------------------


def test_identification():
    device = connect(FakeBoard(clock_hz=Fraction(100_000_000, 3), samples=2, event_depth=7))
    identity = device.identity
    assert identity.clock_hz == Fraction(100_000_000, 3) and identity.timescale.tick_hz == Fraction(200_000_000, 3)
    assert (identity.samples_per_cycle, identity.inputs, identity.event_depth, identity.receive_depth) == (2, 4, 128, 512)
    assert (identity.transmit_depth, identity.launch_depth) == (512, 64)


@pytest.mark.parametrize(
    "change, why",
    [
        ({"magic": 0xDEADBEEF}, "not a LitePulse"),
        ({"magic": 0}, "not a LitePulse"),
        ({"version": 1 << 16}, "version 1.0"),
        ({"version": 1}, "version 0.1"),
        ({"clock": Fraction(0)}, "clock"),
        ({"samples": 3}, "geometry"),
        ({"samples": 0}, "geometry"),
    ],
)
def test_what_is_not_ours_is_refused_unwritten(change, why):
    board = FakeBoard()
    for name, value in change.items():
        setattr(board, name, value)
    with pytest.raises(NotLitePulse, match=why):
        connect(board)
    assert board.writes == 0


def test_the_first_contact_names_the_session_and_later_ones_keep_it():
    board = FakeBoard()
    first = connect(board)
    assert first.identity.session and board.session == first.identity.session
    again = connect(board)
    assert again.identity.session == first.identity.session


def test_a_restarted_board_is_recognised():
    board = FakeBoard()
    device = connect(board)
    board.reset()
    with pytest.raises(Restarted):
        device.registers.read_status()


UNIT = 1 << regs.WATCHDOG_UNIT


def test_a_silent_host_stops_what_was_not_to_be_kept():
    board = FakeBoard()
    device = connect(board)
    run = started(device)
    limit = board.session >> 16
    assert (limit - 1) * UNIT < WATCHDOG_SECONDS * board.clock <= limit * UNIT and board.session & 0xFFFF == device.identity.session
    board.silence(limit * UNIT - 1)
    assert board.train and board.session
    looks = run.rows()
    next(looks)
    board.silence(limit * UNIT)
    assert board.train is None and board.session == 0
    with pytest.raises(Restarted, match="heard nothing from this program for 8 s"):
        next(looks)


def test_what_is_kept_goes_on_without_a_host():
    board = FakeBoard()
    device = connect(board)
    run = started(device)
    run.detach()
    assert board.session >> 31 and board.session & 0xFFFF == device.identity.session
    board.silence(1000 * UNIT)
    assert board.train
    again = connect(board)
    assert again.identity.session == device.identity.session and board.session >> 31, "reads change nothing"


def test_a_job_that_is_over_leaves_the_watchdog_off():
    board = FakeBoard()
    device = connect(board)
    started(device)
    tidy(device)
    assert board.train is None and board.session == device.identity.session
    board.silence(1000 * UNIT)
    assert board.session == device.identity.session


def test_a_setting_of_the_watchdog_that_gets_lost_is_written_again():
    board = FakeBoard()
    device = connect(board)
    lost = iter([True, True])
    board.drop_write = lambda address, words: next(lost, False)
    device.pledge(keep=False)
    assert board.session >> 16
    board.drop_write = lambda address, words: True
    with pytest.raises(TransportError, match="watchdog"):
        device.pledge(keep=True)


def test_a_board_that_was_reset_does_not_get_its_old_name_back():
    board = FakeBoard()
    device = connect(board)
    board.reset()
    with pytest.raises(Restarted):
        device.pledge(keep=False)
    assert board.session == 0


@pytest.mark.parametrize("before", [True, False])
def test_a_machine_that_stands_still_while_the_name_is_written(before, monkeypatch):
    """The watchdog may have fired before the board got its old name back: what ran counts as stopped, and is."""
    board, stood = FakeBoard(), []
    device = connect(board)
    started(device)
    device.pledge(keep=False)
    write, boottime = board.write, session.boottime

    def write_late(address, words):
        if address != regs.CSR_BASE + 4 * CSRS["session"].index or stood:
            write(address, words)
            return
        stood.append(9)
        if not before:
            write(address, words)
        board.silence(9 * 48_000_000)
        if before:
            write(address, words)

    monkeypatch.setattr(board, "write", write_late)
    monkeypatch.setattr(session, "boottime", lambda: boottime() + sum(stood))
    for _ in range(2):
        with pytest.raises(Restarted):
            device.pledge(keep=True)
    assert board.train is None and board.session & 0xFFFF == 0


def test_a_restart_during_a_train_ends_it():
    board = FakeBoard(step=300_000)
    device = connect(board)
    run = started(device)
    board.reset()
    with pytest.raises(Restarted):
        for _ in run.rows():
            pass


# Configuration ------------------------------------------------------------------------------------------------------


def test_settings_arrive_and_read_back():
    board = FakeBoard()
    device = connect(board)
    profile = Profile(device.identity.timescale.bit_period(115200), Format.parse("7E2"))
    device.line.set_profile(2, profile)
    assert device.registers.profile(2) == profile and board.profiles[2] == (Fraction(106667, 256), 9, 2)
    assert device.registers.profile(3) is None


def test_a_write_lost_on_the_cable_is_repeated(monkeypatch):
    monkeypatch.setattr(registers, "ANSWER_TIMEOUT", 0.05)
    board = FakeBoard()
    device = connect(board)
    lost = []
    board.drop_write = lambda address, words: address >= regs.WINDOW_BASE and not lost and not lost.append(address)
    device.line.set_profile(1, Profile(device.identity.timescale.bit_period(9600)))
    assert len(lost) == 1 and 1 in board.profiles


def test_a_command_lost_on_the_cable_is_not_repeated(monkeypatch):
    monkeypatch.setattr(registers, "ANSWER_TIMEOUT", 0.05)
    board = FakeBoard()
    device = connect(board)
    board.drop_write = lambda address, words: address >= regs.WINDOW_BASE
    before = board.writes
    with pytest.raises(TransportError, match="does not answer configuration"):
        device.train.stop()
    assert board.writes == before + 1


def test_a_core_that_does_not_answer_is_reported(monkeypatch):
    monkeypatch.setattr(registers, "ANSWER_TIMEOUT", 0.02)
    board = FakeBoard()
    device = connect(board)
    board.mute_config = True
    with pytest.raises(TransportError, match="does not answer configuration"):
        device.registers.write_fields("line")


def test_a_refused_setting_is_named():
    device = connect(FakeBoard())
    with pytest.raises(Refused, match="profile1_period"):
        device.registers.configure(("profile1_format", 0), ("profile1_period", 5))


def test_counters_may_wrap():
    board = FakeBoard()
    board.applied, board.refused = 0xFFFF, 0xFFFE
    device = connect(board)
    device.line.set_profile(0, Profile(device.identity.timescale.bit_period(9600)))
    assert board.applied == 0x10001


# Trains -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [58, "61.7", "44100", "12345.678", "1000000/7"])
def test_trains_are_followed_to_the_tick(rate):
    board = FakeBoard(step=60_000 if Fraction(rate) > 1000 else 400_000)
    device = connect(board)
    run, rows = run_train(device, rate=rate, count=40, baud=12_000_000 if Fraction(rate) > 10000 else 115200)
    start = run.record.ideal.start
    assert [r.tick for r in rows] == [start + int(n * (48_000_000 / Fraction(rate))) for n in range(40)]
    assert run.record.exact and run.record.done == 40 and len(run.record.received) == 40
    assert run.record.received_bytes == [0xFF] * 40
    assert not board.train and board.tick >= board.busy_until


@pytest.mark.parametrize("samples", [1, 2])
def test_raw_pulses_are_seen_as_edges(samples):
    device = connect(FakeBoard(step=20_000, samples=samples))
    run, _ = run_train(device, rate=10_000, count=50, width=Duration(ticks=Fraction(480)))
    assert run.record.exact and len(run.record.received) == 50 and run.record.received_bytes == []


def test_the_train_starts_at_its_tick():
    board = FakeBoard()
    device = connect(board)
    run, rows = run_train(device, count=3, start=9_000_000)
    assert rows[0].tick == 9_000_000 and run.record.exact


def test_a_start_that_has_passed_is_refused_with_the_reason():
    device = connect(FakeBoard())
    with pytest.raises(Refused, match="too close or has passed"):
        started(device, start=5)


def test_a_running_train_is_not_disturbed():
    board = FakeBoard()
    device = connect(board)
    started(device)
    written = board.configs_written
    with pytest.raises(BadInput, match="running already"):
        started(device)
    assert board.configs_written == written and board.train


def test_skipped_pulses_are_counted_and_numbered():
    board = FakeBoard(step=100_000)
    device = connect(board)
    run = started(device, rate=1000, count=60, baud=19200)
    board.busy_until = board.tick + 100_000  # another device holds the line
    for _ in run.rows():
        pass
    assert run.record.refused and not run.record.exact and len(run.record.launched) + len(run.record.refused) == 60
    assert run.record.max_error == 0 and {r for _, r in run.record.refused.values()} == {"busy"}


def test_overflow_is_counted_exactly():
    board = FakeBoard(step=2_000_000)  # 1000 pulses of 44.1 kHz pass between two looks
    device = connect(board)
    run, rows = run_train(device, rate=44100, count=5000, baud=12_000_000)
    record = run.record
    assert record.events_lost > 0 and record.bytes_lost > 0 and device.recorder.events.decoder.broken == 0
    assert len(record.launched) + record.events_lost == 5001  # TRAIN_DONE found no room, either
    assert record.done == 5000
    assert len(record.received) + record.bytes_lost == 5000
    assert record.max_error == 0 and not record.exact


def test_stop_leaves_the_line_idle_and_reports_the_count():
    board = FakeBoard(step=400_000)
    device = connect(board)
    run = started(device)
    for _, _ in zip(range(20), run.rows()):
        pass
    run.stop()
    assert not board.train and board.tick >= board.busy_until and board.line_log
    assert run.record.done == len(run.record.launched) == len(board.line_log) == len(run.record.received)


def test_another_process_adjusts_and_the_ideal_follows():
    board = FakeBoard(step=100_000)
    device, other = connect(board), connect(board)
    run = started(device, rate=1000, count=300, baud=115200)
    for _, _ in zip(range(4), run.rows()):
        pass
    period = other.identity.timescale.period(Fraction(100_000, 3), CHANGE_MIN_PERIOD)
    other.train.adjust(period, max(run.record.launched) + 20, -7)
    for _ in run.rows():
        pass
    assert len(run.changes) == 1 and run.changes[0][2] == -7
    assert len(run.record.launched) == 300 and run.record.max_error == 0
    n = run.changes[0][0]
    ticks = run.record.launched
    assert ticks[n] - ticks[n - 1] == 33333 - 7 and ticks[299] - ticks[n] == (1 + (299 - n) * 100_000) // 3  # A_n has 1/3 of a tick


def test_a_stopped_clock_is_reported(monkeypatch):
    monkeypatch.setattr("litepulse.job.STANDSTILL_SECONDS", 0.05)
    board = FakeBoard()
    device = connect(board)
    run = started(device)
    board.frozen = True
    with pytest.raises(TransportError, match="stands still"):
        for _ in run.rows():
            pass


# Streams ------------------------------------------------------------------------------------------------------------------


def fill(board, count):
    board.config[12] = 0x7FF
    for n in range(count):
        board.event(1000 + n, 1, 1, 0, n, "tx_train")


def test_an_acknowledgement_lost_on_the_cable_gives_no_duplicates():
    board = FakeBoard()
    device = connect(board)
    device.recorder.events.discard()
    fill(board, 30)
    lost = []
    board.drop_write = lambda address, words: address == EVENT_ACK and len(lost) < 2 and not lost.append(words)
    first = device.recorder.events.drain()
    fill(board, 5)
    again = device.recorder.events.drain()
    assert [e.data for e in first] + [e.data for e in again] == list(range(30)) + list(range(5))
    assert len(lost) == 2 and device.recorder.events.drain() == [] and not board.events.records


def test_a_late_acknowledgement_is_harmless():
    board = FakeBoard()
    device = connect(board)
    device.recorder.events.discard()
    fill(board, 3)
    delayed = []

    def hold(address, words):
        if address == EVENT_ACK:
            delayed.append(words[0])
        return False

    board.drop_write = hold
    assert len(device.recorder.events.drain()) == 3
    fill(board, 3)
    for word in delayed:
        board.events.ack(word)
    assert len(device.recorder.events.drain()) == 3


def test_position_wraps():
    board = FakeBoard()
    board.events.position = 0xFFF0
    device = connect(board)
    device.recorder.events.discard()
    for _ in range(4):
        fill(board, 10)
        assert [e.data for e in device.recorder.events.drain()] == list(range(10))
    assert board.events.position == 0x18


def test_another_reader_is_noticed():
    board = FakeBoard()
    device = connect(board)
    device.recorder.events.discard()
    fill(board, 10)
    connect(board).recorder.events.discard()
    fill(board, 1)
    with pytest.raises(Restarted, match="somebody else"):
        device.recorder.events.drain()


def test_peeking_takes_nothing():
    board = FakeBoard()
    device = connect(board)
    fill(board, 100)
    header, events = device.recorder.events.peek()
    assert header.ready == 100 and [e.data for e in events] == list(range(100)) and len(board.events.records) == 100


def test_losses_after_the_last_record_count():
    board = FakeBoard()
    device = connect(board)
    device.recorder.events.discard()
    fill(board, 300)
    found = []
    board.report_loss = lambda: None  # the board has not yet had time to write the OVERFLOW record
    found = device.recorder.events.drain()
    assert len(found) == 256 and device.recorder.events.lost == 44
    del board.report_loss
    board.report_loss()
    assert device.recorder.events.drain() == [Lost(1256, 44)] and device.recorder.events.lost == 44


def test_bytes_keep_their_48_bit_ticks():
    board = FakeBoard()
    board.tick = (3 << 48) - 10_000
    device = connect(board)
    device.recorder.received.discard()
    began = (3 << 48) - 5
    board.arrives(began + 50_000, began, 0x41 | 1 << 13)
    while not (found := device.recorder.received.drain()):
        assert board.tick < (3 << 48) + 10**6
    assert board.tick > 3 << 48 and found == [RxByte(began, 0x41, own=True)]


# Timed launches --------------------------------------------------------------------------------------------------------------


def send(device, wanted, data):
    run = SendRun(device, Profile(device.identity.timescale.bit_period(115200)), [])
    run.prepare()
    start = run.now() + 1_000_000
    run.pending = [(start + w, Launch("frame", b)) for w, b in zip(wanted, data)]
    run.feed()
    with Interrupt() as interrupt:
        for _ in run.follow(interrupt):
            pass
    return run, start


def test_more_launches_than_the_queue_holds():
    device = connect(FakeBoard(step=100_000))
    data = bytes(range(256)) * 2
    run, start = send(device, [k * 50_000 for k in range(512)], data)
    assert [run.launched[k] for k in range(512)] == [start + 50_000 * k for k in range(512)] and not run.refused
    assert not device.recorder.losses().total
    assert bytes(b.data for b in run.received) == data


def test_a_busy_launch_is_reported_with_its_number():
    device = connect(FakeBoard())
    run, _ = send(device, [0, 100, 50_000], b"abc")
    assert set(run.launched) == {0, 2} and run.refused[1][1] == "busy"


def test_a_full_queue_is_never_overrun():
    board = FakeBoard(step=1)
    device = connect(board)
    run = SendRun(device, Profile(device.identity.timescale.bit_period(115200)), [])
    run.prepare()
    run.pending = [(10**9 + k * 10_000, Launch("frame", 0)) for k in range(100)]
    run.feed()
    assert len(board.queue) == 64 and len(run.pending) == 36
    run.feed()
    assert len(board.queue) == 64


def test_lost_launches_are_reported(monkeypatch):
    monkeypatch.setattr(queue, "ANSWER_TIMEOUT", 0.02)
    board = FakeBoard()
    device = connect(board)
    board.drop_write = lambda address, words: True
    with pytest.raises(TransportError, match="1 of 1 launches did not arrive"):
        device.queue.launch([(10**9, 0, Launch("frame", 0))])


def test_an_interrupt_flushes_the_queue():
    board = FakeBoard(step=1000)
    device = connect(board)
    run = SendRun(device, Profile(device.identity.timescale.bit_period(115200)), [])
    run.prepare()
    run.pending = [(10**9, Launch("frame", 0))]
    run.feed()
    with Interrupt() as interrupt:
        interrupt._caught(2, None)
        list(run.follow(interrupt))
    assert not board.queue and not board.line_log


def test_overlapping_rates_are_refused():
    ts = Timescale(48_000_000)
    for period in (Fraction(50_000), Fraction(50_000) - Fraction(1, 1000)):
        with pytest.raises(BadInput, match="overlap") if period < 50_000 else contextlib.nullcontext():
            train_plan(ts, period=Duration(ticks=period))


def test_events_decode_alike_from_the_board():
    board = FakeBoard()
    device = connect(board)
    device.recorder.events.discard()
    fill(board, 1)
    assert device.recorder.events.drain() == [Event(1000, 0, "tx", "train", 0, 0)]


def test_a_record_missing_without_a_word_counts_as_lost():
    board = FakeBoard()
    device = connect(board)
    device.recorder.events.discard()
    fill(board, 3)
    del board.events.records[1]
    assert [e.data for e in device.recorder.events.drain()] == [0, 2] and device.recorder.events.lost == 1


# Driver enable and echo -----------------------------------------------------------------------------------------------


def test_driver_enable():
    board = FakeBoard()
    device = connect(board)
    device.line.set_driver_enable(lead=480, lag=0xFFFF)
    assert board.word("driver_enable") == 480 | 0xFFFF << 16
    for lead, lag, name in ((0x10000, 0, "lead"), (-1, 0, "lead"), (0, 0x10000, "lag"), (0, -1, "lag")):
        with pytest.raises(BadInput, match=f"{name}: .* outside 0 to 65535"):
            device.line.set_driver_enable(lead, lag)
    assert board.word("driver_enable") == 480 | 0xFFFF << 16


def test_the_lead_stays_while_a_train_runs():
    device = connect(FakeBoard())
    device.line.set_driver_enable(lead=480, lag=0)
    run = started(device)
    device.line.set_driver_enable(lead=480, lag=48)
    with pytest.raises(Refused, match="lead: it cannot change while a train runs: stop the train first"):
        device.line.set_driver_enable(lead=479, lag=48)
    run.stop()
    device.line.set_driver_enable(lead=479, lag=48)


@pytest.mark.parametrize("samples, echo, ticks", [(1, None, 16), (2, None, 32), (2, 0, 0), (2, 1, 2), (2, 2, 2), (2, 2046, 2046)])
def test_echo_in_whole_cycles(samples, echo, ticks):
    board = FakeBoard(samples=samples)
    device = connect(board)
    response = Response(Trigger("break"), Launch("frame", 0xFF), 1000)
    run = Responder(device, RespondPlan(response, Profile(device.identity.timescale.bit_period(9600)), echo=echo))
    run.begin(lambda: None)
    assert board.word("echo") == run.echo == ticks
    with pytest.raises(BadInput, match=rf"echo: .* outside 0 to .* .{1023 * samples} ticks"):
        device.line.set_echo(1023 * samples + 1)
    assert board.word("echo") == ticks
