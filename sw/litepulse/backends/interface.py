# SPDX-License-Identifier: BSD-2-Clause
"""What a backend does for the library: the one interface that the kernel driver, UARTBone and the simulator have in common.

It lies above registers, because the driver's interface has events and launches but no words. All times are ticks of the board.
A backend has a part for each thing that the core does. It knows no verb: what a train is good for is the library's business.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from litepulse import compatibility
from litepulse.columns import EdgeRecords
from litepulse.errors import BadInput, Unsupported
from litepulse.layout import CHANGE_MIN_PERIOD, TRAIN_MIN_PERIOD, regs
from litepulse.line import MARK, Launch, LinEntry, Profile, Queued, QueueWait, Relative, Response
from litepulse.streams import Event, Lost, RxByte
from litepulse.units import Period, Timescale

if TYPE_CHECKING:
    from litepulse.backends.wallclock import WallClock

SIM, UARTBONE, REMOTE, DRIVER = "sim", "uartbone", "remote", "driver"  # Identity.backend
RECEIVE_PROFILE = 0  # what the receiver uses; the tty's, where there is one
LAUNCH_PROFILE = 1
MARK_PROFILE = 4  # of launches of kind 'mark'; on the board it is one of LAUNCH_PROFILES that no other launch of the job has
LAUNCH_PROFILES: tuple[int, ...] = (1, 2, 3)  # that the board has for launches
CLOCKS = ("monotonic", "realtime", "tai", "phc")
NO_PORT = "this board has no marker port"
NO_WAITS = "its launch queue has no waits: the computer waits, and a launch follows an edge milliseconds later"
NO_LIN_SLAVE = "the board's core was built without a LIN slave (lin_entries=0)"


@dataclass(frozen=True)
class Identity:
    """What device this is. Depths are in records, bytes or launches; clock_hz is exact."""

    backend: str
    name: str  # what to call it: /dev/litepulse0, /dev/ttyUSB1
    simulated: bool
    version: tuple[int, int]
    clock_hz: Fraction
    samples_per_cycle: int
    inputs: int  # channel number `inputs` is the line
    event_depth: int
    receive_depth: int
    transmit_depth: int
    launch_depth: int
    lin_entries: int  # LIN identifiers below it can be answered by the board itself; 0: none
    session: int
    echo_limit: int  # ticks
    clocks: tuple[str, ...] = ()  # those of CLOCKS in which events have a time, too
    port: bool = False  # there is a marker port
    sequence: bool = False  # its launch queue has waits and relative entries, and this backend carries them
    chip: str | None = None  # where it lies: boards of one chip, its lines, have the same; None: it is alone there
    nodes: Mapping[str, str] = field(default_factory=dict[str, str])  # further devices of the board: {"tty": "/dev/ttyPULSE0"}

    @property
    def timescale(self) -> Timescale:
        """Converts between ticks and seconds."""
        return Timescale(self.clock_hz, self.samples_per_cycle)

    @property
    def train_min_period(self) -> int:
        """The least period of a train, ticks. With an older map it is that of a train that can be changed."""
        fast = compatibility.has(self.version, compatibility.FAST_TRAINS)
        return (TRAIN_MIN_PERIOD if fast else CHANGE_MIN_PERIOD) * self.samples_per_cycle

    def echo(self, ticks: int | None) -> int:
        """The echo time that the core uses for a requested one: up to whole cycles; None: that after a reset. BadInput if out of range."""
        samples = self.samples_per_cycle
        wanted = samples * regs.ECHO_CYCLES_RESET if ticks is None else ticks
        if not 0 <= wanted <= self.echo_limit:
            named = self.timescale.named
            raise BadInput(f"echo: {named(wanted)} is outside 0 to {named(self.echo_limit, math.floor)}")
        return samples * math.ceil(Fraction(wanted, samples))


@dataclass(frozen=True)
class Status:
    """What is going on."""

    train_running: bool
    train_change_pending: bool
    responder_armed: bool
    queue_idle: bool
    line_busy: bool
    launch_free: int  # timed launches that find room
    levels: tuple[bool, ...]  # of the pins, some cycles ago: input c at c, rx behind the last one; () if the core does not report them

    @property
    def running(self) -> tuple[str, ...]:
        """What of 'train', 'responder', 'launches' starts by itself."""
        names = (("train", self.train_running), ("responder", self.responder_armed), ("launches", not self.queue_idle))
        return tuple(name for name, runs in names if runs)


def mapped(launch: Launch, numbers: Mapping[int, int]) -> Launch:
    """As the board has it. numbers: of its profiles, as LineControl.set_profiles() chose them."""
    kind, number = "frame" if launch.kind == MARK else launch.kind, numbers.get(launch.profile, launch.profile)
    return launch if (kind, number) == (launch.kind, launch.profile) else replace(launch, kind=kind, profile=number)


def mapped_entry(what: Queued, numbers: Mapping[int, int]) -> Queued:
    """As mapped(), of an entry of the queue."""
    if isinstance(what, Relative):
        return what if isinstance(what.what, QueueWait) else Relative(mapped(what.what, numbers))
    return what if isinstance(what, QueueWait) else mapped(what, numbers)


def pin_levels(word: int, identity: Identity) -> tuple[bool, ...]:
    """Status.levels from a word that has them as bits, input 0 lowest."""
    known = compatibility.has(identity.version, compatibility.LEVELS)
    return tuple(bool(word >> channel & 1) for channel in range(identity.inputs + 1)) if known else ()


def check_port(identity: Identity) -> None:
    """Unsupported if a board has no marker port; its map may be too old for one."""
    compatibility.require(identity.name, identity.version, compatibility.MARKS)
    if not identity.port:
        raise Unsupported(f"{identity.name}: {NO_PORT}")


def check_train(identity: Identity, period: Period) -> None:
    """Unsupported if the map of a board is too old, or too new, for a train."""
    compatibility.require_known(identity.name, identity.version)
    if period.whole < identity.train_min_period:
        compatibility.require(identity.name, identity.version, compatibility.FAST_TRAINS)


def check_core(identity: Identity, response: Response) -> None:
    """Unsupported if the map of a board is too old, or too new, for a response."""
    compatibility.require_known(identity.name, identity.version)
    if response.pulses > 1:
        compatibility.require(identity.name, identity.version, compatibility.BURSTS)
    if max(response.delay, response.holdoff) >= compatibility.SHORT_TIMES:
        compatibility.require(identity.name, identity.version, compatibility.LONG_TIMES)


@dataclass(frozen=True)
class Wanted:
    """What is to be recorded. Sources are 'train', 'queue', 'responder', 'tty'; masks have bit n for channel n."""

    launched: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    train: bool = False  # what becomes of commands to the train, and its end
    missed: bool = False  # triggers that the responder could not answer
    rise: int = 0
    fall: int = 0
    filtered: int = 0
    filter: int = 0  # samples
    received: bool = False  # bytes


@dataclass(frozen=True)
class Batch:
    """Records in the order of each stream. All that happened before `tick` and was wanted is in this batch or an earlier one.

    now: the board's tick at this look, perhaps much later; edges: all there is, where columns were
    requested and there is nothing else; gap: but for records that were lost, and that no Lost stands
    for yet
    """

    tick: int
    now: int
    events: Sequence[Event | Lost]
    received: Sequence[RxByte | Lost]
    edges: EdgeRecords | None = None
    gap: bool = False


@dataclass(frozen=True)
class Losses:
    """Records that were wanted and are not there, since record() was called. `at_least`: a count had reached its end."""

    events: int = 0
    received: int = 0
    at_least: bool = False

    @property
    def total(self) -> int:
        """Of both streams."""
        return self.events + self.received


@dataclass(frozen=True)
class TrainSettings:
    """A train as it was requested. launch and profile: None if they are not known."""

    period: Period
    count: int
    launch: Launch | None
    profile: Profile | None


@dataclass(frozen=True)
class TrainChange:
    """A change of the train that the core took: from `pulse` on, None if that is not known; or it still waits for that pulse."""

    pulse: int | None
    pending: bool = False


@dataclass(frozen=True)
class Stopped:
    """What was running: 'train', 'responder', 'launches'; pulses of the train, None if they are not known."""

    what: tuple[str, ...]
    pulses: int | None = None


@dataclass(frozen=True)
class ClockReading:
    """The board's tick between two readings of CLOCK_MONOTONIC_RAW, and other clocks for the middle of these; all ns.

    clocks_raw: where CLOCK_MONOTONIC_RAW was when they were read, to within clocks_error; None: in the middle
    slept: how long the PC has slept since it was started
    """

    tick: int
    raw_before: int
    raw_after: int
    monotonic: int
    realtime: int
    clocks_raw: int | None = None
    clocks_error: int = 0
    slept: int = 0

    @property
    def uncertainty(self) -> int:
        """The tick was taken within this many ns of the middle."""
        return (self.raw_after - self.raw_before + 1) // 2


@dataclass(frozen=True)
class Rhythm:
    """Times of the board's PTP clock: number n is origin + n * span / pulses, ns, exactly."""

    origin: int
    span: int
    pulses: int


