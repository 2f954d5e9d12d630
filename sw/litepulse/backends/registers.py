# SPDX-License-Identifier: BSD-2-Clause
"""The backend of a LitePulse core behind a bus: identification, configuration, launches, streams.

The bus is anything with read(address, count) and write(address, words). Writes over a bridge are not acknowledged, so
every setting is confirmed by the core's own counters, and every stream acknowledgement is guarded by the position it
was made for: a lost or repeated one is noticed and made good, never a record taken twice or dropped.
"""

import contextlib
import itertools
import math
import secrets
import threading
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from litepulse import columns
from litepulse.backends import reliance
from litepulse.backends.interface import (
    LAUNCH_PROFILE,
    NO_LIN_SLAVE,
    RECEIVE_PROFILE,
    REST_SECONDS,
    SIM,
    Batch,
    ClockReading,
    Identity,
    Losses,
    Status,
    Stopped,
    TrainChange,
    TrainSettings,
    Wanted,
    pin_levels,
)
from litepulse.backends.places import CANDIDATES, Places
from litepulse.backends.wallclock import HOST_CLOCKS, WallClock
from litepulse.boottime import boottime
from litepulse.columns import EdgeRecords
from litepulse.errors import BadInput, LitePulseError, NotLitePulse, Refused, Restarted, TransportError, Unsupported
from litepulse.layout import CONFIG, CONFIG_BASE, CSRS, MASK32, TRAIN_COMMAND, TRIGGER, pack, regs, unpack
from litepulse.line import Launch, LinEntry, Profile, Response
from litepulse.measurement import period_from_words
from litepulse.streams import Event, EventStream, Header, Lost, ReceiveStream, RxByte
from litepulse.units import Period, Timescale

# Silent for so long, the host of a board counts as gone. Longer than a bridge needs to fall back to 115200 baud and answer again.
WATCHDOG_SECONDS = 8
ANSWER_TIMEOUT = 5.0  # seconds of wall-clock time for the core to answer a write
TRANSMIT_WORDS = 128  # of bytes to send, in a burst
_LIN_PART = 16  # LIN entries that are written before the core has answered for them
_LATE_SECONDS = WATCHDOG_SECONDS - 0.1  # the two clocks differ by less
_TOUCH_SECONDS = 1.0  # much less than WATCHDOG_SECONDS
_COMMANDS = {"command", "train_command", "resp_arm"}  # not written twice
_UNKNOWN = "reason 0"  # the record that had it was lost
_MUCH = 32  # records that are acknowledged at once, not only with the next look
_ROUNDS = 3  # that free what is ready: the second also frees the record of losses that stands before the first
_DECISION_CYCLES = 1000  # in so many it is recorded whether a change came in time, if that can be known at once


class Bus(Protocol):
    """What carries words to the board."""

    @property
    def burst(self) -> int:
        """Words that go in one transaction."""
        ...

    def read(self, address: int, count: int = 1) -> list[int]:
        """Words from a byte address on."""
        ...

    def write(self, address: int, words: Sequence[int]) -> None:
        """Words to a byte address and those behind it."""
        ...

    def hold(self) -> contextlib.AbstractContextManager[None]:
        """Keeps others away meanwhile."""
        ...


@dataclass(frozen=True)
class Words:
    """One reading of session, levels, counters and status bits."""

    session: int
    limit: int
    keep: int
    tx_free: int
    launch_free: int
    launches_accepted: int
    launches_refused: int
    configs_applied: int
    configs_refused: int
    tx_idle: int
    train_running: int
    train_change_pending: int
    responder_armed: int
    config_busy: int
    queue_idle: int
    line_busy: int
    rx_busy: int
    levels: int

    @property
    def configs_answered(self) -> int:
        """Configuration words answered, modulo 256."""
        return (self.configs_applied + self.configs_refused) & 0xFF


