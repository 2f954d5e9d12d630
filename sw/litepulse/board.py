# SPDX-License-Identifier: BSD-2-Clause
"""A board as programs use it: `open()` finds one, its methods start jobs."""

import contextlib
import dataclasses
import itertools
import math
import os
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sized
from collections.abc import Sequence as Listed
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar, cast

from litepulse import backends, reference
from litepulse.backends.interface import (
    LAUNCH_PROFILE,
    LAUNCH_PROFILES,
    MARK_PROFILE,
    Backend,
    ClockReading,
    Identity,
    Status,
    Stopped,
    TrainChange,
    check_port,
)
from litepulse.backends.wallclock import ClockTick, ClockTime, WallClock
from litepulse.capture import Capture, CapturePlan
from litepulse.discipline import Disciplined, DisciplinedByDriver, can_follow
from litepulse.errors import BadInput, InUse, LitePulseError, Refused, Unsupported, check_text, shown
from litepulse.event_clock import EventClock, FedClock, UtcOfEvents
from litepulse.job import Job
from litepulse.latency import Latency, LatencyPlan, check_intervals, check_timeout
from litepulse.launch import Outcome, Send
from litepulse.layout import CHANGE_MIN_PERIOD
from litepulse.line import MARK, Format, Launch, Profile, Response, Trigger
from litepulse.measurement import TrainListener
from litepulse.named_time import clock_name
from litepulse.phc import PtpClock
from litepulse.pins import PinFile, files_of
from litepulse.plan import (
    FARTHEST_DAYS,
    Order,
    Origin,
    Time,
    What,
    When,
    check_length,
    check_overlap,
    frame,
    launch_from,
    launch_of,
    line_format,
    mark,
    mark_profile,
    named_of,
    period_of,
    place_of,
    profile_of,
    train_plan,
)
from litepulse.respond import RESPONDER_LIMIT, Responder, RespondPlan, check_burst, check_echo, check_trigger, period_of_burst
from litepulse.sequence import Sequence
from litepulse.sequence_plan import BOARD, HOST, KEPT, NO_PROFILE, Meaning, SequenceEntry, SequencePlan, masks, sized, used_by
from litepulse.sequence_plan import check as check_sequence
from litepulse.train import FARTHEST_PULSE, Train, change_train, check_width
from litepulse.units import WORD, Duration, Moment, Number, Whole, to_duration, to_fraction, whole, within

FILTER_MAX = 63  # samples
DEFAULT_INTERVAL = "10ms"  # from stimulus to stimulus
_MANY = (1 << 63) - 1  # of what a program counts
JobType = TypeVar("JobType", bound=Job[Any])
Item = TypeVar("Item")


@dataclasses.dataclass(frozen=True)
class Adjusted:
    """A train that was changed: its period now, in ticks, exact, the step used, whether it had to be rounded to that; the width of its
    pulses in ticks, None if that was not changed."""

    period: Fraction
    step: int
    rounded: bool
    change: TrainChange
    width: int | None = None


def open(
    device: str | Path | None = None,
    *,
    port: str | None = None,
    sim: bool = False,
    clock: str | None = None,
    port_baud: Whole = backends.DEFAULT_BAUD,
    bridge_baud: Whole | None = None,
    vcd: str | Path | None = None,
    stimulus: str | Path | None = None,
    wires: Listed[str] = ("rx",),
    step: Whole = backends.STEP,
    own: bool = True,
    stay_in_touch: bool = True,
    csr: str | Path | None = None,
    core: str | None = None,
) -> "Board":
    """A board: with no argument the one there is, of the kernel's driver or plugged in.

    device: of the kernel's driver, /dev/litepulse0
    port: of a board that the kernel does not drive: /dev/ttyUSB1, tcp:host:port, or remote:host:port for a litex_server; port_baud and
        bridge_baud: of its bridge, the latter raises it meanwhile
    csr: the csr.csv or csr.json that LiteX wrote for the SoC on that port, if the core does not lie at the usual place; core: which of
        several in it
    sim: the simulated SoC; vcd: file for its pins, stimulus: file with lines 'tick channel level' that drive its inputs, wires: what its
        TX pin is wired to, 'rx' or inputs '0' to '3', 'bus': to rx, which the stimulus can pull low, too; step: cycles that pass at
        most between two looks at it; nothing else lets its time pass, so each run of a program gives the same ticks
    clock: in which events have a time in ns, too: 'monotonic', 'realtime', 'tai', or 'phc' if the board is the kernel's
    stay_in_touch: a board on a cable stops what a program runs when it has not heard from the program for 8 s; with this, a thread
        keeps in touch, so that the program may compute or sleep
    own: False to look at and to stop a board that another process of this user follows

    LitePulseError: there is none, or several, or it cannot be used; the message says what to do.
    """
    for what, name in (("port", port), ("clock", clock), ("core", core)):
        if name is not None:
            check_text(name, what)
    for what, path in (("device", device), ("vcd", vcd), ("stimulus", stimulus), ("csr", csr)):
        if path is not None:
            _check_path(path, what)
    port_baud, bridge_baud = whole(port_baud, "port_baud"), None if bridge_baud is None else whole(bridge_baud, "bridge_baud")
    options = backends.SimOptions(vcd, stimulus, tuple(_each(wires, "wires")), within(step, "step", 1, WORD - 1))
    backend = backends.connect(None if device is None else str(device), port, sim, clock, port_baud, bridge_baud, options, own, csr, core)
    if stay_in_touch:
        backend.stay_in_touch()
    return Board(backend)


