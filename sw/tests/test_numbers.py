# SPDX-License-Identifier: BSD-2-Clause
"""Numbers of all kinds that programs have: each method takes those of NumPy, Fraction and Decimal as it takes Python's own, exactly."""

import dataclasses
import datetime
import inspect
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import litepulse
from litepulse import units
from litepulse.backends.bus.backend import BusBackend
from litepulse.backends.interface import ClockReading
from litepulse.line import Launch, Profile
from litepulse.units import Duration, Moment, Timescale

from .fake_board import FakeBoard
from .test_wrong_types import FUNCTIONS, METHODS

HZ = 48_000_000
SCALE = Timescale(HZ)
WHOLE = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.intp, lambda value: np.array(value))
EXACT = (Fraction, Decimal)  # of a whole number, where any number will do
REAL = (
    np.float64,
    lambda value: np.float32(str(value)),
    lambda value: np.longdouble(str(value)),
    lambda value: np.array(value),
    lambda value: Fraction(str(value)),
)
TIMES = {  # the same millisecond
    "float": 0.001,
    "numpy float64": np.float64("0.001"),
    "numpy float32": np.float32("0.001"),
    "numpy longdouble": np.longdouble("0.001"),
    "Fraction": Fraction(1, 1000),
    "Decimal": Decimal("0.001"),
    "text": "1ms",
    "timedelta": datetime.timedelta(milliseconds=1),
    "timedelta64 us": np.timedelta64(1000, "us"),
    "timedelta64 25ns": np.timedelta64(40_000, "25ns"),
    "timedelta64 as": np.timedelta64(10**15, "as"),
    "Duration of numpy int": litepulse.ms(np.int64(1)),
    "Duration of numpy float": litepulse.us(np.float32(1000)),
    "ticks of numpy uint": litepulse.ticks(np.uint32(48_000)),
    "product": np.int32(5) * litepulse.us(np.uint8(200)),
}

# What each argument of a method is: a count, a number, or a time.
COUNTS = {
    "adjust": {"at_pulse": 7},
    "capture": {"filter": 5, "count": 3},
    "channel": {"name": 2},
    "launch": {"byte": 0x55, "break_bits": 13},
    "latency": {"byte": 0x55, "break_bits": 13, "seed": 9, "count": 3, "filter": 5},
    "mark": {"code": 0x2A},
    "respond": {"byte": 0x55, "break_bits": 13, "pulses": 3},
    "sequence": {"repeat": 3},
    "time_of": {"tick": 100},
    "train": {"byte": 0x55, "break_bits": 13, "count": 3, "limit": 9},
}
RATES = {method: {"baud": 9600} for method in ("capture", "launch", "launches", "latency", "respond", "send", "sequence")}
RATES |= {"train": {"rate": 58, "baud": 9600}, "adjust": {"rate": 100}, "tick_at": {"ns": 100}}
DURATIONS = {
    "adjust": ["period", "step", "width"],
    "capture": ["duration"],
    "launch": ["width"],
    "latency": ["width", "interval", "jitter", "duration", "timeout", "blank", "holdoff"],
    "mark": ["width"],
    "respond": ["after", "width", "every", "holdoff"],
    "send": ["every"],
    "sequence": ["timeout", "mark_width"],
    "set_marks": ["width"],
    "train": ["period", "width"],
}
MOMENTS = {
    "launches": ["start"],
    "mark": ["at"],
    "sequence": ["start"],
    "launch": ["at"],
    "send": ["at"],
    "train": ["start"],
    "latency": ["start"],
    "tick_of": ["when"],
}
LISTS = {"capture": ["inputs"], "sequence": ["inputs"], "send": ["data"]}
# What is a number of no kind.
OTHER = {
    "series",
    "entries",
    "profiles",
    "edges",
    "bytes",
    "clock",
    "format",
    "invert",
    "loopback",
    "move_tx",
    "keep",
    "once",
    "exclusive",
    "own",
    "on",
    "listener",
    "follow_steps",
    "from_end",
    "tty",
    "what",
    "to",
    "waits",
}
EXCLUDES = {"width": ("byte", "break_bits"), "break_bits": ("byte", "width"), "byte": ("width", "break_bits"), "period": ("rate",)}
EXCLUDES |= {"rate": ("period",), "step": ("rate",)}
NEEDS = {("respond", "pulses"): {"every": "40ms"}, ("respond", "every"): {"pulses": 2, "width": "10us"}}
NEEDS |= {
    ("sequence", "timeout"): {"entries": [{"wait": 0}, {"after": "100ms", "width": "10us"}]},
    ("sequence", "mark_width"): {"entries": [{"at": "+10ms", "code": 42}]},
}
READING = ClockReading(tick=1000, raw_before=900, raw_after=1500, monotonic=5_000_000, realtime=7_000_000)


