# SPDX-License-Identifier: BSD-2-Clause
"""`litepulse lsl` and litepulse.lsl: the streams that recorders of the Lab Streaming Layer get,
through liblsl itself on this machine."""

import itertools
import json
import math
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

import litepulse
from litepulse.capture import ByteEvent, EdgeEvent, LostEvent
from litepulse.errors import BadInput, LitePulseError
from litepulse.streams import RxByte

from .fake_board import FakeBoard, Server

EDGES = ((100_000, 0, 1), (100_240, 0, 0), (130_000, 1, 1))  # tick, channel, level


@pytest.fixture(scope="module")
def pylsl(tmp_path_factory):
    """pylsl, its streams seen on this machine alone."""
    config = tmp_path_factory.mktemp("lsl") / "lsl_api.cfg"
    config.write_text("[multicast]\nResolveScope = machine\n[lab]\nSessionID = litepulse-tests\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LSLAPICFG", str(config))
        yield pytest.importorskip("pylsl")


def inlet(pylsl, name):
    """Records the stream of that name."""
    found = pylsl.resolve_byprop("name", name, timeout=60)
    assert len(found) == 1
    stream = pylsl.StreamInlet(found[0])
    stream.open_stream(timeout=60)
    return stream


def pulled(stream, count):
    """`count` samples: [(values, stamp)]; fewer if one does not come."""
    samples = iter(lambda: stream.pull_sample(timeout=10), (None, None))
    return list(itertools.islice(samples, count))


@pytest.fixture
def stimulus(tmp_path):
    """A file with EDGES. The first sample that shows a level is the tick behind the one that changed the pin."""
    path = tmp_path / "edges.txt"
    path.write_text("".join(f"{tick - 1} {channel} {level}\n" for tick, channel, level in EDGES))
    return path


def test_what_a_recorder_gets(pylsl, stimulus):
    """Edges of a simulated board: a text each, its tick beside it, and the time that the event has in LSL's clock."""
    from litepulse.lsl import Outlet

    with litepulse.open(sim=True, clock="monotonic", stimulus=stimulus) as board, Outlet(board, "edges") as outlet:
        assert not outlet.wait(0)
        markers, ticks = inlet(pylsl, "edges"), inlet(pylsl, "edges ticks")
        assert outlet.wait(60)
        with board.capture([0, 1], count=3) as capture:
            events = list(capture)
        for event in events:
            outlet.push(event)
        texts, rows = pulled(markers, 3), pulled(ticks, 3)
        now = pylsl.local_clock()
        infos = [stream.info(timeout=60) for stream in (markers, ticks)]  # their descriptions end with them
    assert [values for values, _ in texts] == [["0 rise"], ["0 fall"], ["1 rise"]]
    assert [tuple(values[:3]) for values, _ in rows] == list(EDGES)
    assert [values[3] for values, _ in rows] == [event.uncertainty / 1e9 for event in events]
    assert [stamp for _, stamp in texts] == [stamp for _, stamp in rows] == [event.ns / 1e9 for event in events]
    assert 0 < now - texts[0][1] < 600
    about = infos[1].desc()
    assert about.child("acquisition").child_value("tick_hz") == "48000000"
    assert about.child("channels").child("channel").child_value("label") == "tick"
    assert [info.type() for info in infos] == ["Markers", "Events"]


def test_bytes_and_losses(pylsl):
    """The time of a loss is unknown: it has the one at which it was noticed, and no bound."""
    from litepulse.lsl import BYTE, LOST, Outlet

    with Server(FakeBoard()) as server, litepulse.open(port=server.spec, clock="monotonic") as board, Outlet(board, "bytes") as outlet:
        markers, ticks = inlet(pylsl, "bytes"), inlet(pylsl, "bytes ticks")
        byte = RxByte(480, 0x2A, framing_error=True, noise=True)
        before = time.clock_gettime(time.CLOCK_MONOTONIC)
        outlet.push(ByteEvent(480, board.timescale.seconds(480), 0x2A, False, byte, 1_500_000_000, 2_000))
        outlet.push(LostEvent(960, board.timescale.seconds(960), 7, True))
        outlet.push(EdgeEvent(990, board.timescale.seconds(990), "rx", 0, 1_700_000_000, 30))
        texts, rows = pulled(markers, 3), pulled(ticks, 3)
    assert [values for values, _ in texts] == [["byte 0x2a framing noise"], ["lost 7"], ["rx fall"]]
    assert [stamp for _, stamp in rows][::2] == [1.5, 1.7]
    assert before <= rows[1][1] <= time.clock_gettime(time.CLOCK_MONOTONIC)
    assert [values[:3] for values, _ in rows] == [[480, BYTE, 0x2A], [960, LOST, 7], [990, board.identity.inputs, 0]]
    assert [values[3] for values, _ in rows][::2] == [2e-6, 3e-8] and math.isnan(rows[1][0][3])


def test_nothing_is_lost_at_the_end(pylsl):
    """An outlet that ends at once behind its last events, of which liblsl has sent few by then."""
    from litepulse.lsl import Outlet

    count = 3000
    with Server(FakeBoard()) as server, litepulse.open(port=server.spec, clock="monotonic") as board, Outlet(board, "end") as outlet:
        markers = inlet(pylsl, "end")
        assert outlet.wait(60)
        for tick in range(count):
            outlet.push(EdgeEvent(tick, board.timescale.seconds(tick), 0, 1))
        outlet.close()
        outlet.close()
    assert [values[0] for values, _ in pulled(markers, count)] == ["0 rise"] * count


def test_the_verb_waits_for_a_recorder(pylsl, stimulus):
    """As a user begins it: nothing is captured before a program records, and all of it
    afterwards."""
    command = [sys.executable, "-m", "litepulse", "--sim", "--stimulus", str(stimulus)]
    command += ["lsl", "--inputs", "0,1", "--count", "3", "--name", "verb", "--wait", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as verb:
        try:
            markers = inlet(pylsl, "verb")
            assert [values for values, _ in pulled(markers, 3)] == [["0 rise"], ["0 fall"], ["1 rise"]]
            result = json.loads(verb.communicate(timeout=60)[0])
        finally:
            verb.kill()
    assert verb.returncode == 0
    assert (result["command"], result["name"], result["markers"], result["lost"]) == ("lsl", "verb", 3, 0)


def test_other_clocks(pylsl, monkeypatch):
    """Times of another clock than LSL's would be wrong without a word."""
    from litepulse import lsl

    with (
        Server(FakeBoard()) as server,
        litepulse.open(port=server.spec, clock="realtime") as board,
        pytest.raises(BadInput, match="clock="),
    ):
        lsl.Outlet(board)
    strange = SimpleNamespace(local_clock=lambda: time.clock_gettime(time.CLOCK_MONOTONIC) - 3600)
    monkeypatch.setitem(sys.modules, "pylsl", strange)
    with pytest.raises(LitePulseError, match="not CLOCK_MONOTONIC"):
        lsl.load()
