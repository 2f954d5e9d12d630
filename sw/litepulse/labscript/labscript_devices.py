# SPDX-License-Identifier: BSD-2-Clause
"""What a connection table has of LitePulse: the primary pseudoclock, and its clock line on TX."""

from importlib import import_module
from typing import Any, cast

import numpy as np

from litepulse.errors import BadInput, LitePulseError, shown
from litepulse.labscript.shot import check_rows, rows_of, waits_of
from litepulse.sequence_plan import WAYS
from litepulse.units import Timescale, whole

# labscript has no types.
_labscript: Any = import_module("labscript")
_Pseudoclock: Any = _labscript.Pseudoclock
_PseudoclockDevice: Any = _labscript.PseudoclockDevice
_set_passed_properties: Any = _labscript.set_passed_properties

ROW = np.dtype([("start", "<i8"), ("period", "<i8"), ("pulses", "<i8")])
WAIT = np.dtype([("label", "S256"), ("start", "<i8"), ("timeout", "<i8")])


class _Clock(_Pseudoclock):
    """The one that the device makes for itself."""

    def add_device(self, device: Any) -> None:
        """Of labscript: it has one clock line."""
        if self.child_devices or not isinstance(device, _labscript.ClockLine):
            raise _labscript.LabscriptError(f"{device.name}: connect it to {self.parent_device.name}.clockline")
        _Pseudoclock.add_device(self, device)


# labscript's model of a wait monitor is pulses of a clocked device, whose distances another one measures. The board measures its waits
# itself, so what stands for these devices in the connection table is clocked by nothing, and has no outputs.


class _NoClock(_Pseudoclock):
    """Of the wait monitor."""

    def generate_code(self, hdf5_file: Any) -> None:
        """Of labscript: there is none."""


class _WaitOutputs(_labscript.IntermediateDevice):
    """Of the wait monitor. BLACS's progress bar reads from its property that the end of a wait is reported while the shot runs."""

    description = "LitePulse waits"

    def __init__(self, name: str, parent_device: Any) -> None:
        _labscript.IntermediateDevice.__init__(self, name, parent_device)
        self.set_property("wait_monitor_supports_wait_completed_events", True, location="connection_table_properties")

    def get_all_outputs(self) -> list[Any]:
        """Of labscript: what has times at which it changes."""
        return []

    def generate_code(self, hdf5_file: Any) -> None:
        """Of labscript: there is none."""


class _WaitMonitor(_labscript.WaitMonitor):
    """The one that the device makes for itself."""

    def trigger(self, t: float, duration: float) -> None:
        """Of labscript: the clock begins, or goes on."""


class LitePulse(_PseudoclockDevice):
    """A board as the primary pseudoclock. Connect what it clocks to `clockline`, the TX pin."""

    description = "LitePulse"
    clock_limit = 150e3  # of a train
    clock_resolution = 1 / 48e6
    allowed_children = [_Clock, _NoClock]

    @_set_passed_properties(
        property_names={
            "connection_table_properties": ["board", "tick_hz", "wait_input", "wait_edge"],
            "device_properties": ["width", "high", "resume", "clock_limit", "clock_resolution"],
        }
    )
    def __init__(
        self,
        name: str,
        board: str = "litepulse",
        tick_hz: int = 48_000_000,
        width: float | str = "1us",
        high: bool = True,
        wait_input: int | str | None = None,
        wait_edge: str = "rise",
        resume: float | str = "5us",
        trigger_device: Any = None,
        **options: Any,
    ) -> None:
        """board: 'litepulse' for the one that is plugged in, '/dev/litepulse0',
        'port:/dev/ttyUSB1', 'port:tcp:host:port' or 'sim'

        tick_hz: of the board, as `litepulse info` shows it; width: of the clock's pulse; high: it
        goes from 0 to 1, TX rests at 0

        wait_input: 0 for `in0`, or 'rx': an edge there, wait_edge ('rise', 'fall' or 'both'), ends a
        wait(); resume: from there to the pulse at which the clock goes on
        """
        error = _labscript.LabscriptError
        if trigger_device is not None:
            raise error(f"{name}: LitePulse is the primary pseudoclock, it does not start at a trigger")
        try:
            self._width = Timescale(tick_hz).whole_ticks(width, "width", 1)
            self._resume = Timescale(tick_hz).whole_ticks(resume, "resume", 1)
            if wait_input not in (None, "rx") and whole(cast(int, wait_input), "wait_input") < 0:
                raise BadInput(f"wait_input: {wait_input} is no input of a board: 0 for in0, or 'rx'")
            if wait_edge not in WAYS:
                raise BadInput(f"wait_edge: {shown(wait_edge)} is not rise, fall or both")
        except LitePulseError as wrong:
            raise error(f"{name}: {wrong}") from None
        self._tick_hz, self._high = tick_hz, bool(high)
        self._wait_input, self._wait_edge = wait_input, wait_edge
        self.clock_resolution = 1 / tick_hz
        self.clock_limit = min(type(self).clock_limit, tick_hz / (2 * self._width))
        _PseudoclockDevice.__init__(self, name, None, None, **options)
        self.BLACS_connection = board
        self._clock = _Clock(f"{name}_pseudoclock", self, "clock")
        self._clockline = _labscript.ClockLine(f"{name}_clock_line", self._clock, "tx")
        if wait_input is not None:
            clock = _labscript.ClockLine(f"{name}_wait_clock_line", _NoClock(f"{name}_wait_pseudoclock", self, "waits"), "none")
            outputs = _WaitOutputs(f"{name}_wait_outputs", clock)
            _WaitMonitor(f"{name}_wait_monitor", *[outputs, "internal"] * 3)

    @property
    def clockline(self) -> Any:
        """The labscript.ClockLine."""
        return self._clockline

    def generate_code(self, hdf5_file: Any) -> None:
        """Of labscript: writes the rows of the clock into the shot file."""
        _PseudoclockDevice.generate_code(self, hdf5_file)
        compiler = _labscript.compiler
        wanted = [compiler.wait_table[time] for time in sorted(compiler.wait_table)]
        try:
            if wanted and self._wait_input is None:
                raise BadInput(f"wait {wanted[0][0]!r}: wait_input is not given: the input whose edge ends it")
            rows = rows_of(self._clock.clock, self._clockline, self._tick_hz)
            waits = waits_of(self._clock.clock, wanted, self._tick_hz)
            check_rows(rows, self._width)
        except LitePulseError as wrong:
            raise _labscript.LabscriptError(f"{self.name}: {wrong}") from None
        if self._width < self._clockline.minimum_clock_high_time * self._tick_hz:
            needed = self._clockline.minimum_clock_high_time
            raise _labscript.LabscriptError(f"{self.name}: width: what {self._clockline.name} clocks needs a pulse of {needed} s")
        group = self.init_device_group(hdf5_file)
        table = group.create_dataset("PULSE_PROGRAM", data=np.array(rows, dtype=ROW), compression=_labscript.config.compression)
        table.attrs["tick_hz"] = self._tick_hz
        table.attrs["width"] = self._width
        table.attrs["high"] = self._high
        if waits:
            table = group.create_dataset("WAITS", data=np.array(waits, dtype=WAIT))
            table.attrs["input"] = str(self._wait_input)
            table.attrs["edge"] = self._wait_edge
            table.attrs["resume"] = self._resume
        self.set_property("is_master_pseudoclock", self.is_master_pseudoclock, location="device_properties")
        self.set_property("stop_time", self.stop_time, location="device_properties")
