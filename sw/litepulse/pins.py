# SPDX-License-Identifier: BSD-2-Clause
"""What a capture finds, as levels of pins over time, for the tools that show them: GTKWave, PulseView, sigrok.

Pins puts edges, bytes and losses in the order of time and gives them to files: VcdFile, SrFile (session.py), SampleStream.
"""

import contextlib
import heapq
import itertools
import os
from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol, cast

from litepulse.errors import BadInput, LitePulseError, shown
from litepulse.plan import Time
from litepulse.streams import Lost, RxByte
from litepulse.units import Timescale, Whole, exact, si, to_duration, within

Level = int | None  # None: not known
QUIET_SECONDS = 1  # of the board: a file in which nothing happens says so no more often
PIECE = 1 << 16  # bytes of samples that are made at a time
FS = 10**15  # femtoseconds, the smallest unit of a VCD, in a second
_UNIT_NAMES = ("fs", "ps", "ns", "us", "ms", "s")


class Output(Protocol):
    """What takes bytes: a binary file that is open, standard output."""

    def write(self, data: bytes, /) -> Any:
        """Takes them."""
        ...

    def flush(self) -> Any:
        """Passes them on."""
        ...


class PinFile:
    """A file of pins, as a capture writes it. Pass it to Board.capture(to=...), which opens and closes it; it serves one capture.

    path: a file, or something with write() and flush(), which stays open
    """

    kind = "pins"  # of file, for messages
    rereads = False  # whether it has to be a file on a disk

    def __init__(self, path: str | Path | Output) -> None:
        if not isinstance(path, str | os.PathLike) and (self.rereads or not hasattr(path, "write")):
            raise BadInput(f"path: {shown(path)} is not a path")
        self._path, self._output, self._handle = path, path, -1
        self.name: str = str(path) if isinstance(path, str | os.PathLike) else "the output"
        self.first_tick: int | None = None  # of the file, once it has begun
        self._broken = self._used = False

    # What a kind of file does

    def check(self, scale: Timescale, names: Sequence[str]) -> None:
        """BadInput if the format cannot hold such pins."""

    def begin(self, tick: int, levels: Sequence[Level], with_bytes: bool) -> None:
        """The levels at the first tick."""
        raise NotImplementedError

    def change(self, tick: int, pin: int, level: Level) -> None:
        """From this tick on a pin has a level. Ticks never decrease."""
        raise NotImplementedError

    def note(self, tick: int, text: str) -> None:
        """What the receiver shows from this tick on: a byte, '-' for nothing."""

    def remark(self, tick: int, text: str) -> None:
        """For people, where the format has a place."""

    def lost(self, tick: int, loss: Lost) -> None:
        """Records are missing from here on; the levels, too, are then not known."""

    def until(self, tick: int) -> None:
        """Nothing more will come that is before this tick."""
        raise NotImplementedError

    def end(self, tick: int) -> None:
        """Writes what is left, up to this tick and with it."""
        self.until(tick)

    # What Pins does

    def open(self, scale: Timescale, names: Sequence[str]) -> None:
        """BadInput if it cannot be written, or if another program writes it. An older file stays until there is something to write."""
        if self._used:
            raise BadInput(f"to: {self.name} has been written by a capture already: make another object")
        self.check(scale, names)
        self._scale, self._names = scale, tuple(names)
        self.reopen()
        self._used = True

    def reopen(self) -> None:
        """The file that is named now."""
        if isinstance(self._path, str | os.PathLike):
            from litepulse.backends.sim import lock_for_writing

            self._handle = lock_for_writing(self._path, self.kind)
            if self.rereads and not os.path.isfile(self._path):
                self.close()
                raise BadInput(f"{self.kind}: {self.name} is no ordinary file")

    def close(self) -> None:
        """Lets go of the file. May be called again."""
        if self._handle >= 0:
            handle, self._handle = self._handle, -1
            os.close(handle)
            if self.first_tick is None:  # it was made to hold the lock
                with contextlib.suppress(OSError):
                    if os.path.isfile(self.name) and os.path.getsize(self.name) == 0:
                        os.unlink(self.name)

    def put(self, data: bytes) -> None:
        """Writes at the end of the file, at once. LitePulseError if that cannot be; nothing more is written then."""
        if self._broken:
            return
        try:
            if self._handle >= 0:
                view = memoryview(data)
                while view:
                    view = view[os.write(self._handle, view) :]
            elif not isinstance(self._path, str | os.PathLike):
                self._path.write(data)
                self._path.flush()
        except OSError as error:
            self._broken = True
            raise LitePulseError(f"{self.name}: cannot write it ({error.strerror})") from None
        except BaseException:
            self._broken = True
            raise

    def cut(self, size: int) -> None:
        """Nothing is behind this place of the file."""
        if self._handle >= 0:
            with contextlib.suppress(OSError):  # a terminal, a pipe
                os.ftruncate(self._handle, size)


