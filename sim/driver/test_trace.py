# SPDX-License-Identifier: BSD-2-Clause
"""Tracepoints and the file in debugfs, in the debug kernel: equal to devices and pins, to the tick,
whenever they are used."""

import errno
import re

import pytest

from litepulse import regs
from litepulse.vcd import Vcd
from litex_soc import sim_soc
from sim.cocotb_rig import run_folder
from sim.core.model import edges
from sim.driver.cable_rig import Board, Damage, cable_boot
from sim.driver.echo_rig import echo_boot
from sim.guest.cable_programs import program
from sim.guest.driver_tree import DRIVER

pytestmark = pytest.mark.seconds(60)
either = pytest.mark.parametrize("sleeps", [0, 1])
UAPI = (DRIVER / "uapi/linux/litepulse.h").read_text()
LOST_BY_BOARD = 5  # of each stream: see lose() in echo_board.c


def names(prefix):
    """{number: name} of constants of the interface."""
    return {int(number): name for name, number in re.findall(rf"(?m)^#define LITEPULSE_{prefix}_(\w+)\s+(\d+)", UAPI)}


KINDS, SOURCES = names("KIND"), names("SRC")


def fields(text):
    """{name: value} of `name=value ...`; numbers are numbers."""

    def value(word):
        return int(word, 0) if re.fullmatch(r"-?(0x[0-9a-f]+|0|[1-9]\d*)", word) else word

    return {name: value(word) for name, word in re.findall(r"(\w+)=(\S*)", text)}


def printed(run, job, who):
    """What a `watch` printed behind a word: [fields]."""
    return [fields(line) for line in re.findall(rf"(?m)^{who} (.*)$", run.lines(job))]


def traced(run, job, name):
    """The events litepulse:litepulse_<name> of the trace: [fields]."""
    return printed(run, job, rf"trace .* litepulse_{name}:")


def watch(what, sleeps=0):
    """A Boot in which the echo board was watched; the job is number 2."""
    run, jobs = echo_boot(f"run /watch {what}", parameters=f"sleeps={sleeps}", files={"watch": program("watch")})
    assert run.status == [0] * jobs and not run.complaints, run.log
    return run


def as_traced(event):
    """An event of a file as the trace has it, except the reason."""
    return event | {"board": 0, "kind": KINDS[event["kind"]], "source": SOURCES[event["source"]]}


@either
def test_events(sleeps):
    """The trace has what a file gets that subscribes to everything, in that order: the same ticks,
    data, numbers and losses."""
    run = watch("events", sleeps)
    trace, read = traced(run, 2, "event"), printed(run, 2, "chardev")
    assert {event.pop("reason") for event in trace} == {"-"}
    assert trace == [as_traced(event) for event in read]
    kinds = [event["kind"] for event in trace]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {"TX": 20, "RX": 9, "EDGE": 3, "APPLIED": 1, "LOST": 2, "RESTARTED": 1}
    requested = [(launch["tick"], launch["tag"]) for launch in printed(run, 2, "asked")]
    assert [(event["tick"], event["data"] >> 16) for event in trace if event["kind"] == "TX"] == requested
    assert bytes(event["data"] for event in trace if event["kind"] == "RX") == b"LitePulse"
    assert [(event["source"], event["count"]) for event in trace if event["kind"] == "LOST"] == [
        ("CONTROL", LOST_BY_BOARD),
        ("RECEIVER", LOST_BY_BOARD),
    ]


def test_launches():
    """Each launch with its outcome; one that finds a full queue does not get the error of the
    next."""
    run = watch("launches")
    requested, trace = printed(run, 2, "asked"), traced(run, 2, "launch")
    assert [launch | {"board": 0} for launch in requested] == trace[:-1]
    errors = [launch["error"] for launch in trace]
    assert errors == [-errno.ETIME, *[0] * 64, -errno.EINVAL, -errno.EAGAIN, -errno.EAGAIN]
    assert (trace[-1]["kind"], trace[-1]["data"]) == ("FRAME", 0x55)


@either
def test_toggle(sleeps):
    """A ring gets each event once, at its tick, while tracepoints come and go; the trace has some of them."""
    ticks = [event["tick"] for event in traced(watch("toggle", sleeps), 2, "event") if event["kind"] == "TX"]
    assert 0 < len(ticks) < 1000 and ticks == sorted(set(ticks))


def states(run, job, when):
    """{first word: fields} of the state printed then; sinks are a list."""
    lines = re.findall(rf"(?m)^{when} (\w+): (.*)$", run.lines(job))
    return {what: fields(text) for what, text in lines if what != "sink"} | {
        "sinks": [fields(text) for what, text in lines if what == "sink"]
    }


@either
def test_state(sleeps):
    """Claim, output, streams and sinks are those that the devices report; only root may read it."""
    run = watch("state", sleeps)
    (report,) = printed(run, 2, "chardev")
    idle, busy, reset = (states(run, 2, f"state {when}") for when in ("idle", "busy", "reset"))
    assert re.search(r"(?m)^state idle claim: none$", run.lines(2)) and not idle["sinks"]
    assert idle["output"] == {"train": 0, "train_change": 0, "responder": 0, "queue": 0}
    assert busy["board"] == {"device": "litepulse", "session": report["session"], "resets": 0, "kept": 0, "unstopped": 0}
    assert busy["claim"] == {"holder": "program", "pid": report["pid"], "keep": 0, "stale": 0}
    assert busy["output"] == {"train": 1, "train_change": 0, "responder": 0, "queue": 1}
    assert (
        (busy["events"]["lost"], busy["bytes"]["lost"]) == (report["lost_events"], report["lost_bytes"]) == (LOST_BY_BOARD, LOST_BY_BOARD)
    )
    assert busy["events"]["level"] == 1 and busy["events"]["taken"] > idle["events"]["taken"]
    assert [(sink["name"], sink["clock"]) for sink in busy["sinks"]] == [("reader", 4), ("claim", 0)]
    assert busy["sinks"][0]["kinds"] == sum(1 << kind for kind, name in KINDS.items() if name in ("TX", "EDGE", "APPLIED", "REFUSED"))
    assert reset["board"]["resets"] == 1 and reset["board"]["session"] != report["session"]
    assert reset["claim"] == busy["claim"] | {"stale": 1} and not reset["output"]["train"]


