# SPDX-License-Identifier: BSD-2-Clause
"""Worked accesses: what a program writes and reads for each group of registers, word by word. docs/registers.md shows them;
sim/soc/test_worked_accesses.py carries them out on the simulated SoC. Addresses and words are made from regmap.py.
"""

from dataclasses import dataclass, field

from litex_soc import regmap

TICK_HZ = 48_000_000  # of the default core and of the simulated SoC

# {place: (byte address of its first word, its registers)}
PLACES = {
    "CSR": (regmap.CSR_BASE, regmap.CSRS),
    "EVENTS": (regmap.WINDOW_BASE + regmap.REGIONS["EVENTS"][0], regmap.STREAM_HEADER),
    "EVENTS ack": (regmap.WINDOW_BASE + regmap.REGIONS["EVENTS"][0], regmap.STREAM_ACK),
    "RECEIVE": (regmap.WINDOW_BASE + regmap.REGIONS["RECEIVE"][0], regmap.STREAM_HEADER),
    "RECEIVE ack": (regmap.WINDOW_BASE + regmap.REGIONS["RECEIVE"][0], regmap.STREAM_ACK),
    "LAUNCH": (regmap.WINDOW_BASE + regmap.REGIONS["LAUNCH"][0], regmap.LAUNCH_ENTRY),
    "CONFIG": (regmap.WINDOW_BASE + regmap.REGIONS["CONFIG"][0], regmap.CONFIG),
    "bridge": (regmap.BRIDGE_BASE, regmap.BRIDGE),
}


@dataclass(frozen=True)
class Access:
    """One word that is written, or read and compared. `ahead`: the word is half of a tick that is
    `ahead` of the one that was read."""

    way: str  # write; read; poll: read until it is as expected
    place: str
    name: str
    fields: dict = field(default_factory=dict)  # {field: value or name of a code}; none and no `word`: any value will do
    word: int | None = None
    record: int = 0  # of a stream: 0 is the oldest
    ahead: int | None = None
    note: str = ""
    on_board: bool = False  # the simulated SoC has no such register and reads 0

    @property
    def register(self):
        """The Register that is meant; KeyError if there is none."""
        registers = {r.name: r for r in self._registers()}
        return registers[self.name]

    def _registers(self):
        base = self.place.removesuffix(" record")
        if self.place.endswith(" record"):
            return regmap.EVENT_RECORD if base == "EVENTS" else regmap.RECEIVE_RECORD
        return () if self.place == "TX" else PLACES[self.place][1]

    @property
    def address(self):
        """Byte address, with CSRs and window at their usual places."""
        if self.place == "TX":  # the n-th part takes n bytes
            return regmap.WINDOW_BASE + regmap.REGIONS["TX"][0] + (int(self.name) - 1) * regmap.TX_PART_SIZE
        if self.place.endswith(" record"):
            words = len(self._registers())
            base = PLACES[self.place.removesuffix(" record")][0]
            return base + 4 * (regmap.HEADER_WORDS + self.record * words + self.register.index)
        return PLACES[self.place][0] + 4 * self.register.index

    @property
    def value(self):
        """The word, or None if it is known only in the run."""
        if self.word is not None or not self.fields:
            return self.word
        return sum(self._code(name) << self._field(name).offset for name in self.fields)

    @property
    def mask(self):
        """The bits that are compared."""
        if self.word is not None:
            return 0xFFFF_FFFF
        return sum(((1 << self._field(name).size) - 1) << self._field(name).offset for name in self.fields)

    def _field(self, name):
        return next(f for f in self.register.fields if f.name == name)

    def _code(self, name):
        value, of = self.fields[name], self._field(name)
        if isinstance(value, str):
            (value,) = (code for code, (known, _) in of.values.items() if known == value)
        if not 0 <= value < 1 << of.size:
            raise ValueError(f"{self.name}.{name}: {value} does not fit")
        return value

    def description(self):
        """What the last column of the page says."""
        where = self.place.removesuffix(" ack")
        text = f"{where}, {self.name} bytes" if self.place == "TX" else f"{where} `{self.name}`"
        if self.place.endswith(" record"):
            text = f"{where} {self.record}, `{self.name}`"
        if self.fields:
            text += ": " + ", ".join(f"`{name}` {f'`{value}`' if isinstance(value, str) else value}" for name, value in self.fields.items())
        return text + (f"; {self.note}" if self.note else "")

    def shown(self):
        """What the page shows as the word."""
        if self.ahead is not None:
            return f"T, {'low' if self.name.endswith('lo') else 'high'} half"
        if self.value is None:
            return ""
        return f"0x{self.value:08x}" if self.way == "write" or self.word is not None else f"0x{self.value:08x} in 0x{self.mask:08x}"


