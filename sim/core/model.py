# SPDX-License-Identifier: BSD-2-Clause
"""What docs/core.md says, as arithmetic on whole intervals.

Nothing here steps a clock: a launch is a list of edges, the line a list of granted intervals, a train a rational number, the
capture a comparison of waveforms. It shares no code and no formula with hdl/. All times are ticks (int) unless named otherwise;
waveforms are lists of (tick, level), the first entry being the level before anything happened.
"""

from bisect import bisect_right
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import floor
from typing import Any, NamedTuple

FRAME, BREAK, PULSE, WAIT = 0, 1, 2, 3
QUEUE, TRAIN, RESPONDER, TTY, CAPTURE, TRAIN_CHANGE, CONTROL = range(7)
TX, EDGE, REFUSED, OVERFLOW, APPLIED, TRAIN_DONE, MISSED, SNAPSHOT = range(1, 9)
LATE, BUSY, ORDER, INVALID = range(1, 5)
TIMED_OUT = 0x80  # flag of a wait that ended at its own tick
ALWAYS, NEVER = -(1 << 70), 1 << 70  # before every tick, behind every tick

# For one tick: responder, then queue, then train; a best-effort frame never competes, it has to stay away.
RANK = {RESPONDER: 0, QUEUE: 1, TRAIN: 2, TTY: 3}


# Waveforms -----------------------------------------------------------------------------------------------------


def normal(wave):
    """The same waveform without entries that change nothing."""
    out = []
    for tick, level in wave:
        if out and out[-1][0] == tick:
            out.pop()
        if not out or out[-1][1] != level:
            out.append((tick, level))
    return out


def same_list(what, seen, expected):
    """Two lists are equal; says where they are not."""
    if list(seen) != list(expected):
        at = next((i for i, (a, b) in enumerate(zip(seen, expected)) if a != b), min(len(seen), len(expected)))
        raise AssertionError(
            f"{what}: entry {at}: seen {seen[at : at + 3]} (of {len(seen)}), expected {expected[at : at + 3]} (of {len(expected)})"
        )


def level_at(wave, tick):
    """Level of a waveform at a tick."""
    return wave[bisect_right(wave, (tick, 2)) - 1][1]


def edges(wave):
    """[(tick, new level)] of a waveform."""
    return normal(wave)[1:]


def shifted(wave, ticks):
    """The waveform `ticks` later."""
    return [(wave[0][0], wave[0][1])] + [(t + ticks, v) for t, v in wave[1:]]


class Steps:
    """A setting: a value from each cycle on."""

    def __init__(self, value):
        self.steps = [(ALWAYS, value)]

    def set(self, cycle, value):
        """Another value from this cycle on. Cycles come in order."""
        assert cycle > self.steps[-1][0]
        self.steps.append((cycle, value))

    def at(self, cycle):
        """The value in a cycle."""
        return self.steps[bisect_right(self.steps, cycle, key=lambda step: step[0]) - 1][1]

    def later(self, cycles):
        """The same, `cycles` later."""
        other = Steps(self.steps[0][1])
        other.steps += [(cycle + cycles, value) for cycle, value in self.steps[1:]]
        return other

    def spans(self):
        """[(begin, end, value)], end None for the last."""
        ends = [cycle for cycle, _ in self.steps[1:]]
        return [(begin, end, value) for (begin, value), end in zip(self.steps, [*ends, None])]


def steps(setting):
    """A setting that never changes may be given as its value."""
    return setting if isinstance(setting, Steps) else Steps(setting)


def switched(waves, select, samples):
    """The waveform that a switch shows: waves[select] in each cycle."""
    out = []
    for begin, end, which in select.spans():
        begin, end = max(ALWAYS, begin * samples), None if end is None else end * samples
        out.append((begin, level_at(waves[which], begin)))
        out += [(t, v) for t, v in waves[which] if t > begin and (end is None or t < end)]
    return normal(out)


def union(spans):
    """The union of [a, b) as a waveform of level 1 on level 0."""
    wave, until = [(ALWAYS, 0)], None
    for a, b in sorted(spans):
        if b <= a:
            continue
        if until is None or a > until:
            if until is not None:
                wave.append((until, 0))
            wave.append((a, 1))
            until = b
        else:
            until = max(until, b)
    if until is not None:
        wave.append((until, 0))
    return wave


# Launches ------------------------------------------------------------------------------------------------------