class Recorder(Protocol):
    """The records of the board, Backend.recorder.

    patience: seconds that wait() may take, whatever it is given; observer: is also given each batch that is read
    """

    patience: float
    observer: Callable[[Batch], None] | None

    @property
    def lag(self) -> int:
        """Ticks after which what has happened is reported at the latest, if the computer is not busy."""
        ...

    def record(self, wanted: Wanted) -> None:
        """From now on just this is recorded; what was recorded before is forgotten, and so are losses."""
        ...

    def read(self, as_columns: bool = False) -> Batch:
        """What came since the last call; does not wait. as_columns: edges as Batch.edges, as far as that goes; needs NumPy."""
        ...

    def wait(self, seconds: float) -> None:
        """Until there may be something to read, `seconds` at most."""
        ...

    def losses(self) -> Losses:
        """As far as they are known by now."""
        ...

    def stop(self) -> None:
        """Records nothing more; what runs goes on."""
        ...


class LineControl(Protocol):
    """Settings of the line, and its best-effort bytes, Backend.line."""

    def set_profile(self, number: int, profile: Profile) -> None:
        """What launches with this profile look like. Not RECEIVE_PROFILE. LAUNCH_PROFILE as by set_profiles(), alone."""
        ...

    def set_profiles(self, profiles: Mapping[int, Profile]) -> None:
        """What the launches of a job look like, by the numbers that they name: LAUNCH_PROFILES, MARK_PROFILE.

        On the board each has its own number, or another one if something kept uses that. InUse if there are too few.
        """
        ...

    def set_receiver(self, profile: Profile | None, receive: bool, loopback: bool, instead_of: str = "") -> None:
        """Bit rate and format in which bytes are received (None: as they are), whether they are, and whether from our own transmitter.

        What runs keeps the settings that it relies on: InUse, which names it, if one of them would change. instead_of: 'responder', one
        that is armed is to be replaced, and is disarmed if all else fits.
        """
        ...

    def idle_level(self) -> int | None:
        """At which TX rests; None if that is not known."""
        ...

    def set_echo(self, ticks: int | None) -> int:
        """How long after our own transmission its echo may come; None: as after a reset. Returns the time used."""
        ...

    def set_mark_width(self, ticks: int) -> None:
        """How long each mark lasts from now on; 0: until the next one. Unsupported without a marker port."""
        ...

    def set_tty_marks(self, on: bool) -> None:
        """Whether each byte that is written to the kernel's tty of the board is a mark. Unsupported where there is none, and why."""
        ...

    def transmit(self, data: bytes) -> int:
        """Queues best-effort bytes, which use the receiver's profile; returns how many found room. Events of source 'tty' tell the rest."""
        ...

    def flush_transmit(self) -> None:
        """Takes back best-effort bytes that have not started."""
        ...


