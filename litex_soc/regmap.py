# SPDX-License-Identifier: BSD-2-Clause
"""The register map: CSRs, bus window, configuration words, record layouts and codes, declared once.

This is the only place where an offset, a field or a code is written by hand. The LiteX module makes its CSRs from it, and
`python -m litex_soc.generate` hdl/litepulse_map_pkg.sv, the driver's register header, docs/registers.md, the SVD file and the
Python offsets. Needs no LiteX, so that every tool can import it.
"""

from dataclasses import dataclass, field

# Identification ---------------------------------------------------------------------------------------------

MAGIC = 0x4C504C53  # "LPLS"
VERSION_MAJOR = 0  # a reader refuses another major version
VERSION_MINOR = 11


@dataclass(frozen=True)
class Field:
    """`size` bits at bit `offset` of a word; `values` maps a code to (NAME, meaning)."""

    name: str
    offset: int
    size: int
    description: str
    signed: bool = False
    values: dict = field(default_factory=dict)
    reset: int = 0


@dataclass(frozen=True)
class Register:
    """One 32-bit word at word `index` of its window."""

    name: str
    index: int
    description: str
    fields: tuple = ()
    reset: int = 0
    access: str = "read, write"


# Default places, also what a host behind UARTBone expects -----------------------------------------------------

CSR_LOCATION = 16  # LiteX CSR location (page of 0x800 bytes)
CSR_BASE = 0x8000  # so the CSRs lie here in a SoC without CPU, whose CSR region is at 0
WINDOW_BASE = 0x9000_0000  # uncached with every CPU whose I/O region is at 0x8000_0000; not with VexRiscv `linux` (linux_soc.py)
BRIDGE_LOCATION = 17  # the serial bridge's CSRs (litex_soc/bridge.py), if the SoC has that bridge
BRIDGE_BASE = 0x8800

# The window: byte offsets from its base. One slave of 32 KiB --------------------------------------------------

WINDOW_SIZE = 0x8000
REGIONS = {
    "EVENTS": (0x0000, "event stream: 4 header words, then the oldest records, 4 words each; the first header word takes acks"),
    "RECEIVE": (0x2000, "receive stream: 4 header words, then the oldest records, 2 words each; the first header word takes acks"),
    "TX": (0x4000, "bytes to send, best effort: a write in the n-th of four 1 KiB parts pushes n bytes, lowest first"),
    "LAUNCH": (0x5000, "timed launches, 4 words each, the 4th commits; the 16 bytes repeat over 1 KiB"),
    "CONFIG": (0x6000, "configuration words, below (reads give the last word written)"),
}
TX_PART_SIZE = 0x400
LAUNCH_REGION_SIZE = 0x400
HEADER_WORDS = 4
EVENT_WORDS = 4
RECEIVE_WORDS = 2

# Codes --------------------------------------------------------------------------------------------------------