def unit_of(tick_hz: Fraction, unit: Fraction | None = None) -> int:
    """The unit of a VCD in fs: the largest that has a whole number to a tick, else the largest that is at most half a tick. BadInput."""
    powers = [10**n for n in range(17, -1, -1)]
    tick = FS / tick_hz
    usable = [fs for fs in powers if (tick / fs).denominator == 1] or [fs for fs in powers if 2 * fs <= tick]
    if unit is None:
        if not usable:
            raise BadInput(f"unit: the smallest of a VCD is 1 fs, too coarse for ticks of {si(1 / tick_hz, 's')}")
        return usable[0]
    fs = unit * FS
    if fs not in powers:
        raise BadInput(f"unit: {si(unit, 's')} is not 1, 10 or 100 of fs, ps, ns, us, ms or s")
    if (tick / fs).denominator != 1 and 2 * fs > tick:
        raise BadInput(f"unit: {_name(int(fs))} is too coarse for ticks of {si(1 / tick_hz, 's')}")
    return int(fs)


def _name(fs: int) -> str:
    """'10 ns'."""
    digits = len(str(fs)) - 1
    return f"{10 ** (digits % 3)} {_UNIT_NAMES[digits // 3]}"


class VcdFile(PinFile):
    """A VCD, for GTKWave and all that reads one. Times are those of the board's ticks, rounded to the unit, each by itself.

    unit: of its times: "1ps"; unless given, the largest from which the tick can be calculated
    """

    kind = "vcd"

    def __init__(self, path: str | Path | Output, unit: Time | None = None) -> None:
        super().__init__(path)
        self._unit_given = None
        if unit is not None:
            duration = to_duration(unit, "unit")
            if duration.seconds is None or duration.ticks is not None:
                raise BadInput("unit: a VCD has no ticks: give a time, such as 1ns")
            self._unit_given = duration.seconds
        self._lines: list[str] = []
        self._time = -1

    def check(self, scale: Timescale, names: Sequence[str]) -> None:
        self._fs = unit_of(scale.tick_hz, self._unit_given)
        exactly = FS / scale.tick_hz / self._fs  # units in a tick
        self._times, self._divisor = exactly.numerator, exactly.denominator
        self._quiet = int(scale.tick_hz * QUIET_SECONDS)
        self._next = 0

    def _at(self, tick: int) -> None:
        """The time of what follows: to the nearest unit, from the tick itself, so that nothing adds up."""
        unit_time = (2 * tick * self._times + self._divisor) // (2 * self._divisor)
        if unit_time != self._time:
            self._time = unit_time
            self._lines.append(f"#{unit_time}")

    def _id(self, pin: int) -> str:
        return f"p{pin}"

    def begin(self, tick: int, levels: Sequence[Level], with_bytes: bool) -> None:
        self.cut(0)
        hz = self._scale.tick_hz
        rounded = "" if self._divisor == 1 else f", rounded to {_name(self._fs)}: round(time * {exact(hz)}) is the tick"
        self._lines += ["$version LitePulse $end", f"$comment times are ticks of {exact(1 / hz)} s{rounded} $end"]
        self._lines += [f"$timescale {_name(self._fs)} $end", "$scope module litepulse $end"]
        self._lines += [f"$var wire 1 {self._id(pin)} {name} $end" for pin, name in enumerate(self._names)]
        # sigrok skips values that are texts, but would take a code that begins with b, r or s for another value
        self._lines += ["$var string 1 t bytes $end"] if with_bytes else []
        self._lines += ["$var event 1 l lost $end", "$upscope $end", "$enddefinitions $end"]
        self._at(tick)
        self._lines.append("$dumpvars")
        for pin, level in enumerate(levels):
            self.change(tick, pin, level)
        self._lines += ["s- t", "$end"] if with_bytes else ["$end"]
        self.until(tick)

    def change(self, tick: int, pin: int, level: Level) -> None:
        self._at(tick)
        self._lines.append(f"{'x' if level is None else level}{self._id(pin)}")

    def note(self, tick: int, text: str) -> None:
        self._at(tick)
        self._lines.append(f"s{text} t")

    def remark(self, tick: int, text: str) -> None:
        self._at(tick)
        self._lines.append(f"$comment {text} $end")

    def lost(self, tick: int, loss: Lost) -> None:
        self._at(tick)
        self._lines += [f"$comment LOST {loss} $end", "1l"]

    def until(self, tick: int) -> None:
        if tick >= self._next:
            self._at(tick)
        if self._lines:
            self._next = tick + self._quiet
            lines, self._lines = self._lines, []
            self.put(("\n".join(lines) + "\n").encode())

    def end(self, tick: int) -> None:
        self._next = 0
        self.until(tick)