class TrainControl(Protocol):
    """The pulse train, Backend.train."""

    def start(self, launch: Launch, period: Period, count: int = 0, start: int | None = None) -> None:
        """Starts a train, as soon as possible or at a tick; the events tell when. Refused; without a reason they tell it."""
        ...

    def stop(self) -> int | None:
        """No further pulse starts; the number of the next one, None if only the events tell it."""
        ...

    @property
    def can_follow(self) -> bool:
        """Whether follow() works: the kernel has a PTP clock of the board, and its driver is new enough."""
        ...

    def follow(self, launch: Launch, rhythm: Rhythm, count: int = 0) -> tuple[int, int]:
        """Starts a train that follows the board's PTP clock without us, with its first pulse that can be reached.

        Returns (its tick, its number in the rhythm). A step of the clock ends the train. Refused.
        """
        ...

    def settings(self) -> TrainSettings | None:
        """Those of the train that was started last, by whomever; None if this backend cannot know them."""
        ...

    def changing(self) -> AbstractContextManager[object]:
        """Within it what becomes of changes of the train is recorded, by whomever that was started."""
        ...

    def request_change(self, period: Period, step: int, at_pulse: int, width: int | None = None) -> TrainChange:
        """Changes period and phase of the running train, and the width of its pulses unless it is None, from a pulse on, 0: the next one.

        Refused: what the train does, and what is read back of it, stays as it was; `reason` None: the record of it was lost.
        """
        ...

    def last_change(self) -> tuple[Period, int] | None:
        """(period, step in ticks) of the change that was requested last, and not refused; None if this backend cannot know them."""
        ...

    def newest_pulse(self) -> tuple[int, int] | None:
        """(number, ticks since then) of a pulse of the running train that has just left; None if none is seen."""
        ...