EVENT_KINDS = {
    0: ("NONE", "no record"),
    1: ("TX", "a launch started"),
    2: ("EDGE", "inputs changed"),
    3: ("REFUSED", "a launch, train pulse or command was refused"),
    4: ("OVERFLOW", "records were lost"),
    5: ("APPLIED", "a command took effect"),
    6: ("TRAIN_DONE", "the train ended by its count"),
    7: ("RESPONDER_MISSED", "a trigger could not be answered"),
    8: ("SNAPSHOT", "the tick requested by a command"),
}
EVENT_SOURCES = {
    0: ("QUEUE", "launch queue"),
    1: ("TRAIN", "train pulse"),
    2: ("RESPONDER", "responder"),
    3: ("TTY", "best-effort byte"),
    4: ("CAPTURE", "edges on the inputs"),
    5: ("TRAIN_CHANGE", "start, adjust or stop of the train"),
    6: ("CONTROL", "configuration and commands"),
}
REASONS = {
    1: ("LATE", "less than Lmin ahead"),
    2: ("BUSY", "the line, or what the command needs, was busy"),
    3: ("ORDER", "tick less than that of the entry before it"),
    4: ("INVALID", "profile, kind, width or period not usable"),
}
LAUNCH_KINDS = {
    0: ("FRAME", "start bit, data, parity, stop bits"),
    1: ("BREAK", "`data` bit times of space, then stop bits"),
    2: ("PULSE", "active level for `width` ticks"),
    3: ("WAIT", "nothing: an entry of the queue that waits for an edge, in a core with sequences"),
}
PARITIES = {0: ("NONE", "no parity bit"), 1: ("ODD", "odd"), 2: ("EVEN", "even"), 3: ("MARK", "always 1"), 4: ("SPACE", "always 0")}
STOPS = {0: ("1", "1 stop bit"), 1: ("1_5", "1.5 stop bits"), 2: ("2", "2 stop bits")}
TRIGGERS = {
    0: ("OFF", "no trigger"),
    1: ("EDGE", "edge on a capture channel"),
    2: ("BYTE", "received byte"),
    3: ("BREAK", "received break"),
    4: ("LIN", "LIN: a header that an entry answers, then each byte of the answer"),
}
TRAIN_COMMANDS = {
    1: ("START", "start with the words written"),
    2: ("ADJUST", "change period, phase and width at `at_pulse`"),
    3: ("STOP", "stop"),
}

# The CSRs: 32 bits each, index from the base of the CSRs. Their places are part of the interface: never renumber, only append.
# Widths are those of the largest core, reset values those of the default core: litepulse.py sets
# the fields' values of a core.

DEPTH_MAX = 15  # log2 of the deepest FIFO


def _csr(name, index, access, description, *fields):
    return Register(name, index, description, fields, sum(f.reset << f.offset for f in fields), access)


