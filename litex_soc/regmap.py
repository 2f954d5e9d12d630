# SPDX-License-Identifier: BSD-2-Clause
"""The bus window of the core: configuration words, record layouts and codes, declared once.

Together with the CSRs of litex_soc/litepulse.py this is the only place where an offset, a field or a code is
written by hand. `python -m litex_soc.generate` makes from it hdl/litepulse_map_pkg.sv, the driver's register header,
docs/registers.md and the Python offsets. Needs no LiteX, so that every tool can import it.
"""

from dataclasses import dataclass, field

# Identification ---------------------------------------------------------------------------------------------

MAGIC = 0x4C504C53  # "LPLS"
VERSION_MAJOR = 0  # a reader refuses another major version (while 0: another minor version, too)
VERSION_MINOR = 3


@dataclass(frozen=True)
class Field:
    """`size` bits at bit `offset` of a word; `values` maps a code to (NAME, meaning)."""

    name: str
    offset: int
    size: int
    description: str
    signed: bool = False
    values: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Register:
    """One 32-bit word at word `index` of its window."""

    name: str
    index: int
    description: str
    fields: tuple = ()
    reset: int = 0
    read_only: bool = False


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
    8: ("SNAPSHOT", "the tick asked for by a command"),
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
}
PARITIES = {0: ("NONE", "no parity bit"), 1: ("ODD", "odd"), 2: ("EVEN", "even"), 3: ("MARK", "always 1"), 4: ("SPACE", "always 0")}
STOPS = {0: ("1", "1 stop bit"), 1: ("1_5", "1.5 stop bits"), 2: ("2", "2 stop bits")}
TRIGGERS = {
    0: ("OFF", "no trigger"),
    1: ("EDGE", "edge on a capture channel"),
    2: ("BYTE", "received byte"),
    3: ("BREAK", "received break"),
}
TRAIN_COMMANDS = {1: ("START", "start with the words written"), 2: ("ADJUST", "change period and phase at `at_pulse`"), 3: ("STOP", "stop")}

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
            Field("data", 0, 9, "data bits; bit 8: parity bit as received. COUNT: bit 0 means at least so many"),
            Field("parity_error", 9, 1, "parity wrong"),
            Field("framing_error", 10, 1, "stop bit was space"),
            Field("break", 11, 1, "all bits were space"),
            Field("overflow", 12, 1, "stands for lost bytes"),
            Field("own", 13, 1, "our own transmitter was busy meanwhile"),
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
    Register("lost", 1, "records lost and not yet reported by an OVERFLOW record; from LOST_STOP on: at least so many"),
    Register("tick_lo", 2, "current tick, low half"),
    Register("tick_hi", 3, "current tick, high half"),
)

STREAM_ACK = (
    Register(
        "ack",
        0,
        "written to the first word of a stream's header: frees records that were read",
        (
            Field("count", 0, 16, "records to free, the oldest first; nothing happens if there are not so many"),
            Field("position", 16, 15, "with `guard`: the stream's position, low bits, as the header told it"),
            Field("guard", 31, 1, "free only if `position` fits: a repeated ack is harmless"),
        ),
    ),
)

LAUNCH_FIELDS = (
    Field("data", 0, 8, "byte of a frame; bit times of a break"),
    Field("profile", 8, 2, "line profile"),
    Field("kind", 10, 2, "what to put on the line", values=LAUNCH_KINDS),
)
LAUNCH_ENTRY = (
    Register("tick_lo", 0, "launch tick, low half"),
    Register("tick_hi", 1, "launch tick, high half"),
    Register("width", 2, "ticks, for a pulse"),
    Register("launch", 3, "commits the entry", LAUNCH_FIELDS + (Field("tag", 16, 16, "comes back in the events"),)),
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
    Register("train_start_lo", 16, "start tick, low half"),
    Register("train_start_hi", 17, "start tick, high half"),
    Register("train_count", 18, "pulses, 0 = for ever"),
    Register("train_width", 19, "ticks, for kind pulse"),
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
            Field("trigger", 0, 2, "kind", values=TRIGGERS),
            Field("channel", 4, 4, "capture channel, for an edge"),
            Field("rise", 8, 1, "rising edge"),
            Field("fall", 9, 1, "falling edge"),
            Field("rearm", 10, 1, "answer again and again"),
            Field("exclusive", 11, 1, "while armed, best-effort bytes wait"),
            Field("ignore_own", 12, 1, "our own transmission does not trigger"),
        ),
    ),
    Register("resp_match", 33, "byte trigger", (Field("value", 0, 8, "value"), Field("mask", 8, 8, "bits compared"))),
    Register("resp_delay", 34, "from the reference to the launch; refused if it does not fit", (Field("delay", 0, 24, "ticks"),)),
    Register("resp_width", 35, "ticks, for kind pulse"),
    Register("resp_launch", 36, "what the response is", LAUNCH_FIELDS),
    Register(
        "resp_holdoff",
        37,
        "after a response, in which triggers are ignored; refused if it does not fit",
        (Field("holdoff", 0, 24, "ticks"),),
    ),
    Register("resp_arm", 38, "arm or disarm", (Field("arm", 0, 1, "1 arms with the words above"),)),
)
EVENT_RESERVE = 16  # event slots kept for records that are not edges
WATCHDOG_UNIT = 18  # log2 of the cycles of the bus clock in a unit of SESSION's limit
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
    Register("frames", 1, "version of the checked frames it understands, 1; 0: none", reset=1, read_only=True),
)
BRIDGE_FRAME_MARKER = 0xF5  # begins a frame
BRIDGE_FRAME_MAX = 256  # bytes of payload
BRIDGE_FRAME_SILENCE_MS = 25  # after so long without a byte to it the bridge takes the next one as the beginning of something


def config(name):
    """The configuration Register called `name`; KeyError if there is none."""
    for register in CONFIG:
        if register.name == name:
            return register
    raise KeyError(name)