class SampleStream(PinFile):
    """Samples at a given rate, as sigrok-cli -I binary reads them while they come: byte after byte, pin 0 in the lowest bit.

    rate: samples a second, whole. What is not known is as it was before, at the beginning 0.
    """

    kind = "binary"

    def __init__(self, path: str | Path | Output, rate: Whole) -> None:
        super().__init__(path)
        self.rate = within(rate, "rate", 1, 10**12)
        self._state = self._count = 0

    def check(self, scale: Timescale, names: Sequence[str]) -> None:
        if self.rate > scale.tick_hz:
            raise BadInput(f"rate: {self.rate} samples a second are more than ticks, of which there are {exact(scale.tick_hz)}")
        self._size = (len(names) + 7) // 8
        self._times, self._divisor = (Fraction(self.rate) / scale.tick_hz).as_integer_ratio()

    def begin(self, tick: int, levels: Sequence[Level], with_bytes: bool) -> None:
        self.cut(0)
        self._begun = tick
        self._state = sum((level or 0) << pin for pin, level in enumerate(levels))

    def change(self, tick: int, pin: int, level: Level) -> None:
        self.until(tick)
        if level is not None:
            self._state = self._state & ~(1 << pin) | level << pin

    def until(self, tick: int) -> None:
        """Sample k shows the pins k / rate after the first tick; those before `tick` are complete."""
        count = -((self._begun - tick) * self._times // self._divisor)
        sample, most = self._state.to_bytes(self._size, "little"), PIECE // self._size
        while self._count < count:
            piece = min(count - self._count, most)
            self.put(sample * piece)
            self._count += piece


def files_of(to: "PinFile | Iterable[PinFile]") -> tuple[PinFile, ...]:
    """Those that a capture writes. BadInput."""
    given = (to,) if isinstance(to, PinFile) else to
    try:
        files = tuple(given)
    except TypeError:
        raise BadInput(f"to: {shown(to)} is not a file of pins: VcdFile(...), SrFile(...), SampleStream(...)") from None
    for file in files:
        if not isinstance(cast(object, file), PinFile):
            raise BadInput(f"to: {shown(file)} is not a file of pins: VcdFile(...), SrFile(...), SampleStream(...)")
    return files


class Pins:
    """What a capture finds, look by look, in the order of time, to its files.

    A byte is known when it is over, so what is later than its start edge waits for that: `hold` ticks.
    """

    def __init__(self, files: Sequence[PinFile], scale: Timescale, names: Sequence[str], with_bytes: bool, hold: int, frame: int) -> None:
        """frame: ticks of a byte."""
        self.files, self._scale, self._names = files, scale, names
        self._with_bytes, self._hold, self._frame = with_bytes, hold, frame
        self._waiting: list[tuple[int, int, Any, Any]] = []  # a heap: (tick, order, pin or what, value)
        self._order = itertools.count()
        self._levels: list[Level] = [None] * len(names)
        self._begun: int | None = None
        self._clean: int | None = None  # all that happened until this tick is known, and nothing was missing at the look before
        self._last = 0  # the last tick of a record
        self._known = 0  # until here
        self._shown = 0  # bytes that are shown now
        self._closed = False

    def open(self) -> None:
        """BadInput if one of the files cannot be written; then none is open."""
        try:
            for file in self.files:
                file.open(self._scale, self._names)
        except BaseException:
            self._let_go()
            raise

    def start(self, tick: int) -> None:
        """Edges are recorded from here on, at the latest."""
        self._begun = self._clean = self._known = self._last = tick

    def look(self, found: Sequence[Any], levels: Sequence[bool | None], known: int, missing: bool) -> None:
        """What came at a look: found as Capture has it, with the number of a pin instead of its name; levels: of the pins meanwhile, None
        where they are not known.

        known: all that happened before is in it, or in an earlier one; missing: but for records that no Lost stands for yet
        """
        first: dict[int, int] = {}  # the level of a pin behind its first edge, if nothing is missing before
        whole = True
        for tick, what, value in found:
            self._last = max(self._last, tick)
            if isinstance(what, int):
                if whole:
                    first.setdefault(what, value)
                self._push(tick, what, value)
            elif isinstance(value, RxByte):
                self._push(tick, "byte", f"0x{value.data:02x}{''.join(f':{flag}' for flag in value.flags)}")
                self._push(tick + self._frame, "over", None)
            else:
                self._push(tick, what, value)
                whole = whole and what != "lost"
        whole = whole and not missing
        if self.files and self.files[0].first_tick is None:
            self._begin(found, first, levels, whole)
        elif whole and self._clean is not None:
            for pin, level in enumerate(levels):
                if pin not in first and level is not None:
                    self._push(self._clean, "level", (pin << 1) | level)
        self._known = max(self._known, self._last if missing else known)
        self._clean = self._known if whole else None
        self._flush(self._known - self._hold)
        for file in self.files:
            file.until(max(self._written, self._known - self._hold))

    def remark(self, tick: int, text: str) -> None:
        """About something that the next look() has."""
        self._push(tick, "remark", text)

    def _push(self, tick: int, what: Any, value: Any) -> None:
        heapq.heappush(self._waiting, (tick, next(self._order), what, value))

    def _begin(self, found: Sequence[Any], first: dict[int, int], levels: Sequence[bool | None], whole: bool) -> None:
        """Before its first edge a pin had the other level; without any, that of now."""
        assert self._begun is not None
        begun = min([self._begun, *(tick - 1 for tick, *_ in found)])
        for pin in range(len(self._names)):
            if pin in first:
                self._levels[pin] = 1 - first[pin]
            elif whole and (level := levels[pin]) is not None:
                self._levels[pin] = int(level)
        self._written = begun
        for file in self.files:
            file.first_tick = begun
            file.begin(begun, self._levels, self._with_bytes)

    def _flush(self, until: int) -> None:
        """Writes what is not later than `until`."""
        while self._waiting and self._waiting[0][0] <= until:
            tick, _, what, value = heapq.heappop(self._waiting)
            self._written = tick = max(tick, self._written)
            if isinstance(what, int):
                self._change(tick, what, value)
            elif what == "level":
                if self._levels[value >> 1] is None:
                    self._change(tick, value >> 1, value & 1)
            elif what == "remark":
                for file in self.files:
                    file.remark(tick, value)
            elif what == "lost":
                for file in self.files:
                    file.lost(tick, value)
                for pin in range(len(self._names)):
                    self._change(tick, pin, None)
            else:
                self._note(tick, what, value)

    def _change(self, tick: int, pin: int, level: Level) -> None:
        self._levels[pin] = level
        for file in self.files:
            file.change(tick, pin, level)

    def _note(self, tick: int, what: str, value: Any) -> None:
        self._shown += {"byte": 1, "over": -1}.get(what, 0)
        if what == "over" and self._shown:
            return  # the next one began at the same tick
        text = "-" if what == "over" else value if what == "byte" else "LOST"
        for file in self.files:
            file.note(tick, text)

    def close(self, end: int | None = None) -> None:
        """Writes what is left, up to `end` (None: to what is known), and closes all. May be called again."""
        if self._closed:
            return
        self._closed = True
        problem: BaseException | None = None
        if self.files and self.files[0].first_tick is not None:
            end = self._known if end is None else end
            try:
                self._flush(end)
            except LitePulseError as error:
                problem = error
            for file in self.files:
                try:
                    file.end(max(end, self._written))
                except LitePulseError as error:
                    problem = problem or error
        self._let_go()
        if problem:
            raise problem

    def _let_go(self) -> None:
        for file in self.files:
            file.close()


def pin_name(channel: int, inputs: int) -> str:
    """As the simulator calls it: 'in0', 'rx'."""
    return "rx" if channel == inputs else f"in{channel}"


def wanted_names(channels: Collection[int], inputs: int) -> list[str]:
    """Of the pins of a capture."""
    return [pin_name(channel, inputs) for channel in channels]
