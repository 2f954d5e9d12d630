# SPDX-License-Identifier: BSD-2-Clause
"""A board in the place of a Teensy with Micro-Manager's pulse generator: the same bytes on a serial
port, the pulses by the board's hardware.

A command is a byte and a number (32 bits, little-endian), a query is 255 and the byte of a command.
Each is answered by the command's byte and a number: of a setting, what holds now.
"""

import contextlib
import struct
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

from litepulse.board import Board
from litepulse.errors import BadInput, InUse, LitePulseError, Refused, Unsupported
from litepulse.interrupt import Flag
from litepulse.layout import TRAIN_MIN_PERIOD
from litepulse.respond import Answer, Edge, Responder
from litepulse.terminal_port import Terminal
from litepulse.train import Pulse, Train
from litepulse.units import WORD, Whole, us

VERSION, START, STOP, INTERVAL, DURATION, WAIT, PULSES = range(7)
QUERY = 255
FIRMWARE = 1  # the version that all of this is of
DELAY = us(1)  # from the edge that is waited for to the pulse
_COMMAND = struct.Struct("<BI")
_KEPT = 1000  # pulses that are remembered
_PAUSE, _REST = 0.005, 0.05  # seconds between two looks: at what runs, at Ctrl-C while nothing does


def _ignore(_: str) -> None:
    pass


class TeensyPulse:
    """The device. `receive()` has the bytes of a program, and returns the answers; `look()` follows what
    runs on the board, and must be called some times a second.

    interval, duration: microseconds; wait: pulses wait for a rising edge; pulses: 0 for no end. What
    is set while pulses are running acts from the next start on, but the interval of a train at once.
    """

    def __init__(self, board: Board, channel: Whole | str = 0, report: Callable[[str], None] = _ignore) -> None:
        """channel: the input whose rising edges are waited for; report: is called with a line when
        a command could not be done."""
        self.board = board
        self._edge = Edge(board.channel(channel))
        self.interval, self.duration, self.wait, self.pulses = 500_000, 50_000, 0, 0
        self.launched = 0  # pulses since the last start
        self.starts = self.total = 0
        self._report = report
        self._job: Train | Responder | None = None
        self._input = bytearray()

    @property
    def running(self) -> bool:
        """Between start and stop, or the last pulse."""
        return self._job is not None

    def receive(self, data: bytes) -> bytes:
        """The answers to what a program has sent. A command may come in parts."""
        self._input += data
        answers = b""
        while self._input:
            first = self._input[0]
            length = 2 if first == QUERY else _COMMAND.size
            if len(self._input) < length:
                break
            words = bytes(self._input[:length])
            del self._input[:length]
            command = words[1] if first == QUERY else first
            if command <= PULSES:  # the device is silent about others
                value = self._query(command) if first == QUERY else self._do(*_COMMAND.unpack(words))
                answers += _COMMAND.pack(command, value)
        return answers

    def _query(self, command: int) -> int:
        if command == START:
            self.look()
            return int(self.running)
        if command == STOP:
            self.look()
            return int(not self.running)
        return {VERSION: FIRMWARE, INTERVAL: self.interval, DURATION: self.duration, WAIT: self.wait, PULSES: self.pulses}[command]

    def _do(self, command: int, value: int) -> int:
        """A command; the number of its answer."""
        if command == START:
            return int(self._start())
        if command == STOP:
            self.stop()
            return self.launched % WORD
        try:
            self._set(command, value)
        except (BadInput, Refused) as error:
            self._report(str(error))
        return self._query(command)

    def _set(self, command: int, value: int) -> None:
        scale = self.board.timescale
        if command == INTERVAL:
            scale.period(scale.ticks(us(value)), TRAIN_MIN_PERIOD, "interval")
            if isinstance(self._job, Train) and self.board.status().train_running:
                self.board.adjust(period=us(value))
            self.interval = value
        elif command == DURATION:
            scale.whole_ticks(us(value), "pulse duration", 1)
            self.duration = value
        elif command == WAIT:
            self.wait = int(value > 0)
        elif command == PULSES:
            self.pulses = value

    def _start(self) -> bool:
        """Begins again; False if the board cannot."""
        self.stop()
        self.launched = 0
        period, width = us(self.interval), us(self.duration)
        try:
            if self.duration >= self.interval:
                raise BadInput(f"start: a pulse of {self.duration} us is not over when the next one is due, {self.interval} us later")
            if self.wait:
                once = self.pulses == 1
                self._job = self.board.respond(self._edge, DELAY, width=width, holdoff=period, once=once, invert=True)
            else:
                self._job = self.board.train(period=period, width=width, count=self.pulses, invert=True, limit=_KEPT)
        except (BadInput, InUse, Refused, Unsupported) as error:
            self._report(str(error))
            return False
        self.starts += 1
        return True

    def look(self) -> None:
        """Counts what has left, and ends a run that has sent all of its pulses."""
        job = self._job
        if job is None:
            return
        self._count(job.poll())
        if job.over or (self.wait and 0 < self.pulses <= self.launched):
            self.stop()

    def _count(self, items: Iterable[Pulse | Answer]) -> None:
        self.launched += sum(isinstance(item, Pulse) or item.reason is None for item in items)

    def stop(self) -> None:
        """No pulse begins from now on. `launched` is final."""
        job, self._job = self._job, None
        if job is not None:
            job.stop()
            self._count(job.poll())
            if isinstance(job, Train) and job.record.done is not None:  # the board counts those whose records were lost, too
                self.launched = job.record.done - job.record.refused_count
            self.total += self.launched

    def close(self) -> None:
        """The same; also if the board is gone."""
        with contextlib.suppress(LitePulseError):
            self.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def serve(device: TeensyPulse, terminal: Terminal, end: Flag) -> None:
    """Answers the programs that open the terminal, until `end`."""
    while not end:
        terminal.exchange(device.receive, _PAUSE if device.running else _REST)
        device.look()
