# SPDX-License-Identifier: BSD-2-Clause
"""The two record streams: decoding, the 48-bit tick extension and exact loss accounting. Pure, no device."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from litepulse.layout import KIND_NAME, MASK32, REASON_NAME, SOURCE_NAME, place, regs, unpack
from litepulse.units import counted

_LEVEL = regs.STREAM_HEADER[0]
SEQ, SEQ_MASK = place(regs.EVENT_RECORD[2], "seq")
KIND, KIND_MASK = place(regs.EVENT_RECORD[2], "kind")
_SOURCE, _SOURCE_MASK = place(regs.EVENT_RECORD[2], "source")
_FLAGS, _FLAGS_MASK = place(regs.EVENT_RECORD[2], "flags")
_RX_INFO = regs.RECEIVE_RECORD[1]
_REASON_KINDS = ("refused", "responder_missed")


@dataclass(frozen=True)
class Header:
    """The four header words: one snapshot."""

    ready: int
    position: int
    lost: int
    tick: int

    @classmethod
    def decode(cls, words: Sequence[int]) -> "Header":
        """From the first four words of a stream window."""
        level = unpack(_LEVEL, words[0])
        return cls(level["ready"], level["position"], words[1], words[2] | words[3] << 32)


@dataclass(frozen=True)
class Event:
    """One event record."""

    tick: int
    seq: int
    kind: str
    source: str
    flags: int
    data: int
    ns: int | None = None  # in the clock requested of the driver
    uncertainty: int = 0  # ns

    @classmethod
    def decode(cls, words: Sequence[int]) -> "Event | None":
        """From four words; None for 'no record'."""
        info = words[2]
        kind = info >> KIND & KIND_MASK
        if kind == 0:
            return None
        source = info >> _SOURCE & _SOURCE_MASK
        return cls(
            words[0] | words[1] << 32,
            info >> SEQ & SEQ_MASK,
            KIND_NAME.get(kind) or f"kind{kind}",
            SOURCE_NAME.get(source) or f"source{source}",
            info >> _FLAGS & _FLAGS_MASK,
            words[3],
        )

    @property
    def reason(self) -> str | None:
        """'late', 'busy', 'order', 'invalid', or None where flags are not a reason."""
        return REASON_NAME.get(self.flags, f"reason {self.flags}") if self.kind in _REASON_KINDS else None

    @property
    def stop(self) -> bool:
        """An APPLIED that reports a stop?"""
        return self.kind == "applied" and self.source == "train_change" and bool(self.flags & regs.EVENT_FLAG_STOP)

    @property
    def filtered(self) -> bool:
        """An EDGE record of the channels behind the glitch filter?"""
        return self.kind == "edge" and bool(self.flags & regs.EVENT_FLAG_FILTERED)

    @property
    def tag(self) -> int:
        """Tag of a queued launch, number of a response."""
        return self.data >> 16


@dataclass(frozen=True)
class ChannelEdge:
    """One edge on one channel, unfolded from an EDGE record."""

    tick: int
    channel: int
    level: int
    ns: int | None = None  # that of its record
    uncertainty: int = 0  # ns


def edges(event: Event, samples_per_cycle: int) -> list[ChannelEdge]:
    """The single edges of an EDGE record in order of time."""
    level, changed = event.data >> 16, event.data & 0xFFFF
    if changed and not changed & (changed - 1):  # as in most records: one bit
        bit = changed.bit_length() - 1
        channel, sample = divmod(bit, samples_per_cycle)
        return [ChannelEdge(event.tick + sample, channel, level >> bit & 1, event.ns, event.uncertainty)]
    found: list[ChannelEdge] = []
    for bit in range(16):
        if changed >> bit & 1:
            channel, sample = divmod(bit, samples_per_cycle)
            found.append(ChannelEdge(event.tick + sample, channel, level >> bit & 1, event.ns, event.uncertainty))
    return sorted(found, key=lambda e: (e.tick, e.channel))


@dataclass(frozen=True)
class RxByte:
    """One received byte, stamped with its start edge."""

    tick: int
    data: int
    parity_bit: int = 0
    parity_error: bool = False
    framing_error: bool = False
    is_break: bool = False
    own: bool = False
    noise: bool = False
    ns: int | None = None
    uncertainty: int = 0  # ns

    @property
    def flags(self) -> list[str]:
        """Of parity, framing, break, own and noise those that apply."""
        names = (
            ("parity", self.parity_error),
            ("framing", self.framing_error),
            ("break", self.is_break),
            ("own", self.own),
            ("noise", self.noise),
        )
        return [name for name, on in names if on]


@dataclass(frozen=True)
class Lost:
    """Records of one stream were lost: the first one's tick and how many.

    With `at_least` the board's count had reached its end (regs.LOST_STOP): more may have been lost.
    """

    tick: int
    count: int
    at_least: bool = False

    def __str__(self) -> str:
        return f"{'at least ' if self.at_least else ''}{counted(self.count, 'record')}"


def extend_tick(low48: int, now: int) -> int:
    """The latest 64-bit tick not after `now` with these low 48 bits (records are never 2⁴⁸ ticks old)."""
    tick = (now & ~((1 << 48) - 1)) | low48
    return tick if tick <= now else tick - (1 << 48)


def newest_pulse(records: Iterable[Event | Lost]) -> Event | None:
    """Of the pulses of a train that have left, the last one; None if there is none."""
    pulses = [event for event in records if isinstance(event, Event) and event.source == "train" and event.kind == "tx"]
    return pulses[-1] if pulses else None


class EventStream:
    """Turns event records into Events and Losts and checks that the sequence numbers leave nothing untold."""

    words = regs.EVENT_WORDS

    def __init__(self) -> None:
        self.next_seq: int | None = None
        self.lost = 0  # reported by OVERFLOW records
        self.at_least = False  # one of them was a lower bound, and so is their sum
        self.broken = 0  # unreported sequence gaps: must stay 0

    def feed(self, words: Sequence[int], now: int) -> list[Event | Lost]:
        """The record in `words` as [Event or Lost], [] if there is none."""
        del now
        event = Event.decode(words)
        if event is None:
            return []
        if self.next_seq is not None and event.seq != self.next_seq:
            self.broken += (event.seq - self.next_seq) & 0xFFFF
        if event.kind == "overflow":
            self.next_seq = (event.seq + event.data) & 0xFFFF
            lost = Lost(event.tick, event.data, bool(event.flags & regs.EVENT_FLAG_AT_LEAST))
            self.lost += lost.count
            self.at_least |= lost.at_least
            return [lost]
        self.next_seq = (event.seq + 1) & 0xFFFF
        return [event]


class ReceiveStream:
    """Turns receive records into RxBytes and Losts."""

    words = regs.RECEIVE_WORDS

    def __init__(self) -> None:
        self.lost = self.broken = 0  # bytes carry no sequence number, so none can be missed
        self.at_least = False  # `lost` is a lower bound
        self._first_lost: int | None = None

    def feed(self, words: Sequence[int], now: int) -> list[RxByte | Lost]:
        """The record in `words` as [RxByte or Lost], [] for the first half of a loss."""
        low, info = words
        v = unpack(_RX_INFO, info)
        if v["overflow"] and v["count"]:
            tick, self._first_lost = self._first_lost, None
            lost = Lost(tick if tick is not None else now, low, bool(v["data"] & 1))
            self.lost += low
            self.at_least |= lost.at_least
            return [lost]
        tick = extend_tick((low & MASK32) | v["tick_47_32"] << 32, now)
        if v["overflow"]:
            self._first_lost = tick
            return []
        return [
            RxByte(
                tick,
                v["data"] & 0xFF,
                v["data"] >> 8,
                bool(v["parity_error"]),
                bool(v["framing_error"]),
                bool(v["break"]),
                bool(v["own"]),
                bool(v["noise"]),
            )
        ]
