# SPDX-License-Identifier: BSD-2-Clause
"""Samples for chronyd: what the PC's clock showed when a second of another clock began, by chrony's SOCK reference clock."""

import socket
import struct
from fractions import Fraction

from litepulse.codes.scale import UTC
from litepulse.errors import BadInput
from litepulse.units import NANO

# chrony's refclock_sock.c: struct sock_sample of version 2 (chrony 4 and up): the time of the system's clock (struct timeval), true time
# less that in s, whether it is a pulse alone, leap second, padding, "SOCK".
_SAMPLE = struct.Struct("@qqdiiii")
_MAGIC = 0x534F434B


def sample(second: int, shown: Fraction) -> bytes:
    """That a second (as scale.py counts) began when the PC's clock showed `shown` ns since 1970."""
    whole = round(shown)
    micro, late = divmod(whole, 1000)
    offset = UTC.posix(second) * NANO - (shown - late)  # of the time as the timeval has it
    return _SAMPLE.pack(*divmod(micro, 10**6), float(offset / NANO), 0, 0, 0, _MAGIC)


class ChronySocket:
    """chronyd's socket. taken, refused: how many samples it got, and did not get because it was not there."""

    def __init__(self, path: str) -> None:
        """BadInput if chronyd does not listen there."""
        self.path = path
        self.taken = self.refused = 0
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        try:
            self._socket.connect(path)
        except OSError as error:
            self._socket.close()
            raise BadInput(f"chrony: {path}: {error.strerror}; 'refclock SOCK {path}' in chrony.conf makes it") from None

    def send(self, second: int, shown: Fraction) -> None:
        """As sample(). A chronyd that was started again is found again."""
        data = sample(second, shown)
        try:
            try:
                self._socket.send(data)
            except BlockingIOError:
                raise
            except OSError:  # refused, or no longer connected since then
                self._socket.connect(self.path)
                self._socket.send(data)
        except OSError:
            self.refused += 1
        else:
            self.taken += 1

    def close(self) -> None:
        """Closes the socket."""
        self._socket.close()