def open_named(name: str, **options: Any) -> "Board":
    """A board by one word, as an option or a file of settings has it; options: further arguments of open().

    "litepulse": the one there is; "/dev/litepulse0": a device of the kernel's driver; "port:/dev/ttyUSB1", "port:tcp:host:port",
    "port:remote:host:port": as `port` of open(); "sim": the simulated SoC. "litepulse://" may stand before it.
    """
    name = check_text(name, "board").removeprefix("litepulse://")
    if name == "sim":
        return open(sim=True, **options)
    if name.startswith("port:"):
        if name == "port:":
            raise BadInput("board: 'port:' names no port: port:/dev/ttyUSB1")
        return open(port=name.removeprefix("port:"), **options)
    return open(None if name in ("", "litepulse") else name, **options)


def _each(values: Iterable[Item], what: str) -> Iterable[Item]:
    """The same, or BadInput if it is a single value."""
    try:
        iter(values)
    except TypeError:
        raise BadInput(f"{what}: {shown(values)} is a single value, not a list of them") from None
    return values


def _check_path(path: object, what: str) -> None:
    if not isinstance(path, str | os.PathLike):
        raise BadInput(f"{what}: {shown(path)} is not a path")


def _reads_no_host_clock(name: str) -> bool:
    """It is calculated, or comes in at the board."""
    return name == "utc" or name.startswith(("pps:", "harp"))


