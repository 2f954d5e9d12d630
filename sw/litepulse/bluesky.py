# SPDX-License-Identifier: BSD-2-Clause
"""Devices for bluesky's RunEngine, by its protocols alone: nothing of bluesky is imported, so that ophyd and ophyd-async may stand beside.

PulseTrain, Edges: flyers (kickoff, complete, collect). Delays: a detector (trigger, read). Delays.setting(): what a scan moves.
"""

import math
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from litepulse.board import Board
from litepulse.capture import Capture, EdgeEvent, LostEvent
from litepulse.errors import BadInput, LitePulseError, shown
from litepulse.job import Job
from litepulse.latency import Latency
from litepulse.plan import Time
from litepulse.train import Pulse, Train
from litepulse.units import to_duration

JobType = TypeVar("JobType", bound=Job[Any])
Row = tuple[int, tuple[Any, ...]]  # (tick, values of the fields)


class Status:
    """bluesky.protocols.Status: whether something is over, and how it ended."""

    def __init__(self) -> None:
        self._over, self._lock = threading.Event(), threading.Lock()
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Status], None]] = []

    @property
    def done(self) -> bool:
        """Over, well or not."""
        return self._over.is_set()

    @property
    def success(self) -> bool:
        """Over, and well."""
        return self.done and self._error is None

    def exception(self, timeout: float | None = 0.0) -> BaseException | None:
        """What went wrong; TimeoutError if it is not over within so many seconds (None: however long it takes)."""
        if not self._over.wait(timeout):
            raise TimeoutError
        return self._error

    def wait(self, timeout: float | None = None) -> None:
        """Until it is over; raises what went wrong."""
        if (error := self.exception(timeout)) is not None:
            raise error

    def add_callback(self, callback: "Callable[[Status], None]") -> None:
        """Is called with the Status when it is over, perhaps at once, perhaps by another thread."""
        with self._lock:
            if not self.done:
                self._callbacks.append(callback)
                return
        callback(self)

    def finish(self, error: BaseException | None = None) -> None:
        """It is over."""
        with self._lock:
            self._error = error
            self._over.set()
        for callback in self._callbacks:
            callback(self)


def _in_thread(work: Callable[[], None]) -> Status:
    """The Status of work that another thread does."""
    status = Status()

    def run() -> None:
        try:
            work()
        except BaseException as error:
            status.finish(error)
        else:
            status.finish()

    threading.Thread(target=run, name="litepulse bluesky", daemon=True).start()
    return status


class _Device:
    """What all have."""

    parent = None
    fields: dict[str, dict[str, Any]]  # how bluesky describes each: dtype, shape, units

    def __init__(self, board: Board, name: str, options: dict[str, Any]) -> None:
        self.board, self.name, self.options = board, name, options

    @property
    def hints(self) -> dict[str, Any]:
        """What a plot of a run shows."""
        return {"fields": [f"{self.name}_{next(iter(self.fields))}"]}

    def _described(self) -> dict[str, dict[str, Any]]:
        source = f"litepulse:{self.board.name}"
        return {f"{self.name}_{field}": {"source": source, "shape": []} | kind for field, kind in self.fields.items()}

    def describe_configuration(self) -> dict[str, dict[str, Any]]:
        """Of bluesky: the board, and the options as text."""
        source = f"litepulse:{self.board.name}"
        return {key: {"source": source, "dtype": "string", "shape": []} for key in self.read_configuration()}

    def read_configuration(self) -> dict[str, dict[str, Any]]:
        """Of bluesky."""
        values = {"board": self.board.name, "tick_hz": str(self.board.tick_hz)} | {key: str(value) for key, value in self.options.items()}
        return {f"{self.name}_{key}": {"value": value, "timestamp": time.time()} for key, value in values.items()}


_TICK = {"dtype": "integer", "dtype_numpy": "<i8", "units": "ticks"}
_NUMBER = {"dtype": "integer", "dtype_numpy": "<i8"}


class _Flyer(_Device, Generic[JobType]):
    """Of bluesky: Flyable, Collectable, Preparable, Stoppable."""

    def __init__(self, board: Board, name: str, options: dict[str, Any]) -> None:
        super().__init__(board, name, options)
        self._job: JobType | None = None
        self._rows: list[tuple[float, Row]] = []
        self._stopped = False

    def _begin(self) -> JobType:
        raise NotImplementedError

    def _row(self, item: Any) -> Row:
        raise NotImplementedError

    def _check(self, job: JobType) -> None:
        """LitePulseError if the run is not what it should be."""
        if job.lost:
            raise LitePulseError(f"{self.name}: {job.lost} records were lost")

    def prepare(self, value: dict[str, Any]) -> Status:
        """Other options for the next kickoff."""
        self.options = dict(value)
        status = Status()
        status.finish()
        return status

    def kickoff(self) -> Status:
        """Begins on the board."""

        def work() -> None:
            self._rows.clear()
            self._stopped = False
            self._job = self._begin()

        return _in_thread(work)

    def complete(self) -> Status:
        """Done when the job has ended by itself, or by stop(). Not a success if something was lost or inexact."""
        job = self._job
        if job is None:
            raise LitePulseError(f"{self.name}: complete without a kickoff")

        def work() -> None:
            with job:
                for batch in job.batches():
                    for item in batch:
                        row = self._row(item)
                        self._rows.append((self.board.time_of(row[0]).ns / 1e9, row))
            self._job = None
            self._check(job)

        return _in_thread(work)

    def stop(self, success: bool = True) -> None:
        """Ends what kickoff began."""
        self._stopped = True
        if self._job is not None:
            self._job.stop()

    def describe_collect(self) -> dict[str, dict[str, dict[str, Any]]]:
        """One stream, of the device's name."""
        return {self.name: self._described()}

    def collect(self) -> Iterator[dict[str, Any]]:
        """An event for each, its exact tick in `data`, its time in `timestamps`: bluesky puts the time of collection into `time`."""
        for seconds, (_, values) in self._rows:
            data = dict(zip(self._described(), values, strict=True))
            yield {"data": data, "timestamps": dict.fromkeys(data, seconds), "time": seconds}
        self._rows.clear()