_READ, _WRITE, _CLEAR = "read", "read, write", "read, write 1 to clear"
_AGE = Field("age", 0, 12, "Since so long there is one to read; 0: not by age.")
_IDLE = Field("idle", 16, 12, "None came for so long; 0: not by idleness.")
EV_SOURCES = {
    "event": "Events wait, as `irq_level` and `irq_event_time` ask.",
    "receive": "Received bytes wait, by the settings for them.",
    "transmit": "Few best-effort bytes wait, by `irq_send`.",
    "launch": "There is room for timed launches, by `irq_send`.",
    "drained": "All best-effort bytes have left, their stop bits included.",
    "fault": "Something was refused, missed or lost since this was cleared.",
}
_EV = tuple(Field(name, bit, 1, text) for bit, (name, text) in enumerate(EV_SOURCES.items()))
WATCHDOG_UNIT = 18  # log2 of the cycles of the bus clock in a unit of SESSION's limit
IRQ_UNIT, IRQ_UNIT_STEP = 5, 3  # log2 of the cycles of the bus clock in the smallest unit of IRQ_UNIT; and of the next unit to it
CSRS = (
    _csr("id_magic", 0, _READ, "What this is.", Field("magic", 0, 32, "`LPLS`: a LitePulse core answers.", reset=MAGIC)),
    _csr(
        "id_version",
        1,
        _READ,
        "Version of this register map.",
        Field("minor", 0, 16, "Counts additions; nothing else changes.", reset=VERSION_MINOR),
        Field("major", 16, 16, "A reader refuses another one.", reset=VERSION_MAJOR),
    ),
    _csr(
        "id_geometry",
        2,
        _READ,
        "What this core was built with.",
        Field("samples", 0, 4, "Samples, and so ticks, per cycle of the core's clock.", reset=1),
        Field("inputs", 4, 4, "Capture inputs; the line is the channel after the last.", reset=4),
        Field("event_depth", 8, 4, "log2 of the events that fit.", reset=8),
        Field("receive_depth", 12, 4, "log2 of the received bytes that fit.", reset=9),
        Field("transmit_depth", 16, 4, "log2 of the best-effort bytes that fit.", reset=9),
        Field("launch_depth", 20, 4, "log2 of the timed launches that fit.", reset=6),
        Field("interrupts", 24, 1, "The registers `irq_*` and `ev_*` are there.", reset=1),
        Field("simulated", 25, 1, "This is a simulation, not a board."),
        Field("lin_depth", 26, 3, "log2 of the LIN identifiers that have an entry, 3 to 6; 0: there is no LIN slave.", reset=6),
        Field("port", 29, 1, "There is a marker port."),
        Field("sequence", 30, 1, "The launch queue has waits and relative entries."),
    ),
    _csr(
        "id_clock_num",
        3,
        _READ,
        "Frequency of the core's clock in Hz, numerator of an exact fraction.",
        Field("num", 0, 32, "Hz x `id_clock_den`.", reset=48_000_000),
    ),
    _csr("id_clock_den", 4, _READ, "Frequency of the core's clock in Hz, denominator.", Field("den", 0, 32, "Never 0.", reset=1)),
    _csr(
        "session",
        5,
        _WRITE,
        "Written by the host; 0 after a reset and when the watchdog has fired: what ran was stopped.",
        Field("session", 0, 16, "Any value; nothing in the core depends on it."),
        Field("limit", 16, 15, f"The watchdog fires `limit` x 2^{WATCHDOG_UNIT} bus clock cycles after the host's last access; 0: never."),
        Field("keep", 31, 1, "The watchdog never fires: what runs goes on without the host."),
    ),
    _csr(
        "ready",
        6,
        _READ,
        "Records that can be read.",
        Field("event", 0, DEPTH_MAX + 1, "Events."),
        Field("receive", 16, DEPTH_MAX + 1, "Received bytes."),
    ),
    _csr(
        "free",
        7,
        _READ,
        "Room for what is to be sent.",
        Field("transmit", 0, DEPTH_MAX + 1, "Best-effort bytes that can be written."),
        Field("launch", 16, DEPTH_MAX + 1, "Timed launches; the last one stays until the next."),
    ),
    _csr(
        "launches",
        8,
        _READ,
        "Timed launches committed to the window, modulo 256.",
        Field("accepted", 0, 8, "Taken into the queue."),
        Field("refused", 16, 8, "Dropped, because the queue was full."),
    ),
    _csr(
        "configs",
        9,
        _READ,
        "Configuration words answered by the core, modulo 256.",
        Field("applied", 0, 8, "Took effect, or are held for the word that applies them."),
        Field("refused", 16, 8, "Refused: not usable."),
    ),
    _csr(
        "dropped",
        10,
        _READ,
        "Best-effort bytes that were lost, modulo 65536.",
        Field("transmit", 0, 16, "Written while the FIFO was full."),
    ),
    _csr(
        "status",
        11,
        _READ,
        "What the core is doing.",
        Field("tx_idle", 0, 1, "No best-effort byte waits or is on the line."),
        Field("train_running", 1, 1, "A train runs."),
        Field("train_change_pending", 2, 1, "A change of the train waits for its pulse."),
        Field("responder_armed", 3, 1, "The responder answers triggers."),
        Field("config_busy", 4, 1, "Configuration words are on their way to the core."),
        Field("queue_idle", 5, 1, "The queue is empty. A launch that had its turn stays in it until the next."),
        Field("line_busy", 6, 1, "Something is on the line."),
        Field("rx_busy", 7, 1, "A byte is being received, or its record cannot be read yet."),
        Field("levels", 16, 16, "Level of each pin a few cycles ago: bit c of input c, the one behind the last input of rx, else 0."),
    ),
    _csr(
        "irq_level",
        12,
        _WRITE,
        "Interrupt as soon as this many records are ready.",
        Field("event", 0, DEPTH_MAX + 1, "Events; 0: not by level.", reset=1),
        Field("receive", 16, DEPTH_MAX + 1, "Received bytes; 0: not by level.", reset=1),
    ),
    _csr("irq_event_time", 13, _WRITE, "Interrupt for fewer events, in units of `irq_unit`. Writing it restarts the timers.", _AGE, _IDLE),
    _csr("irq_receive_time", 14, _WRITE, "The same for received bytes.", _AGE, _IDLE),
    _csr(
        "irq_send",
        15,
        _WRITE,
        "Interrupt when there is room for more.",
        Field("transmit_low", 0, DEPTH_MAX + 1, "At most this many best-effort bytes wait."),
        Field("launch_space", 16, DEPTH_MAX + 1, "At least this many timed launches fit.", reset=1),
    ),
    _csr(
        "irq_unit",
        16,
        _WRITE,
        "Unit of the times of both streams. A time may end up to one unit early, never late.",
        Field("unit", 0, 2, f"{1 << IRQ_UNIT} x {1 << IRQ_UNIT_STEP}^unit cycles of the bus clock. Writing it restarts all timers."),
    ),
    _csr("ev_status", 17, _READ, "Interrupt sources as they are now; `fault` reads 0.", *_EV),
    _csr(
        "ev_pending", 18, _CLEAR, "Interrupt sources that ask for service. Writing 1 clears `fault`, the others follow their cause.", *_EV
    ),
    _csr(
        "ev_enable",
        19,
        _WRITE,
        "Interrupt sources that raise the interrupt.",
        *(Field(name, bit, 1, f"`{name}` raises the interrupt.") for bit, name in enumerate(EV_SOURCES)),
    ),
    _csr(
        "id_window",
        20,
        _READ,
        "Where the window is, for a host that has not been given its address.",
        Field("base", 0, 32, f"Byte address on the bus; 0: the usual one, 0x{WINDOW_BASE:08x}."),
    ),
)

