# SPDX-License-Identifier: BSD-2-Clause
"""What a connection table has of LitePulse: the primary pseudoclock, and its clock line on TX."""

from importlib import import_module
from typing import Any

import numpy as np

from litepulse.errors import LitePulseError
from litepulse.labscript.shot import check_rows, rows_of
from litepulse.units import Timescale

# labscript has no types.
_labscript: Any = import_module("labscript")
_Pseudoclock: Any = _labscript.Pseudoclock
_PseudoclockDevice: Any = _labscript.PseudoclockDevice
_set_passed_properties: Any = _labscript.set_passed_properties

ROW = np.dtype([("start", "<i8"), ("period", "<i8"), ("pulses", "<i8")])


class _Clock(_Pseudoclock):
    """The one that the device makes for itself."""

    def add_device(self, device: Any) -> None:
        """Of labscript: it has one clock line."""
        if self.child_devices or not isinstance(device, _labscript.ClockLine):
            raise _labscript.LabscriptError(f"{device.name}: connect it to {self.parent_device.name}.clockline")
        _Pseudoclock.add_device(self, device)


class LitePulse(_PseudoclockDevice):
    """A board as the primary pseudoclock. Connect what it clocks to `clockline`, the TX pin."""

    description = "LitePulse"
    clock_limit = 150e3  # of a train
    clock_resolution = 1 / 48e6
    allowed_children = [_Clock]

    @_set_passed_properties(
        property_names={
            "connection_table_properties": ["board", "tick_hz"],
            "device_properties": ["width", "high", "clock_limit", "clock_resolution"],
        }
    )
    def __init__(
        self,
        name: str,
        board: str = "litepulse",
        tick_hz: int = 48_000_000,
        width: float | str = "1us",
        high: bool = True,
        trigger_device: Any = None,
        **options: Any,
    ) -> None:
        """board: 'litepulse' for the one that is plugged in, '/dev/litepulse0',
        'port:/dev/ttyUSB1', 'port:tcp:host:port' or 'sim'

        tick_hz: of the board, as `litepulse info` shows it; width: of the clock's pulse; high: it
        goes from 0 to 1, TX rests at 0
        """
        error = _labscript.LabscriptError
        if trigger_device is not None:
            raise error(f"{name}: LitePulse is the primary pseudoclock, it does not start at a trigger")
        try:
            self._width = Timescale(tick_hz).whole_ticks(width, "width", 1)
        except LitePulseError as wrong:
            raise error(f"{name}: {wrong}") from None
        self._tick_hz, self._high = tick_hz, bool(high)
        self.clock_resolution = 1 / tick_hz
        self.clock_limit = min(type(self).clock_limit, tick_hz / (2 * self._width))
        _PseudoclockDevice.__init__(self, name, None, None, **options)
        self.BLACS_connection = board
        self._clock = _Clock(f"{name}_pseudoclock", self, "clock")
        self._clockline = _labscript.ClockLine(f"{name}_clock_line", self._clock, "tx")

    @property
    def clockline(self) -> Any:
        """The labscript.ClockLine."""
        return self._clockline

    def generate_code(self, hdf5_file: Any) -> None:
        """Of labscript: writes the rows of the clock into the shot file."""
        _PseudoclockDevice.generate_code(self, hdf5_file)
        try:
            rows = rows_of(self._clock.clock, self._clockline, self._tick_hz)
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
        self.set_property("is_master_pseudoclock", self.is_master_pseudoclock, location="device_properties")
        self.set_property("stop_time", self.stop_time, location="device_properties")
