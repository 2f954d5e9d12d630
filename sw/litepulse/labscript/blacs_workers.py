# SPDX-License-Identifier: BSD-2-Clause
"""What BLACS runs in a process of its own: it has the board open, and sends the pulses of each shot."""

from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np

from litepulse.board import Board, open_named
from litepulse.labscript.shot import Program, Row, Shot, Wait, Waits

import_module("labscript_utils.h5_lock")  # before h5py, or labscript refuses it
_h5py: Any = import_module("h5py")  # neither has types
_Worker: Any = import_module("blacs.tab_base_classes").Worker
_Event: Any = import_module("labscript_utils.ls_zprocess").Event

LEFT = np.dtype([("wanted", "<i8"), ("tick", "<i8"), ("left", "?")])
# As the other wait monitors of labscript write them.
WAITED = np.dtype([("label", "S256"), ("time", float), ("timeout", float), ("duration", float), ("timed_out", bool)])


def program_of(group: Any) -> Program:
    """The datasets PULSE_PROGRAM and WAITS that labscript_devices wrote."""
    table, waits = group["PULSE_PROGRAM"], Waits()
    rows = [Row(*row) for row in table[:].tolist()]
    if "WAITS" in group:
        each, names = group["WAITS"], group["WAITS"].attrs
        listed = [Wait(label.decode(), start, timeout) for label, start, timeout in each[:].tolist()]
        waits = Waits(listed, names["input"], names["edge"], int(names["resume"]))
    return Program(rows, int(table.attrs["width"]), bool(table.attrs["high"]), Fraction(int(table.attrs["tick_hz"])), waits)


class LitePulseWorker(_Worker):
    """Methods are called by BLACS, or by the tab. board_name: an attribute that the tab gives it."""

    board_name: str

    def init(self) -> None:
        """Of BLACS: opens the board."""
        self._board: Board = open_named(self.board_name)
        self._shot: Shot | None = None
        self._program: Program | None = None
        self._file = ""
        self._reported = 0  # waits of this shot whose end BLACS knows
        self._wait_completed, self._all_waits_finished, self._wait_durations_analysed = (
            _Event(name, role="post") for name in ("wait_completed", "all_waits_finished", "wait_durations_analysed")
        )

    def program_manual(self, front_panel_values: dict[str, Any]) -> dict[str, Any]:
        """Of BLACS: a clock line has no value of its own."""
        return {}

    def transition_to_buffered(self, device_name: str, h5_file: str, initial_values: dict[str, Any], fresh: bool) -> dict[str, Any]:
        """Of BLACS: reads the shot file."""
        self._file, self._shot, self._reported = h5_file, None, 0
        with _h5py.File(h5_file, "r") as file:
            program = program_of(file[f"devices/{device_name}"])
        program.check(self._board)
        self._program = program
        return {}

    def start_run(self) -> None:
        """Of the tab: begins the shot."""
        assert self._program
        self._shot = Shot(self._board, self._program)

    def check_if_done(self) -> bool:
        """Of the tab: whether the shot is over."""
        over = self._shot is None or self._shot.wait(0.01)
        self._report_waits()
        return over

    def _report_waits(self) -> None:
        """To other programs of labscript: which waits have ended by now."""
        if self._shot is None:
            return
        waits = self._shot.program.waits.each
        for number, _ in self._shot.ended[self._reported :]:
            self._wait_completed.post(self._file, data=waits[number].label)
            self._reported += 1
            if number == len(waits) - 1:
                self._all_waits_finished.post(self._file)

    def transition_to_manual(self) -> bool:
        """Of BLACS: writes down when each pulse left, and how long each wait was. LitePulseError if a pulse did not leave."""
        shot, self._shot = self._shot, None
        if shot is None:
            return True
        shot.wait()
        self._report_waits()
        with _h5py.File(self._file, "a") as file:
            table = file.require_group("data/litepulse").create_dataset(self.device_name, data=np.array(shot.left, dtype=LEFT))
            if shot.first_tick is not None:
                start = self._board.time_of(shot.first_tick)
                table.attrs["first_tick"] = shot.first_tick
                table.attrs["start_ns"] = start.ns
                table.attrs["start_uncertainty_ns"] = start.uncertainty
            if shot.pauses:
                self._write_waits(file, shot)
        if shot.pauses:
            self._wait_durations_analysed.post(self._file)
        shot.check()
        return True

    def _write_waits(self, file: Any, shot: Shot) -> None:
        """How much later than in the script all that is behind each wait came; NaN if that is not known."""
        data = np.empty(len(shot.pauses), dtype=WAITED)
        for name in ("label", "time", "timeout"):
            data[name] = file["waits"][name]
        data["duration"] = [np.nan if pause.ticks is None else float(pause.ticks / shot.program.tick_hz) for pause in shot.pauses]
        data["timed_out"] = [pause.timed_out for pause in shot.pauses]
        file.create_dataset("data/waits", data=data)

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