# Records ------------------------------------------------------------------------------------------------------

EVENT_RECORD = (
    Register("tick_lo", 0, "timestamp, low half"),
    Register("tick_hi", 1, "timestamp, high half"),
    Register(
        "info",
        2,
        "what happened",
        (
            Field("flags", 0, 8, "reason, or flag bits"),
            Field("source", 8, 4, "who", values=EVENT_SOURCES),
            Field("kind", 12, 4, "what", values=EVENT_KINDS),
            Field("seq", 16, 16, "sequence number of the enabled events that happened"),
        ),
    ),
    Register("data", 3, "see docs/core.md"),
)
EVENT_FLAG_FILTERED = 0x80  # EDGE: the channels behind the glitch filter
EVENT_FLAG_STOP = 0x80  # APPLIED by train_change: a stop
EVENT_FLAG_AT_LEAST = 0x80  # OVERFLOW: the count stopped at LOST_STOP or above, more were lost
LOST_STOP = 0xFFFF_0000  # counts of lost records stop here or a little above; what they show is then a lower bound

RECEIVE_RECORD = (
    Register("tick_lo", 0, "tick of the start edge, low 32 bits (COUNT: number of bytes lost)"),
    Register(
        "info",
        1,
        "the byte",
        (
            Field("data", 0, 9, "data bits; bit 8: parity bit as received. COUNT: bit 0 means at least this many"),
            Field("parity_error", 9, 1, "parity wrong"),
            Field("framing_error", 10, 1, "stop bit was space"),
            Field("break", 11, 1, "all bits were space"),
            Field("overflow", 12, 1, "stands for lost bytes"),
            Field("own", 13, 1, "may be an echo of our own transmission"),
            Field("noise", 14, 1, "a majority vote was not unanimous"),
            Field("count", 15, 1, "second record of an overflow: word 0 is the number lost"),
            Field("tick_47_32", 16, 16, "tick bits 47:32"),
        ),
    ),
)

