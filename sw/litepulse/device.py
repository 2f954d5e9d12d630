# SPDX-License-Identifier: BSD-2-Clause
"""One LitePulse core behind a bus: identification, configuration, launches, streams.

The bus is anything with read(address, count) and write(address, words). Writes over a bridge are not acknowledged, so
every setting is confirmed by the core's own counters, and every stream acknowledgement is guarded by the position it
was made for: a lost or repeated one is noticed and made good, never a record taken twice or dropped.
"""

import math
import secrets
import time
from dataclasses import dataclass
from fractions import Fraction

from litepulse.errors import BadInput, NotLitePulse, Refused, Restarted, TransportError
from litepulse.layout import CONFIG, CONFIG_BASE, CSRS, MASK32, TRAIN_COMMAND, pack, regs, unpack
from litepulse.line import Profile
from litepulse.streams import EventStream, Header, ReceiveStream
from litepulse.transport import MAX_BURST
from litepulse.units import Timescale

# Silent for so long, the host of a board counts as gone. Longer than a bridge needs to fall back to 115200 baud and answer again.
WATCHDOG_SECONDS = 5
ANSWER_TIMEOUT = 5.0  # seconds of wall-clock time for the core to answer a write
_LAUNCHES_PER_BURST = MAX_BURST // 4
_COMMANDS = {"command", "train_command", "resp_arm"}  # not written twice


@dataclass(frozen=True)
class Status:
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

    @property
    def configs_answered(self):
        """Configuration words answered, modulo 256."""
        return (self.configs_applied + self.configs_refused) & 0xFF


