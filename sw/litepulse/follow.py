# SPDX-License-Identifier: BSD-2-Clause
"""Drives a device through one job (a train, a capture, timed launches, a responder) and hands out what happens."""

import math
import signal
import threading
import time
from dataclasses import dataclass
from fractions import Fraction

from litepulse.errors import BadInput, LitePulseError, Refused, TransportError
from litepulse.layout import CONFIG, TRIGGER, pack, regs
from litepulse.line import Launch, Profile
from litepulse.measurement import IdealTrain, TrainRecord, period_from_words
from litepulse.streams import Lost, edges
from litepulse.units import Period

POLL_SECONDS = 0.02
SLOW_POLL_SECONDS = 0.05
STANDSTILL_SECONDS = 10.0
RECEIVE_PROFILE = 0  # what the receiver uses; the tty's, where there is one
LAUNCH_PROFILE = 1
CLEAN_UP = ("tx_train", "tx_queue", "tx_responder", "edge", "refused_queue", "refused_train", "missed")


class Interrupt:
    """Ctrl-C and SIGTERM as a flag that is asked, so that nothing is left half done; a second one ends at once."""

    def __init__(self):
        self._event = threading.Event()
        self.signal = None
        self._before = {}

    def __enter__(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._before[number] = signal.signal(number, self._caught)
        return self

    def __exit__(self, *_):
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _caught(self, number, _frame):
        if self.signal is not None:
            raise KeyboardInterrupt
        self.signal = number
        self._event.set()

    def __bool__(self):
        return self._event.is_set()

    def wait(self, seconds):
        """Sleeps, but not past an interrupt."""
        self._event.wait(seconds)


class Poller:
    """Polls status and both streams; notices a core whose clock stands still."""

    def __init__(self, device):
        self.device = device
        self._moved = time.monotonic()
        self._tick = -1

    def pause(self, interrupt, busy, seconds=None):
        """Between two polls: not at all while much happens or when only polling makes simulated time pass."""
        if not busy and self.device.pause:
            interrupt.wait(POLL_SECONDS if seconds is None else seconds)

    @property
    def tick(self):
        """The device's tick at the last poll."""
        return self.device.events.tick

    def poll(self):
        """(Status, events, received): what happened since the last poll."""
        status = self.device.read_status()
        events = self.device.events.drain()
        received = self.device.received.drain()
        now = time.monotonic()
        if self.tick != self._tick:
            self._tick, self._moved = self.tick, now
        elif now - self._moved > STANDSTILL_SECONDS:
            raise TransportError(f"{self.device.name}: the core's clock stands still")
        return status, events, received

    def wait_tick(self, tick, interrupt=None):
        """Until the device's time has passed `tick`; collects what comes meanwhile."""
        found = []
        while self.tick < tick and not interrupt:
            if self.device.pause:
                time.sleep(POLL_SECONDS)
            found.append(self.poll())
        return found


@dataclass(frozen=True)
class Row:
    """One launched pulse, as it becomes known."""

    n: int
    tick: int
    error: int
    interval: int | None


@dataclass(frozen=True)
class TrainPlan:
    """A train that fits the device: everything is checked before anything is written."""

    launch: Launch
    profile: Profile
    period: Period
    count: int = 0
    start: int | None = None
    loopback: bool = False

    @classmethod
    def check(cls, timescale, minimum_cycles, launch, profile, period_ticks, count=0, start=None, loopback=False, what="rate"):
        """The plan, or BadInput."""
        period = timescale.period(period_ticks, minimum_cycles, what)
        check_overlap(launch, profile, period, timescale, what)
        return cls(launch, profile, period, count, start, loopback)


def check_overlap(launch, profile, period, timescale, what="rate"):
    """BadInput if one pulse is not over when the next begins. The shortest interval of a train is floor(period)."""
    length = launch.length(profile)
    if length > math.floor(period.ticks):
        highest = float(timescale.tick_hz / length)
        raise BadInput(
            f"{what}: the pulses would overlap: one takes {length} ticks, the period is only {math.floor(period.ticks)} "
            f"(at most {highest:.6g} Hz)"
        )


def start_refusal(reason):
    """Why a train did not start, for people."""
    return {
        "late": "its start tick is too close or has passed",
        "busy": "another train is running",
        "invalid": "profile, kind, width, period or count are not usable",
    }.get(reason, reason)


class TrainRun:
    """One train, from preparation to the last record."""

    def __init__(self, device, plan):
        self.device = device
        self.plan = plan
        self.record = TrainRecord(IdealTrain(plan.period, plan.start))
        self.poller = Poller(device)
        self.started = self.ended = self.stopped = False
        self.changes = []

    def prepare(self):
        """Sets profiles, masks and inputs, and empties the streams; nothing moves yet."""
        device, plan = self.device, self.plan
        status = device.read_status()
        if status.train_running:
            raise BadInput("a train is running already; 'litepulse stop' ends it, 'litepulse adjust' changes it")
        device.set_profile(RECEIVE_PROFILE, plan.profile)
        device.set_profile(LAUNCH_PROFILE, plan.profile)
        frames = plan.launch.kind == "frame"
        device.set_line(loopback=plan.loopback, receive=frames)
        line = 1 << device.line_channel
        active = 1 if plan.profile.format.invert else 0
        capture = {"rise" if active else "fall": line} if not frames else {}
        device.configure(("capture_edges", pack(CONFIG["capture_edges"], **capture)), ("filter", 0))
        device.set_event_mask("tx_train", "refused_train", "control", "train_done", *(() if frames else ("edge",)))
        device.events.discard()
        device.received.discard()
        device.pledge()

    def start(self):
        """Starts the train and waits until the core says that it did."""
        plan = self.plan
        try:
            self.device.start_train(plan.launch, plan.period, plan.count, plan.start)
        except Refused:
            pass  # the event says why
        deadline = time.monotonic() + 20
        rows = []
        while not self.started:
            rows += self.poll()
            if time.monotonic() > deadline:
                raise TransportError(f"{self.device.name}: the core does not answer the start of the train")
        return rows

    def poll(self):
        """The pulses that became known since the last poll."""
        self.status, events, received = self.poller.poll()
        return self._digest(events, received)

    def _digest(self, events, received):
        record, rows = self.record, []
        for event in events:
            if isinstance(event, Lost):
                continue
            if event.source == "train" and event.kind == "tx":
                error, interval = record.add_launch(event.data, event.tick)
                rows.append(Row(event.data, event.tick, error, interval))
            elif event.source == "train" and event.kind == "refused":
                record.add_refused(event.data, event.tick, event.reason)
            elif event.kind == "train_done":
                record.done, self.ended = event.data, True
            elif event.source == "train_change":
                self._change(event)
            elif event.kind == "edge":
                record.received += [e.tick for e in edges(event, self.device.samples_per_cycle) if e.channel == self.device.line_channel]
        for byte in received:
            if isinstance(byte, Lost):
                continue
            record.received.append(byte.tick)
            record.received_bytes.append(byte.data)
            if byte.framing_error or byte.parity_error or byte.data != self.plan.launch.data:
                record.bad_frames += 1
        record.events_lost, record.bytes_lost = self.device.events.lost, self.device.received.lost
        return rows

    def _change(self, event):
        if event.kind == "refused":
            if not self.started:
                raise Refused(f"the core refused the train: {start_refusal(event.reason)}")
        elif event.stop:
            self.record.done, self.stopped, self.ended = event.data, True, True
        elif not self.started:
            self.started = True
        else:  # another process adjusted it: what it wrote can be read back
            words = self.device.config_words("train_period", "train_step")
            step = words["train_step"] - (1 << 32) if words["train_step"] >> 31 else words["train_step"]
            period = period_from_words(words)
            self.record.ideal.adjust(event.data, period, step)
            self.changes.append((event.data, period, step))

    def follow(self, interrupt):
        """Yields batches of Rows (also empty ones) until the train has ended or an interrupt came."""
        # Often enough for the event FIFO and for eyes, no oftener: each look costs the simulated SoC time.
        seconds = min(SLOW_POLL_SECONDS, float(32 * self.device.timescale.seconds(self.plan.period.ticks)))
        quiet = 0
        while not interrupt:
            rows = self.poll()
            yield rows
            # A train that runs no more although no record of it came (it was lost) is looked at twice before that is believed.
            quiet = 0 if rows or self.status.train_running else quiet + 1
            if self.ended or quiet > 1:
                return
            self.poller.pause(interrupt, len(rows) >= 8 or quiet, seconds)

    def stop(self):
        """Stops the train and returns the pulses that still became known; the line is idle afterwards."""
        rows = []
        if not self.ended:
            self.device.stop_train()
        rows += self.poll()
        last = self.poller.tick + self.plan.launch.length(self.plan.profile) + math.ceil(self.device.timescale.tick_hz)
        while self.status.train_running or self.status.line_busy:
            if self.poller.tick > last:
                raise TransportError(f"{self.device.name}: the line does not come to rest")
            rows += self.poll()
        for _, events, received in self.poller.wait_tick(self.poller.tick + self._settle()):
            rows += self._digest(events, received)
        return rows + self.poll()

    def _settle(self):
        """Ticks in which a received frame has certainly been stored after the line fell idle."""
        return math.ceil(2 * self.plan.profile.bit_period.ticks) + 64 * self.device.samples_per_cycle

    def detach(self):
        """Leaves the train running; only what few records tell about its end is still collected."""
        self.device.set_event_mask("control", "train_done", "missed")
        self.device.pledge(keep=True)


def tidy(device):
    """After a job: no captures, no recording, nothing armed. Best effort: the device may be gone."""
    try:
        device.quiet()
        device.pledge(watched=False)
        device.configure(("capture_edges", 0))
        device.set_event_mask("control", "train_done", "missed")
    except LitePulseError:
        pass


# Capture ------------------------------------------------------------------------------------------------------------


class CaptureRun:
    """Streams edges of chosen channels, and bytes if a profile is given."""

    def __init__(self, device, channels, rise=True, fall=True, filtered=0, profile=None, loopback=False):
        self.device, self.channels, self.rise, self.fall = device, channels, rise, fall
        self.filtered, self.profile, self.loopback = filtered, profile, loopback
        self.poller = Poller(device)
        self.edge_count = self.byte_count = 0

    def prepare(self):
        """Enables the channels and empties the streams."""
        device = self.device
        mask = sum(1 << c for c in self.channels)
        if self.profile:
            device.set_profile(RECEIVE_PROFILE, self.profile)
        device.set_line(loopback=self.loopback, receive=self.profile is not None)
        device.set_event_mask("edge")
        device.configure(("filter", pack(CONFIG["filter"], enable=mask if self.filtered else 0, length=self.filtered)))
        device.events.discard()
        device.received.discard()
        device.configure(("capture_edges", pack(CONFIG["capture_edges"], rise=mask if self.rise else 0, fall=mask if self.fall else 0)))

    def poll(self):
        """New (tick, what, value) in the order of each stream: ('0', 1) for an edge, ('byte', RxByte), ('lost', Lost)."""
        _, events, received = self.poller.poll()
        found = []
        for event in events:
            if isinstance(event, Lost):
                found.append((event.tick, "lost", event))
            elif event.kind == "edge":
                for edge in edges(event, self.device.samples_per_cycle):
                    if edge.channel in self.channels:
                        found.append((edge.tick, self.device.channel_name(edge.channel), edge.level))
                        self.edge_count += 1
        for byte in received:
            if isinstance(byte, Lost):
                found.append((byte.tick, "lost", byte))
            else:
                found.append((byte.tick, "byte", byte))
                self.byte_count += 1
        return sorted(found, key=lambda item: item[0])

    def follow(self, interrupt):
        """Yields batches until interrupted."""
        while not interrupt:
            found = self.poll()
            yield found
            self.poller.pause(interrupt, len(found) >= 8)

    @property
    def lost(self):
        """Records the board had no room for."""
        return self.device.events.lost + self.device.received.lost


# Timed launches --------------------------------------------------------------------------------------------------------


class SendRun:
    """Feeds timed launches into the queue and follows what became of each."""

    def __init__(self, device, profile, launches, loopback=False):
        self.device, self.profile, self.loopback = device, profile, loopback
        self.pending = list(launches)  # [(tick, Launch)], ticks never decrease
        self.total = len(self.pending)
        self.fed = 0
        self.launched, self.refused, self.received = {}, {}, []
        self.poller = Poller(device)

    def prepare(self):
        """Sets profiles and masks, empties queue and streams."""
        device = self.device
        status = device.read_status()
        if status.train_running:
            raise BadInput("a train is running on this line; 'litepulse stop' ends it")
        device.set_profile(RECEIVE_PROFILE, self.profile)
        device.set_profile(LAUNCH_PROFILE, self.profile)
        device.set_line(loopback=self.loopback, receive=True)
        device.configure(("capture_edges", 0))
        device.set_event_mask("tx_queue", "refused_queue")
        device.configure(("command", pack(CONFIG["command"], flush_queue=1)))
        device.events.discard()
        device.received.discard()
        device.pledge()

    def now(self):
        """The device's current tick."""
        self._digest(*self.poller.poll()[1:])
        return self.poller.tick

    def soon(self, count):
        """A tick that the first launches reach in time over this bridge, judged by how long two looks take."""
        first = self.now()
        looks = self.now() - first
        bus = self.device.bus
        bridge_bits = 10 * 16 * min(count, self.device.launch_depth)
        seconds = Fraction(1, 100) + (Fraction(bridge_bits, bus.baud) if getattr(bus, "baud", None) else 0)
        return self.poller.tick + 8 * looks + math.ceil(self.device.timescale.ticks(seconds))

    def feed(self, status=None):
        """Fills the queue as far as there is room."""
        status = status or self.device.read_status()
        part = self.pending[: status.launch_free]
        if part:
            self.device.launch([(tick, (self.fed + i) & 0xFFFF, launch) for i, (tick, launch) in enumerate(part)])
            self.fed += len(part)
            del self.pending[: len(part)]

    def _index(self, tag):
        """The number of the launch from its 16-bit tag: the queue is far shorter than 65536."""
        number = (self.fed & ~0xFFFF) | tag
        return number if number < self.fed else number - 0x10000

    def _digest(self, events, received):
        found = []
        for event in events:
            if isinstance(event, Lost) or event.source != "queue":
                continue
            number = self._index(event.tag)
            if event.kind == "tx":
                self.launched[number] = event.tick
            else:
                self.refused[number] = (event.tick, event.reason)
            found.append((number, event))
        self.received += [b for b in received if not isinstance(b, Lost)]
        return found

    @property
    def lost(self):
        """Records the board had no room for."""
        return self.device.events.lost + self.device.received.lost

    def follow(self, interrupt):
        """Yields batches of (number, Event) until all is sent and the line is idle, or an interrupt came."""
        while not interrupt:
            status, events, received = self.poller.poll()
            found = self._digest(events, received)
            if self.pending:
                self.feed(status)
            yield found
            told = len(self.launched) + len(self.refused) + self.device.events.lost
            if not self.pending and told >= self.total and not status.line_busy:
                break
            self.poller.pause(interrupt, len(found) >= 8)
        else:
            self.device.configure(("command", pack(CONFIG["command"], flush_queue=1)))
        settle = math.ceil(2 * self.profile.bit_period.ticks) + 64 * self.device.samples_per_cycle
        for _, events, received in self.poller.wait_tick(self.poller.tick + settle):
            yield self._digest(events, received)


# Responder ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trigger:
    """What the responder answers: kind 'edge', 'byte' or 'break'."""

    kind: str
    channel: int = 0
    rise: bool = False
    fall: bool = False
    value: int = 0
    mask: int = 0xFF

    def __str__(self):
        if self.kind == "edge":
            both = "rising or falling" if self.rise and self.fall else "rising" if self.rise else "falling"
            return f"{both} edge on {self.channel}"
        if self.kind == "byte":
            return f"byte 0x{self.value:02x}" + (f" under mask 0x{self.mask:02x}" if self.mask != 0xFF else "")
        return "break"


class RespondRun:
    """Arms the responder and follows its answers."""

    def __init__(
        self, device, trigger, launch, profile, delay, holdoff=0, rearm=True, exclusive=False, ignore_own=True, loopback=False, echo=None
    ):
        self.device, self.trigger, self.launch, self.profile = device, trigger, launch, profile
        self.delay, self.holdoff, self.rearm = delay, holdoff, rearm
        self.exclusive, self.ignore_own, self.loopback = exclusive, ignore_own, loopback
        samples = device.samples_per_cycle
        self.echo = samples * (regs.ECHO_CYCLES_RESET if echo is None else math.ceil(Fraction(echo, samples)))  # as the core uses it
        self.poller = Poller(device)
        self.answers, self.missed = [], []  # [(number, tick, reference or None)], [(tick, reason)]
        self._references = []

    def prepare(self):
        """Sets profiles and masks and empties the streams."""
        device, trigger = self.device, self.trigger
        device.set_profile(RECEIVE_PROFILE, self.profile)
        device.set_profile(LAUNCH_PROFILE, self.profile)
        device.set_line(loopback=self.loopback, receive=trigger.kind != "edge")
        device.set_echo(self.echo)
        bit = 1 << trigger.channel
        edge = trigger.kind == "edge"
        device.configure(
            ("filter", 0),
            (
                "capture_edges",
                pack(CONFIG["capture_edges"], rise=bit if edge and trigger.rise else 0, fall=bit if edge and trigger.fall else 0),
            ),
        )
        device.set_event_mask("tx_responder", "missed", *(("edge",) if edge else ()))
        device.events.discard()
        device.received.discard()
        device.pledge()

    def arm(self):
        """Arms it."""
        t, lp = self.trigger, self.launch
        self.device.configure(
            (
                "resp_trigger",
                pack(
                    CONFIG["resp_trigger"],
                    trigger=TRIGGER[t.kind],
                    channel=t.channel,
                    rise=int(t.rise),
                    fall=int(t.fall),
                    rearm=int(self.rearm),
                    exclusive=int(self.exclusive),
                    ignore_own=int(self.ignore_own),
                ),
            ),
            ("resp_match", pack(CONFIG["resp_match"], value=t.value, mask=t.mask)),
            ("resp_delay", self.delay),
            ("resp_width", lp.width),
            ("resp_launch", lp.word()),
            ("resp_holdoff", self.holdoff),
            ("resp_arm", 1),
        )

    def _reference(self, tick):
        """The trigger that an answer at `tick` belongs to: the delay is fixed, so it is known exactly where to look."""
        wanted = tick - self.delay
        self._references = [r for r in self._references if r >= wanted]
        return wanted if wanted in self._references else None

    def poll(self):
        """New answers [(number, tick, reference)] and misses [(tick, reason)]."""
        self.status, events, received = self.poller.poll()
        for event in events:
            if not isinstance(event, Lost) and event.kind == "edge":
                self._references += [e.tick for e in edges(event, self.device.samples_per_cycle) if e.channel == self.trigger.channel]
        if self.trigger.kind == "byte":
            length = math.floor(self.profile.format.bits * self.profile.bit_period.ticks)
            self._references += [b.tick + length for b in received if not isinstance(b, Lost)]
        answers, missed = [], []
        for event in events:
            if isinstance(event, Lost) or event.source != "responder":
                continue
            if event.kind == "tx":
                answers.append((event.tag, event.tick, self._reference(event.tick)))
            elif event.kind == "responder_missed":
                missed.append((event.tick, event.reason))
        self.answers += answers
        self.missed += missed
        return answers, missed

    def follow(self, interrupt):
        """Yields (answers, missed) until interrupted or, without re-arm, the one trigger came."""
        while not interrupt:
            answers, missed = self.poll()
            yield answers, missed
            if not self.status.responder_armed and not answers and not missed:
                return
            self.poller.pause(interrupt, len(answers) >= 8)

    @property
    def lost(self):
        """Records the board had no room for."""
        return self.device.events.lost + self.device.received.lost
