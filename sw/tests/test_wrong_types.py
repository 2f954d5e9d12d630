# SPDX-License-Identifier: BSD-2-Clause
"""Arguments of the wrong type: each method of a board, and each function of the package, refuses them in one sentence."""

import contextlib
import inspect
from fractions import Fraction

import pytest

import litepulse

TRIGGER = litepulse.Edge(0)
# What each method needs to be called at all. INTERNAL is for the package's own jobs.
METHODS = {
    "adjust": {"rate": 58},
    "came_in": {"clock": "pps:0"},
    "capture": {"duration": "1us", "bytes": True, "baud": "1M"},
    "channel": {"name": 0},
    "launch": {"byte": 1, "baud": "1M"},
    "launches": {"series": [("+1ms", 1)], "baud": "1M"},
    "latency": {"on": TRIGGER, "interval": "1ms", "baud": "1M", "count": 1},
    "mark": {"code": 42, "width": "1us"},
    "respond": {"on": TRIGGER, "after": "1us"},
    "sequence": {"entries": [{"after": "1ms", "byte": 1}], "baud": "1M"},
    "send": {"data": b"x", "baud": "1M"},
    "set_marks": {"width": "1us"},
    "tick_at": {"ns": 1, "clock": "tai"},
    "tick_of": {"when": "+1ms"},
    "time_of": {"tick": 1, "clock": "tai"},
    "train": {"rate": 58},
}
NO_ARGUMENTS = {"close", "disarm", "now", "read_clocks", "status", "stop"}
INTERNAL = {"begin", "beginning", "take", "give_back", "train_to_begin"}
WITHOUT = {"width": ("byte", "break_bits"), "break_bits": ("byte", "width"), "period": ("rate",)}  # what an argument excludes
WITH = {("respond", "every"): {"pulses": 2}}  # what an argument of a method needs
WRONG = [object(), [58], {}, "text", b"text", 0.001, -1.5, 3 + 4j, float("nan"), float("inf"), 10**5000, -(10**5000), None, litepulse, "²"]
# Any object is true or false, and may be a label.
ANY = {"bytes", "exclusive", "follow_steps", "from_end", "invert", "keep", "loopback", "move_tx", "once", "own", "tty", "what"}


def parameters():
    for method, given in METHODS.items():
        for name in list(inspect.signature(getattr(litepulse.Board, method)).parameters)[1:]:
            yield pytest.param(method, name, given, id=f"{method}-{name}")


@pytest.fixture(scope="module")
def board():
    with litepulse.open(sim=True) as board:
        yield board


def outcome(call, *arguments, **options):
    """The message with which a call fails as it may, None if it does not."""
    try:
        result = call(*arguments, **options)
        if isinstance(
            result, litepulse.Train | litepulse.Capture | litepulse.Latency | litepulse.Responder | litepulse.Send | litepulse.Sequence
        ):
            result.close()
    except litepulse.LitePulseError as error:
        message = str(error)
        assert message and message.isprintable() and len(message) < 1000
        return message
    return None


def test_every_method_is_here():
    public = {name for name, _ in inspect.getmembers(litepulse.Board, inspect.isfunction) if not name.startswith("_")}
    assert public == set(METHODS) | NO_ARGUMENTS | INTERNAL


@pytest.mark.parametrize("method, name, given", parameters())
def test_a_wrong_type_is_refused(board, method, name, given):
    given = {key: None if key in WITHOUT.get(name, ()) else value for key, value in given.items()} | WITH.get((method, name), {})
    call = getattr(board, method)
    with board.train(rate=50) if method == "adjust" else contextlib.nullcontext():
        for value in WRONG:
            outcome(call, **{**given, name: value})
        if name not in ANY:
            assert "object object" in (outcome(call, **{**given, name: object()}) or "taken")


@pytest.mark.parametrize("method, given", METHODS.items())
def test_the_arguments_of_this_test_are_right(board, method, given):
    if method == "adjust":
        with board.train(rate=50):
            assert board.adjust(**given).period == Fraction(board.tick_hz, 58)
    else:
        assert outcome(getattr(board, method), **given) is None


