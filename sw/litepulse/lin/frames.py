# SPDX-License-Identifier: BSD-2-Clause
"""Received bytes to LIN frames: who sent what, when, and whether it kept the standard's limits. Pure, no device."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from litepulse.lin.protocol import (
    BYTE_BITS,
    CLASSIC_IDS,
    DATA_MAX,
    SYNC,
    checksum,
    frame_id_of,
    header_limit,
    representation,
    response_bits,
    response_limit,
    space_limit,
)
from litepulse.streams import RxByte

ENHANCED, CLASSIC = "enhanced", "classic"
# Frame.error
NO_HEADER, NO_SYNC, NO_ID, BAD_SYNC, BAD_PARITY = "no header", "no sync", "no identifier", "wrong sync", "wrong parity"
NO_RESPONSE, SHORT, FRAMING, BAD_CHECKSUM = "no response", "short", "framing error", "wrong checksum"
MISSED_LATE, MISSED_BUSY = "missed late", "missed busy"  # of this board's own slave
BAD_RESPONSE = (SHORT, FRAMING, BAD_CHECKSUM)  # a node has answered, and not as it should


@dataclass(frozen=True)
class Expected:
    """What is known of a frame beforehand. length: data bytes; checksum: 'enhanced' or 'classic'."""

    length: int
    checksum: str
    name: str = ""


@dataclass(frozen=True)
class Frame:
    """What was heard from one break to the end of the response. Ticks are those of falling edges; spaces are in ticks, exact.

    tick: where the break begins; pid: the identifier as it was sent; frame_id: without parity, None if that is wrong; checksum: the last
    byte of the response; model: 'enhanced' or 'classic', whichever fits it, None if none does
    space: from the end of the identifier's frame to the response; spaces: this and all between its bytes
    own_header, own_response: sent by this board
    """

    tick: int
    pid: int | None = None
    frame_id: int | None = None
    name: str = ""
    data: bytes = b""
    checksum: int | None = None
    model: str | None = None
    error: str | None = None
    pid_tick: int | None = None  # of the identifier
    ticks: tuple[int, ...] = ()  # of the response's bytes
    space: Fraction | None = None
    spaces: Fraction | None = None
    limit: Fraction | None = None  # for `spaces`
    own_header: bool = False
    own_response: bool = False
    ns: int | None = None  # of `tick`, in the clock that was given to open()

    def __repr__(self) -> str:
        return representation(self, "pid", "frame_id", "checksum")

    @property
    def slow(self) -> bool:
        """The spaces add up to more than the standard allows; no node has to notice."""
        return self.spaces is not None and self.limit is not None and self.spaces > self.limit


class Assembler:
    """Makes Frames of received bytes. bit: ticks of a bit time, exact; expected: what is known, by identifier."""

    def __init__(self, bit: Fraction, expected: Mapping[int, Expected] | None = None) -> None:
        self.bit, self.expected = bit, expected or {}
        self._break: RxByte | None = None
        self._bytes: list[RxByte] = []
        self._deadline = Fraction(0)  # no byte of this frame begins later

    def feed(self, byte: RxByte, seen: int) -> list[Frame]:
        """A byte or break, and the board's tick at which it was there: the frames that end with it."""
        done = self.advance(byte.tick, whole=True)
        if byte.is_break:
            done += self._close()
            self._break = byte
            self._deadline = max(Fraction(seen), byte.tick + BYTE_BITS * self.bit) + header_limit() * self.bit
        elif self._break is None:
            done.append(Frame(byte.tick, data=bytes([byte.data]), error=NO_HEADER, ticks=(byte.tick,), own_response=byte.own, ns=byte.ns))
        else:
            self._bytes.append(byte)
            if len(self._bytes) == 2:
                self._deadline = self._header_end() + response_limit(DATA_MAX) * self.bit
            if self._complete():
                done += self._close()
        return done

    @property
    def begun(self) -> int | None:
        """Tick of the break of a frame that has not ended yet."""
        return None if self._break is None else self._break.tick

    def advance(self, now: int, whole: bool = False) -> list[Frame]:
        """The frame that has ended because nothing came until `now`. whole: what begins until then has been fed, not only what ended."""
        late = 0 if whole else (BYTE_BITS + 1) * self.bit
        return self._close() if self._break is not None and now > self._deadline + late else []

    def _header_end(self) -> Fraction:
        return self._bytes[1].tick + BYTE_BITS * self.bit

    def _known(self) -> Expected | None:
        """What is expected, once the identifier is there and right."""
        frame_id = frame_id_of(self._bytes[1].data) if len(self._bytes) > 1 else None
        return None if frame_id is None else self.expected.get(frame_id)

    def _complete(self) -> bool:
        """No more bytes can come: those are the header's, and data and checksum."""
        if len(self._bytes) <= 2:
            return False
        known = self._known()
        return len(self._bytes) == 2 + (known.length if known else DATA_MAX) + 1

    def _close(self) -> list[Frame]:
        begin, got, known = self._break, self._bytes, self._known()
        self._break, self._bytes = None, []
        if begin is None:
            return []
        if len(got) < 2:
            return [Frame(begin.tick, error=NO_ID if got else NO_SYNC, own_header=begin.own, ns=begin.ns)]
        sync, identifier, *response = got
        frame_id = frame_id_of(identifier.data)
        data = bytes(byte.data for byte in response)
        model, error = self._judge(identifier.data, frame_id, known, data, any(byte.framing_error for byte in response))
        if sync.data != SYNC or sync.framing_error:
            error = BAD_SYNC
        elif frame_id is None or identifier.framing_error:
            error = BAD_PARITY
        end = identifier.tick + BYTE_BITS * self.bit
        length = known.length if known else max(len(data) - 1, 0)
        return [
            Frame(
                begin.tick,
                pid=identifier.data,
                frame_id=frame_id,
                name=known.name if known else "",
                data=data[:-1],
                checksum=data[-1] if data else None,
                model=model,
                error=error,
                pid_tick=identifier.tick,
                ticks=tuple(byte.tick for byte in response),
                space=response[0].tick - end if response else None,
                spaces=response[-1].tick + BYTE_BITS * self.bit - end - response_bits(len(data) - 1) * self.bit if response else None,
                limit=space_limit(length) * self.bit if response else None,
                own_header=begin.own,
                own_response=bool(response) and all(byte.own for byte in response),
                ns=begin.ns,
            )
        ]

    @staticmethod
    def _judge(pid: int, frame_id: int | None, known: Expected | None, data: bytes, framing: bool) -> tuple[str | None, str | None]:
        """(checksum that fits, what is wrong) of a response."""
        if not data:
            return None, NO_RESPONSE
        fits = [name for name, over in ((ENHANCED, pid), (CLASSIC, None)) if len(data) > 1 and checksum(data[:-1], over) == data[-1]]
        model = CLASSIC if frame_id in CLASSIC_IDS and fits else fits[0] if fits else None
        if known and known.checksum in fits:
            model = known.checksum
        if framing:
            return model, FRAMING
        if len(data) < (known.length + 1 if known else 2):
            return model, SHORT
        return model, None if model and (not known or model == known.checksum) else BAD_CHECKSUM


BINS = 20  # of the standard's limit


@dataclass
class Spaces:
    """How long the responses to one identifier let wait, against what the standard allows. In ticks, exact."""

    count: int = 0
    slow: int = 0
    least: Fraction | None = None
    most: Fraction | None = None
    share: Fraction = Fraction(0)  # the most, as a share of its limit
    bins: Counter[int] = field(default_factory=Counter[int])  # by 1/BINS of the limit; BINS: more than it

    def add(self, frame: Frame) -> None:
        """Counts a frame that was answered."""
        if frame.spaces is None or not frame.limit:
            return
        self.count += 1
        self.slow += frame.slow
        self.least = frame.spaces if self.least is None else min(self.least, frame.spaces)
        self.most = frame.spaces if self.most is None else max(self.most, frame.spaces)
        share = max(frame.spaces / frame.limit, Fraction(0))
        self.share = max(self.share, share)
        self.bins[BINS if share > 1 else min(int(share * BINS), BINS - 1)] += 1
