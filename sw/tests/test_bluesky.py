# SPDX-License-Identifier: BSD-2-Clause
"""litepulse.bluesky in runs of bluesky's own RunEngine, on the simulated board."""

import math
import re
import subprocess
import sys
import threading

import pytest
from bluesky import RunEngine, plan_stubs, plans, protocols
from bluesky.preprocessors import finalize_wrapper
from bluesky.utils import FailedStatus

import litepulse
from litepulse.bluesky import Delays, Edges, PulseTrain, Status

from .adapters import ROOT, environment

EDGES = ((600_000, 0, 1), (600_240, 0, 0), (700_000, 1, 1))  # tick, channel, level


@pytest.fixture
def run():
    """A function that runs a plan, and returns its documents: [(name, document)]."""
    engine = RunEngine({})

    def run(plan):
        documents = []
        engine(plan, lambda name, document: documents.append((name, document)))
        return documents

    return run


@pytest.fixture
def board():
    with litepulse.open(sim=True, wires=("rx", "0")) as board:
        yield board


def named(documents, name):
    return [document for kind, document in documents if kind == name]


def test_devices_follow_the_protocols(board):
    for flyer in (PulseTrain(board, rate=1000, width="10us"), Edges(board)):
        for name in ("Flyable", "EventCollectable", "Preparable", "Stoppable", "Configurable"):
            assert isinstance(flyer, getattr(protocols, name)), name
    delays = Delays(board, count=1)
    for name in ("Readable", "Triggerable", "Stoppable", "Configurable", "HasHints"):
        assert isinstance(delays, getattr(protocols, name)), name
    for name in ("Readable", "Movable"):
        assert isinstance(delays.setting("interval"), getattr(protocols, name)), name
    assert isinstance(Status(), protocols.Status)


def test_it_imports_nothing_of_bluesky():
    code = "import sys, litepulse.bluesky\nprint(*sorted(name for name in sys.modules if name.split('.')[0] in ('bluesky', 'ophyd')))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"


def test_a_train(run, board):
    documents = run(plans.fly([PulseTrain(board, rate=1000, width="10us", start=480_000, count=3)]))
    (page,) = named(documents, "event_page")
    assert page["data"] == {"pulses_tick": [480_000, 528_000, 576_000], "pulses_number": [0, 1, 2], "pulses_error": [0, 0, 0]}
    first, second, _ = page["timestamps"]["pulses_tick"]
    assert second - first == pytest.approx(0.001, abs=1e-6)
    (descriptor,) = named(documents, "descriptor")
    assert descriptor["name"] == "pulses" and descriptor["data_keys"]["pulses_tick"]["units"] == "ticks"
    assert named(documents, "stop")[0]["exit_status"] == "success" and not board.busy


def test_edges(run, tmp_path):
    stimulus = tmp_path / "edges.txt"
    stimulus.write_text("".join(f"{tick - 1} {channel} {level}\n" for tick, channel, level in EDGES))
    with litepulse.open(sim=True, stimulus=stimulus) as board:
        documents = run(plans.fly([Edges(board, inputs=[0, 1], count=3)]))
    data = named(documents, "event_page")[0]["data"]
    assert list(zip(data["edges_tick"], data["edges_channel"], data["edges_level"])) == list(EDGES)


def test_a_scan(run, board):
    delays = Delays(board, litepulse.Edge(0, "fall"), width="10us", jitter=0, count=4)
    documents = run(plans.scan([delays], delays.setting("interval"), 0.001, 0.003, 3))
    events = [event["data"] for event in named(documents, "event")]
    assert [event["delays_interval"] for event in events] == [0.001, 0.002, 0.003]
    assert {(event["delays_median"], event["delays_least"], event["delays_most"], event["delays_count"]) for event in events} == {
        (1, 1, 1, 4)
    }


def test_a_plan_that_fails_stops_the_train(run, board):
    """With bluesky's own finalize_wrapper: nothing runs on the board afterwards."""
    train = PulseTrain(board, rate=1000, width="10us")

    def plan():
        yield from plan_stubs.open_run()
        yield from plan_stubs.kickoff(train, wait=True)
        raise RuntimeError("the sample is gone")

    with pytest.raises(RuntimeError, match="the sample is gone"):
        run(finalize_wrapper(plan(), lambda: (yield from plan_stubs.stop(train))))
    assert not board.status().train_running and not board.busy


def test_faults_end_the_run(run, board):
    """Another job has the board; nothing responds; what is refused at once."""
    with board.train(rate=1000, width="10us"), pytest.raises(FailedStatus):
        run(plans.fly([PulseTrain(board, rate=1000, width="10us", count=1)]))
    with pytest.raises(FailedStatus):
        run(plans.count([Delays(board, litepulse.Edge(1, "fall"), width="10us", count=1, timeout="1ms")]))
    with pytest.raises(litepulse.BadInput, match="needs a count or a duration"):
        Delays(board)
    with pytest.raises(litepulse.BadInput, match="'colour' is no option that is a time"):
        Delays(board, count=1).setting("colour")


def test_a_status():
    """Callbacks of before and after the end are called once each; an error is what exception() returns, and wait() raises."""
    status, called = Status(), []
    status.add_callback(called.append)
    with pytest.raises(TimeoutError):
        status.exception(0)
    threading.Timer(0.01, status.finish, [ValueError("x")]).start()
    with pytest.raises(ValueError, match="x"):
        status.wait(60)
    status.add_callback(called.append)
    assert called == [status, status] and status.done and not status.success


def test_a_setting(board):
    """A time as every argument of the package; what a plan reads are seconds."""
    delays = Delays(board, count=1, interval="5ms")
    interval, blank = delays.setting("interval"), delays.setting("blank")
    assert interval.read()["delays_interval"]["value"] == 0.005 and math.isnan(blank.read()["delays_blank"]["value"])
    assert interval.set(litepulse.us(250)).success
    assert interval.read()["delays_interval"]["value"] == 0.00025 and delays.options["interval"] == litepulse.us(250)
    with pytest.raises(litepulse.BadInput):
        interval.set("soon")
    assert delays.options["interval"] == litepulse.us(250)


@pytest.mark.full
def test_the_recipe_for_ophyd_async(tmp_path):
    """Its program prints what the page says."""
    page = (ROOT / "docs" / "recipes" / "bluesky.md").read_text(encoding="utf-8")
    (program,) = [each for each in re.findall(r"(?ms)^```python\n(.*?)^```", page) if "ophyd_async" in each]
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == re.findall(r"(?m)^print\(.*\)  # (.*)$", program), done.stderr
    pins = (ROOT / "requirements" / "adapters.in").read_text(encoding="utf-8")
    for name, version in re.findall(r"with (ophyd-async) ([\d.]+\d)", page):
        assert f"{name}=={version}" in pins