FUNCTIONS = {
    "Byte": (litepulse.Byte, {"value": 1}),
    "Edge": (litepulse.Edge, {"channel": 0}),
    "Realtime": (litepulse.Realtime, {}),
    "SampleStream": (litepulse.SampleStream, {"path": "x", "rate": 1}),
    "SrFile": (litepulse.SrFile, {"path": "x"}),
    "TerminalServer": (litepulse.TerminalServer, {"port": litepulse.Serial(None), "raw": 0}),
    "VcdFile": (litepulse.VcdFile, {"path": "x"}),
    "ms": (litepulse.ms, {"value": 1}),
    "ns": (litepulse.ns, {"value": 1}),
    "s": (litepulse.s, {"value": 1}),
    "ticks": (litepulse.ticks, {"value": 1}),
    "us": (litepulse.us, {"value": 1}),
    "Timescale.bit_period": (litepulse.Timescale(48_000_000).bit_period, {"baud": 9600}),
    "Timescale.ns": (litepulse.Timescale(48_000_000).ns, {"ticks": 1}),
    "Timescale.period_of_rate": (litepulse.Timescale(48_000_000).period_of_rate, {"rate_hz": 1}),
    "Timescale.seconds": (litepulse.Timescale(48_000_000).seconds, {"ticks": 1}),
    "Timescale.ticks": (litepulse.Timescale(48_000_000).ticks, {"duration": 1}),
    "Duration": (litepulse.Duration, {}),
    "open": (litepulse.open, {"port": "tcp:localhost:0"}),
}


@pytest.mark.parametrize(
    "name, function, parameter, given",
    [
        pytest.param(name, function, parameter, given, id=f"{name}-{parameter}")
        for name, (function, given) in FUNCTIONS.items()
        for parameter in inspect.signature(function).parameters
    ],
)
def test_so_do_the_functions(name, function, parameter, given):
    if name == "open" and parameter in ("device", "port"):
        given = {}
    for value in WRONG:
        if name != "open" or value is not None:
            outcome(function, **{**given, parameter: value})
    if parameter not in ANY | {"sim", "stay_in_touch", "lock_memory", "relative"}:
        assert "object object" in (outcome(function, **{**given, parameter: object()}) or "taken")


def test_texts_of_messages():
    with litepulse.open(sim=True) as board:
        for call, message in (
            (lambda: board.send("text", every="2ms"), "data: text has no bytes yet: give text.encode()"),
            (lambda: board.train(rate=58, count="a"), "count: 'a' is not a whole number"),
            (lambda: board.train(rate=[58]), "rate: [58] is not a number"),
            (lambda: board.launch(byte="U"), "byte: 'U' is not a whole number"),
            (lambda: board.launch(byte=1, baud=None), "baud: None is not a number"),
            (lambda: board.respond(on="edge", after="1us"), "on: 'edge' is not an Edge, a Byte or a Break"),
            (lambda: board.latency("edge", width="1us"), "on: 'edge' is not an Edge, a Byte or a Break"),
            (lambda: board.capture(inputs=3), "inputs: 3 is a single value, not a list of them"),
            (lambda: board.capture(inputs=[]), "inputs: none leaves nothing to capture without bytes"),
            (lambda: board.capture(inputs="0,x"), "inputs: 'x' is not a channel of this device (0 to 3, rx)"),
            (lambda: board.capture(inputs=["²"]), "inputs: '²' is not a channel of this device (0 to 3, rx)"),
            (lambda: board.train(rate=10**5000), "rate: the number has too many digits"),
            (lambda: board.train(rate=58, format=8), "format: 8 is not text"),
            (lambda: litepulse.Edge(-1), "edge: -1 is not the number of an input, nor rx"),
        ):
            with pytest.raises(litepulse.BadInput) as error:
                call()
            assert str(error.value) == message
        with pytest.raises(litepulse.BadInput, match=r"byte: '2' is not a whole number"):
            list(board.send([1, "2"], every="2ms"))


def test_integers_of_numpy_are_ticks():
    """As those of a capture's array() are."""
    numpy = pytest.importorskip("numpy", reason="NOT TESTED: NumPy is not installed")
    with litepulse.open(sim=True) as board:
        wanted = numpy.int64(board.now().tick + 480_000)
        outcome = board.launch(at=wanted, byte=numpy.uint8(0x55), baud=numpy.float64(115200))
        assert (outcome.tick, outcome.byte) == (int(wanted), 0x55)