class Board:
    """A board that was found. Use it as a context: leaving it ends what this program runs there.

    One job (train, capture, launches) at a time, whichever thread begins it; a capture may go on beside an armed responder.
    """

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.identity: Identity = backend.identity
        self.timescale = self.identity.timescale
        self._job: Job[Any] | None = None
        self._responder: Responder | None = None
        self._wall_clocks: dict[str, WallClock] = {}
        self._fed: dict[str, reference.FedSeconds] = {}  # clocks that came in at the board
        self._turn = threading.Lock()  # of looking at what runs, and of setting it
        self._taken = False  # by a job that is just beginning, or by a serial port

    # What it is

    @property
    def name(self) -> str:
        """What to call it: /dev/litepulse0."""
        return self.identity.name

    @property
    def simulated(self) -> bool:
        """No board, a simulation of one."""
        return self.identity.simulated

    @property
    def tick_hz(self) -> Fraction:
        """Ticks per second, exact."""
        return self.timescale.tick_hz

    @property
    def clocks(self) -> tuple[str, ...]:
        """Those that open() accepts for this board."""
        return self.identity.clocks

    @property
    def clock(self) -> str | None:
        """The one that was given to open(): events have times in it."""
        return self.backend.clock

    def status(self) -> Status:
        """What is going on."""
        return self.backend.status()

    def now(self) -> Moment:
        """The board's time."""
        return Moment(self.backend.now(), self.timescale)

    def read_clocks(self) -> ClockReading:
        """The board's tick, CLOCK_MONOTONIC and CLOCK_REALTIME at one moment, and how surely."""
        return self.backend.read_clocks()

    def time_of(self, tick: Whole | Moment, clock: str = "realtime") -> ClockTime:
        """A tick in a clock, and by how many ns that may be wrong at most: 'utc', 'realtime', 'monotonic' or 'tai' of this PC, 'phc:0' for
        its /dev/ptp0, 'pps:0' or 'harp:0' for what came in at input 0 since capture() or train() were given that clock.

        Best soon after the tick: each call may read both clocks once more, and the bound grows with the distance from these readings, by
        2 us for each ms at most. On a simulated board the clock begins with the first call, and goes with the ticks. LitePulseError
        if too little came in yet.
        """
        name = self._clock_name(clock)
        number = tick.tick if isinstance(tick, Moment) else whole(tick, "tick")
        if not 0 <= number < 1 << 63:
            raise BadInput(f"tick: {number} is out of range")
        if _reads_no_host_clock(name):
            return reference.time_of(self, number, name)
        return ClockTime(*self._wall_clock(name).at(number), name)

    def tick_at(self, ns: Number, clock: str = "realtime") -> ClockTick:
        """Where on the board a clock shows `ns`, as time_of(); best for what is close by."""
        name, moment = self._clock_name(clock), to_fraction(ns, "ns")
        return reference.tick_at(self, moment, name) if _reads_no_host_clock(name) else self._wall_clock(name).tick_at(moment)

    def came_in(self, clock: str) -> reference.FedSeconds | None:
        """The seconds of 'pps:0' or 'harp:0', as the last job that was given this clock reads them; None: there was none."""
        return self._fed.get(self._clock_name(clock))

    def _clock_name(self, clock: str) -> str:
        """As clocks are called here; BadInput if it is none, or has a channel that the board has not."""
        name = clock_name(check_text(clock, "clock"))
        kind, _, where = name.partition(":")
        if kind in ("pps", "harp") and where:
            self.channel(where)
        return name

    def _wall_clock(self, clock: str) -> WallClock:
        """With a fresh reading."""
        events = self.backend.wall_clock  # one and the same for events and for this
        shared = events if events is not None and events.clock == clock else None
        wall = shared or self._wall_clocks.get(clock) or self._made(clock)
        self._wall_clocks[clock] = wall
        if wall.due():
            wall.look(self.backend.read_clocks())
        return wall

    def _made(self, clock: str) -> WallClock:
        show = PtpClock(clock).show if clock.startswith("phc:") else None
        return WallClock(clock, self.tick_hz, self.simulated, show)

    def _seconds_of(self, clock: str) -> reference.HostSeconds | reference.FedSeconds:
        """What a job follows; of what comes in, time_of() then knows."""
        seconds = reference.seconds_of(self, check_text(clock, "clock"))
        if isinstance(seconds, reference.FedSeconds):
            self._fed[seconds.key] = seconds
        return seconds

    def _event_clock(self, clock: str) -> EventClock | None:
        """In which a capture gives its events a time; None: they have it already."""
        name = self._clock_name(clock)
        if name == self.clock:
            return None
        if name.startswith(("pps:", "harp")):
            seconds = self._seconds_of(name)
            assert isinstance(seconds, reference.FedSeconds)
            return FedClock(self, seconds)
        if name == "utc" and self.clock == reference.CLOCK:
            return UtcOfEvents(self, name)
        self.time_of(0, name)  # BadInput, Unsupported or LitePulseError now, not at the first event
        return EventClock(self, name)

    def channel(self, name: Whole | str) -> int:
        """The number of an input ('0', 0) or of the line ('rx')."""
        inputs = self.identity.inputs
        if isinstance(name, str) and name == "rx":
            return inputs
        text = name if isinstance(name, str) else str(whole(name, "inputs"))
        if text.isdecimal() and len(text) < 10 and int(text) < inputs:
            return int(text)
        raise BadInput(f"inputs: {shown(name)} is not a channel of this device (0 to {inputs - 1}, rx)")

    def _channels(self, names: Iterable[Whole | str]) -> list[int]:
        """The numbers of some, in their order; also from text as the command takes it: '0,1,rx'."""
        given = [name.strip() for name in names.split(",")] if isinstance(names, str) else _each(names, "inputs")
        return sorted({self.channel(name) for name in given})

    # Numbers: from what a caller gives to what the board does

    def tick_of(self, when: When, what: str = "at") -> int:
        """The tick that is meant; BadInput unless it is still to come, within FARTHEST_DAYS.

        A time of a clock that is far ahead is waited for until two seconds before (docs/python.md#times-of-a-clock).
        """
        named = named_of(when, what)
        if named is not None:
            when = round(reference.tick_of(self, named, what).tick)
        now = self.backend.now()
        relative, tick = self._tick(when, what)
        if relative:
            tick += now
        if not 0 <= tick < 1 << 63:
            raise BadInput(f"{what}: tick {tick} is out of range")
        if tick <= now:
            raise BadInput(f"{what}: tick {tick} has passed, the board is at {now}")
        if self.timescale.seconds(tick - now) > FARTHEST_DAYS * 86400:
            raise BadInput(f"{what}: tick {tick} is more than {FARTHEST_DAYS} days ahead, the board is at {now}")
        return tick

    def _found(self, when: When | None, what: str = "at") -> When | None:
        """The same, but the tick of a time of a clock that comes in: a capture finds it, before another job begins."""
        named = None if when is None else named_of(when, what)
        return self.tick_of(named, what) if named is not None and named.comes_in else when

    def _tick(self, when: When, what: str) -> tuple[bool, int]:
        """(whether it is meant from now, tick)."""
        relative, place = place_of(self.timescale, when, what)
        return relative, math.floor(place)

    # Jobs

    def train(
        self,
        rate: Number | str | None = None,
        *,
        period: Time | None = None,
        byte: Whole | None = None,
        width: Time | None = None,
        break_bits: Whole | None = None,
        count: Whole = 0,
        start: When | None = None,
        baud: Number | str = 9600,
        format: Format | str = "8N1",
        invert: bool = False,
        loopback: bool = False,
        limit: Whole | None = None,
        listener: TrainListener | None = None,
        clock: str | None = None,
        follow_steps: bool = False,
    ) -> Train:
        """Starts a pulse train: pulse n leaves at start + n · period, rounded down to a tick, forever.

        rate (pulses per second) or period; what goes out: byte (default 0xff) in a frame of baud and format, width (a raw pulse) or
        break_bits (a break of that many bit times); count: pulses, 0: until it is stopped; start:
        as soon as possible unless given;
        loopback: the receiver listens inside the core; limit: of pulses whose ticks are kept in `record`, None: all; listener: hears of
        each pulse when it is known
        clock: 'utc', 'phc:0' for /dev/ptp0, 'phc' for the board's own PTP clock, 'pps:0' or 'harp:0' for a pulse per second or a Harp
        clock at input 0: the train follows it as long as the job runs, a Disciplined: `rate` pulses in each of its seconds, pulse 0 at
        a whole one, or at `start` as 'utc:12:00:00' has it; follow_steps: also when it jumps
        """
        train = self.train_to_begin(
            rate,
            period=period,
            byte=byte,
            width=width,
            break_bits=break_bits,
            count=count,
            start=start,
            baud=baud,
            format=format,
            invert=invert,
            loopback=loopback,
            limit=limit,
            listener=listener,
            clock=clock,
            follow_steps=follow_steps,
        )
        return self.begin(train)

    def train_to_begin(
        self,
        rate: Number | str | None = None,
        *,
        period: Time | None = None,
        byte: Whole | None = None,
        width: Time | None = None,
        break_bits: Whole | None = None,
        count: Whole = 0,
        start: When | None = None,
        baud: Number | str = 9600,
        format: Format | str = "8N1",
        invert: bool = False,
        loopback: bool = False,
        limit: Whole | None = None,
        listener: TrainListener | None = None,
        clock: str | None = None,
        follow_steps: bool = False,
    ) -> Train:
        """The train of train(), for begin()."""
        seconds = None if clock is None else self._seconds_of(clock)
        if clock is None and follow_steps:
            raise BadInput("follow_steps: without a clock there are none")
        plan = train_plan(
            self.timescale,
            rate=rate,
            period=period,
            byte=byte,
            width=width,
            break_bits=break_bits,
            count=count,
            baud=baud,
            format=format,
            invert=invert,
            loopback=loopback,
        )
        if limit is not None:
            limit = within(limit, "limit", 0, _MANY)
        if listener is not None and not isinstance(cast(object, listener), TrainListener):
            raise BadInput(f"listener: {shown(listener)} has not the methods of a TrainListener")
        if seconds is not None:
            self.timescale.period(plan.period.ticks, CHANGE_MIN_PERIOD, "period" if rate is None else "rate")
            per_second = self.tick_hz / period_of(self.timescale, rate, period)[0]
            if clock == "phc" and not follow_steps and can_follow(self, per_second):
                return DisciplinedByDriver(self, plan, seconds, per_second, start, limit=limit, listener=listener)
            return Disciplined(self, plan, seconds, per_second, start, bool(follow_steps), limit, listener)
        if start is not None:
            plan = dataclasses.replace(plan, start=self.tick_of(start, "start"))
        return Train(self.backend, plan, limit, listener)

    def adjust(
        self,
        *,
        rate: Number | str | None = None,
        period: Time | None = None,
        step: Time | None = None,
        width: Time | None = None,
        at_pulse: Whole = 0,
    ) -> Adjusted:
        """Changes the running train, by whomever it was started, without a glitch: a new rate or period, a step of its phase, a new width.

        at_pulse: the first one at its new place, with its new width, 0: as early as possible; at most 2147483647 after the next one.
        BadInput if it is farther ahead, or if the train is too fast to be changed; Refused with the reason if the core cannot do it.
        """
        if rate is None and period is None and step is None and width is None:
            raise BadInput("nothing to adjust: give a rate, a period, a step or a width")
        at_pulse = within(at_pulse, "at_pulse", 0, WORD - 1)
        if not self.backend.status().train_running:
            raise BadInput("no train is running")
        settings = self.backend.train.settings()
        new, what = settings.period if settings else None, "width"
        launch = settings.launch if settings else None
        pulse_width = None if width is None else self.timescale.whole_ticks(width, "width", 1)
        if pulse_width is not None:
            if launch is None:
                raise Unsupported(f"{self.name}: it is not known what this train puts on the line, so its width cannot be changed")
            check_width(launch)
        if rate is not None or period is not None:
            ticks, what = period_of(self.timescale, rate, period)
            new = self.timescale.period(ticks, CHANGE_MIN_PERIOD, what)
        if new is None:
            raise Unsupported(f"{self.name}: this train's period is not known: give a rate or a period, too")
        if pulse_width is not None:
            check_length(pulse_width, new, self.timescale, what)
        elif what != "width" and launch and settings and settings.profile:
            check_overlap(launch, settings.profile, new, self.timescale, what)
        wanted = Fraction(0) if step is None else self.timescale.ticks(to_duration(step, "step", signed=True))
        step_ticks = self.timescale.whole_ticks(Duration(ticks=wanted), "step", -(1 << 31), (1 << 31) - 1)
        try:
            change = change_train(self.backend, settings.period if settings else new, new, step_ticks, at_pulse, pulse_width)
        except Refused as error:
            far = f", or is more than {FARTHEST_PULSE} after the next one" if at_pulse > FARTHEST_PULSE else ""
            texts = {
                "late": f"that pulse is too close{',' if far else ' or'} has passed{far}",
                "busy": "another change is pending",
                "fast": "the train is too fast to be changed",
                "invalid": "period, pulse number, step or width are not usable, the train ends before, or is too fast to be changed",
                None: "the record of the reason was lost",
            }
            raise Refused(f"the core refused the change: {texts.get(error.reason, error.reason)}", error.reason) from None
        return Adjusted(new.ticks, step_ticks, wanted != step_ticks, change, pulse_width)

    def capture(
        self,
        inputs: Iterable[Whole | str] = ("rx",),
        *,
        edges: str = "both",
        filter: Whole = 0,
        bytes: bool = False,
        count: Whole = 0,
        duration: Time | None = None,
        baud: Number | str = 9600,
        format: Format | str = "8N1",
        invert: bool = False,
        loopback: bool = False,
        move_tx: bool = False,
        to: PinFile | Iterable[PinFile] = (),
        clock: str | None = None,
    ) -> Capture:
        """Streams edges of inputs (numbers, or 'rx' for the line, or text: '0,rx'; none: bytes alone): 'both', 'rise' or 'fall'.

        filter: levels of fewer samples are ignored; bytes: decode what the line receives, too; it
        ends after count edges and bytes, or after duration of the board's clock, or when it is
        stopped; move_tx: the idle level of TX may change to that of the format, else BadInput if it
        would. InUse if a setting would change that a train or responder on the board relies on.
        to: files that are written as it goes on: VcdFile, SrFile, SampleStream.
        clock: in which events have a time, as time_of() names it, instead of that of open(). Events that came before two seconds of
        'pps:0' or 'harp:0' have none. An array() has ticks alone.
        """
        files = files_of(to)
        times = None if clock is None else self._event_clock(clock)
        if edges not in ("both", "rise", "fall"):
            raise BadInput(f"edges: {shown(edges)} is not both, rise or fall")
        fmt = line_format(format, invert)
        filter = within(filter, "filter", 0, FILTER_MAX)
        channels = self._channels(inputs)
        if not channels and not bytes:
            raise BadInput("inputs: none leaves nothing to capture without bytes")
        if files and not channels:
            raise BadInput("inputs: a file of pins needs at least one")
        if files and edges != "both":
            raise BadInput(f"edges: {edges} alone do not tell the levels that a file of pins has")
        plan = CapturePlan(
            channels,
            edges != "fall",
            edges != "rise",
            filter,
            profile_of(self.timescale, baud, fmt) if bytes else None,
            loopback,
            move_tx,
            within(count, "count", 0, _MANY),
            None if duration is None else math.floor(self.timescale.ticks(to_duration(duration, "duration"))),
        )
        return self.begin(Capture(self.backend, plan, files, times), beside_responder=True)

    def launch(
        self,
        at: When | None = None,
        *,
        byte: Whole | None = None,
        width: Time | None = None,
        break_bits: Whole | None = None,
        baud: Number | str = 9600,
        format: Format | str = "8N1",
        invert: bool = False,
        loopback: bool = False,
    ) -> Outcome:
        """Puts one thing on the line at a tick, exactly, and returns when it has; soon unless `at` is given.

        Refused, with reason and tick, if the core could not: then nothing went out.
        """
        fmt = line_format(format, invert)
        launch = launch_of(self.timescale, byte, width, break_bits, fmt)
        return self._launch_one(launch, profile_of(self.timescale, baud, fmt), loopback, at)

    def _launch_one(self, launch: Launch, profile: Profile, loopback: bool, at: When | None) -> Outcome:
        """See launch()."""
        at = self._found(at)
        with self.begin(Send(self.backend, profile, loopback)) as send:
            tick = send.run.soon(1) if at is None else self.tick_of(at)
            send.start([(tick, launch)])
            outcome = next(iter(send), None)
            if outcome is None:
                raise KeyboardInterrupt if send.interrupted else LitePulseError("the board did not say what became of the launch")
            for _ in send:  # until the line is idle
                pass
        if outcome.reason is not None:
            raise Refused(f"the launch at tick {tick} was refused: {outcome.reason}", outcome.reason, tick)
        return outcome

    def mark(self, code: Whole, at: When | None = None, *, width: Time | None = None) -> Outcome:
        """Shows a code, 0 to 255, on the eight pins of the marker port from a tick on, and returns when it does; soon unless `at` is given.

        width: how long; then the pins show 0. 0: until the next mark; None: as for the mark before. A mark replaces the one before it,
        and does not wait for the line, nor change it. Refused, with reason and tick, if the core could not: then nothing was shown.
        """
        launch = mark(code)
        self.set_marks(width)
        return self._launch_one(dataclasses.replace(launch, profile=LAUNCH_PROFILE), mark_profile(self.timescale), False, at)

    def set_marks(self, width: Time | None = None, tty: bool | None = None) -> None:
        """Settings of the marker port: how long each mark lasts (0: until the next one); whether each byte that a program writes to the
        kernel's tty of this board is a mark. None: as before. Unsupported, in one line, if the board has no marker port.
        """
        check_port(self.identity)
        if width is not None:
            self.backend.line.set_mark_width(self._mark_ticks(width, "width"))
        if tty is not None:
            self.backend.line.set_tty_marks(bool(tty))

    def _mark_ticks(self, width: Time, what: str) -> int:
        """Of a width of marks."""
        check_port(self.identity)
        return self.timescale.whole_ticks(width, what, 0, WORD - 1)

    def send(
        self,
        data: Iterable[Whole | None],
        at: When | None = None,
        *,
        every: Time | None = None,
        baud: Number | str = 9600,
        format: Format | str = "8N1",
        invert: bool = False,
        loopback: bool = False,
        keep: bool = True,
    ) -> Send:
        """Sends bytes as timed launches, the first soon or `at` a tick, then one `every` so often, or back to back.

        data: bytes, or anything that yields them, also without end, and None while it has no more yet
        keep: outcomes are kept in `run` of what is returned
        """
        if isinstance(data, str):
            raise BadInput("data: text has no bytes yet: give text.encode()")
        data = _each(data, "data")
        fmt = line_format(format, invert)
        profile = profile_of(self.timescale, baud, fmt)
        length = Launch("frame", 0, 1).length(profile)
        gap = Fraction(length) if every is None else self.timescale.ticks(to_duration(every, "every"))
        if gap <= 0:
            raise BadInput(f"every: {every} is not more than 0")
        if math.floor(gap) < length:
            raise BadInput(f"every: the bytes would overlap: one takes {length} ticks, the distance is only {math.floor(gap)}")
        at = self._found(at)
        send = self.begin(Send(self.backend, profile, loopback))
        try:
            depth = self.identity.launch_depth
            known = len(data) if isinstance(data, Listed) else depth
            start = send.run.soon(known) if at is None else self.tick_of(at)
            send.first_tick = start
            places = (start + math.floor(k * gap) for k in itertools.count())
            send.start((None if byte is None else (next(places), frame(byte, fmt)) for byte in data), keep)
        except BaseException:
            send.close()
            raise
        return send

    def launches(
        self,
        series: Iterable[tuple[When, What] | None],
        *,
        start: When | None = None,
        baud: Number | str = 9600,
        format: Format | str = "8N1",
        invert: bool = False,
        loopback: bool = False,
        keep: bool = True,
    ) -> Send:
        """Puts a series of things on the line, each at its tick, exactly: [(at, what), ...], in the order of time.

        at: a tick or a Moment, or a Duration, or text with a + in front, which counts from `start` (soon unless given)
        what: a byte (a whole number), the width of a pulse (us(10), "10us"), or a Launch: Launch("break", 13), or Launch("mark", 42) for a
            code on the marker port, which does not use the line
        A list is checked before anything leaves. Anything else that yields such pairs is taken as there is room in the board's queue,
        also without end; it may yield None while it has no more yet. keep: outcomes are kept in `run` of what is returned
        """
        fmt = line_format(format, invert)
        profile = profile_of(self.timescale, baud, fmt)
        pairs = (None if pair is None else self._placed(pair, number, fmt) for number, pair in enumerate(_each(series, "series")))
        known = list(pairs) if isinstance(series, Listed) else None
        profiles = {LAUNCH_PROFILE: profile} | ({MARK_PROFILE: mark_profile(self.timescale)} if self.identity.port else {})
        if known is not None:
            self._check_series(known, profile)
            named = {pair[2].profile for pair in known if pair} or {LAUNCH_PROFILE}
            profiles = {number: profiles[number] for number in named}
        start = self._found(start, "start")
        send = self.begin(Send(self.backend, profile, loopback, profiles))
        try:
            depth = self.identity.launch_depth
            first = send.run.soon(depth if known is None else len(known)) if start is None else self.tick_of(start, "start")
            if known is not None and len({pair[0] for pair in known if pair}) > 1:  # ticks and times from the start can be compared now
                self._check_series(known, profile, first)
            send.first_tick = first
            send.start(self._series(pairs if known is None else known, profile, first), keep)
        except BaseException:
            send.close()
            raise
        return send

    def _placed(self, pair: tuple[When, What], number: int, fmt: Format) -> tuple[bool, int, Launch]:
        """(whether it counts from the start, tick, what) of a pair."""
        try:
            try:
                at, what = pair
            except (TypeError, ValueError):
                raise BadInput(f"{shown(pair)} is not a pair (at, what)") from None
            relative, tick = self._tick(at, "at")
            if not 0 <= tick < 1 << 63:
                raise BadInput(f"at: tick {tick} is out of range")
            launch = launch_from(self.timescale, what, fmt)
            if launch.kind == MARK:
                check_port(self.identity)
            return relative, tick, launch
        except BadInput as error:
            raise BadInput(f"launch {number}: {error}") from None

    def _check_series(self, series: Listed[tuple[bool, int, Launch] | None], profile: Profile, first: int | None = None) -> None:
        """BadInput if a tick has passed, is too far, or is before the end of the launch before it; first: the start, if it is known."""
        now, orders = self.backend.now(), {True: Order(profile), False: Order(profile)}
        for number, pair in enumerate(series):
            if pair is None:
                continue
            relative, tick, launch = pair
            if relative and first is not None:
                relative, tick = False, tick + first
            if not relative and tick <= now:
                raise BadInput(f"launch {number}: tick {tick} has passed, the board is at {now}")
            if self.timescale.seconds(tick if relative else tick - now) > FARTHEST_DAYS * 86400:
                raise BadInput(f"launch {number}: tick {tick} is more than {FARTHEST_DAYS} days ahead, the board is at {now}")
            orders[relative].check(number, tick, launch, Origin(self.timescale) if relative else None)

    @staticmethod
    def _series(series: Iterable[tuple[bool, int, Launch] | None], profile: Profile, first: int) -> Iterator[tuple[int, Launch] | None]:
        """With the ticks of the board, and checked once more where it is not known yet."""
        order = Order(profile)
        for number, pair in enumerate(series):
            if pair is None:
                yield None
                continue
            relative, tick, launch = pair
            tick += first if relative else 0
            order.check(number, tick, launch)
            yield tick, launch

    def sequence(
        self,
        entries: Iterable[SequenceEntry],
        *,
        on: Trigger | None = None,
        timeout: Time | None = None,
        repeat: Whole = 1,
        start: When | None = None,
        profiles: Mapping[int, tuple[Number | str, Format | str]] | None = None,
        inputs: Iterable[Whole | str] = (),
        waits: str | None = None,
        mark_width: Time | None = None,
        baud: Number | str = 9600,
        format: Format | str = "8N1",
        invert: bool = False,
        loopback: bool = False,
    ) -> Sequence:
        """Runs a sequence of launches and waits for edges, of any length: the board's queue is refilled while it runs.

        entries: each a Step, a mapping with the names of its fields, or a pair (at, what) as launches() takes it. A list, or an array, is
        checked before anything leaves. Anything else that yields them is read ahead as there is room, also without end; it may
        yield None while it has no more yet
        on: an Edge; it begins each run; timeout: of this and of waits that have none of their own
        repeat: runs, each behind the last entry of the one before, or for each edge of `on`; 0: without end
        start: the beginning, soon unless given
        profiles: {2: (baud, format)}, numbers 2 and 3, for entries that name them; inputs: channels that entries which are no list wait for
        waits: 'board': its launch queue waits for edges, so a launch leaves microseconds behind one; 'host': the computer does, which takes
        milliseconds; None: the computer if that is fast enough for all entries of a list, or they are no list, else the board where it can
        mark_width: how long each code of an entry is shown, 0: until the next one; None: as for the mark before

        BadInput if the backend cannot carry it. Underrun, while you iterate, if a launch could not be queued in time: it does not leave.
        """
        if waits not in (None, BOARD, HOST):
            raise BadInput(f"waits: {shown(waits)} is not '{BOARD}' or '{HOST}'")
        if waits == BOARD:
            self.backend.queue.check_waits()
        fmt, scale = line_format(format, invert), self.timescale
        lines = {LAUNCH_PROFILE: profile_of(scale, baud, fmt)} | self._profiles(profiles, fmt.invert)
        numbers, finite = frozenset(lines), isinstance(entries, Sized)
        if finite or len(lines) < len(LAUNCH_PROFILES):
            lines[MARK_PROFILE] = mark_profile(scale)
        meaning = Meaning(scale, lines, self.channel, timeout, lambda: check_port(self.identity))
        length = None if mark_width is None else self._mark_ticks(mark_width, "mark_width")
        repeat = within(repeat, "repeat", 0, _MANY)
        trigger = None
        if on is not None:
            check_trigger(on)
            trigger = meaning.wait_of(on, None, None, None)
            if start is not None:
                raise BadInput("start and on exclude each other: the edge of on is the beginning")
        given = _each(entries, "entries")
        if isinstance(given, str | bytes):
            raise BadInput(f"entries: {shown(given)} is not a list of entries")
        if not finite and repeat != 1 and iter(given) is given:
            raise BadInput("repeat: an iterator gives its entries once: give a list to repeat them")
        kept = list(meaning.entries(given)) if isinstance(given, Sized) and sized(given) <= KEPT else None
        if kept is not None and None in kept:
            raise BadInput("entries: None means that there are no more yet, and a list has all of them")
        if finite and not sized(given):
            raise BadInput("entries: there are none")
        read = meaning.entries(given) if kept is None and finite else kept or ()
        ends, named = used_by(read)
        channels = masks([trigger, *ends])
        more = sum(1 << channel for channel in self._channels(inputs))
        if timeout is not None and trigger is None and not (ends if finite else more):
            raise BadInput(f"timeout: nothing waits: there is no on, and {'no entry is a wait' if finite else 'inputs names no channel'}")
        if finite and MARK_PROFILE in named:
            numbers = named
        elif finite and mark_width is not None:
            raise BadInput("mark_width: no entry has a code")
        elif not finite and self.identity.port:
            numbers = frozenset(lines)
        if len(numbers) > len(LAUNCH_PROFILES):
            raise BadInput(NO_PROFILE)
        plan = SequencePlan(
            lambda: meaning.entries(given) if kept is None else kept,
            finite,
            lines,
            (channels[0] | more, channels[1] | more),
            trigger,
            repeat,
            None if start is None else self.tick_of(start, "start"),
            bool(loopback),
            waits=waits if self.backend.identity.sequence else HOST,
            numbers=numbers,
            mark_width=length,
        )
        if finite:
            clock = time.thread_time()
            count = check_sequence(plan, scale, None)
            if not self.simulated:
                plan = dataclasses.replace(plan, seconds=(time.thread_time() - clock) / max(1, count))
        return self.begin(Sequence(self.backend, plan))

    def _profiles(self, given: object, invert: bool) -> dict[int, Profile]:
        """The further profiles of a sequence."""
        found: dict[int, Profile] = {}
        if given is not None and not isinstance(given, Mapping):
            raise BadInput(f"profiles: {shown(given)} is not like {{2: (115200, '8N1')}}")
        for number, values in cast("Mapping[object, object]", given or {}).items():
            try:
                baud, fmt = cast("tuple[Number | str, Format | str]", values)
            except (TypeError, ValueError):
                raise BadInput(f"profiles: {shown(values)} is not like (115200, '8N1')") from None
            form = line_format(fmt, invert)
            if form.invert != invert:
                raise BadInput("profiles: the line has one level at rest: invert is the same for all")
            found[within(cast(Whole, number), "profiles", 2, 3)] = profile_of(self.timescale, baud, form)
        return found

    def respond(
        self,
        on: Trigger,
        after: Time,
        *,
        byte: Whole | None = None,
        width: Time | None = None,
        break_bits: Whole | None = None,
        pulses: Whole = 1,
        every: Time | None = None,
        once: bool = False,
        holdoff: Time | None = None,
        exclusive: bool = False,
        own: bool = False,
        echo: Time | None = None,
        baud: Number | str = 9600,
        format: Format | str = "8N1",
        invert: bool = False,
        loopback: bool = False,
    ) -> Responder:
        """Arms the responder: each trigger (Edge, Byte, Break) is answered `after` this time, by
        hardware.

        The delay counts from the edge, or from the end of the received frame. pulses: 1 to 65,536 of
        them, `every` apart; until this time after the last one other triggers are ignored. once: only
        the first trigger; holdoff: ignore triggers for this time after an answer, which a burst does
        anyway; exclusive: no other bytes start while armed; own: our own transmission may trigger,
        too; echo: it may come back until this time after its end (default 16 cycles of the core's
        clock)
        """
        scale = self.timescale
        check_echo(echo, own)
        number = check_burst(pulses, every, holdoff)
        fmt = line_format(format, invert)
        launch, profile = launch_of(scale, byte, width, break_bits, fmt), profile_of(scale, baud, fmt)
        if every is None:
            rest = scale.whole_ticks(0 if holdoff is None else holdoff, "holdoff", 0, RESPONDER_LIMIT)
        else:
            rest = period_of_burst(scale, every, launch, profile)
        response = Response(
            self._trigger(on), launch, scale.whole_ticks(after, "delay", 0, RESPONDER_LIMIT), rest, not once, exclusive, not own, number
        )
        limit = self.identity.echo_limit
        ticks = None if echo is None else scale.whole_ticks(echo, "echo", 0, limit)
        return self.begin(Responder(self.backend, RespondPlan(response, profile, loopback, ticks)))

    def _trigger(self, on: Trigger) -> Trigger:
        """With the number of its channel; BadInput unless it is a trigger of this board."""
        check_trigger(on)
        if on.kind != "edge":
            return on
        return Trigger("edge", self.channel("rx" if on.channel == -1 else on.channel), on.rise, on.fall)

    def latency(
        self,
        on: Trigger | None = None,
        *,
        byte: Whole | None = None,
        width: Time | None = None,
        break_bits: Whole | None = None,
        interval: Time = DEFAULT_INTERVAL,
        jitter: Time | None = None,
        seed: Whole = 1,
        count: Whole = 0,
        duration: Time | None = None,
        start: When | None = None,
        timeout: Time | None = None,
        blank: Time = 0,
        holdoff: Time = 0,
        from_end: bool = False,
        filter: Whole = 0,
        baud: Number | str = 9600,
        format: Format | str = "8N1",
        invert: bool = False,
        loopback: bool = False,
    ) -> Latency:
        """Measures how long something takes to respond: stimuli leave at exact ticks, responses are captured.

        on: the response, an Edge, Byte or Break; None: the byte that left comes back. Without `byte` each stimulus is then another byte
        (counting up), so a response that comes after the next stimulus is still known for what it is.
        byte (default 0xff), width or break_bits: the stimulus
        interval, jitter: from stimulus to stimulus, interval plus or minus up to jitter (default: half of it), by random numbers of `seed`
        count: of stimuli; duration: none later than this after the first; with neither it goes on
        until it is stopped
        start: of the first, soon unless given
        timeout: how long a response is waited for, from the stimulus's start edge (default 1 s, or less where the same byte would leave
        again before). blank: what comes sooner is no response, as an echo on RS-485; holdoff: what
        comes within this time after a response is part of it, as further edges
        from_end: delays count from the end of the stimulus, not from its start edge
        filter: levels of fewer samples are ignored
        """
        scale = self.timescale

        def ticks(value: Time, what: str, low: int = 0) -> int:
            return scale.whole_ticks(value, what, low)

        filter = within(filter, "filter", 0, FILTER_MAX)
        count = within(count, "count", 0, WORD - 1)
        if on is None and (byte is not None or width is not None or break_bits is not None):
            raise BadInput("on: say what the response is; only if each stimulus is another byte, its own byte is")
        on = None if on is None else self._trigger(on)
        fmt = line_format(format, invert)
        launch = launch_of(scale, byte if on else 0, width, break_bits, fmt)
        profile = profile_of(scale, baud, fmt)
        mean = ticks(interval, "interval", 1)
        spread = mean // 2 if jitter is None else ticks(jitter, "jitter")
        check_intervals(self.backend, launch, profile, mean, spread)
        wait = None if timeout is None else ticks(timeout, "timeout", 1)
        plan = LatencyPlan(
            launch,
            profile,
            on,
            mean,
            spread,
            whole(seed, "seed"),
            count,
            None if duration is None else math.floor(scale.ticks(to_duration(duration, "duration"))),
            None if start is None else self.tick_of(start, "start"),
            check_timeout(self.backend, wait, mean - spread, profile, on),
            ticks(blank, "blank"),
            ticks(holdoff, "holdoff"),
            launch.length(profile) if from_end else 0,
            filter,
            loopback,
        )
        return self.begin(Latency(self.backend, plan))

    def disarm(self) -> None:
        """Disarms the responder, by whomever it was armed; what else runs on the board goes on."""
        self.backend.responder.disarm()

    def stop(self) -> Stopped:
        """Ends all that starts by itself on the board, also what other programs left there."""
        return self.backend.stop_all()

    # One job at a time

    def begin(self, job: JobType, beside_responder: bool = False) -> JobType:
        """Begins a job, of whatever kind, and returns it. InUse if there is one already."""
        for _ in self.beginning(job, beside_responder):
            pass
        return job

    def beginning(self, job: Job[Any], beside_responder: bool = False) -> Generator[None]:
        """As begin(), in steps: what begins on other boards can begin meanwhile."""
        self.take(beside_responder)
        try:
            if isinstance(job, Responder):
                yield from job.beginning(self._end_responder)
                self._responder = job
            else:
                yield from job.beginning(self._end_job)
                self._job = job
        finally:
            self.give_back()

    def take(self, beside_responder: bool = False) -> None:
        """No job begins until give_back(). InUse if there is one, or if another thread is just beginning one."""
        with self._turn:
            if self._taken or self._job or (self._responder and not beside_responder):
                raise InUse(f"{self.name}: this program has a job on it already: stop() or close() that first")
            self._taken = True

    def give_back(self) -> None:
        """Jobs may begin again."""
        self._taken = False

    @property
    def busy(self) -> bool:
        """This program has a job on it, or an armed responder."""
        return bool(self._taken or self._job or self._responder)

    def _end_job(self) -> None:
        self._job = None

    def _end_responder(self) -> None:
        self._responder = None

    def close(self) -> None:
        """Ends what this program runs there, and lets go of it. May be called again."""
        for job in (self._job, self._responder):
            if job:
                with contextlib.suppress(LitePulseError):
                    job.close()
        self.backend.close()

    def __enter__(self) -> "Board":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self.close()
        except LitePulseError:
            if error is None:  # else that one is what counts
                raise