STREAM_HEADER = (
    Register(
        "level",
        0,
        "reading it takes the snapshot the other header words show; writing frees records (next table)",
        (Field("ready", 0, 16, "records that can be read"), Field("position", 16, 16, "records freed since reset, modulo 65536")),
    ),
    Register("lost", 1, "records lost and not yet reported by an OVERFLOW record; from LOST_STOP on: at least this many"),
    Register("tick_lo", 2, "current tick, low half"),
    Register("tick_hi", 3, "current tick, high half"),
)

STREAM_ACK = (
    Register(
        "ack",
        0,
        "written to the first word of a stream's header: frees records that were read",
        (
            Field("count", 0, 16, "records to free, the oldest first; nothing happens if there are fewer"),
            Field("position", 16, 15, "with `guard`: the stream's position, low bits, as the header showed it"),
            Field("guard", 31, 1, "free only if `position` fits: a repeated ack is harmless"),
        ),
    ),
)

LAUNCH_FIELDS = (
    Field("data", 0, 8, "byte of a frame; bit times of a break"),
    Field("profile", 8, 2, "line profile"),
    Field("kind", 10, 2, "what to put on the line", values=LAUNCH_KINDS),
)
_QUEUE_FIELDS = (
    Field("relative", 12, 1, "the tick is a distance from that of the entry before; only in a core with sequences"),
    Field("tag", 16, 16, "comes back in the events"),
)
LAUNCH_ENTRY = (
    Register("tick_lo", 0, "launch tick, low half; of a wait that at which it times out"),
    Register("tick_hi", 1, "launch tick, high half"),
    Register("width", 2, "ticks, for a pulse"),
    Register("launch", 3, "commits the entry", LAUNCH_FIELDS + _QUEUE_FIELDS),
)
WAIT_ENTRY = (
    Register(
        "entry",
        3,
        "in place of `launch`: commits a wait",
        (
            Field("channel", 0, 4, "whose edge ends it; the line is the channel after the last input"),
            Field("rise", 4, 1, "a rising edge ends it"),
            Field("fall", 5, 1, "a falling edge ends it"),
            Field("stop", 6, 1, "when it times out, the entries behind it are refused until a flush"),
            Field("exclusive", 7, 1, "no best-effort launch starts while it waits"),
            Field("kind", 10, 2, "`WAIT`", values=LAUNCH_KINDS),
            *_QUEUE_FIELDS,
        ),
    ),
)

# Configuration words --------------------------------------------------------------------------------------------

PROFILES = 4


def _profile(k):
    return (
        Register(
            f"profile{k}_format",
            2 * k,
            f"profile {k}: format; held until the next period word is written",
            (
                Field("period_hi", 0, 4, "bit period, bits 35:32"),
                Field("data_bits", 4, 2, "data bits less 5"),
                Field("parity", 6, 3, "parity", values=PARITIES),
                Field("stop", 9, 2, "stop bits", values=STOPS),
                Field("invert", 11, 1, "idle level 0, start bit 1"),
                Field("to_port", 12, 1, "launches of kind `FRAME` are marks: their byte goes to the marker port, if the core has one"),
            ),
        ),
        Register(f"profile{k}_period", 2 * k + 1, f"profile {k}: bit period, low 32 bits, in 1/256 tick; this write applies both words"),
    )


ECHO_CYCLES_MAX = 1023  # the longest tail of our own echo
ECHO_CYCLES_RESET = 16  # the tail after a reset
ECHO_TEXT = f"ticks, rounded up to whole cycles, at most {ECHO_CYCLES_MAX} cycles, else refused; after a reset {ECHO_CYCLES_RESET} cycles"