class Profile(NamedTuple):
    """A line profile. `period` is the bit period in ticks, a multiple of 1/256."""

    period: Fraction
    data_bits: int = 8
    parity: str = "none"
    stop: Fraction = Fraction(1)
    invert: bool = False
    to_port: bool = False

    @property
    def idle(self):
        return 0 if self.invert else 1

    @property
    def frame_bits(self):
        """N of a frame, in bit times."""
        return 1 + self.data_bits + (self.parity != "none") + Fraction(self.stop)

    def parity_bit(self, data):
        """The parity bit that belongs to `data` (None without parity)."""
        ones = bin(data % (1 << self.data_bits)).count("1")
        return {"none": None, "odd": (ones + 1) % 2, "even": ones % 2, "mark": 1, "space": 0}[self.parity]


@dataclass(frozen=True)
class Launch:
    """One thing to put on the line. `profile` is None when the profile named is not valid."""

    kind: int
    profile: Profile | None
    data: int = 0
    width: int = 0
    index: int = 0  # which of the four profiles, as it comes back in the records

    @property
    def valid(self):
        return (
            self.profile is not None
            and self.kind in (FRAME, BREAK, PULSE)
            and not (self.kind == BREAK and self.data == 0)
            and not (self.kind == PULSE and self.width == 0)
        )

    @property
    def length(self):
        """end - start."""
        if self.kind == PULSE:
            return self.width
        bits = self.profile.frame_bits if self.kind == FRAME else self.data + Fraction(self.profile.stop)
        return floor(bits * Fraction(self.profile.period))

    @property
    def mark(self):
        """It goes to the marker port, not to the line."""
        return self.kind == FRAME and self.profile is not None and self.profile.to_port

    def levels(self):
        """[(offset, level)] from the start; after `length` the line is at rest."""
        active, idle = 1 - self.profile.idle, self.profile.idle
        if self.kind == PULSE:
            return [(0, active)]
        if self.kind == BREAK:
            return [(0, active), (floor(self.data * Fraction(self.profile.period)), idle)]
        bits = [0] + [self.data >> k & 1 for k in range(self.profile.data_bits)]
        if self.profile.parity != "none":
            bits.append(self.profile.parity_bit(self.data))
        bits.append(1)
        return normal([(floor(k * Fraction(self.profile.period)), bit ^ (1 - idle)) for k, bit in enumerate(bits)])

    def word(self):
        """{0000, kind, profile, data}: how records name it."""
        return self.kind << 10 | self.index << 8 | self.data


class Grant(NamedTuple):
    """A launch that has, or had, the line."""

    tick: int
    launch: Launch
    source: int
    name: int  # tag, pulse number, response number or place in the row of bytes

    @property
    def end(self):
        return self.tick + self.launch.length


def line_wave(grants, rest=1):
    """The pin from the launches that were granted. `rest` is a level or a waveform of rest levels."""
    rest = [(ALWAYS, rest)] if isinstance(rest, int) else rest
    grants, last = sorted(grants), None
    wave = [rest[0], *((t, v) for t, v in rest[1:] if grants and t < grants[0].tick)]
    for number, grant in enumerate(grants):
        assert last is None or grant.tick >= last, f"two launches at once: {grant}"
        last = grant.end
        wave += [(grant.tick + offset, level) for offset, level in grant.launch.levels()]
        following = grants[number + 1].tick if number + 1 < len(grants) else None
        if following != last:
            wave.append((last, level_at(rest, last)))
        wave += [(t, v) for t, v in rest[1:] if t >= last and (following is None or t < following)]
    if not grants:
        wave = list(rest)
    return normal(wave)


def driver_wave(grants, lead, lag, samples=1):
    """The `de` pin: `lead` before every launch until `lag` after its end. A launch refused `busy` adds nothing: the one
    that is in its way began before it and ends after it, so its own lead lies inside. `lead` may be a function of the grant. A lag that
    changes (in cycles of the pin): what
    counts is, for the rest of the cycle in which a launch ends, the lag of that cycle, from then on that of the next one."""
    lead_of = lead if callable(lead) else lambda grant: lead
    lag, spans = steps(lag), [(grant.tick - lead_of(grant), grant.end) for grant in grants]
    ends = sorted({grant.end for grant in grants})
    for end, following in zip(ends, [*ends[1:], None]):
        cycle = (end - 1) // samples
        rest = [(end, min(end + lag.at(cycle), (cycle + 1) * samples)), ((cycle + 1) * samples, end + lag.at(cycle + 1))]
        # The next launch's end begins a lag of its own.
        spans += [(a, b if following is None else min(b, following)) for a, b in rest]
    return union(spans)