class Stream:
    """Reads one record stream by peek and acknowledge."""

    def __init__(self, device: "Device", name: str, decoder: EventStream | ReceiveStream, depth: int) -> None:
        self.device = device
        self.base = regs.REGIONS[name][0]
        self.decoder = decoder
        self.depth = depth
        self.tick = 0
        self.known = 0  # until when all is known that happened
        self.untold = 0  # lost records no OVERFLOW record has told of yet
        self.expected: int | None = None  # position the stream must have if nothing went wrong
        self._hint = 8
        self._owed: list[tuple[int, list[int]]] = []  # the acknowledgement that leaves with the next request, in a frame

    @property
    def lost(self) -> int:
        """Records lost since this reader began: told by the board, not yet told, and missing without a word."""
        return self.decoder.lost + self.untold + self.decoder.broken

    @property
    def lost_at_least(self) -> bool:
        """`lost` is a lower bound: a count of the board has stopped, or stands where it stops."""
        return self.decoder.at_least or self.untold >= regs.LOST_STOP

    @property
    def _most(self) -> int:
        """Records that one transaction brings at most."""
        return max(1, (self.device.most_words - regs.HEADER_WORDS) // self.decoder.words)

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
        return self.device.acknowledge(self.owed(), [self.question(count)])[0]

    def _split(self, words: list[int]) -> tuple[Header, list[int]]:
        """The header, and the words of those records that are ready."""
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
        self.known = header.tick
        self._hint = max(8, min(self._most, header.ready + header.ready // 2))
        left = header.ready - self._read_before(header)
        vain = 0
        while True:
            fresh, new = self._take(header, words)
            yield fresh, header.tick
            if left <= new:
                if self._owed and header.ready >= _MUCH:  # the board gets room again while these are decoded
                    self.device.acknowledge(self.owed(), ())
                return
            left -= new
            if not new:
                vain += 1
                if vain > self.depth // self._most + 2:
                    raise TransportError(f"{self.device.name}: the board does not take the acknowledgement of its records")
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
        """What is ready, decoded apart, without taking it: for a program that is not the reader of this stream."""
        attempts = 10
        while True:
            header, _ = self._split(self._fetch(0))
            words: list[int] = []
            if header.ready:
                words = self.device.read_window(self.base + 4 * regs.HEADER_WORDS, header.ready * self.decoder.words)
            attempts -= 1
            if not attempts or self._split(self._fetch(0))[0].position == header.position:
                break  # nobody took records meanwhile, so they all lay still
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
        if self.device.framed:  # alone it would cost as much time as a look
            self._owed = [(self.base, [word])]
        else:
            self.device.write_window(self.base, [word])


class Device:
    """An identified LitePulse core."""

    def __init__(self, bus: Bus, backend: str, name: str, simulated: bool = False, places: Places | None = None) -> None:
        """places: where the core lies; None: where one is found."""
        self.bus = bus
        self.backend = backend
        self.name = name
        self.simulated = simulated
        self.sleep: Callable[[float], None] = time.sleep  # between two looks
        self.wall_clock: WallClock | None = None  # in which records have a time, too
        self._identify(places)
        self.timescale = Timescale(self.clock_hz, self.samples_per_cycle)
        self.session: int | None = None
        self._mine: set[str] = set()  # of 'train', 'responder', 'launches', 'bytes': what this program began and has to end
        self._launch_profile = LAUNCH_PROFILE  # the number that it has in the core
        self._wants_bytes = True
        self.events = Stream(self, "EVENTS", EventStream(), self.event_depth)
        self.received = Stream(self, "RECEIVE", ReceiveStream(), self.receive_depth)

    # Words ------------------------------------------------------------------------------------------------------

    def read_csrs(self, first: str, last: str) -> dict[str, int]:
        """{name: word} of the registers from `first` to `last`, in one burst."""
        low, high = CSRS[first].index, CSRS[last].index
        words = self.bus.read(self._csr + 4 * low, high - low + 1)
        return {r.name: words[r.index - low] for r in CSRS.values() if low <= r.index <= high}

    def write_csr(self, name: str, value: int) -> None:
        """Writes a register of at most 32 bits."""
        self.bus.write(self._csr + 4 * CSRS[name].index, [value & MASK32])

    def read_window(self, offset: int, count: int) -> list[int]:
        """Words of the window."""
        return self.bus.read(self._window + offset, count)

    def write_window(self, offset: int, words: Sequence[int]) -> None:
        """Writes words of the window."""
        self.bus.write(self._window + offset, words)

    @property
    def framed(self) -> bool:
        """Whether several reads and writes are one transaction, which is answered."""
        return getattr(self.bus, "framed", False)

    @property
    def most_words(self) -> int:
        """Words that one transaction brings at most."""
        return getattr(self.bus, "most_words", self.bus.burst)

    def acknowledge(self, owed: Iterable[tuple[int, Sequence[int]]], reads: Sequence[tuple[int, int]]) -> list[list[int]]:
        """Writes what streams owe [(offset, words)], then reads [(offset, count)]; in one transaction if the bridge has frames."""
        writes = [(self._window + offset, words) for offset, words in owed]
        return self._exchange(writes, [(self._window + offset, count) for offset, count in reads], True)

    def _exchange(
        self, writes: Sequence[tuple[int, Sequence[int]]], reads: Sequence[tuple[int, int]], guarded: bool = False
    ) -> list[list[int]]:
        """Writes [(address, words)], then reads [(address, count)]. guarded: see UARTBone.together()."""
        together = getattr(self.bus, "together", None)
        if together is not None:
            return together(writes, reads, guarded)
        for address, words in writes:
            self.bus.write(address, words)
        return [self.bus.read(address, count) for address, count in reads]

    def _written(self, writes: list[tuple[int, Sequence[int]]]) -> Words:
        """Writes [(offset, words)] of the window; the Words behind that, as read_status()."""
        (words,) = self._exchange([(self._window + offset, words) for offset, words in writes], [self._status_question])
        return self._status_of(words)

    @property
    def _status_question(self) -> tuple[int, int]:
        """(address, words) of what read_status() reads."""
        first = CSRS["session"].index
        return self._csr + 4 * first, CSRS["status"].index - first + 1

    def read_status(self) -> Words:
        """The Words, and the proof that the board has not restarted since the first contact."""
        return self._status_of(self.bus.read(*self._status_question))

    def _status_of(self, read: list[int]) -> Words:
        """As read_status(), from what was read."""
        first = CSRS["session"].index
        words = {r.name: read[r.index - first] for r in CSRS.values() if 0 <= r.index - first < len(read)}
        free, launches = unpack(CSRS["free"], words["free"]), unpack(CSRS["launches"], words["launches"])
        configs = unpack(CSRS["configs"], words["configs"])
        session = unpack(CSRS["session"], words["session"])
        status = Words(
            session["session"],
            session["limit"],
            session["keep"],
            free["transmit"],
            free["launch"],
            launches["accepted"],
            launches["refused"],
            configs["applied"],
            configs["refused"],
            **unpack(CSRS["status"], words["status"]),
        )
        if self.session is not None and status.session != self.session:
            raise Restarted(
                f"the board restarted, or heard nothing from this program for {WATCHDOG_SECONDS} s: "
                "its session is gone, whatever ran on it has stopped"
            )
        return status

    # Identification -----------------------------------------------------------------------------------------------

    def _find(self, known: Places | None) -> dict[str, int]:
        """Sets where the core lies; the words that identify it."""
        seen: list[str] = []
        for places in [known] if known else CANDIDATES:
            self._csr = places.csr
            words = self.read_csrs("id_magic", "id_clock_den")
            if words["id_magic"] == regs.MAGIC:
                self.bridge_place, self._window = places.bridge, places.window or 0
                return words
            seen.append(f"0x{words['id_magic']:08x} at 0x{places.csr:08x}")
        raise NotLitePulse(f"{self.name}: a bridge answers, but this is not a LitePulse (read {', '.join(seen)}, not 0x{regs.MAGIC:08x})")

    def _identify(self, places: Places | None) -> None:
        words = self._find(places)
        version = unpack(CSRS["id_version"], words["id_version"])
        self.version = (version["major"], version["minor"])
        mine = (regs.VERSION_MAJOR, regs.VERSION_MINOR)
        if self.version[0] != mine[0] or (mine[0] == 0 and self.version != mine):
            raise NotLitePulse(
                f"{self.name}: the core is version {self.version[0]}.{self.version[1]}, this program drives version {mine[0]}.{mine[1]}"
            )
        self._window = self._window or self.read_csrs("id_window", "id_window")["id_window"] or regs.WINDOW_BASE
        geometry = unpack(CSRS["id_geometry"], words["id_geometry"])
        self.simulated = self.simulated or bool(geometry["simulated"])
        self.samples_per_cycle, self.inputs = geometry["samples"], geometry["inputs"]
        self.event_depth, self.receive_depth = 1 << geometry["event_depth"], 1 << geometry["receive_depth"]
        self.transmit_depth, self.launch_depth = 1 << geometry["transmit_depth"], 1 << geometry["launch_depth"]
        self.lin_depth = geometry["lin_depth"]
        if self.samples_per_cycle not in (1, 2, 4, 8) or (self.inputs + 1) * self.samples_per_cycle > 16:
            raise NotLitePulse(f"{self.name}: impossible geometry 0x{words['id_geometry']:08x}")
        if not words["id_clock_num"] or not words["id_clock_den"]:
            raise NotLitePulse(f"{self.name}: the core does not tell its clock")
        self.clock_hz = Fraction(words["id_clock_num"], words["id_clock_den"])

    @property
    def line_channel(self) -> int:
        """The capture channel that is the RX line."""
        return self.inputs

    def channel_name(self, channel: int) -> str:
        """'0', '1', … or 'rx'."""
        return "rx" if channel == self.line_channel else str(channel)

    @property
    def identity(self) -> Identity:
        """What it is."""
        return Identity(
            self.backend,
            self.name,
            self.simulated,
            self.version,
            self.clock_hz,
            self.samples_per_cycle,
            self.inputs,
            self.event_depth,
            self.receive_depth,
            self.transmit_depth,
            self.launch_depth,
            1 << self.lin_depth if self.lin_depth else 0,
            self.session or 0,
            self.echo_limit,
            clocks=HOST_CLOCKS,
        )

    def open_session(self) -> bool:
        """First contact: names the session if the board has none. True if it had none, i.e. was just reset."""
        with self.bus.hold():  # else two at once would each write a name
            status = self.read_status()
            self.session = status.session
            if status.session:
                return False
            self.session = secrets.randbelow(0xFFFF) + 1
            self.write_csr("session", self.session)
            self.read_status()
            return True

    def pledge(self, keep: bool = False, watched: bool = True) -> None:
        """What becomes of what runs when the board hears from no host for WATCHDOG_SECONDS: it stops, or goes on with `keep`.

        Not `watched`: nothing runs that would have to be stopped. The board has one word for all that runs: what was kept stays kept.
        """
        status = self.read_status()
        keep = keep or (bool(status.keep) and bool(self._others(status)))
        units = math.ceil(Fraction(WATCHDOG_SECONDS) * self._bus_hz() / (1 << regs.WATCHDOG_UNIT))
        limit = min(units, unpack(CSRS["session"], MASK32)["limit"]) if watched and not keep else 0
        for _ in range(3):
            with self.bus.hold():
                # Our name must not come back to a board that lost it: a look at the window begins the board's count again, so that what
                # the status then says is still true when the write arrives.
                begun = boottime()
                tick = self.events_now()
                status = self.read_status()
                if (status.limit, status.keep) == (limit, int(keep)):
                    return
                self.write_csr("session", pack(CSRS["session"], session=status.session, limit=limit, keep=int(keep)))
                if self.framed and self.events_now() < tick:  # the write was repeated, and the board was reset meanwhile
                    self._give_up_session()
                if status.limit and not status.keep and boottime() - begun > _LATE_SECONDS:
                    self._give_up_session()
        status = self.read_status()
        if (status.limit, status.keep) != (limit, int(keep)):
            raise self._watchdog_error()

    def _give_up_session(self) -> None:
        """This program stood still: what the watchdog does, as it may have fired before the board got our name back. Restarted."""
        self.quiet()
        for _ in range(3):
            self.write_csr("session", 0)
            self.read_status()
        raise self._watchdog_error()

    def _watchdog_error(self) -> TransportError:
        return TransportError(f"{self.name}: the board does not take the setting of its watchdog")

    def _bus_hz(self) -> int | Fraction:
        """Clock of the board's bus, which counts the limit; where its bridge does not tell, that of the core, which is not below it."""
        return getattr(self.bus, "bus_clock", lambda: 0)() or self.clock_hz

    # Configuration ------------------------------------------------------------------------------------------------

    def configure(self, *words: tuple[str, int]) -> Words:
        """Writes (name, word) pairs in order and waits until the core has answered each; Refused names the culprits."""
        repeatable = not any(name in _COMMANDS for name, _ in words)
        bursts: list[tuple[int, list[int]]] = []
        for name, word in words:
            index = CONFIG[name].index
            if bursts and bursts[-1][0] + len(bursts[-1][1]) == index:
                bursts[-1][1].append(word & MASK32)
            else:
                bursts.append((index, [word & MASK32]))
        for _ in range(3 if repeatable else 1):
            with self.bus.hold():  # the answers are counted, so they must all be ours
                before = self.read_status()
                status = self._written([(CONFIG_BASE + 4 * index, values) for index, values in bursts])
                status = self._await_answers(before, status, len(words))
            if status is not None:
                break
        else:
            raise TransportError(f"{self.name}: the core does not answer configuration writes")
        refused = (status.configs_refused - before.configs_refused) & 0xFF
        if refused:
            raise Refused(f"the core refused {refused} of these settings: {', '.join(name for name, _ in words)}")
        return status

    def _await_answers(self, before: Words, status: Words, count: int) -> Words | None:
        """The Words once `count` more words are answered, None if they are not in time. status: those of now."""
        end = time.monotonic() + ANSWER_TIMEOUT
        while True:
            if (status.configs_answered - before.configs_answered) & 0xFF >= count and not status.config_busy:
                return status
            if time.monotonic() > end:
                return None
            status = self.read_status()

    def config_words(self, first: str, last: str) -> dict[str, int]:
        """{name: word} as last written, read back in one burst."""
        low, high = CONFIG[first].index, CONFIG[last].index
        words = self.read_window(CONFIG_BASE + 4 * low, high - low + 1)
        return {r.name: words[r.index - low] for r in CONFIG.values() if low <= r.index <= high}

    def set_profile(self, number: int, profile: Profile) -> None:
        """Sets a line profile. That of launches is one that nothing uses which was kept."""
        if number == LAUNCH_PROFILE:
            used = {one.profile for one in self._relied()}
            number = self._launch_profile = next(free for free in (LAUNCH_PROFILE, 2, 3) if free not in used)
        fmt, period = profile.words()
        self.configure((f"profile{number}_format", fmt), (f"profile{number}_period", period))

    def profile(self, number: int) -> Profile | None:
        """The profile last written, or None."""
        fmt, period = self.config_words(f"profile{number}_format", f"profile{number}_period").values()
        return Profile.from_words(fmt, period, self.timescale.tick_hz)

    def set_line(self, loopback: bool = False, receive: bool = False) -> None:
        """Line settings; holds nothing back."""
        self.configure(("line", pack(CONFIG["line"], loopback=int(bool(loopback)), rx_enable=int(receive))))

    def set_driver_enable(self, lead: int, lag: int) -> None:
        """Lead and lag of the `de` pin in ticks. The lead cannot change while a train runs."""
        for name, ticks in (("lead", lead), ("lag", lag)):
            if not 0 <= ticks <= 0xFFFF:
                raise BadInput(f"{name}: {ticks} ticks is outside 0 to {0xFFFF}")
        try:
            self.configure(("driver_enable", pack(CONFIG["driver_enable"], lead=lead, lag=lag)))
        except Refused:
            raise Refused("lead: it cannot change while a train runs: stop the train first") from None

    @property
    def echo_limit(self) -> int:
        """The longest tail of our own echo, in ticks."""
        return regs.ECHO_CYCLES_MAX * self.samples_per_cycle

    def set_echo(self, ticks: int | None) -> int:
        """For so long after our transmission ended what arrives counts as its echo; None: as after a reset.

        The core rounds it up to whole cycles; returns what it uses.
        """
        samples = self.samples_per_cycle
        if ticks is None:
            ticks = samples * regs.ECHO_CYCLES_RESET
        if not 0 <= ticks <= self.echo_limit:
            raise BadInput(f"echo: {self.timescale.named(ticks)} is outside 0 to {self.timescale.named(self.echo_limit, math.floor)}")
        ticks = samples * math.ceil(Fraction(ticks, samples))
        self.configure(("echo", pack(CONFIG["echo"], tail=ticks)))
        return ticks

    def set_event_mask(self, *names: str) -> None:
        """Records just these events."""
        self.configure(("event_mask", pack(CONFIG["event_mask"], **dict.fromkeys(names, 1))))

    def events_now(self) -> int:
        """The current tick; reading it takes nothing."""
        return Header.decode(self.read_window(regs.REGIONS["EVENTS"][0], regs.HEADER_WORDS)).tick

    # What runs here already -------------------------------------------------------------------------------------------

    def _others(self, status: Words) -> tuple[str, ...]:
        """'train', 'responder': those that run and are not ours."""
        running = (("train", status.train_running), ("responder", status.responder_armed))
        return tuple(name for name, runs in running if runs and name not in self._mine)

    def _relied(self, instead_of: str = "") -> list[reliance.Reliance]:
        """What runs, ours too, and relies on settings."""
        status = self.read_status()
        found: list[reliance.Reliance] = []
        if status.train_running:
            found.append(reliance.of_train(self.config_words("train_width", "train_launch")))
        if status.responder_armed and instead_of != "responder":
            found.append(reliance.of_responder(self.config_words("resp_trigger", "resp_launch"), self.line_channel))
        return found

    def kept(self) -> tuple[str, ...]:
        """See Backend."""
        others = self._others(self.read_status())
        return tuple(one.text for one in self._relied() if one.what in others) if others else ()

    def _mapped(self, launch: Launch) -> Launch:
        """With the number that its profile has in the core."""
        return replace(launch, profile=self._launch_profile) if launch.profile == LAUNCH_PROFILE else launch

    # Train ----------------------------------------------------------------------------------------------------------

    def start_train(self, launch: Launch, period: Period, count: int = 0, start: int | None = None) -> None:
        """Starts a train, as soon as possible or at tick `start`; the event stream tells whether and when."""
        if not self.read_status().train_running:  # else the core refuses ours
            self._mine.add("train")
        launch, tick = self._mapped(launch), start or 0
        self.configure(
            ("train_start_lo", tick & MASK32),
            ("train_start_hi", tick >> 32),
            ("train_count", count),
            ("train_width", launch.width),
            ("train_launch", launch.word()),
            ("train_period", period.whole),
            ("train_num", period.num),
            ("train_den", period.den & MASK32),
            ("train_command", pack(CONFIG["train_command"], command=TRAIN_COMMAND["start"], asap=int(start is None))),
        )

    def adjust_train(self, period: Period, at_pulse: int = 0, step: int = 0) -> None:
        """Asks once for a change of period and phase from pulse `at_pulse` on (0: as early as possible)."""
        self.configure(
            ("train_period", period.whole),
            ("train_num", period.num),
            ("train_den", period.den & MASK32),
            ("train_at_pulse", at_pulse),
            ("train_step", pack(CONFIG["train_step"], step=step)),
            ("train_command", pack(CONFIG["train_command"], command=TRAIN_COMMAND["adjust"])),
        )

    def stop_train(self) -> None:
        """No further pulse starts."""
        self.configure(("train_command", pack(CONFIG["train_command"], command=TRAIN_COMMAND["stop"])))

    # Launches ---------------------------------------------------------------------------------------------------------

    def launch(self, entries: Sequence[tuple[int, int, Launch]]) -> int:
        """Commits timed launches, [(tick, tag, Launch)]; there must be room (Status.launch_free). Waits until all have arrived."""
        self._mine.add("launches")
        entries = [(tick, tag, self._mapped(launch)) for tick, tag, launch in entries]
        most = max(1, self.bus.burst // 4)
        for start in range(0, len(entries), most):
            with self.bus.hold():  # what is accepted is counted, so it must all be ours
                self._commit(entries[start : start + most])
        return len(entries)

    def _commit(self, entries: Sequence[tuple[int, int, Launch]]) -> None:
        """As launch(), those that fit one burst."""
        before = self.read_status()
        status = self._written([(regs.REGIONS["LAUNCH"][0], [w for tick, tag, launch in entries for w in launch.entry(tick, tag)])])
        end = time.monotonic() + ANSWER_TIMEOUT
        while True:
            accepted = (status.launches_accepted - before.launches_accepted) & 0xFF
            refused = (status.launches_refused - before.launches_refused) & 0xFF
            if refused:
                raise Refused(f"the launch queue was full: {refused} launches dropped")
            if accepted == len(entries):
                return
            if time.monotonic() > end:
                raise TransportError(f"{self.name}: {len(entries) - accepted} of {len(entries)} launches did not arrive")
            status = self.read_status()

    # Responder ---------------------------------------------------------------------------------------------------------

    def disarm(self) -> None:
        """No further trigger is answered."""
        self.configure(("resp_arm", 0))
        self._mine.discard("responder")

    def quiet(self) -> None:
        """Stops all that starts by itself: train, responder, queue; what is on the line is finished."""
        self.configure(("train_command", pack(CONFIG["train_command"], command=TRAIN_COMMAND["stop"])))
        self.configure(("resp_arm", 0))
        self.configure(("command", pack(CONFIG["command"], flush_queue=1, flush_tty=1)))

    # The interface of a backend --------------------------------------------------------------------------------------

    def status(self) -> Status:
        """See Backend."""
        return self._status(self.read_status())

    def _status(self, words: Words) -> Status:
        return Status(
            bool(words.train_running),
            bool(words.train_change_pending),
            bool(words.responder_armed),
            bool(words.queue_idle),
            bool(words.line_busy),
            words.launch_free,
            pin_levels(words.levels, self.identity.inputs),
        )

    def now(self) -> int:
        """See Backend."""
        return self.events_now()

    def read_clocks(self) -> ClockReading:
        """See Backend."""
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        monotonic, realtime = time.monotonic_ns(), time.time_ns()
        tick = self.events_now()
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        half = (after - before) // 2
        return ClockReading(tick, before, after, monotonic + half, realtime + half)

    def record(self, wanted: Wanted) -> None:
        """See Backend."""
        names = [*(f"tx_{source}" for source in wanted.launched), *(f"refused_{source}" for source in wanted.refused)]
        names += ["control", "train_done"] if wanted.train else []
        names += ["missed"] if wanted.missed else []
        names += ["edge"] if wanted.rise or wanted.fall else []
        filters = self._filter_word(wanted)
        self._wants_bytes = wanted.received
        self.set_event_mask(*names)
        self.configure(("filter", filters))
        if not self.events.discard():  # a program that was killed may have left busy inputs switched on
            self.configure(("capture_edges", 0))
            self.events.discard()
        self.received.discard()
        self.configure(("capture_edges", pack(CONFIG["capture_edges"], rise=wanted.rise, fall=wanted.fall)))
        self._look_at_clock()

    def _filter_word(self, wanted: Wanted) -> int:
        """The word that filters what is wanted, and all else that runs as before. InUse if that cannot be."""
        before = self.config_words("filter", "filter")["filter"]
        length = wanted.filter if wanted.filtered else 0
        word = pack(CONFIG["filter"], enable=wanted.filtered, length=length)
        for one in self._relied():
            if one.channel is None or reliance.filter_of(before, one.channel) == reliance.filter_of(word, one.channel):
                continue
            was, bit = reliance.filter_of(before, one.channel), 1 << one.channel
            if wanted.filtered & bit or (wanted.filtered and was not in (1, length)):
                where = self.channel_name(one.channel)
                raise one.refuse(self.name, f"with a filter of {was} samples on {where}", f"one of {length or 1}")
            word = pack(CONFIG["filter"], enable=wanted.filtered | bit, length=was)
        return word

    def look(self, as_columns: bool = False) -> tuple[Status, Batch]:
        """See Backend."""
        if not self.framed:
            return self.status(), self.read(as_columns)
        streams = [self.events, self.received] if self._wants_bytes else [self.events]
        with self.bus.hold():
            writes = [(self._window + offset, words) for stream in streams for offset, words in stream.owed()]
            windows = [(self._window + offset, count) for offset, count in (stream.question() for stream in streams)]
            status, *first = self._exchange(writes, [self._status_question, *windows], True)
            return self._status(self._status_of(status)), self._read(as_columns, *first)

    def read(self, as_columns: bool = False) -> Batch:
        """See Backend."""
        return self._read(as_columns)

    def _read(self, as_columns: bool, events: list[int] | None = None, bytes_: list[int] | None = None) -> Batch:
        """As read(); events, bytes_: of each stream what Stream.drain() calls `first`."""
        parts = list(self.events.parts(events))
        # A responder needs the receiver on, nobody else does: what it received is no program's, and stays there.
        received = self.received.drain(bytes_) if self._wants_bytes else []
        edges = self.events.decode_edges(parts) if as_columns and not received and self.wall_clock is None else None
        batch = Batch(
            self.events.known,
            self.events.tick,
            [e for e in self.events.decode(parts) if not isinstance(e, RxByte)] if edges is None else [],
            [b for b in received if not isinstance(b, Event)],
            edges,
        )
        if self.wall_clock is None or not (batch.events or received):
            return batch
        self._look_at_clock()
        return self.wall_clock.stamped(batch)

    def _look_at_clock(self) -> None:
        """Another reading, if one is due."""
        if self.wall_clock is not None and self.wall_clock.due():
            self.wall_clock.look(self.read_clocks())

    def wait(self, seconds: float) -> None:
        """See Backend."""
        self.sleep(seconds)

    def losses(self) -> Losses:
        """See Backend."""
        received, at_least = (self.received.lost, self.received.lost_at_least) if self._wants_bytes else (0, False)
        return Losses(self.events.lost, received, self.events.lost_at_least or at_least)

    def set_receiver(self, profile: Profile | None, receive: bool, loopback: bool, instead_of: str = "") -> None:
        """See Backend. A word is not written again beside what runs: that would end a byte which is just being received."""
        relied = self._relied(instead_of)
        word = self.config_words("line", "line")["line"]
        line, now = unpack(CONFIG["line"], word), self.profile(RECEIVE_PROFILE)
        reliance.check_receiver(self.name, relied, self.line_channel, now, profile, (bool(line["loopback"]), loopback))
        if instead_of == "responder" and self.read_status().responder_armed:
            self.disarm()
        if not relied:
            if profile:
                self.set_profile(RECEIVE_PROFILE, profile)
            self.set_line(loopback, receive)
            return
        if profile and profile != now:
            self.set_profile(RECEIVE_PROFILE, profile)
        receive = receive or any(one.receives for one in relied)
        changed = pack(CONFIG["line"], **(line | {"loopback": int(bool(loopback)), "rx_enable": int(receive)}))
        if changed != word:
            self.configure(("line", changed))

    def idle_level(self) -> int | None:
        """See Backend: as the last program set it."""
        return reliance.idle_level(self.profile(RECEIVE_PROFILE))

    def train(self) -> TrainSettings | None:
        """See Backend."""
        words = self.config_words("train_count", "train_den")
        launch = Launch.from_words(words["train_launch"], words["train_width"])
        return TrainSettings(period_from_words(words), words["train_count"], launch, self.profile(launch.profile) if launch else None)

    def train_change(self) -> tuple[Period, int] | None:
        """(period, step) as they were written last."""
        words = self.config_words("train_period", "train_step")
        return period_from_words(words), unpack(CONFIG["train_step"], words["train_step"])["step"]

    def launch_seconds(self, count: int) -> Fraction:
        """See Backend."""
        baud = getattr(self.bus, "baud", None)
        return Fraction(10 * 16 * count, baud) if baud else Fraction(0)

    def flush(self) -> None:
        """See Backend."""
        self.configure(("command", pack(CONFIG["command"], flush_queue=1)))

    def transmit(self, data: bytes) -> int:
        """See Backend."""
        self._mine.add("bytes")
        base = self._window + regs.REGIONS["TX"][0]
        with self.bus.hold():
            part = data[: self.read_status().tx_free]
            whole = len(part) // 4 * 4
            writes: list[tuple[int, list[int]]] = []
            for start in range(0, whole, 4 * TRANSMIT_WORDS):
                words = [int.from_bytes(part[i : i + 4], "little") for i in range(start, min(start + 4 * TRANSMIT_WORDS, whole), 4)]
                writes.append((base + 3 * regs.TX_PART_SIZE, words))
            if rest := part[whole:]:
                writes.append((base + (len(rest) - 1) * regs.TX_PART_SIZE, [int.from_bytes(rest, "little")]))
            self._exchange(writes, [])
        return len(part)

    def flush_transmit(self) -> None:
        """See Backend."""
        self.configure(("command", pack(CONFIG["command"], flush_tty=1)))

    def stay_in_touch(self) -> None:
        """See Backend: the simulated SoC of our own stands still meanwhile."""

    def arm(self, response: Response) -> None:
        """See Backend."""
        trigger, launch = response.trigger, self._mapped(response.launch)
        self._mine.add("responder")
        self.configure(
            (
                "resp_trigger",
                pack(
                    CONFIG["resp_trigger"],
                    trigger=TRIGGER[trigger.kind],
                    channel=trigger.channel,
                    rise=int(trigger.rise),
                    fall=int(trigger.fall),
                    rearm=int(bool(response.rearm)),
                    exclusive=int(bool(response.exclusive)),
                    ignore_own=int(bool(response.ignore_own)),
                ),
            ),
            ("resp_match", pack(CONFIG["resp_match"], value=trigger.value, mask=trigger.mask)),
            ("resp_delay", response.delay),
            ("resp_width", launch.width),
            ("resp_launch", launch.word()),
            ("resp_holdoff", response.holdoff),
            ("resp_arm", 1),
        )

    def lin_entries(self) -> int:
        """See Backend."""
        if not self.lin_depth:
            raise Unsupported(f"{self.name}: {NO_LIN_SLAVE}")
        return self.identity.lin_entries

    def set_lin(self, entries: Sequence[LinEntry]) -> None:
        """See Backend."""
        for start in range(0, len(entries), _LIN_PART):
            words: list[tuple[str, int]] = []
            for entry in entries[start : start + _LIN_PART]:
                low, high, last = entry.words()
                if entry.data:
                    words += [("lin_data_lo", low), ("lin_data_hi", high)]
                words.append(("lin_entry", last))
            self.configure(*words)

    def stop_recording(self) -> None:
        """See Backend."""
        self.configure(("capture_edges", 0))
        self.set_event_mask("control", "train_done", "missed")

    def release(self) -> None:
        """See Backend."""
        mine = set(self._mine)
        others = self._others(self.read_status())
        if "train" in mine:
            self.stop_train()
        if "responder" in mine:
            self.disarm()
        if mine & {"launches", "bytes"}:
            flush = {"flush_queue": int("launches" in mine), "flush_tty": int("bytes" in mine)}
            self.configure(("command", pack(CONFIG["command"], **flush)))
        self._mine.clear()
        if not others:  # else the watchdog stays as it is: that is theirs
            self.pledge(watched=False)
        self.stop_recording()

    def leave(self) -> None:
        """See Backend."""
        self.stop_recording()
        self.pledge(keep=True)
        self._mine.clear()

    def close(self) -> None:
        """See Backend. Whoever opened the bus closes it: see BusBackend."""

    # Beside the program that reads the streams: stopping and changing a train that another process follows ------------

    def stop_all(self) -> Stopped:
        """See Backend."""
        before = self.read_status()
        position = self._event_end()
        self.quiet()
        if not self._comes_to_rest(lambda s: not s.train_running and not s.line_busy and bool(s.queue_idle) and not s.responder_armed):
            raise LitePulseError(f"{self.name}: it does not come to rest")
        self._mine.clear()
        self.pledge(watched=False)
        event = self._last_change(position)
        names = (("train", before.train_running), ("responder", before.responder_armed), ("launches", not before.queue_idle))
        pulses = event.data if event is not None and event.stop and before.train_running else None
        return Stopped(tuple(name for name, was in names if was), pulses)

    def changing(self) -> contextlib.AbstractContextManager[object]:
        """See Backend."""
        return self._also_recorded("control")

    def ask_change(self, period: Period, step: int, at_pulse: int) -> TrainChange:
        """See Backend."""
        old_words = self.config_words("train_period", "train_step")
        event, pending = self._change_once(period_from_words(old_words), period, at_pulse, step)
        if event is not None and event.kind == "refused":
            self.configure(*old_words.items())
            raise Refused("the core refused the change", None if event.reason == _UNKNOWN else event.reason)
        return TrainChange(event.data if event is not None else at_pulse or None, pending)

    def _comes_to_rest(self, done: Callable[[Words], bool]) -> bool:
        end = time.monotonic() + REST_SECONDS
        while not done(self.read_status()):
            if time.monotonic() > end:
                return False
            self.wait(0.01)
        return True

    def _fresh(self, position: int) -> list[Event]:
        """The events that came after stream position `position`, if their reader has left them there."""
        header, events = self.events.peek()
        fresh = events[max(0, len(events) - ((header.position + header.ready - position) & 0xFFFF)) :]
        return [event for event in fresh if isinstance(event, Event)]

    def _last_change(self, position: int) -> Event | None:
        """The newest of them that is about the train."""
        return next((event for event in reversed(self._fresh(position)) if event.source == "train_change"), None)

    def _event_end(self) -> int:
        """The stream position after the newest event."""
        header, _ = self.events.peek()
        return (header.position + header.ready) & 0xFFFF

    def _await_change(self, position: int, ticks: int | Fraction) -> tuple[Event | None, bool]:
        """(Event, still pending): what became of a change that should come within `ticks`. Who follows the train may take the record
        before we see it, so the end of two periods in which nothing was pending counts, too. A simulated board may need long for these."""
        limit = self.events_now() + min(
            2 * math.ceil(ticks) + _DECISION_CYCLES * self.samples_per_cycle, math.ceil(5 * self.timescale.tick_hz)
        )
        end, seen = time.monotonic() + 5, False
        while True:
            over = self.events_now() > limit
            pending = self.read_status().train_change_pending
            event = self._last_change(position)
            if event is not None or (not pending and (seen or over)):
                return event, False
            if over and time.monotonic() > end:
                return None, True
            seen = seen or bool(pending)
            self.wait(0.005)

    def _change_once(self, old: Period, period: Period, at_pulse: int, step: int) -> tuple[Event | None, bool]:
        """Asks for a change once; (Event, still pending) as _await_change()."""
        with self.bus.hold():  # who follows the train would take the record that tells what became of it
            position = self._event_end()
            try:
                self.adjust_train(period, at_pulse, step)
            except Refused:
                event = self._decision(position)
                if event is None or event.kind != "refused":  # there was no room for the record
                    return Event(0, 0, "refused", "train_change", 0, at_pulse), False
                return event, False
            event = self._decision(position)
        return (event, False) if event else self._await_change(position, max(old.ticks, period.ticks) + abs(step))

    def _decision(self, position: int) -> Event | None:
        """What the core decided at once about a change: _last_change() as soon as its record must have come."""
        limit = self.events_now() + _DECISION_CYCLES * self.samples_per_cycle
        while True:
            over = self.events_now() > limit
            event = self._last_change(position)
            if event is not None or over:
                return event

    @contextlib.contextmanager
    def _also_recorded(self, name: str) -> Generator[None]:
        """These events are recorded meanwhile, also where nobody wanted them."""
        mask = self.config_words("event_mask", "event_mask")["event_mask"]
        bit = pack(CONFIG["event_mask"], **{name: 1})
        if not mask & bit:
            self.configure(("event_mask", mask | bit))
        try:
            yield
        finally:
            if not mask & bit:
                self.configure(("event_mask", mask))

    def newest_pulse(self) -> tuple[int, int] | None:
        """See Backend."""
        end = time.monotonic() + 5
        period = period_from_words(self.config_words("train_period", "train_step"))
        # Who follows a fast train would take its records, so it waits. Nobody looks that often at a slow one.
        fast = period.ticks < self.timescale.tick_hz / 10
        with self._also_recorded("tx_train"), self.bus.hold() if fast else contextlib.nullcontext():
            position = self._event_end()
            while time.monotonic() < end:
                pulses = [event for event in self._fresh(position) if event.source == "train" and event.kind == "tx"]
                if pulses:
                    return pulses[-1].data, self.events_now() - pulses[-1].tick
                self.wait(0.002)
        return None


class BusBackend(Device):
    """A Device with its session open, and all that has to be closed after it."""

    def __init__(
        self,
        bus: Bus,
        backend: str,
        name: str,
        simulated: bool,
        closers: Sequence[Callable[[], None]],
        sleep: Callable[[float], None] = time.sleep,
        places: Places | None = None,
        identified: Callable[[Device], None] = lambda device: None,
        clock: str | None = None,
    ) -> None:
        """closers: called in this order; sleep: how time passes between two looks; places: as Device; identified: called before
        anything is written to the board; clock: of HOST_CLOCKS, in which records have a time, too.
        """
        self._closers = list(closers)
        self._closing = threading.Event()
        try:
            super().__init__(bus, backend, name, simulated, places)
            self.sleep = sleep
            identified(self)
            if (use_frames := getattr(bus, "use_frames", None)) is not None:
                use_frames(self.bridge_place)
            self.open_session()
            if clock is not None:
                self.wall_clock = WallClock(clock, self.timescale.tick_hz, self.simulated)
        except BaseException:
            with contextlib.suppress(LitePulseError):
                self.close()
            raise

    def stay_in_touch(self) -> None:
        """See Backend."""
        if self.backend != SIM:
            threading.Thread(target=self._touch, name=f"litepulse {self.name}", daemon=True).start()

    def _touch(self) -> None:
        with contextlib.suppress(LitePulseError):
            while not self._closing.wait(_TOUCH_SECONDS):
                self.events_now()

    def close(self) -> None:
        """See Backend. What runs is not touched. Raises the first LitePulseError of those that it closes, when all are closed."""
        self._closing.set()
        problem: LitePulseError | None = None
        while self._closers:
            try:
                self._closers.pop(0)()
            except LitePulseError as error:
                problem = problem or error
            except OSError:
                pass
        if problem:
            raise problem