class Stream:
    """Reads one record stream by peek and acknowledge."""

    def __init__(self, device, name, decoder, depth):
        self.device = device
        self.base = regs.REGIONS[name][0]
        self.decoder = decoder
        self.depth = depth
        self.tick = 0
        self.untold = 0  # lost records no OVERFLOW record has told of yet
        self.expected = None  # position the stream must have if nothing went wrong
        self._hint = 8
        self._most = (MAX_BURST - regs.HEADER_WORDS) // decoder.words

    @property
    def lost(self):
        """Records lost since this reader began: told by the board, not yet told, and missing without a word."""
        return self.decoder.lost + self.untold + self.decoder.broken

    @property
    def lost_at_least(self):
        """`lost` is a lower bound: a count of the board has stopped, or stands where it stops."""
        return self.decoder.at_least or self.untold >= regs.LOST_STOP

    def _fetch(self, count):
        width = self.decoder.words
        words = self.device.read_window(self.base, regs.HEADER_WORDS + count * width)
        header = Header.decode(words)
        body = words[regs.HEADER_WORDS :]
        return header, [body[i : i + width] for i in range(0, min(header.ready, count) * width, width)]

    def drain(self):
        """Everything that is ready: a list of records and Losts, acknowledged."""
        found = []
        while True:
            header, records = self._fetch(min(self._hint, self._most))
            if header.tick < self.tick:
                raise Restarted("the board restarted: its tick count began anew")
            self.tick, self.untold = header.tick, header.lost
            skip = 0
            if self.expected is not None and header.position != self.expected:
                skip = (self.expected - header.position) & 0xFFFF  # our last acknowledgement got lost
                if skip > self.depth:
                    raise Restarted("somebody else read records of this board, or it restarted")
            for record in records[skip:]:
                found += self.decoder.feed(record, header.tick)
            if records:
                self._acknowledge(header.position, len(records))
                self.expected = (header.position + max(len(records), skip)) & 0xFFFF
            elif self.expected is None:
                self.expected = header.position
            self._hint = max(8, min(self._most, header.ready + header.ready // 2))
            if len(records) >= header.ready:
                return found

    def peek(self):
        """What is ready, decoded apart, without taking it: for whoever is not the reader of this stream."""
        attempts = 10
        while True:
            header, _ = self._fetch(0)
            words = []
            if header.ready:
                words = self.device.read_window(self.base + 4 * regs.HEADER_WORDS, header.ready * self.decoder.words)
            attempts -= 1
            if not attempts or self._fetch(0)[0].position == header.position:
                break  # nobody took records meanwhile, so they all lay still
        decoder, found = type(self.decoder)(), []
        for i in range(0, len(words), decoder.words):
            found += decoder.feed(words[i : i + decoder.words], header.tick)
        return header, found

    def discard(self):
        """Frees everything that is ready and forgets old losses; what comes next is ours."""
        while True:
            header, _ = self._fetch(0)
            if not header.ready:
                break
            self._acknowledge(header.position, header.ready)
        self.decoder = type(self.decoder)()
        self.tick, self.expected = header.tick, header.position

    def _acknowledge(self, position, count):
        self.device.write_window(self.base, [count | (position & 0x7FFF) << 16 | 1 << 31])


class Device:
    """An identified LitePulse core."""

    def __init__(self, bus, backend, name, simulated=False):
        self.bus = bus
        self.backend = backend
        self.name = name
        self.simulated = simulated
        self.pause = True  # whoever polls may sleep meanwhile
        self._identify()
        self.timescale = Timescale(self.clock_hz, self.samples_per_cycle)
        self.session = None
        self.events = Stream(self, "EVENTS", EventStream(), self.event_depth)
        self.received = Stream(self, "RECEIVE", ReceiveStream(), self.receive_depth)

    # Words ------------------------------------------------------------------------------------------------------

    def read_csrs(self, first, last):
        """{name: word} of the registers from `first` to `last`, in one burst."""
        low, high = CSRS[first].index, CSRS[last].index
        words = self.bus.read(regs.CSR_BASE + 4 * low, high - low + 1)
        return {r.name: words[r.index - low] for r in CSRS.values() if low <= r.index <= high}

    def write_csr(self, name, value):
        """Writes a register of at most 32 bits."""
        self.bus.write(regs.CSR_BASE + 4 * CSRS[name].index, [value & MASK32])

    def read_window(self, offset, count):
        """Words of the window."""
        return self.bus.read(regs.WINDOW_BASE + offset, count)

    def write_window(self, offset, words):
        """Writes words of the window."""
        self.bus.write(regs.WINDOW_BASE + offset, words)

    def read_status(self):
        """A Status, and the proof that the board has not restarted since the first contact."""
        words = self.read_csrs("session", "status")
        free, launches = unpack(CSRS["free"], words["free"]), unpack(CSRS["launches"], words["launches"])
        configs = unpack(CSRS["configs"], words["configs"])
        session = unpack(CSRS["session"], words["session"])
        status = Status(
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

    def _identify(self):
        words = self.read_csrs("id_magic", "id_clock_den")
        if words["id_magic"] != regs.MAGIC:
            raise NotLitePulse(
                f"{self.name}: a bridge answers, but this is not a LitePulse "
                f"(identification 0x{words['id_magic']:08x} instead of 0x{regs.MAGIC:08x})"
            )
        version = unpack(CSRS["id_version"], words["id_version"])
        self.version = (version["major"], version["minor"])
        mine = (regs.VERSION_MAJOR, regs.VERSION_MINOR)
        if self.version[0] != mine[0] or (mine[0] == 0 and self.version != mine):
            raise NotLitePulse(
                f"{self.name}: the core is version {self.version[0]}.{self.version[1]}, this program drives version {mine[0]}.{mine[1]}"
            )
        geometry = unpack(CSRS["id_geometry"], words["id_geometry"])
        self.simulated = self.simulated or bool(geometry["simulated"])
        self.samples_per_cycle, self.inputs = geometry["samples"], geometry["inputs"]
        self.event_depth, self.receive_depth = 1 << geometry["event_depth"], 1 << geometry["receive_depth"]
        self.transmit_depth, self.launch_depth = 1 << geometry["transmit_depth"], 1 << geometry["launch_depth"]
        if self.samples_per_cycle not in (1, 2, 4, 8) or (self.inputs + 1) * self.samples_per_cycle > 16:
            raise NotLitePulse(f"{self.name}: impossible geometry 0x{words['id_geometry']:08x}")
        if not words["id_clock_num"] or not words["id_clock_den"]:
            raise NotLitePulse(f"{self.name}: the core does not tell its clock")
        self.clock_hz = Fraction(words["id_clock_num"], words["id_clock_den"])

    @property
    def line_channel(self):
        """The capture channel that is the RX line."""
        return self.inputs

    def channel_name(self, channel):
        """'0', '1', … or 'rx'."""
        return "rx" if channel == self.line_channel else str(channel)

    def open_session(self):
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

    def pledge(self, keep=False, watched=True):
        """What becomes of what runs when the board hears from no host for WATCHDOG_SECONDS: it stops, or goes on with `keep`.

        Not `watched`: nothing runs that would have to be stopped.
        """
        units = math.ceil(Fraction(WATCHDOG_SECONDS) * self._bus_hz() / (1 << regs.WATCHDOG_UNIT))
        limit = min(units, unpack(CSRS["session"], MASK32)["limit"]) if watched and not keep else 0
        for _ in range(3):
            with self.bus.hold():
                # Our name must not come back to a board that lost it: a look at the window begins the board's count anew, so that what
                # the status then says is still true when the write arrives.
                self.events_now()
                status = self.read_status()
                if (status.limit, status.keep) == (limit, int(keep)):
                    return
                self.write_csr("session", pack(CSRS["session"], session=status.session, limit=limit, keep=int(keep)))
        status = self.read_status()
        if (status.limit, status.keep) != (limit, int(keep)):
            raise TransportError(f"{self.name}: the board does not take the setting of its watchdog")

    def _bus_hz(self):
        """Clock of the board's bus, which counts the limit; where its bridge does not tell, that of the core, which is not below it."""
        return getattr(self.bus, "bus_clock", lambda: 0)() or self.clock_hz

    # Configuration ------------------------------------------------------------------------------------------------

    def configure(self, *words):
        """Writes (name, word) pairs in order and waits until the core has answered each; Refused names the culprits."""
        repeatable = not any(name in _COMMANDS for name, _ in words)
        bursts = []
        for name, word in words:
            index = CONFIG[name].index
            if bursts and bursts[-1][0] + len(bursts[-1][1]) == index:
                bursts[-1][1].append(word & MASK32)
            else:
                bursts.append((index, [word & MASK32]))
        for attempt in range(3 if repeatable else 1):
            with self.bus.hold():  # the answers are counted, so they must all be ours
                before = self.read_status()
                for index, values in bursts:
                    self.write_window(CONFIG_BASE + 4 * index, values)
                status = self._await_answers(before, len(words))
            if status is not None:
                break
        else:
            raise TransportError(f"{self.name}: the core does not answer configuration writes")
        refused = (status.configs_refused - before.configs_refused) & 0xFF
        if refused:
            raise Refused(f"the core refused {refused} of these settings: {', '.join(name for name, _ in words)}")
        return status

    def _await_answers(self, before, count):
        """The Status once `count` more words are answered, None if they are not in time."""
        end = time.monotonic() + ANSWER_TIMEOUT
        while True:
            status = self.read_status()
            if (status.configs_answered - before.configs_answered) & 0xFF >= count and not status.config_busy:
                return status
            if time.monotonic() > end:
                return None

    def config_words(self, first, last):
        """{name: word} as last written, read back in one burst."""
        low, high = CONFIG[first].index, CONFIG[last].index
        words = self.read_window(CONFIG_BASE + 4 * low, high - low + 1)
        return {r.name: words[r.index - low] for r in CONFIG.values() if low <= r.index <= high}

    def set_profile(self, number, profile):
        """Sets a line profile."""
        fmt, period = profile.words()
        self.configure((f"profile{number}_format", fmt), (f"profile{number}_period", period))

    def profile(self, number):
        """The profile last written, or None."""
        fmt, period = self.config_words(f"profile{number}_format", f"profile{number}_period").values()
        return Profile.from_words(fmt, period, self.timescale.tick_hz)

    def set_line(self, loopback=False, receive=False):
        """Line settings; holds nothing back."""
        self.configure(("line", pack(CONFIG["line"], loopback=int(loopback), rx_enable=int(receive))))

    def set_driver_enable(self, lead, lag):
        """Lead and lag of the `de` pin in ticks. The lead cannot change while a train runs."""
        for name, ticks in (("lead", lead), ("lag", lag)):
            if not 0 <= ticks <= 0xFFFF:
                raise BadInput(f"{name}: {ticks} ticks is outside 0 to {0xFFFF}")
        try:
            self.configure(("driver_enable", pack(CONFIG["driver_enable"], lead=lead, lag=lag)))
        except Refused:
            raise Refused("lead: it cannot change while a train runs: stop the train first") from None

    @property
    def echo_limit(self):
        """The longest tail of our own echo, in ticks."""
        return regs.ECHO_CYCLES_MAX * self.samples_per_cycle

    def set_echo(self, ticks):
        """For so long after our transmission ended what arrives counts as its echo; the core rounds it up to whole cycles."""
        if not 0 <= ticks <= self.echo_limit:
            raise BadInput(f"echo: {ticks} ticks is outside 0 to {self.echo_limit}")
        self.configure(("echo", pack(CONFIG["echo"], tail=ticks)))

    def set_event_mask(self, *names):
        """Records just these events."""
        self.configure(("event_mask", pack(CONFIG["event_mask"], **dict.fromkeys(names, 1))))

    def events_now(self):
        """The current tick; reading it takes nothing."""
        return Header.decode(self.read_window(regs.REGIONS["EVENTS"][0], regs.HEADER_WORDS)).tick

    # Train ----------------------------------------------------------------------------------------------------------

    def start_train(self, launch, period, count=0, start=None):
        """Starts a train, as soon as possible or at tick `start`; the event stream tells whether and when."""
        tick = start or 0
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

    def adjust_train(self, period, at_pulse=0, step=0):
        """Changes period and phase from pulse `at_pulse` on (0: as early as possible)."""
        self.configure(
            ("train_period", period.whole),
            ("train_num", period.num),
            ("train_den", period.den & MASK32),
            ("train_at_pulse", at_pulse),
            ("train_step", pack(CONFIG["train_step"], step=step)),
            ("train_command", pack(CONFIG["train_command"], command=TRAIN_COMMAND["adjust"])),
        )

    def stop_train(self):
        """No further pulse starts."""
        self.configure(("train_command", pack(CONFIG["train_command"], command=TRAIN_COMMAND["stop"])))

    # Launches ---------------------------------------------------------------------------------------------------------

    def launch(self, entries):
        """Commits timed launches, [(tick, tag, Launch)]; there must be room (Status.launch_free). Waits until all have arrived."""
        for start in range(0, len(entries), _LAUNCHES_PER_BURST):
            part = entries[start : start + _LAUNCHES_PER_BURST]
            before = self.read_status()
            self.write_window(regs.REGIONS["LAUNCH"][0], [w for tick, tag, launch in part for w in launch.entry(tick, tag)])
            end = time.monotonic() + ANSWER_TIMEOUT
            while True:
                status = self.read_status()
                accepted = (status.launches_accepted - before.launches_accepted) & 0xFF
                refused = (status.launches_refused - before.launches_refused) & 0xFF
                if refused:
                    raise Refused(f"the launch queue was full: {refused} launches dropped")
                if accepted == len(part):
                    break
                if time.monotonic() > end:
                    raise TransportError(f"{self.name}: {len(part) - accepted} of {len(part)} launches did not arrive")

    # Responder ---------------------------------------------------------------------------------------------------------

    def disarm_responder(self):
        """No further trigger is answered."""
        self.configure(("resp_arm", 0))

    def quiet(self):
        """Stops all that starts by itself: train, responder, queue; what is on the line is finished."""
        self.configure(("train_command", pack(CONFIG["train_command"], command=TRAIN_COMMAND["stop"])))
        self.configure(("resp_arm", 0))
        self.configure(("command", pack(CONFIG["command"], flush_queue=1, flush_tty=1)))
