# SPDX-License-Identifier: BSD-2-Clause
"""A stream of records in the window of a core: peeked at, acknowledged by position, decoded."""

import itertools
from collections.abc import Generator, Iterable, Sequence

from litepulse import columns
from litepulse.backends.bus.registers import Registers
from litepulse.columns import EdgeRecords
from litepulse.errors import Restarted, TransportError
from litepulse.layout import regs
from litepulse.streams import Event, EventStream, Header, Lost, ReceiveStream, RxByte

_WINDOW_WORDS = 0x2000 // 4  # of a stream's part of the window: a deep board shows no more at a time
_MUCH = 32  # records that are acknowledged at once, not only with the next look
_ROUNDS = 3  # that free what is ready: the second also frees the record of losses that stands before the first


class RecordStream:
    """Reads one record stream by peek and acknowledge."""

    def __init__(self, registers: Registers, name: str, decoder: EventStream | ReceiveStream, depth: int) -> None:
        self.registers = registers
        self.base = regs.REGIONS[name][0]
        self.decoder = decoder
        self.depth = depth
        self.tick = 0
        self.known = 0  # until when all is known that happened
        self.gap = False  # but for lost records that no OVERFLOW record had reported then
        self.untold = 0  # lost records that no OVERFLOW record has reported yet
        self.expected: int | None = None  # position the stream must have if nothing went wrong
        self._hint = 8
        self._owed: list[tuple[int, list[int]]] = []  # the acknowledgement that leaves with the next request, in a frame

    @property
    def lost(self) -> int:
        """Records lost since this reader began: reported by the board, not yet reported, and missing without a report."""
        return self.decoder.lost + self.untold + self.decoder.broken

    @property
    def lost_at_least(self) -> bool:
        """`lost` is a lower bound: a count of the board has stopped, or stands where it stops."""
        return self.decoder.at_least or self.untold >= regs.LOST_STOP

    @property
    def _most(self) -> int:
        """Records that one transaction brings at most."""
        return max(1, (min(self.registers.most_words, _WINDOW_WORDS) - regs.HEADER_WORDS) // self.decoder.words)

    def question(self, count: int | None = None) -> tuple[int, int]:
        """(offset, words) of the header and `count` records; None: as many as there may be."""
        count = min(self._hint, self._most) if count is None else count
        return self.base, regs.HEADER_WORDS + count * self.decoder.words

    def owed(self) -> list[tuple[int, list[int]]]:
        """[(offset, words)] to be written with the next request."""
        owed, self._owed = self._owed, []
        return owed

    def _fetch(self, count: int | None = None) -> list[int]:
        """The words of question()."""
        return self.registers.exchange(self.owed(), [self.question(count)], True)[0]

    def _split(self, words: list[int]) -> tuple[Header, list[int]]:
        """The header, and the words of those records that are ready and in `words`."""
        header = Header.decode(words)
        end = regs.HEADER_WORDS + header.ready * self.decoder.words
        return header, words[regs.HEADER_WORDS : end]

    def drain(self, first: list[int] | None = None) -> list[Event | RxByte | Lost]:
        """What is ready now, acknowledged: a list of records and Losts. All that happened before `known` is in it, or in an earlier one.

        What comes while it is read waits for the next call: else this one would not end where more comes than can be read.
        first: the answer to question(), if it is here already.
        """
        return self.decode(self.parts(first))

    def decode(
        self, parts: Iterable[tuple[Sequence[int], int]], decoder: EventStream | ReceiveStream | None = None
    ) -> list[Event | RxByte | Lost]:
        """What the records of parts() say, each part decoded as it comes. decoder: instead of the one of this reader."""
        decoder = decoder or self.decoder
        found: list[Event | RxByte | Lost] = []
        for words, tick in parts:
            for start in range(0, len(words), decoder.words):
                found += decoder.feed(words[start : start + decoder.words], tick)
        return found

    def decode_edges(self, parts: Iterable[tuple[Sequence[int], int]]) -> EdgeRecords | None:
        """The records of parts() of the event stream as columns; None, and nothing is decoded, if they are not just edges without a gap."""
        assert isinstance(self.decoder, EventStream)
        return columns.of_words(list(itertools.chain.from_iterable(words for words, _ in parts)), self.decoder)

    def parts(self, first: list[int] | None = None) -> Generator[tuple[list[int], int]]:
        """Reads and acknowledges what is ready now: the words of new records, and the tick of the header before them, burst by burst.

        first: as drain().
        """
        header, words = self._split(self._fetch() if first is None else first)
        self.known, self.gap = header.tick, header.lost > 0
        self._hint = max(8, min(self._most, header.ready + header.ready // 2))
        left = header.ready - self._read_before(header)
        vain = 0
        while True:
            fresh, new = self._take(header, words)
            yield fresh, header.tick
            if left <= new:
                if self._owed and header.ready >= _MUCH:  # the board gets room again while these are decoded
                    self.registers.exchange(self.owed(), guarded=True)
                return
            left -= new
            if not new:
                vain += 1
                if vain > self.depth // self._most + 2:
                    raise TransportError(f"{self.registers.identity.name}: the board does not take the acknowledgement of its records")
            header, words = self._split(self._fetch(min(left, self._most) if new else self._most))

    def _read_before(self, header: Header) -> int:
        """Records that are ready once more, because our last acknowledgement got lost."""
        again = 0 if self.expected is None else (self.expected - header.position) & 0xFFFF
        if again > self.depth:
            raise Restarted("somebody else read records of this board, or it restarted")
        return again

    def _take(self, header: Header, words: list[int]) -> tuple[list[int], int]:
        """Acknowledges records: (the words of those that are new, how many these are)."""
        if header.tick < self.tick:
            raise Restarted("the board restarted: its ticks began at 0 again")
        self.tick, self.untold = header.tick, header.lost
        again, count = self._read_before(header), len(words) // self.decoder.words
        if count:
            self._acknowledge(header.position, count)
            self.expected = (header.position + max(count, again)) & 0xFFFF
        elif self.expected is None:
            self.expected = header.position
        return words[again * self.decoder.words :], max(0, count - again)

    def peek(self) -> tuple[Header, list[Event | RxByte | Lost]]:
        """What is ready and in the window, decoded apart, without taking it: for a program that is not the reader of this stream."""
        attempts = 10
        while True:
            header, _ = self._split(self._fetch(0))
            words: list[int] = []
            if header.ready:
                count = min(header.ready * self.decoder.words, _WINDOW_WORDS - regs.HEADER_WORDS)
                words = self.registers.read_window(self.base + 4 * regs.HEADER_WORDS, count)
            attempts -= 1
            if not attempts or self._split(self._fetch(0))[0].position == header.position:
                break  # no records were taken meanwhile, so they all lay still
        return header, self.decode([(words, header.tick)], type(self.decoder)())

    def discard(self) -> bool:
        """Frees everything that is ready and forgets old losses; what comes next is ours. False: records keep coming meanwhile."""
        header, _ = self._split(self._fetch(0))
        position = header.position
        for _ in range(_ROUNDS):
            if not header.ready:
                break
            self._acknowledge(header.position, header.ready)
            position = (header.position + header.ready) & 0xFFFF
            header, _ = self._split(self._fetch(0))
        self.decoder = type(self.decoder)()
        self.tick, self.expected = header.tick, header.position if not header.ready else position
        return not header.ready

    def _acknowledge(self, position: int, count: int) -> None:
        word = count | (position & 0x7FFF) << 16 | 1 << 31
        if self.registers.framed:  # alone it would cost as much time as a look
            self._owed = [(self.base, [word])]
        else:
            self.registers.write_window(self.base, [word])