class LaunchQueue(Protocol):
    """Timed launches, Backend.queue."""

    def check_waits(self) -> None:
        """Unsupported, and why, if the identity has no `sequence`."""
        ...

    def launch(self, entries: Sequence[tuple[int, int, Queued]]) -> int:
        """Queues timed launches [(tick, tag, Launch)], ticks never decreasing; returns how many found room.

        Waits and relative entries, too, if the identity has `sequence`; of a wait the tick is that at which it times out.
        """
        ...

    def seconds(self, count: int) -> Fraction:
        """How long `count` launches take to the board."""
        ...

    def rehearse(self, count: int, launch: Launch) -> int:
        """Queues one `count` times, at most as often as it finds room; none of them leaves, and it takes as long as for others.

        Returns how many of them are reported as refused. Call it while the queue is empty.
        """
        ...

    def flush(self) -> None:
        """Takes back launches that have not started."""
        ...


class ResponderControl(Protocol):
    """The responder and its LIN slave, Backend.responder."""

    def check(self, response: Response) -> None:
        """Unsupported if the backend cannot do that; nothing changes."""

    def arm(self, response: Response) -> None:
        """Programs and arms the responder."""
        ...

    def disarm(self) -> None:
        """No further trigger is answered."""
        ...

    def lin_entries(self) -> int:
        """Identifiers below it can be answered by the board's LIN slave. Unsupported, and why, if none can."""
        ...

    def set_lin(self, entries: Sequence[LinEntry]) -> None:
        """Changes how the LIN slave answers, in this order, each entry whole. An armed responder goes on meanwhile."""
        ...


class Backend(Protocol):
    """A board that was found and identified. All methods, and those of its parts, raise LitePulseError."""

    @property
    def identity(self) -> Identity:
        """What it is; does not change."""
        ...

    @property
    def clock(self) -> str | None:
        """In which records have a time, too."""
        ...

    @property
    def wall_clock(self) -> "WallClock | None":
        """In which records have a time, if the backend and not the kernel's driver makes it."""
        ...

    @property
    def recorder(self) -> Recorder: ...

    @property
    def line(self) -> LineControl: ...

    @property
    def train(self) -> TrainControl: ...

    @property
    def queue(self) -> LaunchQueue: ...

    @property
    def responder(self) -> ResponderControl: ...

    # What is going on

    def status(self) -> Status:
        """A fresh look. Restarted if the board was reset since it was opened."""
        ...

    def now(self) -> int:
        """The board's tick."""
        ...

    def read_clocks(self) -> ClockReading:
        """The board's tick and the host's clocks at one moment."""
        ...

    def look(self, as_columns: bool = False) -> tuple[Status, Batch]:
        """status(), then what recorder.read() gives."""
        ...

    # For how long

    def kept(self) -> tuple[str, ...]:
        """In words what runs that this program did not begin: 'a train (byte 0x55)', 'a responder on byte 0x55'."""
        ...

    def pledge(self, keep: bool) -> None:
        """Sets what happens to what runs when this program dies: it stops soon, or goes on with
        `keep`, or beside what was kept."""
        ...

    def stay_in_touch(self) -> None:
        """From now on a thread sees to it that a program that computes or sleeps does not count as dead."""
        ...

    # The end of a job

    def stop_all(self) -> Stopped:
        """Ends all that starts by itself, no matter which program started it, and waits until the line is idle."""
        ...

    def release(self) -> None:
        """Ends what this program runs, and nothing else, and records nothing more."""
        ...

    def leave(self) -> None:
        """What runs goes on without this program; nothing more is recorded."""
        ...

    def close(self) -> None:
        """Lets go of the board."""
        ...