CONFIG: tuple = tuple(r for k in range(PROFILES) for r in _profile(k)) + (
    Register(
        "line",
        8,
        "the line",
        (
            Field("loopback", 0, 1, "the receiver sees the transmitter instead of the pin"),
            Field("hold_tty", 1, 1, "best-effort bytes wait"),
            Field("break_hold", 2, 1, "space level while set"),
            Field("rx_enable", 3, 1, "receive bytes"),
            Field("rest", 4, 1, "the line rests at `rest_level`, not at profile 0's idle level"),
            Field("rest_level", 5, 1, "level between launches, if `rest` is set"),
        ),
    ),
    Register(
        "driver_enable", 9, "the `de` pin", (Field("lead", 0, 16, "ticks before a launch"), Field("lag", 16, 16, "ticks after its end"))
    ),
    Register(
        "capture_edges",
        10,
        "edges recorded, a bit per channel",
        (Field("rise", 0, 16, "rising edges"), Field("fall", 16, 16, "falling edges")),
    ),
    Register(
        "filter",
        11,
        "glitch filter",
        (Field("enable", 0, 16, "a bit per channel"), Field("length", 16, 6, "equal samples that make a level, 1 to 63 (0 counts as 1)")),
    ),
    Register(
        "event_mask",
        12,
        "events recorded; OVERFLOW always is",
        (
            Field("tx_queue", 0, 1, "TX by the queue"),
            Field("tx_train", 1, 1, "TX by the train"),
            Field("tx_responder", 2, 1, "TX by the responder"),
            Field("tx_tty", 3, 1, "TX of best-effort bytes"),
            Field("edge", 4, 1, "EDGE"),
            Field("refused_queue", 5, 1, "REFUSED, queue"),
            Field("refused_train", 6, 1, "REFUSED, train pulses"),
            Field("control", 7, 1, "APPLIED and REFUSED by train_change and control"),
            Field("train_done", 8, 1, "TRAIN_DONE"),
            Field("missed", 9, 1, "RESPONDER_MISSED"),
            Field("snapshot", 10, 1, "SNAPSHOT"),
        ),
    ),
    Register(
        "command",
        13,
        "one-shot commands, each bit set does one thing; answered by one APPLIED",
        (
            Field("flush_queue", 0, 1, "drop every launch that has not started"),
            Field("flush_tty", 1, 1, "drop best-effort bytes that have not started"),
            Field("snapshot", 2, 1, "record a SNAPSHOT event"),
        ),
    ),
    Register(
        "echo",
        14,
        "how long after our transmission ended what arrives still counts as its echo (`own`, `ignore_own`)",
        (Field("tail", 0, 16, ECHO_TEXT),),
    ),
    Register(
        "port",
        15,
        "the marker port; refused if the core has none",
        (Field("width", 0, 32, "ticks that a mark lasts, rounded up to whole cycles; 0: until the next mark"),),
    ),
    Register("train_start_lo", 16, "start tick, low half"),
    Register("train_start_hi", 17, "start tick, high half"),
    Register("train_count", 18, "pulses, 0 = endless"),
    Register("train_width", 19, "ticks, for kind pulse; of a change, too"),
    Register("train_launch", 20, "what each pulse is", LAUNCH_FIELDS),
    Register("train_period", 24, "period, whole ticks I"),
    Register("train_num", 25, "period, numerator N of the fraction, less than D"),
    Register("train_den", 26, "period, denominator D; 0 means 2^32"),
    Register("train_at_pulse", 27, "adjust: first pulse at its new place, 0 = earliest possible"),
    Register("train_step", 28, "adjust: signed ticks added to A once", (Field("step", 0, 32, "ticks", signed=True),)),
    Register(
        "train_command",
        29,
        "does it with the words above",
        (
            Field("command", 0, 2, "what to do", values=TRAIN_COMMANDS),
            Field("asap", 2, 1, "start: as soon as possible instead of at the start tick"),
        ),
    ),
    Register(
        "resp_trigger",
        32,
        "responder trigger; any write to 32..37 disarms",
        (
            Field("trigger", 0, 3, "kind; `LIN` needs `rearm` and a launch of kind `FRAME`", values=TRIGGERS),
            Field("channel", 4, 4, "capture channel, for an edge"),
            Field("rise", 8, 1, "rising edge"),
            Field("fall", 9, 1, "falling edge"),
            Field("rearm", 10, 1, "answer again and again"),
            Field("exclusive", 11, 1, "while armed, best-effort bytes wait"),
            Field("ignore_own", 12, 1, "our own transmission does not trigger"),
            Field("burst", 16, 16, "launches behind the first, `resp_holdoff` apart; 0 for `LIN`"),
        ),
    ),
    Register("resp_match", 33, "byte trigger", (Field("value", 0, 8, "value"), Field("mask", 8, 8, "bits compared"))),
    Register("resp_delay", 34, "from the reference to the launch", (Field("delay", 0, 32, "ticks"),)),
    Register("resp_width", 35, "ticks, for kind pulse"),
    Register("resp_launch", 36, "what the response is", LAUNCH_FIELDS),
    Register(
        "resp_holdoff",
        37,
        "between the launches of a burst, and behind the last one, in which triggers are ignored",
        (Field("holdoff", 0, 32, "ticks"),),
    ),
    Register("resp_arm", 38, "arm or disarm", (Field("arm", 0, 1, "1 arms with the words above"),)),
    Register("lin_data_lo", 40, "LIN: bytes 0 to 3 for the next lin_entry, the first in the low byte"),
    Register("lin_data_hi", 41, "LIN: bytes 4 to 7, likewise"),
    Register(
        "lin_entry",
        42,
        "LIN: how an identifier is answered; applies the data too",
        (
            Field("id", 0, 6, "identifier; refused if the core has no entry for it"),
            Field("length", 16, 4, "bytes of data, 1 to 8, more are refused; 0: no answer"),
            Field("enhanced", 20, 1, "the checksum includes the identifier byte"),
            Field("once", 21, 1, "`length` becomes 0 with the next header"),
            Field("own_checksum", 22, 1, "`checksum` is sent as it is"),
            Field("checksum", 24, 8, "else these bits of the right one are turned over: 0 sends the right one"),
        ),
    ),
)
LIN_ENTRIES = (0, 8, 16, 32, 64)  # identifiers that a core may have entries for: those below
EVENT_RESERVE = 16  # event slots kept for records that are not edges
LOOPBACK_TICKS = 1  # received - launched over a wire

