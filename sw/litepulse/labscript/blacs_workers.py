# SPDX-License-Identifier: BSD-2-Clause
"""What BLACS runs in a process of its own: it has the board open, and sends the pulses of each shot."""

from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np

from litepulse.board import Board, open_named
from litepulse.labscript.shot import Program, Row, Shot

import_module("labscript_utils.h5_lock")  # before h5py, or labscript refuses it
_h5py: Any = import_module("h5py")  # neither has types
_Worker: Any = import_module("blacs.tab_base_classes").Worker

LEFT = np.dtype([("wanted", "<i8"), ("tick", "<i8"), ("left", "?")])


def program_of(table: Any) -> Program:
    """The dataset PULSE_PROGRAM that labscript_devices wrote."""
    rows = [Row(*row) for row in table[:].tolist()]
    return Program(rows, int(table.attrs["width"]), bool(table.attrs["high"]), Fraction(int(table.attrs["tick_hz"])))


class LitePulseWorker(_Worker):
    """Methods are called by BLACS, or by the tab. board_name: an attribute that the tab gives it."""

    board_name: str

    def init(self) -> None:
        """Of BLACS: opens the board."""
        self._board: Board = open_named(self.board_name)
        self._shot: Shot | None = None
        self._program: Program | None = None
        self._file = ""

    def program_manual(self, front_panel_values: dict[str, Any]) -> dict[str, Any]:
        """Of BLACS: a clock line has no value of its own."""
        return {}

    def transition_to_buffered(self, device_name: str, h5_file: str, initial_values: dict[str, Any], fresh: bool) -> dict[str, Any]:
        """Of BLACS: reads the shot file."""
        self._file, self._shot = h5_file, None
        with _h5py.File(h5_file, "r") as file:
            program = program_of(file[f"devices/{device_name}/PULSE_PROGRAM"])
        program.check(self._board)
        self._program = program
        return {}

    def start_run(self) -> None:
        """Of the tab: begins the shot."""
        assert self._program
        self._shot = Shot(self._board, self._program)

    def check_if_done(self) -> bool:
        """Of the tab: whether the shot is over."""
        return self._shot is None or self._shot.wait(0.01)

    def transition_to_manual(self) -> bool:
        """Of BLACS: writes down when each pulse left. LitePulseError if one did not."""
        shot, self._shot = self._shot, None
        if shot is None:
            return True
        shot.wait()
        with _h5py.File(self._file, "a") as file:
            table = file.require_group("data/litepulse").create_dataset(self.device_name, data=np.array(shot.left, dtype=LEFT))
            if shot.first_tick is not None:
                start = self._board.time_of(shot.first_tick)
                table.attrs["first_tick"] = shot.first_tick
                table.attrs["start_ns"] = start.ns
                table.attrs["start_uncertainty_ns"] = start.uncertainty
        shot.check()
        return True

    def abort_buffered(self) -> bool:
        """Of BLACS: ends the shot."""
        shot, self._shot = self._shot, None
        if shot is not None:
            shot.abort()
        return True

    abort_transition_to_buffered = abort_buffered

    def shutdown(self) -> None:
        """Of BLACS: what runs on the board ends."""
        self.abort_buffered()
        self._board.close()