@either
def test_state_while_the_board_goes(sleeps):
    """The file is complete or an error, and stays an error for a file that was opened before."""
    (report,) = printed(watch("unbind", sleeps), 2, "state")
    assert report["whole"] > 100 and report["gone"] > 5


def cable(*options, **more):
    """(Boot, Vcd of the pins) of a board on a cable that was watched; the job is number 2."""
    path = run_folder("trace") / "pins.vcd"
    with Board("--vcd", path, *options, **more) as board:
        run = cable_boot(["cable"], [board], name="watch")
    assert run.status == [0] * 6 and not run.complaints, run.log
    return run, path


CSR, WINDOW = regs.CSR_BASE, regs.WINDOW_BASE
COUNTS = ("transactions", "repeats", "failures")


def check_requests(run):
    """The trace has as many requests as the link counted meanwhile; its requests."""
    trace = traced(run, 2, "transaction")
    counts = {when: fields(text) for when, text in re.findall(r"(?m)^sysfs (\w+) (.*)$", run.lines(2))}
    found = {
        "transactions": sum(not request["error"] for request in trace),
        "repeats": sum(request["tries"] - (not request["error"]) for request in trace),
        "failures": 0,
    }
    for name in COUNTS:
        assert counts["still"][name] - counts["on"][name] <= found[name] <= counts["off"][name] - counts["before"][name], name
    assert all(request["port"] == "ttyS0" and request["round_trip_ns"] > 0 for request in trace if not request["error"])
    state = states(run, 2, "state")
    after = counts["after"]
    assert state["cable"] == {"port": "ttyS0", "answers": 1} | {name: after[name] for name in ("baud", "checked", "packed")}
    assert counts["off"]["transactions"] <= state["requests"]["answered"] <= after["transactions"]
    assert (state["requests"]["failed"], state["polling"]["idle_us"]) == (after["failures"], after["idle_us"])
    return trace


def test_cable():
    """Events and launches have the ticks of the pins; each launch is one request, to the window of the launches."""
    run, path = cable()
    trace = check_requests(run)
    launches, requested = traced(run, 2, "launch"), printed(run, 2, "asked")
    assert launches == [launch | {"board": 0} for launch in requested] and len(launches) == 26
    events = traced(run, 2, "event")
    assert [{name: value for name, value in event.items() if name != "reason"} for event in events] == [
        as_traced(event) for event in printed(run, 2, "chardev")
    ]
    *good, bad = launches
    sent = [(event["tick"], event["data"] >> 16) for event in events if event["kind"] == "TX"]
    assert sent == [(launch["tick"], launch["tag"]) for launch in good]
    refused = [(event["source"], event["reason"], event["data"] >> 16) for event in events if event["kind"] == "REFUSED"]
    assert refused == [("QUEUE", "INVALID", bad["tag"])]
    pins = Vcd(path, sim_soc.PULSE_HZ).signals
    pulses = [edge for launch in good for edge in ((launch["tick"], 0), (launch["tick"] + launch["width"], 1))]
    assert edges(pins["tx"]) == pulses
    # Stamped with the first sample that shows the new level.
    assert [event["tick"] for event in events if event["kind"] == "EDGE"] == [tick + regs.LOOPBACK_TICKS for tick, _ in edges(pins["rx"])]
    queued = [request for request in trace if (request["command"], request["address"]) == ("WRITE", WINDOW + regs.REGIONS["LAUNCH"][0])]
    assert len(queued) == len(launches) and {request["words"] for request in queued} == {6}


def test_list_on_a_cable():
    """A list is written in full requests, four for each look at the board's session, and their answers tell how much room there is."""
    with Board() as board:
        run = cable_boot(["list"], [board], name="watch")
    assert run.status == [0] * 6 and not run.complaints, run.log
    assert [launch["tag"] for launch in traced(run, 2, "launch") if not launch["error"]] == list(range(64))
    address = {register.name: CSR + 4 * register.index for register in regs.CSRS}
    launch = WINDOW + regs.REGIONS["LAUNCH"][0]
    wanted = {launch: "launches", address["session"]: "session", address["ready"]: "room"}
    requests = [
        (wanted[request["address"]], (request["bytes"] - 12) // 16 if request["address"] == launch else None)
        for request in traced(run, 2, "transaction")
        if request["address"] in wanted
    ]
    session, full, room = ("session", None), ("launches", 14), ("room", None)
    # The rest of the list finds that the queue has filled.
    assert requests == [session, full, full, full, full, session, room, ("launches", 8), session, room]


def test_bad_cable():
    """A repeated request is traced with its number of tries."""
    run, _ = cable(damage=Damage(lose=2e-3))
    assert max(request["tries"] for request in check_requests(run)) > 1


def test_state_while_a_port_is_detached():
    with Board() as board:
        run = cable_boot(["unplug"], [board], name="watch")
    assert run.status == [0] * 6 and not run.complaints, run.log
    (report,) = printed(run, 2, "state")
    assert report["whole"] > 5 and report["gone"] >= 3
