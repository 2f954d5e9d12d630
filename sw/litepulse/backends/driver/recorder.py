# SPDX-License-Identifier: BSD-2-Clause
"""Records of the driver: subscribed to, read from the device's file or the claim's, decoded."""

import contextlib
import errno
import math
import os
import select
from collections.abc import Callable, Generator
from dataclasses import fields

from litepulse import columns
from litepulse.backends import driver_abi as abi
from litepulse.backends.driver.claim import Claim
from litepulse.backends.driver.tty import Tty
from litepulse.backends.interface import CLOCKS, Batch, Losses, Wanted
from litepulse.columns import EdgeRecords
from litepulse.errors import InUse, LitePulseError, Restarted, TransportError
from litepulse.layout import KIND_NAME, SOURCE_NAME
from litepulse.streams import Event, Lost, RxByte

READ_RECORDS = 256
READ_BYTES = READ_RECORDS * abi.Event.layout.size
_SOURCE = {name: code for code, name in SOURCE_NAME.items()}
_CLOCK = {name: getattr(abi, f"CLOCK_{name.upper()}") for name in CLOCKS}
_EVENT_MEMBERS = tuple(member.name for member in fields(abi.Event))


class DriverRecorder:
    """See Recorder. `listeners`: hear of each event in order, as soon as it is taken from the driver."""

    def __init__(self, claim: Claim, tty: Tty, clock: str | None = None) -> None:
        """clock: of CLOCKS, in which events have a time, too."""
        self._claim, self._device, self._tty = claim, claim.device, tty
        self._clock = abi.CLOCK_NONE if clock is None else _CLOCK[clock]
        self.patience = math.inf
        self.observer: Callable[[Batch], None] | None = None
        self._roomy = False  # the FIFO of the device's file has been made larger
        self.listeners: list[Callable[[Event], None]] = [claim.line_use.note]
        self._forget()

    def _forget(self) -> None:
        self.events: list[Event | Lost] = []  # that were not read yet
        self._received: list[RxByte | Lost] = []
        self._losses = Losses()

    @property
    def lag(self) -> int:
        return self._device.lag

    def record(self, wanted: Wanted) -> None:
        kinds = sources = 0
        for names, kind in ((wanted.launched, abi.KIND_TX), (wanted.refused, abi.KIND_REFUSED)):
            kinds |= 1 << kind if names else 0
            for name in names:
                sources |= 1 << _SOURCE[name]
        if wanted.train:
            kinds |= 1 << abi.KIND_APPLIED | 1 << abi.KIND_REFUSED | 1 << abi.KIND_TRAIN_DONE
            sources |= 1 << abi.SRC_TRAIN_CHANGE
        kinds |= 1 << abi.KIND_RESPONDER_MISSED if wanted.missed else 0
        kinds |= 1 << abi.KIND_EDGE if wanted.rise or wanted.fall else 0
        kinds |= 1 << abi.KIND_RX if wanted.received else 0
        want = abi.Subscribe(
            kinds, sources, wanted.rise, wanted.fall, wanted.filtered, wanted.filter if wanted.filtered else 0, clock=self._clock
        )
        if self._claim.file is None and not self._roomy:  # the claim has as much from its beginning; only an empty FIFO can be exchanged
            want.fifo, self._roomy = self._device.fifo, True
        try:
            try:
                self._device.call(self._claim.reader, abi.IOC_SUBSCRIBE, want)
            except OSError as error:
                if error.errno != errno.ENOMEM:
                    raise
                want.fifo = 0
                self._device.call(self._claim.reader, abi.IOC_SUBSCRIBE, want)
        except OSError as error:
            if error.errno == errno.EBUSY:
                raise InUse(f"{self._device.path}: another program, or an armed responder, filters these inputs otherwise") from None
            raise LitePulseError(f"{self._device.path}: the driver does not record this ({error.strerror})") from None
        self.drain()
        self._forget()

    def drain(self) -> None:
        """Takes all that waits in the driver."""
        for data in self._parts():
            self._take_all(data)

    def _drain_edges(self) -> EdgeRecords | None:
        """As drain(); what waits as columns instead, if it is nothing but edges, and nothing was taken before."""
        data = b"".join(self._parts())
        if not self.events and not self._received:
            records = columns.of_structs(data, abi.Event.layout, _EVENT_MEMBERS, abi.KIND_EDGE)
            if records is not None:
                return records
        self._take_all(data)
        return None

    def _parts(self) -> Generator[bytes]:
        """Records that wait in the driver when this begins, and few more: what keeps coming is for the next call."""
        for _ in range(self._device.fifo // READ_RECORDS + 1):  # one more, for the record of losses
            try:
                data = os.read(self._claim.reader, READ_BYTES)
            except BlockingIOError:
                return
            except OSError as error:
                self._device.check_gone(error)
                raise TransportError(f"{self._device.path}: cannot be read ({error.strerror})") from None
            yield data
            if len(data) < READ_BYTES:
                return

    def _take_all(self, data: bytes) -> None:
        for values in abi.Event.layout.iter_unpack(data):
            self._take(abi.Event(*values))

    def _take(self, record: abi.Event) -> None:
        flags, ns = record.flags, record.ns if record.flags & abi.FLAG_NS else None
        if record.kind == abi.KIND_RESTARTED:
            if flags & abi.RESTARTED_SUSPEND:
                raise Restarted("the machine slept: whatever ran on the board has stopped")
            raise Restarted("the board restarted: whatever ran on it has stopped")
        if record.kind == abi.KIND_RX:
            self._received.append(
                RxByte(
                    record.tick,
                    record.data & 0xFF,
                    record.data >> 8 & 1,
                    bool(flags & abi.RX_PARITY),
                    bool(flags & abi.RX_FRAMING),
                    bool(flags & abi.RX_BREAK),
                    bool(flags & abi.RX_OWN),
                    bool(flags & abi.RX_NOISE),
                    ns,
                    record.uncertainty,
                )
            )
        elif record.kind == abi.KIND_LOST:
            self._take_loss(Lost(record.tick, record.count, bool(flags & abi.FLAG_AT_LEAST)), record.source == abi.SRC_RECEIVER)
        else:
            kind, source = KIND_NAME.get(record.kind, f"kind{record.kind}"), SOURCE_NAME.get(record.source, f"source{record.source}")
            event = Event(record.tick, record.seq, kind, source, flags & 0xFF, record.data, ns, record.uncertainty)
            for listener in self.listeners:
                listener(event)
            self.events.append(event)

    def _take_loss(self, lost: Lost, of_bytes: bool) -> None:
        before, at_least = self._losses, self._losses.at_least or lost.at_least
        if of_bytes:
            self._losses = Losses(before.events, before.received + lost.count, at_least)
            self._received.append(lost)
        else:
            self._losses = Losses(before.events + lost.count, before.received, at_least)
            self.events.append(lost)

    def read(self, as_columns: bool = False) -> Batch:
        tick = self._device.now()
        edges = None
        if as_columns:
            edges = self._drain_edges()
        else:
            self.drain()
        events, received = self.events, self._received
        self.events, self._received = [], []
        batch = Batch(max(0, tick - self._device.lag), tick, events, received, edges)
        if self.observer:
            self.observer(batch)
        return batch

    def wait(self, seconds: float) -> None:
        seconds = min(seconds, self.patience)
        if seconds > 0:
            poll = select.poll()
            poll.register(self._claim.reader, select.POLLIN)
            poll.poll(math.ceil(1000 * seconds))

    def losses(self) -> Losses:
        return self._losses

    def stop(self) -> None:
        """See Recorder. A tty that was set for records alone is as before."""
        with contextlib.suppress(OSError):
            self._device.call(self._claim.reader, abi.IOC_SUBSCRIBE, abi.Subscribe(clock=abi.CLOCK_NONE))
        self.drain()
        self._forget()
        if self._claim.file is None:
            self._tty.restore()
