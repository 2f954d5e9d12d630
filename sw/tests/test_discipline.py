# SPDX-License-Identifier: BSD-2-Clause
"""Trains that follow a clock, on a board in Python whose crystal is wrong and wanders."""

import math
import random
from fractions import Fraction
from types import SimpleNamespace

import pytest

import litepulse
from litepulse import cli
from litepulse.backends.interface import ClockReading
from litepulse.backends.wallclock import WallClock
from litepulse.codes.scale import UTC
from litepulse.commands import train as commands
from litepulse.discipline import period_of_ticks
from litepulse.named_time import next_of

from .test_clock import HZ, connected

MICROSECOND = HZ // 1_000_000  # ticks
RATE = 58


def crystal(seconds, ppm=40, wander=Fraction(1, 10), turn=12):
    """Ticks, exact, at which the reference's seconds begin: the crystal is wrong by `ppm`, which changes by `wander` a second, there and
    back."""
    at, out = Fraction(HZ), []
    for number in range(seconds):
        out.append(at)
        at += HZ * (1 + (ppm + wander * abs((number + turn) % (2 * turn) - turn)) / 1_000_000)
    return out


def pulses_at(ticks, channel=0, width=HZ // 10):
    """Pins of a pulse per second."""
    return sorted((round(at) + later, channel, level) for at in ticks for later, level in ((0, 1), (width, 0)))


def places(truth, first, rate=RATE):
    """Where pulse n belongs, by where seconds begin; `first`: which one pulse 0 is at."""
    out = []
    for begin, end in zip(truth[first:], truth[first + 1 :]):
        out += [begin + (end - begin) * Fraction(k, rate) for k in range(rate)]
    return out


def run(pins, seconds, **options):
    """(the pulses, the job) of a train that follows the pulses at input 0."""
    device, board = connected(step=20_000)
    device.pins = list(pins)
    with board, board.train(RATE, width="10us", count=RATE * seconds, **{"clock": "pps:0", **options}) as train:
        found = list(train)
    assert not train.lost and train.record.max_error == 0 and train.record.done == RATE * seconds
    assert [pulse.number for pulse in found] == list(range(RATE * seconds)), "none is missing, none comes twice"
    return found, train


def test_a_crystal_that_wanders():
    """Within a microsecond, for a minute; a pulse on each second; neighbours are evenly spaced."""
    truth = crystal(70)
    found, train = run(pulses_at(truth), 60)
    first = min(range(len(truth)), key=lambda n: abs(truth[n] - found[0].tick))
    off = [pulse.tick - place for pulse, place in zip(found, places(truth, first))]
    assert max(map(abs, off)) <= MICROSECOND
    assert max(abs(each) for each in off[::RATE]) <= MICROSECOND
    gaps = [b.tick - a.tick for a, b in zip(found, found[1:])]
    assert max(gaps) - min(gaps) <= 3, "no glitch"
    assert {each.why for each in train.steered} == {"locked"} and len(train.steered) >= 55
    assert train.worst <= 1000 and all(40 <= each.ppm <= 42 for each in train.steered)
    assert sum(abs(each.uncertainty) <= 500 for each in train.steered) > 50


def test_without_it_the_crystal_shows():
    """The same board's train that follows nothing: the test above would see it."""
    truth = crystal(20)
    device, board = connected(step=20_000)
    with board, board.train(RATE, width="10us", count=RATE * 10, start=round(truth[0])) as train:
        found = list(train)
    assert abs(found[-1].tick - places(truth, 0)[RATE * 10 - 1]) > 300 * MICROSECOND


def test_holdover():
    """Ten seconds without pulses: the last period goes on; when they are back the train is where they are again."""
    truth = crystal(45, wander=0)
    kept = [at for n, at in enumerate(truth) if not 15 <= n < 25]
    found, train = run(pulses_at(kept), 38)
    why = [each.why for each in train.steered]
    assert 7 <= why.count("away") <= 10 and set(why) == {"locked", "away"}
    first = min(range(len(truth)), key=lambda n: abs(truth[n] - found[0].tick))
    off = [pulse.tick - place for pulse, place in zip(found, places(truth, first))]
    assert max(map(abs, off)) <= 2, "a crystal that does not wander loses nothing"


@pytest.mark.parametrize("by", [Fraction(1, 4), Fraction(-1, 5)])
@pytest.mark.parametrize("follow", [False, True])
def test_a_step_of_the_clock(follow, by):
    """From a second on the pulses come later, or earlier: the train stays where it was, or a pulse is on each second again at once."""
    truth = [at + (HZ * by if n >= 12 else 0) for n, at in enumerate(crystal(40, wander=0))]
    found, train = run(pulses_at(truth), 30, follow_steps=follow)
    gaps = [b.tick - a.tick for a, b in zip(found, found[1:])]
    usual = round(HZ * (1 + Fraction(40, 10**6)) / RATE)
    unusual = [gap for gap in gaps if abs(gap - usual) > 2]
    last = truth[-1] - found[-1].tick
    behind = float(last * RATE / (HZ * (1 + Fraction(40, 10**6)))) % 1
    assert train.seconds.steps == 1 and train.seconds.strays == 3
    if follow:
        assert [each.why for each in train.steered].count("stepped") == 1 and len(unusual) == 1
        assert unusual[0] - usual == pytest.approx(HZ * by % (HZ * (1 + Fraction(40, 10**6)) / RATE), abs=3)
        assert min(behind, 1 - behind) < 0.001
    else:
        assert not unusual and [each.why for each in train.steered].count("step") > 10


def test_edges_that_are_no_second():
    """Noise on the wire: strays are counted, and change nothing."""
    truth = crystal(20, wander=0)
    noise = [at + HZ // 3 for at in truth[5:9]] + [truth[10] + 7 * HZ // 10]
    found, train = run(sorted(pulses_at(truth) + pulses_at(noise, width=1000)), 14)
    assert train.seconds.steps == 0 and train.seconds.strays == 5
    assert {each.why for each in train.steered} == {"locked"}
    first = min(range(len(truth)), key=lambda n: abs(truth[n] - found[0].tick))
    assert max(abs(pulse.tick - place) for pulse, place in zip(found, places(truth, first))) <= 2


class BoardsOwnClock:
    """The board's PTP clock as `Seconds`, a line of the ticks, and the driver that makes a train follow it (docs/chardev.md)."""

    key, name, steps, ready, uncertainty = "phc:0", "the board's PTP clock", 0, True, 1
    can_follow = True

    def __init__(self, board):
        self.board, self.bus = board, board.backend.train
        self.tick, self.ns, self.ns_per_tick = 0, 1_700_000_000 * 10**9 + 123, Fraction(10**9, HZ)
        self.origin = self.span = None

    def __getattr__(self, name):
        return getattr(self.bus, name)

    def look(self):
        return self.board.now().tick

    def tick_of(self, second):
        return self.tick + (second * 10**9 - self.ns) / self.ns_per_tick

    def second_of(self, tick):
        return (self.ns + (tick - self.tick) * self.ns_per_tick) / 10**9

    def place(self, number):
        """Where time number `number` of the rhythm is, exact."""
        return self.tick_of(Fraction(self.rhythm.origin + number * Fraction(self.rhythm.span, self.rhythm.pulses)) / 10**9)

    def follow(self, launch, rhythm, count=0):
        self.rhythm, self.skipped, now = rhythm, 0, self.look() + HZ // 100
        while self.place(self.skipped) < now:
            self.skipped += 1
        start = math.ceil(self.place(self.skipped))
        self.bus.start(launch, period_of_ticks(self.place(1) - self.place(0)), count, start)
        return start, self.skipped

    def tune(self, ppm, ideal):
        """Another rate from now on; the driver has changed the train at a pulse that it can reach. Returns which one."""
        now = self.look()
        self.tick, self.ns = now, self.second_of(now) * 10**9
        self.ns_per_tick = Fraction(10**9, HZ) * (1 + Fraction(ppm) / 10**6)
        pulse, period = ideal.first_behind(now + HZ // 20), period_of_ticks(self.place(1) - self.place(0))
        step = round(self.place(self.skipped + pulse) - ideal.exact(pulse - 1) - period.ticks)
        self.bus.request_change(period, step, pulse)
        return pulse


def follows_its_own(monkeypatch, options, ppms=()):
    """(pulses, the job, [(number, how far it was from its place by the clock as it was then)]) of a train that the driver makes follow."""
    _, board = connected(step=20_000)
    clock = BoardsOwnClock(board)
    monkeypatch.setattr("litepulse.reference.seconds_of", lambda board, name: clock)
    board.backend.train = clock
    found, off, quiet, due = [], [], 0, list(ppms)
    with board, board.train(RATE, width="10us", clock="phc", **options) as train:
        for pulse in train:
            found.append(pulse)
            if pulse.number >= quiet:
                off.append((pulse.number, pulse.tick - clock.place(clock.skipped + pulse.number)))
            if due and pulse.number % 50 == 40:
                quiet = clock.tune(due.pop(0), train.record.ideal)
    return found, train, off


def test_the_driver_follows_the_boards_own_clock(monkeypatch):
    """Each pulse is a tick from its place at most, whatever a servo does; the record has each change as it was."""
    found, train, off = follows_its_own(monkeypatch, {"count": RATE * 8}, (50, -80, -80.5, 0))
    assert [pulse.number for pulse in found] == list(range(RATE * 8)) and train.record.done == RATE * 8
    assert train.first.denominator == 1 and len(off) > RATE * 7
    assert max(abs(each) for _, each in off) <= Fraction(3, 2) and train.record.max_error == 0
    assert [each.why for each in train.steered] == ["driver"] * 4 and len(train.changes) == 4 and train.worst == 21
    assert [round(float(each.ppm), 3) for each in train.steered] == [-49.998, 80.006, 80.506, 0]


def test_a_start_of_the_boards_own_clock(monkeypatch):
    _, train, off = follows_its_own(monkeypatch, {"count": 20, "start": "phc:0:1700000004.25"})
    assert train.first == Fraction("1700000004.25") and max(abs(each) for _, each in off) <= 1
    assert train.began.startswith("1700000004.25 s of phc:0")
    with pytest.raises(litepulse.BadInput, match="start: the PTP clock has whole nanoseconds"):
        follows_its_own(monkeypatch, {"start": "phc:0:1700000004.2500000001"})
    with pytest.raises(litepulse.BadInput, match="start: that time has passed, or is too near"):
        follows_its_own(monkeypatch, {"start": "phc:0:1700000000"})


def test_a_board_without_a_clock_of_its_own():
    _, board = connected(step=20_000)
    with board, pytest.raises(litepulse.BadInput, match="clock: 'phc' is the PTP clock of a board of the kernel's driver"):
        board.train(RATE, width="10us", clock="phc")


def test_no_pulses():
    _, board = connected(step=20_000)
    with board, pytest.raises(litepulse.LitePulseError, match="clock: the pulses at input 0 do not come in: none of them in 10 s"):
        board.train(RATE, width="10us", clock="pps:0")
    assert not board.busy


NOON = 1_796_040_000  # 2026-11-30 12:00:00 UTC


def board_of_a_pc(monkeypatch, begin, ppm=0, width=1000, leap=None):
    """A board whose PC shows `begin` seconds since 1970 at tick 0; its readings take `width` ns; from `leap` on it shows a second twice."""
    monkeypatch.setattr(WallClock, "due", lambda self: True)
    device, board = connected(step=20_000)
    monkeypatch.setattr("litepulse.reference.time", SimpleNamespace(sleep=lambda seconds: device.advance(round(seconds * HZ))))
    object.__setattr__(board.identity, "simulated", False)
    chance = random.Random(ppm)

    def truth(tick):
        """ns since 1970, without a second twice."""
        return begin * 10**9 + round(tick * Fraction(10**9, HZ) * (1 - Fraction(ppm, 10**6)))

    def read_clocks():
        device.advance(20_000)
        now, off = device.tick, chance.randrange(width) - width // 2
        raw = truth(now) - begin * 10**9 + 10**12
        shown = truth(now)
        shown -= 10**9 if leap is not None and shown >= leap * 10**9 else 0
        return ClockReading(now, raw - width // 2 + off, raw + width // 2 + off, raw + off, shown + off)

    board.backend.read_clocks = read_clocks
    return device, board, truth


@pytest.mark.parametrize("ppm, width", [(-80, 1000), (80, 300_000)])
def test_utc_of_the_pc(ppm, width, monkeypatch):
    """A pulse on each second of the PC's clock, within the bound."""
    _, board, truth = board_of_a_pc(monkeypatch, NOON, ppm, width)
    with board, board.train(RATE, width="10us", count=RATE * 20, clock="utc", start="utc:2026-11-30T12:00:02Z") as train:
        found = list(train)
    assert train.first == UTC.of_posix(NOON + 2) and train.record.max_error == 0 and not train.lost
    assert {each.why for each in train.steered} == {"locked"}
    for n, pulse in enumerate(found):
        off = truth(pulse.tick) - (NOON + 2 + Fraction(n, RATE)) * 10**9
        bound = max(each.uncertainty for each in train.steered[:1]) + (3 * width if n > 5 * RATE else 10 * width + 200_000)
        assert abs(off) <= bound, (n, float(off))


def test_a_leap_second(monkeypatch):
    """There are 58 pulses in it, as in any other; the PC shows it twice."""
    leap = 1_483_228_800  # 2017-01-01
    _, board, truth = board_of_a_pc(monkeypatch, leap - 6, leap=leap)
    with board, board.train(RATE, width="10us", count=RATE * 12, clock="utc", start="utc:2016-12-31T23:59:56Z") as train:
        found = list(train)
    assert {each.why for each in train.steered} == {"locked"} and train.seconds.steps == 0
    for n, pulse in enumerate(found[::RATE]):
        assert abs(truth(pulse.tick) - (leap - 4 + n) * 10**9) < 5_000


@pytest.mark.parametrize(
    "text, tick",
    [
        ("utc:2026-11-30T12:00:01.5Z", Fraction(3, 2)),
        ("utc:2026-11-30 12:00:01.25", Fraction(5, 4)),
        ("utc:12:00:01", 1),
        ("tai:2026-11-30T12:00:38.5", Fraction(3, 2)),
        ("tai:12:00:38", 1),
        ("monotonic:1001.75", Fraction(7, 4)),
    ],
)
def test_a_time_of_a_clock(text, tick, monkeypatch):
    """At which tick it is; the launch leaves there."""
    device, board, _ = board_of_a_pc(monkeypatch, NOON)
    with board:
        (sent,) = board.send([0x55], at=text)
    assert abs(sent.tick - tick * HZ) <= 1000 * HZ // 10**9 + 1 and device.line_log[0][0] == sent.tick


def test_a_time_far_ahead_is_waited_for(monkeypatch):
    """Until two seconds before: the crystal's 80 ppm change nothing meanwhile."""
    _, board, truth = board_of_a_pc(monkeypatch, NOON, ppm=80)
    with board:
        tick = board.tick_of("utc:12:01:00")
        assert 57 * HZ < board.now().tick < 59 * HZ
    assert abs(truth(tick) - (NOON + 60) * 10**9) < 10_000


def test_the_next_day(monkeypatch):
    """A time of a day that has passed is the next day's, which is refused for nothing but that it takes so long."""
    _, board, _ = board_of_a_pc(monkeypatch, NOON)

    def found(moment, now):
        raise litepulse.BadInput(str(next_of(moment, now)))

    monkeypatch.setattr("litepulse.reference.next_of", found)
    with board, pytest.raises(litepulse.BadInput) as error:
        board.tick_of("utc:11:59:59")
    assert str(error.value) == str(UTC.of_posix(NOON + 86399))


def test_a_time_by_pulses():
    """UTC says which second, the pulses when it begins."""
    device, board = connected(step=20_000)
    truth = crystal(12, wander=0)
    device.pins = pulses_at(truth, channel=1)
    with board:
        shown = board.time_of(board.now())
        second = -(-shown.ns // 10**9) + 7
        text = UTC.civil(UTC.of_posix(second))
        tick = board.tick_of(f"pps:1:{str(text).replace(' ', 'T')}Z")
    assert min(abs(tick - at) for at in truth) <= 1


@pytest.mark.parametrize(
    "text, message",
    [
        ("utc:noon", "at: 'utc:noon' is not a time: utc:2026-11-28T12:00:00.25Z is one, utc:12:00:00 the next noon"),
        ("utc:25:00:00", "at: 'utc:25:00:00' is not a time of a day"),
        ("utc:2026-02-30T00:00:00Z", "at: there is no 2026-02-30T00:00:00Z in UTC"),
        ("utc:2026-11-30T23:59:60Z", "at: there is no 2026-11-30T23:59:60Z in UTC"),
        ("utc:23:59:60", "at: 'utc:23:59:60' needs a date"),
        ("utc:2020-01-01T00:00:00Z", "at: that time has passed"),
        ("utc:2036-01-01T00:00:00Z", "at: that time is more than 366 days ahead"),
        ("tai:12:00:00Z", "at: 'tai:12:00:00Z' is not a time: tai:2026-11-28T12:00:00.25 is one"),
        ("monotonic:soon", "at: 'monotonic:soon' is not a time: monotonic:1234.5 is one"),
        ("pps:0", "at: 'pps:0' is not a time: pps:0:12:00:00 is one"),
        ("phc:12:00:00", "at: 'phc:12:00:00' is not a time: phc:0:1796040037.5 is one, in seconds of /dev/ptp0"),
        ("phc:5", "at: 'phc:5' is not a time: phc:0:1796040037.5 is one"),
        ("phc:999999:5", "clock: /dev/ptp999999: cannot read it as a PTP clock (No such file or directory)"),
        ("harp:9:12", "inputs: '9' is not a channel"),
        ("harp:", "at: 'harp:' is not a time: harp:3878884800.5 is one, in seconds of the Harp clock at rx"),
        ("realtime:5", "at: 'realtime' is no clock for this: its seconds are those of 'utc'"),
        ("utc:2026-11-30T12:00:00." + "1" * 30, "at: 'utc:2026-11-30T12:00:00."),
    ],
)
def test_no_time_of_a_clock(text, message):
    device, board = connected()
    with board, pytest.raises(litepulse.LitePulseError) as error:
        board.send([0x55], at=text)
    assert str(error.value).startswith(message) and not device.line_log


def test_a_place_counts_from_the_beginning():
    """Launches of a series have no clock of their own."""
    _, board = connected()
    with board, pytest.raises(litepulse.BadInput, match="a time of a clock is for a beginning alone"):
        board.launches([("utc:12:00:00", 1)])


@pytest.mark.parametrize(
    "options, message",
    [
        ({"clock": "gps"}, "clock: 'gps' is not utc, or pps:0"),
        ({"clock": "pps:rx"}, "clock: the pulses come in at an input"),
        ({"clock": "pps:9"}, "inputs: '9' is not a channel"),
        ({"clock": "pps:0", "start": "+1s"}, "start: of a train that follows pps:0 it is a time of that clock: pps:0:12:00:00"),
        ({"clock": "utc", "start": "tai:12:00:00"}, "start: of a train that follows utc it is a time of that clock"),
        ({"follow_steps": True}, "follow_steps: without a clock there are none"),
        ({"clock": "utc", "rate": 300_000}, "rate: 300 kHz is too fast"),
        ({"clock": 5}, "clock: 5"),
    ],
)
def test_what_cannot_be_followed(options, message):
    device, board = connected()
    with board, pytest.raises(litepulse.BadInput) as error:
        board.train(options.pop("rate", RATE), width="1us", **options)
    assert str(error.value).startswith(message) and not board.busy and not device.train


def test_periods_have_one_denominator():
    for ticks in (Fraction(827586, 1) + Fraction(6, 29), Fraction(400), Fraction(999_999_999, 1000)):
        period = period_of_ticks(ticks)
        assert period.den == 0 and abs(period.ticks - ticks) <= Fraction(1, 1 << 33) and math.floor(period.ticks) == period.whole


def test_what_the_command_shows():
    """The looks of a train, for people and for programs."""
    device, board = connected(step=20_000)
    device.pins = pulses_at(crystal(20, wander=0))
    with board:
        with board.train(RATE, width="10us", count=RATE * 12, clock="pps:0", limit=1) as train:
            for _ in train:
                pass
        result = commands.train_result(board, train)
        text = "\n".join(commands.train_text(board, train, result))
    follows = result["follows"]
    assert follows["clock"] == "pps:0" and follows["worst_ns"] == train.worst < 100 and follows["first"] == train.began
    assert len(follows["steered"]) == len(train.steered) >= 10
    assert follows["steered"][5] == {
        "second": str(train.steered[5].second),
        "pulse": train.steered[5].pulse,
        "error_ticks": round(float(train.steered[5].error), 3),
        "ppm": 40.0,
        "uncertainty_ns": train.steered[5].uncertainty,
        "why": "locked",
    }
    assert f"follows   the pulses at input 0, looked at {len(train.steered)} times" in text
    assert "the board's clock is 40.000 ppm fast against it" in text and f"pulse 0 at {train.began}" in text
    assert "4294967296" not in text


@pytest.mark.parametrize(
    "words, message",
    [
        (["--clock", "gps"], "clock: 'gps' is not utc, or pps:0"),
        (
            ["--clock", "utc", "--keep", "--port", "tcp:localhost:1"],
            "--keep leaves the train, and without this command it follows no clock",
        ),
        (["--follow-steps"], "--follow-steps belongs to --clock"),
        (["--start", "phc:12:00:00"], "start: 'phc:12:00:00' is not a time"),
        (["--start", "utc:noon"], "start: 'utc:noon' is not a time"),
    ],
)
def test_a_command_that_cannot_be(words, message, capsys):
    sim = [] if "--port" in words else ["--sim"]
    assert cli.main([*sim, "train", "--rate", "58", *words]) in (1, 2)
    assert message in capsys.readouterr().err