# The serial bridge: its CSRs, at their own base ----------------------------------------------------------------------

BRIDGE_BAUD = 115200  # after a reset, and when no valid command came for so long:
BRIDGE_FALLBACK_SECONDS = 2
BRIDGE_WORD_ONE = 1 << 16  # the rate word that would mean one bit per cycle
BRIDGE_WORD_MAX = 0x1FFF  # an eighth of the clock
BRIDGE_CLOCK_UNIT = 10_000  # Hz
BRIDGE = (
    Register(
        "rate",
        0,
        "bit rate of the serial bridge, and the clock it is made from",
        (
            Field("word", 0, 16, "65536 x baud / clock, rounded, at most 8191. Takes effect as a command's last word, see `bridge.md`"),
            Field("clock", 16, 16, "clock of the bus in units of 10 kHz; writes are ignored"),
        ),
    ),
    Register("frames", 1, "version of its checked frames: 1; 2: packs answers; 3: has frames wait; 0: none", reset=3, access="read"),
)
BRIDGE_FRAME_MARKER = 0xF5  # begins a frame
BRIDGE_PACKED_MARKER = 0xF7  # begins a frame whose answer is to be packed
BRIDGE_FRAME_MAX = 256  # bytes of payload
BRIDGE_FRAME_WAITING = 128  # bytes of whole frames that may wait while one is carried out and answered
BRIDGE_FRAME_SILENCE_MS = 25  # after so long without a byte to it the bridge takes the next one as the beginning of something


_CONFIG, _CSRS = ({register.name: register for register in registers} for registers in (CONFIG, CSRS))


def config(name):
    """The configuration Register called `name`; KeyError if there is none."""
    return _CONFIG[name]


def csr(name):
    """The CSR called `name`; KeyError if there is none."""
    return _CSRS[name]