def read(place, name, **more):
    """A word that is read once."""
    return Access("read", place, name, **more)


def poll(place, name, **more):
    """A word that is read until it is as expected."""
    return Access("poll", place, name, **more)


def write(place, name, word=None, fields=None, **more):
    """A word that is written: a number, or fields."""
    if word is None and fields is None and "ahead" not in more:
        word = 0
    return Access("write", place, name, fields or {}, word, **more)


@dataclass(frozen=True)
class Worked:
    """What one wants, and the accesses that do it."""

    title: str
    text: str
    accesses: tuple


ANSWERED = poll("CSR", "status", fields={"config_busy": 0}, note="all configuration words have been answered")
NOW = (
    read("EVENTS", "level", note="takes the snapshot"),
    read("EVENTS", "tick_lo", note="low half of the current tick"),
    read("EVENTS", "tick_hi", note="high half"),
)
MS = TICK_HZ // 1000

WORKED = (
    Worked(
        "Recognise a core and its clock",
        "The clock is `num`/`den` Hz; a tick is 1/`samples` of its period.",
        (
            read("CSR", "id_magic", word=regmap.MAGIC),
            read("CSR", "id_version", fields={"major": regmap.VERSION_MAJOR, "minor": regmap.VERSION_MINOR}),
            read("CSR", "id_geometry", fields={"samples": 1, "inputs": 4}),
            read("CSR", "id_clock_num", word=TICK_HZ),
            read("CSR", "id_clock_den", word=1),
        ),
    ),
    Worked(
        "Take the board, and let it stop by itself when the program dies",
        f"The watchdog fires 1000 x 2^{regmap.WATCHDOG_UNIT} bus cycles after the last access. `session` then reads 0.",
        (
            write("CSR", "session", fields={"session": 0x1234, "limit": 1000}),
            read("CSR", "session", fields={"session": 0x1234, "limit": 1000}),
        ),
    ),
    Worked(
        "Be interrupted for 64 bytes, or when none has come for a while",
        f"A unit is {1 << regmap.IRQ_UNIT + regmap.IRQ_UNIT_STEP} cycles of the bus clock here.",
        (
            write("CSR", "irq_level", fields={"event": 1, "receive": 64}),
            write("CSR", "irq_unit", fields={"unit": 1}),
            write("CSR", "irq_receive_time", fields={"idle": 188}, note="188 units without a byte"),
            write("CSR", "ev_enable", fields={"receive": 1}),
            read("CSR", "ev_enable", fields={"receive": 1}),
        ),
    ),
    Worked("Read now", "Read the three words in one burst, or in this order.", NOW),
    Worked(
        "Set a line profile: 9600 baud, 8N1",
        f"The bit period is {TICK_HZ} / 9600 = {TICK_HZ // 9600} ticks, in 1/256 tick. The second write applies both words.",
        (
            write("CONFIG", "profile0_format", fields={"data_bits": 3, "parity": "NONE", "stop": "1"}),
            write("CONFIG", "profile0_period", word=TICK_HZ // 9600 * 256),
            ANSWERED,
            read("CONFIG", "profile0_period", word=TICK_HZ // 9600 * 256),
        ),
    ),
    Worked(
        "Program a launch: a pulse of 10 µs, 20 ms from now",
        f"T is the tick that was read + {20 * MS}. The pulse uses the polarity of profile 0, which is set above.",
        (
            write("CONFIG", "event_mask", fields={"tx_queue": 1, "refused_queue": 1}),
            ANSWERED,
            *NOW,
            write("LAUNCH", "tick_lo", ahead=20 * MS),
            write("LAUNCH", "tick_hi", ahead=20 * MS),
            write("LAUNCH", "width", word=MS // 100),
            write("LAUNCH", "launch", fields={"profile": 0, "kind": "PULSE", "tag": 7}, note="commits the entry"),
            poll("CSR", "ready", fields={"event": 1}),
            read("EVENTS record", "tick_lo", ahead=20 * MS),
            read("EVENTS record", "tick_hi", ahead=20 * MS),
            read("EVENTS record", "info", fields={"source": "QUEUE", "kind": "TX"}, note="it has left at T"),
            write("EVENTS ack", "ack", fields={"count": 1}, note="frees the record"),
            poll("CSR", "ready", fields={"event": 0}),
        ),
    ),
    Worked(
        "Send two bytes, and read them back",
        "The receiver sees the transmitter inside the core (`loopback`). The lowest byte leaves first.",
        (
            write("CONFIG", "event_mask"),
            write("CONFIG", "line", fields={"loopback": 1, "rx_enable": 1}),
            ANSWERED,
            write("TX", "2", word=int.from_bytes(b"OK", "little")),
            poll("CSR", "ready", fields={"receive": 2}),
            read("RECEIVE record", "info", fields={"data": ord("O"), "framing_error": 0}),
            read("RECEIVE record", "info", fields={"data": ord("K"), "framing_error": 0}, record=1),
            write("RECEIVE ack", "ack", fields={"count": 2}),
            poll("CSR", "ready", fields={"receive": 0}),
        ),
    ),
    Worked(
        "Run a train: three pulses of 10 µs, 1 ms apart, seen by input 0",
        "tx is wired to input 0. Each pulse is low for 10 µs and gives a falling edge.",
        (
            write("CONFIG", "line"),
            write("CONFIG", "capture_edges", fields={"fall": 1}),
            write("CONFIG", "event_mask", fields={"edge": 1, "train_done": 1}),
            write("CONFIG", "train_count", word=3),
            write("CONFIG", "train_width", word=MS // 100),
            write("CONFIG", "train_launch", fields={"profile": 0, "kind": "PULSE"}),
            write("CONFIG", "train_period", word=MS),
            write("CONFIG", "train_num"),
            write("CONFIG", "train_den", word=1),
            write("CONFIG", "train_command", fields={"command": "START", "asap": 1}),
            poll("CSR", "ready", fields={"event": 4}),
            read("EVENTS record", "info", fields={"source": "CAPTURE", "kind": "EDGE"}),
            read("EVENTS record", "info", fields={"source": "TRAIN", "kind": "TRAIN_DONE"}, record=3),
            read("EVENTS record", "data", word=3, record=3, note="pulses counted"),
            write("EVENTS ack", "ack", fields={"count": 4}),
            poll("CSR", "ready", fields={"event": 0}),
        ),
    ),
    Worked(
        "Arm the responder: a pulse 100 µs after each rising edge on input 1",
        "Any other write to its words disarms it.",
        (
            write("CONFIG", "resp_trigger", fields={"trigger": "EDGE", "channel": 1, "rise": 1, "rearm": 1}),
            write("CONFIG", "resp_match"),
            write("CONFIG", "resp_delay", word=MS // 10),
            write("CONFIG", "resp_width", word=MS // 100),
            write("CONFIG", "resp_launch", fields={"profile": 0, "kind": "PULSE"}),
            write("CONFIG", "resp_holdoff"),
            write("CONFIG", "resp_arm", fields={"arm": 1}),
            ANSWERED,
            poll("CSR", "status", fields={"responder_armed": 1}),
            write("CONFIG", "resp_arm", fields={"arm": 0}),
            poll("CSR", "status", fields={"responder_armed": 0}),
        ),
    ),
    Worked(
        "Answer a LIN identifier",
        "Identifier 0x10 is answered with 01 02 03 04 and the enhanced checksum, once the responder is armed with the trigger `LIN`.",
        (
            write("CONFIG", "lin_data_lo", word=0x04030201),
            write("CONFIG", "lin_data_hi"),
            write("CONFIG", "lin_entry", fields={"id": 0x10, "length": 4, "enhanced": 1}),
            ANSWERED,
        ),
    ),
    Worked(
        "Raise the serial bridge to 1 Mbaud",
        f"With a bus clock of 48 MHz: `word` is 65536 x 1000000 / 48000000, rounded. The board falls back to {regmap.BRIDGE_BAUD} baud "
        f"unless a valid command comes within {regmap.BRIDGE_FALLBACK_SECONDS} s.",
        (
            read("bridge", "rate", fields={"clock": 4800, "word": 157}, on_board=True, note=f"{regmap.BRIDGE_BAUD} baud"),
            write("bridge", "rate", fields={"word": round(65536 * 1_000_000 / 48_000_000)}, on_board=True),
        ),
    ),
)


def section():
    """Lines of the page."""
    out = [
        "## Worked accesses",
        "",
        'What a program writes and reads, in this order, at the usual addresses. A word "V in M" means: the',
        "bits of the mask M read as V. The words fit a core with a clock of 48 MHz and one sample per cycle,",
        "as the simulated SoC has it. It carried out all of them but those of the serial bridge, which it lacks.",
    ]
    for worked in WORKED:
        out += ["", f"### {worked.title}", "", *_wrapped(worked.text), "", "| access | address | word | |", "|---|---|---|---|"]
        for access in worked.accesses:
            way = "read until" if access.way == "poll" else access.way
            out.append(f"| {way} | 0x{access.address:08x} | {access.shown()} | {access.description()} |")
    return [*out, ""]


def _wrapped(text):
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) + 1 > 99:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