def test_every_argument_is_here():
    """So that no untested one is added."""
    for method in METHODS:
        names = set(list(inspect.signature(getattr(litepulse.Board, method)).parameters)[1:])
        tried = set(COUNTS.get(method, ())) | set(RATES.get(method, ()))
        tried |= {name for table in (DURATIONS, MOMENTS, LISTS) for name in table.get(method, ())}
        assert names - OTHER - {"echo"} == tried, method


def fresh():
    """A board that was just reset; nothing is waited for."""
    return litepulse.Board(BusBackend(FakeBoard(step=100_000, clock_hz=HZ), "uartbone", "fake", False, [], lambda seconds: None))


@pytest.fixture
def board():
    """Its ticks pass by transactions alone, so that the same calls give the same ticks."""
    with fresh() as board:
        yield board


def given(method, name, value):
    """The arguments of a method with one of this value."""
    arguments = {key: None if key in EXCLUDES.get(name, ()) else other for key, other in METHODS[method].items()}
    arguments |= ({"interval": "40ms"} if method.startswith("latency") else {}) | NEEDS.get((method, name), {}) | {name: value}
    if method == "adjust":
        return {key: other for key, other in arguments.items() if other is not None}
    return arguments


def outcome(board, method, arguments):
    """What the board is to do, or did: all that depends on a call's numbers."""
    if method == "adjust":
        with board.train(rate=50, count=1000, width="100us" if "width" in arguments else None) as train:
            adjusted = board.adjust(**arguments)
            return adjusted.period, adjusted.step, adjusted.width, adjusted.change.pulse, train.plan
    board.backend.read_clocks = lambda: READING  # for time_of(): the same on each board
    result = getattr(board, method)(**arguments)
    if isinstance(result, litepulse.Train | litepulse.Capture | litepulse.Latency | litepulse.Responder):
        result.close()
        return result.plan, result.record.limit if isinstance(result, litepulse.Train) else None
    if isinstance(result, litepulse.Sequence):
        result.close()
        plan = dataclasses.replace(result.plan, entries=None, seconds=0.0)
        return plan, [*result.plan.entries()]
    if isinstance(result, litepulse.Send):
        with result:
            return [(each.byte, each.wanted - result.first_tick) for each in result]
    if method == "set_marks":
        return board.backend.line._registers.config_word("port")
    if isinstance(result, litepulse.Outcome):
        return result.byte, result.tick == result.wanted
    assert isinstance(result, int | litepulse.ClockTime | litepulse.ClockTick)
    return result


def plain(value):
    """It has only Python's own numbers: other kinds would spread."""
    if isinstance(value, int | float) and not isinstance(value, np.generic):
        return True
    if isinstance(value, Fraction):
        return type(value.numerator) is int and type(value.denominator) is int
    if isinstance(value, tuple | list):
        return all(map(plain, value))
    return not isinstance(value, np.generic | np.ndarray | Decimal) and all(map(plain, getattr(value, "__dict__", {}).values()))


def same(board_of, method, name, value, kinds):
    wanted = outcome(board_of(), method, given(method, name, value))
    assert plain(wanted)
    for kind in kinds:
        got = outcome(board_of(), method, given(method, name, kind(value)))
        assert got == wanted and plain(got), (method, name, kind)


@pytest.mark.parametrize("method, name", [(method, name) for method, names in COUNTS.items() for name in names])
def test_a_whole_number(method, name):
    same(fresh, method, name, COUNTS[method][name], WHOLE)
    for wrong in (True, np.True_, 3.0, np.float64(3), Fraction(1, 2), Decimal("1.5"), np.timedelta64(3, "us"), np.array([1, 2])):
        with pytest.raises(litepulse.BadInput, match="is not"):
            outcome(fresh(), method, given(method, name, wrong))