def busy_spans(grants):
    """[start, end) in which the line is busy, overlaps and touching ones joined."""
    return [(a[0], b[0]) for a, b in zip(*(iter(union([(g.tick, g.end) for g in grants])[1:]),) * 2)]


def arbitrate(candidates, facts=()):
    """Which launches get the line. `candidates`: timed launches as Grants; `facts`: Grants known to
    have started (best effort).

    Returns (granted, refused busy), facts included. A fact that collides with what was granted before it is an error: a
    best-effort frame may only start on a free line.
    """
    granted, refused, free = [], [], ALWAYS
    for grant in sorted([*candidates, *facts], key=lambda g: (g.tick, RANK[g.source])):
        if grant.tick >= free:
            granted.append(grant)
            free = grant.end
        elif grant.source == TTY:
            raise AssertionError(f"a best-effort frame started at {grant.tick} on a line busy until {free}")
        else:
            refused.append(grant)
    return granted, refused


# Marker port ---------------------------------------------------------------------------------------------------


def arbitrate_marks(candidates, facts=(), samples=1):
    """(granted, refused busy) of marks: one in a cycle, of timed ones the first in the order of sources. `facts`: best-effort marks that
    are known to have left."""
    granted, refused = [], []
    for grant in sorted([*candidates, *facts], key=lambda g: (g.tick // samples, RANK[g.source])):
        if not granted or granted[-1].tick // samples != grant.tick // samples:
            granted.append(grant)
        elif grant.source == TTY:
            raise AssertionError(f"a best-effort mark at {grant.tick} in the cycle of another one")
        else:
            refused.append(grant)
    return granted, refused


def port_wave(marks, width, samples=1):
    """The marker port from the marks that were granted: each code from the cycle of its tick on, for `width` ticks in whole cycles, or
    until the next one. `width` 0: until the next one; it may be Steps, by the cycle of the mark."""
    wave, width = [(ALWAYS, 0)], steps(width)
    marks = sorted(marks)
    for mark, following in zip(marks, [*marks[1:], None]):
        begin = mark.tick // samples
        cycles = -(-width.at(begin) // samples)
        wave.append((begin * samples, mark.launch.data))
        if cycles and (following is None or begin + cycles <= following.tick // samples):
            wave.append(((begin + cycles) * samples, 0))
    return normal(wave)


# Queue ---------------------------------------------------------------------------------------------------------


@dataclass
class QueueEntry:
    """A launch as committed. `at`: the tick by which its commit had been made at the earliest."""

    tick: int
    launch: Launch
    tag: int
    at: int = ALWAYS
    late: bool = False  # decided by the test: it follows from when the entry reached the head
    fate: int | None = None


def queue_fates(entries):
    """Sets each entry's fate to INVALID, ORDER, LATE or None (a candidate), in the order in which the checks are made."""
    before = None
    for entry in entries:
        if not entry.launch.valid:
            entry.fate = INVALID
        elif before is not None and entry.tick < before:
            entry.fate = ORDER
        elif entry.late:
            entry.fate = LATE
        else:
            entry.fate = None
        before = entry.tick  # whatever became of it
    return [Grant(e.tick, e.launch, QUEUE, e.tag) for e in entries if e.fate is None]


# Sequences -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wait:
    """An entry of the queue that waits for an edge of a channel, at most until its tick; without a direction just until then."""

    channel: int
    rise: bool = True
    fall: bool = False
    stop: bool = False  # a timeout stops the queue until a flush, and so does a refusal
    exclusive: bool = False
    inputs: int = 4

    @property
    def valid(self):
        return self.channel <= self.inputs

    def word(self):
        """As records name it."""
        flags = (self.rise, self.fall, self.stop, self.exclusive)
        return WAIT << 10 | sum(int(flag) << 4 + bit for bit, flag in enumerate(flags)) | self.channel


class End(NamedTuple):
    """How a wait ended: the stamp of its edge, or its own tick."""

    tick: int
    timeout: bool


@dataclass
class SequenceEntry(QueueEntry):
    """An entry of the queue of a core with sequences. `place` and `end` follow from the entries before it."""

    relative: bool = False  # `tick` counts from the place of the entry before, or from the end of a wait
    listens: int | None = None  # of a wait: the first cycle whose edges count; None: any behind the entry before
    place: int = 0
    end: End | None = None


def run_sequence(entries, edges_of, samples, before=0):
    """Sets place and fate of each entry, and the end of each wait. `edges_of`: by channel [(stamp, level, tick at which it is shown)], as
    Filters.edges() gives them. Returns the launches that are candidates."""
    stopped = False
    for entry in entries:
        entry.place = (before + entry.tick if entry.relative else entry.tick) % (1 << 64)
        if stopped:
            entry.fate = ORDER
        elif not entry.launch.valid:
            entry.fate = INVALID
        elif entry.place < before:
            entry.fate = ORDER
        else:
            entry.fate = LATE if entry.late else None
        begins, before = before, entry.place
        if entry.fate is None and isinstance(entry.launch, Wait):
            wait, first = entry.launch, entry.listens * samples if entry.listens is not None else begins + 1
            stamps = (
                stamp
                for stamp, level, shown in edges_of[wait.channel]
                if (wait.rise if level else wait.fall) and (shown >= first if entry.listens is not None else stamp >= first)
            )
            edge = next(stamps, None)
            entry.end = End(edge, False) if edge is not None and edge <= entry.place else End(entry.place, True)
            before, stopped = entry.end.tick, entry.end.timeout and wait.stop
        elif isinstance(entry.launch, Wait):
            stopped = stopped or entry.launch.stop
    return [Grant(e.place, e.launch, QUEUE, e.tag) for e in entries if e.fate is None and not isinstance(e.launch, Wait)]


def sequence_outcomes(entries, granted):
    """[(tick, kind, flags, data)] of the records of the queue, in order; of what was refused the tick is None: it is when."""
    ticks = {grant.name: grant.tick for grant in granted if grant.source == QUEUE}
    out = []
    for entry in entries:
        data = entry.tag << 16 | entry.launch.word()
        if entry.fate is not None:
            out.append((None, REFUSED, entry.fate, data))
        elif isinstance(entry.launch, Wait):
            out.append((entry.end.tick, TX, TIMED_OUT if entry.end.timeout else 0, data))
        elif entry.tag in ticks:
            out.append((entry.place, TX, 0, data))
        else:
            out.append((entry.place, REFUSED, BUSY, data))
    return out


# Train ---------------------------------------------------------------------------------------------------------


@dataclass
class Adjust:
    """A change that took effect: pulse `n` is the first at its new place."""

    n: int
    whole: int
    num: int
    den: int  # the true denominator, 1 to 2^32
    step: int = 0
    width: int | None = None  # of pulse n and those behind it; None: as before

    @property
    def period(self):
        return self.whole + Fraction(self.num, self.den)


class Train:
    """Pulse k at floor(A_k)."""

    def __init__(self, start, whole, num=0, den=1, count=0, launch=None):
        self.places = [Fraction(start)]
        self.first = Adjust(0, whole, num, den)
        self.changes = [self.first]
        self.count = count
        self.launch: Any = launch

    def adjust(self, change):
        """A change takes effect. Changes come in the order of their n."""
        assert change.n >= max(1, self.changes[-1].n)
        del self.places[change.n :]
        while len(self.places) < change.n:
            self.place(len(self.places))
        self.changes.append(change)

    def place(self, k):
        """A_k, exactly."""
        while len(self.places) <= k:
            n, before = len(self.places), self.places[-1]
            old = now = self.changes[0]
            for change in self.changes[1:]:
                if change.n <= n:
                    old, now = now, change
            step = 0
            if now.n == n and now is not self.first:
                step = now.step
                if now.den != old.den:
                    before = Fraction(floor(before))
            self.places.append(before + now.period + step)
        return self.places[k]

    def tick(self, k):
        return floor(self.place(k))

    def launch_of(self, k):
        """What pulse k is: as at the start, with the width of the last change up to it that names one."""
        widths = [change.width for change in self.changes if change.n <= k and change.width is not None]
        return replace(self.launch, width=widths[-1]) if widths else self.launch

    def pulses(self, until=None, stop=None):
        """Grants of the pulses before tick `until`, at most `count`, none with a number from `stop` on."""
        out, k = [], 0
        while not (self.count and k >= self.count) and not (stop is not None and k >= stop):
            if until is not None and self.tick(k) >= until:
                break
            out.append(Grant(self.tick(k), self.launch_of(k), TRAIN, k))
            k += 1
        return out


# Capture -------------------------------------------------------------------------------------------------------


def accepted(wave, parts):
    """[(tick, level, part)]: edges behind the glitch filter, each with the first sample of its
    level: it counts if `length` samples show it. `parts`: [(begin, end, length)], the samples of
    [begin, end) count by one length, and not together with those of another part."""
    wave, level, out = normal(wave), wave[0][1], []
    for number, (begin, end, length) in enumerate(parts):
        places = [begin, *(t for t, _ in wave[1:] if begin < t < end), end]
        for tick, until in zip(places, places[1:]):
            if level_at(wave, tick) != level and until - tick >= length:
                level = level_at(wave, tick)
                out.append((tick, level, number))
    return out


def filtered(wave, length):
    """The waveform behind a glitch filter that never changes."""
    return [(ALWAYS, wave[0][1]), *((tick, level) for tick, level, _ in accepted(wave, [(ALWAYS, NEVER, max(1, length))]))]


def filter_delay(length, samples):
    """Cycles by which the glitch filter holds a channel back."""
    return -(-(max(1, length) - 1) // samples)


class Filters:
    """The word FILTER over time. A channel is `shown` later than its samples by the delay of its filter: of this time are the cycles in
    which settings act."""

    def __init__(self, samples, mask=0, length=1):
        self.samples = samples
        self.words = Steps((mask, length))
        # With several samples per cycle a channel that begins again at T ignores the three cycles
        # before, and of the groups as they are from T on is what is shown from two cycles before.
        self.blind, self.early = (0, 0) if samples == 1 else (3, 2)

    def set(self, begin, mask, length):
        """Another word: the cycle T from which samples count by it."""
        self.words.set(begin, (mask, length))

    def groups(self):
        """Steps, of shown cycles: the word."""
        return self.words.later(-self.early)

    def delays(self, channel):
        """Steps, of shown cycles: the delay of a channel, in cycles."""
        out, groups = Steps(0), self.groups()
        out.steps = [(cycle, filter_delay(length, self.samples) if mask >> channel & 1 else 0) for cycle, (mask, length) in groups.steps]
        return out

    def edges(self, channel, wave):
        """[(tick of the first sample, level, tick at which it is shown)]."""
        parts, lengths = [], []
        for begin, (mask, length) in self.words.steps:
            mine = (mask >> channel & 1, max(1, length) if mask >> channel & 1 else 1)
            if lengths and lengths[-1] == mine:
                continue
            if parts:
                parts[-1][1] = (begin - self.blind) * self.samples
            parts.append([begin * self.samples if parts else ALWAYS, NEVER, mine[1]])
            lengths.append(mine)
        return [(t, level, t + filter_delay(parts[number][2], self.samples) * self.samples) for t, level, number in accepted(wave, parts)]

    def shown(self, channel, wave):
        """The waveform as it is shown."""
        return normal([(ALWAYS, wave[0][1]), *((shown, level) for _, level, shown in self.edges(channel, wave))])


def capture(waves, samples, rise, fall, filters=None, until=None, recorded=1):
    """EDGE records [(tick, flags, data)] from each channel's sampled waveform (tick: first sample with the level). The enables, and whether
    edges are recorded, may change: what counts is their value in the cycle in which the edge is shown. `filters`: without, none is."""
    filters = filters or Filters(samples)
    rise, fall, recorded, groups = steps(rise), steps(fall), steps(recorded), filters.groups()
    changed = {}
    for channel, wave in enumerate(waves):
        for _, level, shown in filters.edges(channel, wave):
            cycle, sample = divmod(shown, samples)
            if (rise if level else fall).at(cycle) >> channel & 1 and recorded.at(cycle):
                key = (cycle, groups.at(cycle)[0] >> channel & 1)
                changed[key] = changed.get(key, 0) | 1 << (channel * samples + sample)
    records, levels = [], [filters.shown(channel, wave) for channel, wave in enumerate(waves)]
    for (cycle, group), changes in changed.items():
        mask, length = groups.at(cycle)
        bits = 0
        for channel, wave in enumerate(levels):
            for sample in range(samples):
                bits |= (mask >> channel & 1 == group and level_at(wave, cycle * samples + sample)) << (channel * samples + sample)
        tick = (cycle - (filter_delay(length, samples) if group else 0)) * samples
        records.append((tick, 0x80 if group else 0, bits << 16 | changes))
    # Of one cycle the unfiltered record comes first; a filtered one is known later.
    return sorted((r for r in records if until is None or r[0] < until), key=lambda r: (r[0], r[1]))


# Echo ----------------------------------------------------------------------------------------------------------


class Echo:
    """Which cycles may show our own transmission. `tail` and `delay` (by which the filter holds the line back) in cycles.

    Both may be Steps, and `changes` then are the cycles in which one of their words was answered; all these as the line is shown. In the
    cycles of `moves` the line changes without a launch: they count like one that begins and ends there.
    """

    CHANGED = 2049  # cycles for which a window stays open behind a word that comes in it, and the filter's delay

    def __init__(self, grants, samples, tail=16, delay=0, changes=(), moves=()):
        self.samples, self.delay = samples, delay
        tail, delays = steps(tail), steps(delay)
        # With several samples per cycle all comes a cycle later, and a word acts in three cycles.
        later, slow = (0, 0) if samples == 1 else (1, 2)
        spans = []
        launches = [(a // samples - later, (b - 1) // samples - later) for a, b in busy_spans(grants)]
        for first, last in sorted([*launches, *((cycle, cycle) for cycle in moves)]):
            if spans and first <= spans[-1][1] + 1:
                spans[-1][1] = max(spans[-1][1], last)
            else:
                spans.append([first, last])
        self.windows = []  # cycles in which the line as shown counts as our own, first and last
        for (first, last), following in zip(spans, [*spans[1:], None]):
            close = last + 2 + tail.at(last) + delays.at(last + 1)
            for cycle in changes:
                if cycle + slow >= last and cycle <= close and (following is None or cycle < following[0]):
                    close = cycle + slow + self.CHANGED + delays.at(cycle + slow + 2)
            self.windows.append((first, close if following is None else min(close, following[0])))

    def own(self, first, last):
        """Whether one of these cycles counts as our own."""
        at = bisect_right(self.windows, last, key=lambda window: window[0])
        return int(at > 0 and self.windows[at - 1][1] >= first)

    # With a filter that never changes; cycles and ticks are those of stamps.

    def edge(self, tick):
        """Whether an edge with this stamp counts as our own."""
        shown = tick // self.samples + self.delay
        return self.own(shown, shown - 1)

    def byte(self, start, centre):
        """Whether a byte does, by its stamp and the cycle of the centre of its first stop bit."""
        return self.own(start // self.samples + self.delay, centre + self.delay)

    def break_end(self, start, end):
        """Whether a break does, by its first and its last edge."""
        return self.own(start // self.samples + self.delay, end // self.samples + self.delay)


# Receiver ------------------------------------------------------------------------------------------------------


class Received(NamedTuple):
    """A received byte."""

    tick: int
    data: int
    parity_error: int
    framing_error: int
    is_break: int
    noise: int
    own: int = 0
    stored: int = 0  # tick of the centre of the stop bit

    @property
    def key(self):
        """All that a record reports."""
        return self[:7]


def receive(wave, profile, samples, echo=None, until=None, since=None):
    """The bytes in a conditioned line waveform: those whose start edge lies in cycle `since` or later, the centre of their first stop bit
    in cycle `until` or before. Centre k is floor((k + 1/2)*P/samples) cycles behind the start edge. `echo` knows what may be our own;
    without it nothing is."""
    wave = normal([(t, v ^ int(profile.invert)) for t, v in wave])
    period, out, number = Fraction(profile.period), [], 1

    def vote(start, k):
        """(level, unanimous) of bit k."""
        three = [level_at(wave, start + (cycles_to(k) + d) * samples) for d in (-1, 0, 1)]
        return int(sum(three) >= 2), len(set(three)) == 1

    def cycles_to(k):
        return floor((k + Fraction(1, 2)) * period / samples)

    while number < len(wave):
        start, level = wave[number]
        if level == 1 or (since is not None and start // samples < since):
            number += 1
            continue
        first, calm = vote(start, 0)
        if first == 1:
            # A false start; what follows its centre may start a frame.
            number = next((i for i in range(number + 1, len(wave)) if wave[i][0] > start + cycles_to(0) * samples), len(wave))
            continue
        votes = [vote(start, k) for k in range(1, 1 + profile.data_bits + (profile.parity != "none") + 1)]
        bits = [v[0] for v in votes]
        noise = int(not (calm and all(v[1] for v in votes)))
        stop = bits[-1]
        stored = start + cycles_to(len(bits)) * samples
        if until is not None and stored // samples > until:
            break
        data = sum(1 << i for i, b in enumerate(bits[: profile.data_bits]) if b)
        parity_error = 0
        if profile.parity != "none":
            parity_error = int(bits[profile.data_bits] != profile.parity_bit(data))
            data |= bits[profile.data_bits] << 8
        is_break = int(not any(bits))
        own = echo.byte(start, stored // samples) if echo else 0
        out.append(Received(start, data, parity_error, 1 - stop, is_break, noise, own, stored))
        after = stored
        if stop == 0 and level_at(wave, stored) == 0:
            # Wait for mark.
            after = next((t for t, v in wave if t > stored and v == 1), None)
            if after is None:
                break
        number = next((i for i in range(number + 1, len(wave)) if wave[i][0] > after), len(wave))
    return out


# Streams -------------------------------------------------------------------------------------------------------


@dataclass
class EventFifo:
    """What the event stream holds when records (tick, is_edge, payload) happen and slots are freed, in a known order.

    A count that has come to `lost_stop` stays there (the core's may be a little above), and its record is ("at_least", ...)."""

    depth: int
    reserve: int
    lost_stop: int = 2**32 - 2**16
    stored: list = field(default_factory=list)
    used: int = 0
    seq: int = 0
    lost: int = 0
    first_lost: tuple | None = None

    def _store(self, record):
        self.stored.append(record)
        self.used += 1

    def _tell(self):
        assert self.first_lost is not None
        tick, seq = self.first_lost
        self._store(("at_least" if self.lost >= self.lost_stop else "overflow", tick, seq, self.lost))
        self.lost, self.first_lost = 0, None

    def _fits(self, is_edge):
        room = self.depth - self.used
        return room > self.reserve if is_edge else room >= (2 if self.lost else 1)

    def happen(self, tick, is_edge, payload):
        """An enabled event happens."""
        if self.lost >= self.lost_stop and not self._fits(is_edge):
            return  # neither counted nor numbered
        seq, self.seq = self.seq, self.seq + 1 & 0xFFFF
        fits = self._fits(is_edge)
        if fits and self.lost:
            self._tell()
            fits = not is_edge or self.depth - self.used > self.reserve
        if fits:
            self._store(("event", tick, seq, payload))
            return
        if not self.lost:
            self.first_lost = (tick, seq)
        self.lost += 1

    def free(self, count):
        """The reader frees `count` records."""
        self.used -= count
        if self.lost and self.depth - self.used > self.reserve:
            self._tell()


# Best effort ---------------------------------------------------------------------------------------------------


def gaps(grants, until):
    """Free intervals [a, b) of the line before `until`."""
    out, at = [], None
    for a, b in busy_spans(grants):
        if at is not None and a > at:
            out.append((at, a))
        at = b
    if at is not None and until > at:
        out.append((at, until))
    return out


# Responder -----------------------------------------------------------------------------------------------------


@dataclass
class Responder:
    """One entry. `answers` turns triggers into candidate launches."""

    launch: Launch
    delay: int
    rearm: bool = True
    holdoff: int = 0  # and the period of a burst
    pulses: int = 1

    def answers(self, triggers, samples, rest, missed=()):
        """[Grant] for the triggers that are not ignored: (reference tick, cycle in which it is recognised), ascending; a tick alone is
        recognised in its cycle. Behind the last launch those count that are recognised in a cycle that begins at the end of the holdoff or
        later, and not within `rest` cycles; behind a miss, whose ticks are in `missed`, there is no holdoff. Launches of
        bursts are numbered within their burst."""
        out, listens = [], ALWAYS
        for trigger in triggers:
            reference, cycle = trigger if isinstance(trigger, tuple) else (trigger, trigger // samples)
            if cycle < listens:
                continue
            ticks = [reference + self.delay + place * self.holdoff for place in range(self.pulses)]
            out += [Grant(tick, self.launch, RESPONDER, place if self.pulses > 1 else len(out)) for place, tick in enumerate(ticks)]
            tick = ticks[-1]
            listens = max(tick // samples + rest, 0 if tick in missed else -(-(tick + self.holdoff) // samples))
            if not self.rearm:
                break
        return out
