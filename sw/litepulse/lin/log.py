# SPDX-License-Identifier: BSD-2-Clause
"""LIN frames as a log of CAN frames, for the programs that read such logs. Written by python-can (the extra `lin`)."""

from pathlib import Path
from typing import Any

from litepulse.errors import BadInput, LitePulseError
from litepulse.lin.frames import BAD_CHECKSUM, FRAMING, NO_RESPONSE, SHORT, Frame

SUFFIXES = (".asc", ".blf", ".log")
# What is wrong with a frame, in an extended identifier, as lin0 has it.
ERRORS = {NO_RESPONSE: 0x4000, SHORT: 0x4000, BAD_CHECKSUM: 0x8000, FRAMING: 0x10000}


class FrameLog:
    """A file: .asc (Vector), .blf (Vector, binary) or .log (candump). LitePulseError if it cannot be written."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if self.path.suffix.lower() not in SUFFIXES:
            raise BadInput(f"log: '{self.path}' does not end in {', '.join(SUFFIXES)}")
        try:
            import can
        except ImportError:
            raise LitePulseError("logs need python-can: pip install python-can") from None
        self._message: Any = can.Message
        try:
            self._writer: Any = can.Logger(str(self.path))
        except OSError as error:
            raise BadInput(f"log: cannot write {self.path} ({error.strerror})") from None

    def add(self, frame: Frame, seconds: float) -> None:
        """A frame that was heard; seconds: its time, of any clock. A header that no node could understand is an error frame."""
        frame_id, flag = frame.frame_id, ERRORS.get(frame.error or "", 0)
        options: dict[str, Any] = {"is_error_frame": True, "arbitration_id": 0}
        if frame_id is not None and (frame.error is None or flag):
            options = {"arbitration_id": frame_id | flag, "is_extended_id": bool(flag), "data": frame.data[:8]}
        elif frame_id is not None and frame.data:  # an answer that another node's took the place of
            options = {"arbitration_id": frame_id, "is_extended_id": False, "data": frame.data[:8]}
        try:
            self._writer.on_message_received(self._message(timestamp=seconds, channel="lin0", is_rx=not frame.own_response, **options))
        except OSError as error:
            raise LitePulseError(f"log: cannot write {self.path} ({error.strerror})") from None

    def close(self) -> None:
        """Ends the file."""
        try:
            self._writer.stop()
        except OSError as error:
            raise LitePulseError(f"log: cannot write {self.path} ({error.strerror})") from None