class PulseTrain(_Flyer[Train]):
    """A train; options as of Board.train(). An event for each pulse: its number, its tick, by how many ticks it was off."""

    fields = {"tick": _TICK, "number": _NUMBER, "error": _TICK}

    def __init__(self, board: Board, name: str = "pulses", **options: Any) -> None:
        super().__init__(board, name, options)

    def _begin(self) -> Train:
        return self.board.train(**self.options)

    def _row(self, item: Pulse) -> Row:
        return item.tick, (item.tick, item.number, item.error)

    def _check(self, job: Train) -> None:
        super()._check(job)
        if not self._stopped and not job.record.exact:
            raise LitePulseError(f"{self.name}: the train was not exact")


class Edges(_Flyer[Capture]):
    """A capture; options as of Board.capture(). An event for each edge: its tick, its channel (-1: rx), the level behind it."""

    fields = {"tick": _TICK, "channel": _NUMBER, "level": _NUMBER}

    def __init__(self, board: Board, name: str = "edges", **options: Any) -> None:
        if options.get("bytes"):
            raise BadInput("bytes: the events of Edges are edges")
        super().__init__(board, name, options)

    def _begin(self) -> Capture:
        return self.board.capture(**self.options)

    def _row(self, item: EdgeEvent | LostEvent) -> Row:
        if isinstance(item, LostEvent):
            raise LitePulseError(f"{self.name}: {item.count} records were lost at tick {item.tick}")
        channel = -1 if isinstance(item.channel, str) else item.channel
        return item.tick, (item.tick, channel, item.level)


class Delays(_Device):
    """A latency measurement for each trigger; arguments as of Board.latency(). Read are median, least and most of the delays, in ticks."""

    fields = {"median": _TICK, "least": _TICK, "most": _TICK, "count": _NUMBER}

    def __init__(self, board: Board, on: Any = None, name: str = "delays", **options: Any) -> None:
        if not options.get("count") and options.get("duration") is None:
            raise BadInput(f"{name}: a measurement needs a count or a duration")
        super().__init__(board, name, options)
        self._on = on
        self._read: tuple[int, ...] | None = None
        self._time = 0.0
        self._job: Latency | None = None

    def trigger(self) -> Status:
        """Measures."""

        def work() -> None:
            self._read = None
            with self.board.latency(self._on, **self.options) as job:
                self._job = job
                for _ in job:
                    pass
            self._job = None
            delays = job.delays
            if job.lost:
                raise LitePulseError(f"{self.name}: {job.lost} records were lost")
            if not delays.count:
                raise LitePulseError(f"{self.name}: nothing responded")
            self._read = (int(delays.percentile(50)), delays.least, delays.most, delays.count)
            self._time = time.time()

        return _in_thread(work)

    def stop(self, success: bool = True) -> None:
        """Ends the measurement."""
        if self._job is not None:
            self._job.stop()

    def describe(self) -> dict[str, dict[str, Any]]:
        """Of bluesky."""
        return self._described()

    def read(self) -> dict[str, dict[str, Any]]:
        """Of the last trigger."""
        if self._read is None:
            raise LitePulseError(f"{self.name}: nothing was measured")
        return {key: {"value": value, "timestamp": self._time} for key, value in zip(self._described(), self._read, strict=True)}

    def setting(self, option: str) -> "Setting":
        """An option whose values are times, as something that a scan moves: setting('interval')."""
        return Setting(self, option)


class Setting:
    """Of bluesky: Movable, Readable. An option of a device that is a time, in seconds; NaN where the device has its default."""

    def __init__(self, device: Delays, option: str) -> None:
        if option not in ("interval", "jitter", "timeout", "blank", "holdoff", "width"):
            raise BadInput(f"{shown(option)} is no option that is a time")
        self.parent, self.name = None, f"{device.name}_{option}"
        self._device, self._option = device, option
        before = device.options.get(option)
        self._value = math.nan if before is None else self._seconds(before)

    def _seconds(self, value: Time) -> float:
        timescale = self._device.board.timescale
        return float(timescale.seconds(timescale.ticks(to_duration(value, self._option))))

    def set(self, value: Time) -> Status:
        """The next measurement has this value."""
        self._value = self._seconds(value)
        self._device.options[self._option] = value
        status = Status()
        status.finish()
        return status

    def describe(self) -> dict[str, dict[str, Any]]:
        """Of bluesky."""
        return {self.name: {"source": f"litepulse:{self._device.board.name}", "dtype": "number", "shape": [], "units": "s"}}

    def read(self) -> dict[str, dict[str, Any]]:
        """Of bluesky."""
        return {self.name: {"value": self._value, "timestamp": time.time()}}

    def describe_configuration(self) -> dict[str, dict[str, Any]]:
        """Of bluesky: there is none."""
        return {}

    def read_configuration(self) -> dict[str, dict[str, Any]]:
        """Of bluesky: there is none."""
        return {}


__all__ = ["Delays", "Edges", "PulseTrain", "Setting", "Status"]