@pytest.mark.parametrize("method, name", [(method, name) for method, names in RATES.items() for name in names])
def test_a_number(method, name):
    value = RATES[method][name]
    same(fresh, method, name, value, [kind for kind in WHOLE if kind not in (np.int8, np.uint8) or value < 128] + [*EXACT, *REAL])
    same(fresh, method, name, value + 0.45, (*REAL, lambda number: Decimal(str(number))))
    for wrong in (
        True,
        np.False_,
        Decimal("nan"),
        np.float32("inf"),
        Decimal("1e999999999"),
        np.timedelta64(3, "us"),
        np.array([1.0, 2.0]),
    ):
        with pytest.raises(litepulse.BadInput, match="is not a number|too many digits"):
            outcome(fresh(), method, given(method, name, wrong))


@pytest.mark.parametrize("method, name", [(method, name) for method, names in DURATIONS.items() for name in names])
def test_a_time(method, name):
    scale = {"after": 1, "interval": 40, "timeout": 1, "every": 2, "period": 20}.get(name, 1)
    results = []
    for time in TIMES.values():
        value = time if scale == 1 else scale * time if not isinstance(time, str) else f"{scale}ms"
        if not isinstance(value, np.longdouble | np.float32 | np.float64) or scale == 1:  # floats of a product are others
            results.append(outcome(fresh(), method, given(method, name, value)))
    assert len(results) > 9 and all(result == results[0] and plain(result) for result in results)
    for wrong in (True, np.timedelta64("nat", "us"), np.timedelta64(1, "M"), np.timedelta64(5), np.datetime64("2026-01-01")):
        known_as = "delay" if method == "respond" and name == "after" else name  # as the command names it
        with pytest.raises(litepulse.BadInput, match=f"^{known_as}: .*(is not a number|has no length)"):
            outcome(fresh(), method, given(method, name, wrong))


@pytest.mark.parametrize("method, name", [(method, name) for method, names in MOMENTS.items() for name in names])
def test_a_moment(method, name):
    """A whole number is a tick. A number that could be seconds is refused, and the message says
    what to give."""
    same(fresh, method, name, 48_000_000, (np.int32, np.int64, np.uint64, lambda tick: Moment(tick, SCALE), lambda tick: f"{tick}t"))
    for wrong in (482542.0, np.float64(482542), Fraction(482542), Decimal(3), True, np.timedelta64("nat")):
        with pytest.raises(
            litepulse.BadInput, match=f"{name if name != 'when' else 'at'}: .*(could be a tick or seconds|is not a|no length)"
        ):
            outcome(fresh(), method, given(method, name, wrong))


def test_a_float_for_a_tick_is_refused_with_advice(board):
    with pytest.raises(litepulse.BadInput) as error:
        board.launch(at=482542.5, byte=1)
    assert str(error.value) == "at: 482542.5 could be a tick or seconds: give an int for a tick, or a time such as s(...) or '1.5s'"


@pytest.mark.parametrize("method, name", [(method, name) for method, names in LISTS.items() for name in names])
def test_a_list(method, name):
    values = [1, 2, 3]
    kinds = (
        np.array,
        lambda each: np.array(each, dtype=np.uint8),
        lambda each: np.array(each, dtype=np.uint64),
        lambda each: map(np.int16, each),
    )
    same(fresh, method, name, values, kinds)
    with pytest.raises(litepulse.BadInput, match="True is not"):
        outcome(fresh(), method, given(method, name, [True]))


def test_times_of_a_board():
    at = Moment(np.int64(1000), SCALE)
    assert type(at.tick) is int
    for time in TIMES.values():
        if isinstance(time, Duration | datetime.timedelta | np.timedelta64):
            assert (at + time).tick == 49_000 and (at + time - time).tick == 1000
    for wrong in (5, 5.0, np.int64(5), "5"):
        with pytest.raises(litepulse.BadInput, match=r"could be ticks or seconds: give ticks\(...\) or s\(...\)"):
            at + wrong
    assert (np.int64(3) * litepulse.us(1)).seconds == (litepulse.us(1) * 3.0).seconds == Fraction(3, 10**6)


def test_triggers_launches_and_formats_hold_plain_numbers():
    for made, wanted in (
        (litepulse.Edge(np.int64(2)), litepulse.Edge(2)),
        (litepulse.Byte(np.uint8(0x55), np.uint8(0xF0)), litepulse.Byte(0x55, 0xF0)),
        (litepulse.Trigger("byte", value=np.uint8(3), mask=np.uint8(255)), litepulse.Trigger("byte", value=3)),
        (Launch("pulse", width=np.uint16(48)), Launch("pulse", width=48)),
        (litepulse.Format(np.uint8(7), "even", np.int8(2)), litepulse.Format(7, "even", 2)),
    ):
        assert made == wanted and plain(made)
    assert Launch("frame", np.uint8(0xFF), np.uint8(3)).word() == Launch("frame", 0xFF, 3).word()
    for wrong in (
        lambda: litepulse.Edge(True),
        lambda: litepulse.Edge(1.0),
        lambda: litepulse.Byte(True),
        lambda: litepulse.Trigger("edge", channel=0.5),
        lambda: Launch("frame", 1.0),
        lambda: Launch("frames"),
        lambda: litepulse.Format(9),
        lambda: litepulse.Format(8, "odds"),
        lambda: litepulse.Format(8, "none", 3),
        lambda: litepulse.Realtime(priority=True),
        lambda: litepulse.Realtime(cpus=[0.0]),
    ):
        with pytest.raises(litepulse.BadInput):
            wrong()


NO_NUMBERS = {"open", "Realtime", "Edge", "Byte", "Duration", "SampleStream", "SrFile", "TerminalServer", "VcdFile"}  # as the one argument


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in NO_NUMBERS])
def test_functions(name):
    function, arguments = FUNCTIONS[name]
    ((parameter, _),) = arguments.items()
    for value, kinds in ((96, (*WHOLE, *EXACT, *REAL)), (9600.25, (*REAL, lambda number: Decimal(str(number))))):
        wanted = function(**{parameter: value})
        for kind in kinds:
            got = function(**{parameter: kind(value)})
            assert got == wanted and plain(got), kind
    with pytest.raises(litepulse.BadInput, match="True is not a number"):
        function(**{parameter: True})


def test_files_of_pins_take_numbers_of_numpy():
    assert litepulse.SampleStream("x", np.uint32(96_000)).rate == 96_000 and litepulse.SrFile("x", np.int16(10)).divide == 10
    for wrong in (True, 1.5, np.float32(2), 0):
        with pytest.raises(litepulse.BadInput):
            litepulse.SampleStream("x", wrong)
        with pytest.raises(litepulse.BadInput):
            litepulse.SrFile("x", wrong)


def test_a_distribution_counts_numpy_numbers():
    counted = litepulse.Distribution(np.array([3, 1, 3, 2]))
    assert counted.rows() == [(1, 1), (2, 1), (3, 2)] and plain(counted.rows()) and plain(counted.mean)
    assert counted.percentile(np.float64(50)) == counted.percentile(Decimal(50)) == 2
    with pytest.raises(litepulse.BadInput, match="value: 1.5 is not a whole number"):
        counted.add(1.5)


def test_options_of_open():
    for wrong in ({"port_baud": True}, {"port_baud": 115200.0}, {"bridge_baud": Fraction(1, 2)}, {"step": True}):
        with pytest.raises(litepulse.BadInput, match="is not a whole number"):
            litepulse.open(port="tcp:localhost:1", **wrong)
    with pytest.raises(litepulse.LitePulseError, match="cannot connect"):
        litepulse.open(port="tcp:localhost:1", port_baud=np.int64(115200), step=np.int32(2000))


def test_a_timescale_of_numpy_numbers():
    scale = Timescale(np.int64(HZ), np.uint8(4))
    assert scale.tick_hz == 4 * HZ and plain(scale) and units.whole(np.uint8(200), "n") << 8 == 51_200
    assert Profile(scale.bit_period(np.float32(45.45))).bit_period == Timescale(HZ, 4).bit_period(Fraction(909, 20))
