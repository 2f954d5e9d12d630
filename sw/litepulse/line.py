# SPDX-License-Identifier: BSD-2-Clause
"""What goes on the line: formats, profiles and launches, as bits of the register map. Pure, no device."""

import math
import re
from dataclasses import dataclass
from fractions import Fraction

from litepulse.errors import BadInput, shown
from litepulse.layout import CONFIG, LAUNCH_KIND, LAUNCH_KIND_NAME, MASK32, PARITY, pack, regs, unpack
from litepulse.units import BitPeriod, in_ticks, whole, within

MARK = "mark"  # kind of a launch that is a code on the marker port
_PARITY_LETTERS = {"N": "none", "O": "odd", "E": "even", "M": "mark", "S": "space"}
_STOPS = {"1": 0, "1.5": 1, "2": 2}
_STOP_BITS = {0: Fraction(1), 1: Fraction(3, 2), 2: Fraction(2)}


@dataclass(frozen=True)
class Format:
    """Data bits, parity and stop bits of a frame, e.g. 8N1."""

    data_bits: int = 8
    parity: str = "none"
    stop: int = 0
    invert: bool = False
    to_port: bool = False  # bytes go to the marker port, not to the line

    def __post_init__(self) -> None:
        object.__setattr__(self, "data_bits", within(self.data_bits, "data_bits", 5, 8))
        object.__setattr__(self, "stop", within(self.stop, "stop", 0, 2))
        if self.parity not in tuple(PARITY):
            raise BadInput(f"parity: {shown(self.parity)} is not {', '.join(PARITY)}")

    @classmethod
    def parse(cls, text: str, invert: bool = False) -> "Format":
        """'8N1', '7E2', '5O1.5'."""
        match = re.fullmatch(r"([5-8])([NOEMS])(1\.5|1|2)", text.strip().upper())
        if not match:
            raise BadInput(f"format: '{text}' is not like 8N1 (5 to 8 data bits, N/O/E/M/S, 1, 1.5 or 2 stop bits)")
        return cls(int(match[1]), _PARITY_LETTERS[match[2]], _STOPS[match[3]], invert)

    @property
    def stop_bits(self) -> Fraction:
        """1, 3/2 or 2."""
        return _STOP_BITS[self.stop]

    @property
    def bits(self) -> Fraction:
        """Bit times of a frame, start and stop bits included."""
        return 1 + self.data_bits + (self.parity != "none") + self.stop_bits

    @property
    def letter(self) -> str:
        """Of the parity, as pyserial names it, too."""
        return next(letter for letter, parity in _PARITY_LETTERS.items() if parity == self.parity)

    def __str__(self) -> str:
        stop = next(k for k, v in _STOPS.items() if v == self.stop)
        return (
            f"{self.data_bits}{self.letter}{stop}" + (" inverted" if self.invert else "") + (" to the marker port" if self.to_port else "")
        )


@dataclass(frozen=True)
class Profile:
    """A line profile: bit period and format."""

    bit_period: BitPeriod
    format: Format = Format()

    def words(self) -> tuple[int, int]:
        """(format word, period word); writing the second applies both."""
        f = self.format
        return (
            pack(
                CONFIG["profile0_format"],
                period_hi=self.bit_period.raw >> 32,
                data_bits=f.data_bits - 5,
                parity=PARITY[f.parity],
                stop=f.stop,
                invert=int(f.invert),
                to_port=int(f.to_port),
            ),
            self.bit_period.raw & MASK32,
        )

    @classmethod
    def from_words(cls, fmt: int, period: int, tick_hz: Fraction) -> "Profile | None":
        """What two words mean, or None if nothing was ever written."""
        v = unpack(CONFIG["profile0_format"], fmt)
        raw = period | v["period_hi"] << 32
        if not raw or v["parity"] not in PARITY.values() or v["stop"] not in _STOP_BITS:
            return None
        name = next(k for k, code in PARITY.items() if code == v["parity"])
        return cls(BitPeriod(raw, tick_hz), Format(v["data_bits"] + 5, name, v["stop"], bool(v["invert"]), bool(v["to_port"])))


@dataclass(frozen=True)
class Launch:
    """One thing put on the line: kind 'frame' (a byte), 'break' (data bit times) or 'pulse' (width ticks).

    Kind 'mark' is a code (data) on the marker port: for the board a frame whose profile has `to_port`.
    """

    kind: str = "frame"
    data: int = 0
    profile: int = 1
    width: int = 0

    def __post_init__(self) -> None:
        for name in ("data", "profile", "width"):
            if type(getattr(self, name)) is not int:
                object.__setattr__(self, name, whole(getattr(self, name), name))
        kinds = (*LAUNCH_KIND, MARK)
        if self.kind not in kinds:
            raise BadInput(f"kind: {shown(self.kind)} is not {', '.join(kinds)}")
        if self.kind == "break" and not 1 <= self.data <= 255:
            raise BadInput(f"break: {self.data} bit times is outside 1 to 255")
        if self.kind == "pulse" and not 1 <= self.width <= MASK32:
            raise BadInput(f"width: {self.width} ticks is outside 1 to {MASK32}")
        if not 0 <= self.data <= 255:
            raise BadInput(f"{'code' if self.kind == MARK else 'byte'}: {self.data} does not fit a byte (0 to 255)")

    def word(self, tag: int | None = None) -> int:
        """The word that says what to launch; with a tag as word 3 of a launch entry."""
        values = {"data": self.data, "profile": self.profile, "kind": LAUNCH_KIND["frame" if self.kind == MARK else self.kind]}
        if tag is None:
            return pack(CONFIG["train_launch"], **values)
        return pack(regs.LAUNCH_ENTRY[3], tag=tag, **values)

    def entry(self, tick: int, tag: int) -> list[int]:
        """The four words of a timed launch; the last one commits."""
        return [tick & MASK32, tick >> 32, self.width, self.word(tag)]

    def length(self, profile: Profile) -> int:
        """Ticks the line is busy: end - start. A mark does not use it."""
        if self.kind == MARK or (self.kind == "frame" and profile.format.to_port):
            return 0
        if self.kind == "pulse":
            return self.width
        bits = profile.format.bits if self.kind == "frame" else self.data + profile.format.stop_bits
        return math.floor(bits * profile.bit_period.ticks)

    @classmethod
    def from_words(cls, word: int, width: int) -> "Launch | None":
        """The launch that words of the device describe, or None if they are no launch."""
        v = unpack(CONFIG["train_launch"], word)
        kind = LAUNCH_KIND_NAME.get(v["kind"])
        if kind is None or (kind == "pulse" and not width) or (kind == "break" and not v["data"]):
            return None
        return cls(kind, v["data"], v["profile"], width)

    def __str__(self) -> str:
        if self.kind == "frame":
            return f"byte 0x{self.data:02x}"
        if self.kind == MARK:
            return f"code 0x{self.data:02x}"
        return f"break of {self.data} bits" if self.kind == "break" else f"pulse of {in_ticks(self.width)}"


@dataclass(frozen=True)
class QueueWait:
    """An entry of the board's queue that ends at an edge of a channel, or at its tick; without a direction it is a delay up to there.

    stop: what is behind it is refused if it ends at its tick
    """

    channel: int = 0
    rise: bool = False
    fall: bool = False
    stop: bool = False

    def entry(self, tick: int, tag: int) -> list[int]:
        """The four words; the last one commits."""
        values = {"channel": self.channel, "rise": self.rise, "fall": self.fall, "stop": self.stop, "kind": 3, "tag": tag}
        return [tick & MASK32, tick >> 32, 0, pack(regs.WAIT_ENTRY[0], **values)]


@dataclass(frozen=True)
class Relative:
    """An entry of the board's queue whose tick is its distance from the one before, or from the end of a wait."""

    what: Launch | QueueWait

    def entry(self, tick: int, tag: int) -> list[int]:
        """The four words; the last one commits."""
        *words, last = self.what.entry(tick, tag)
        return [*words, last | pack(regs.LAUNCH_ENTRY[3], relative=1)]


Queued = Launch | QueueWait | Relative  # an entry of the board's queue


@dataclass(frozen=True)
class Trigger:
    """What the responder answers: kind 'edge', 'byte', 'break' or 'lin', a LIN header that the table has an answer for."""

    kind: str
    channel: int = 0
    rise: bool = False
    fall: bool = False
    value: int = 0
    mask: int = 0xFF

    def __post_init__(self) -> None:
        for name in ("channel", "value", "mask"):
            if type(getattr(self, name)) is not int:
                object.__setattr__(self, name, whole(getattr(self, name), name))

    def __str__(self) -> str:
        if self.kind == "edge":
            both = "rising or falling" if self.rise and self.fall else "rising" if self.rise else "falling"
            return f"{both} edge on {self.channel}"
        if self.kind == "byte":
            return f"byte 0x{self.value:02x}" + (f" under mask 0x{self.mask:02x}" if self.mask != 0xFF else "")
        return "LIN header" if self.kind == "lin" else "break"


@dataclass(frozen=True)
class LinEntry:
    """How the core answers the LIN headers of one identifier. data: 1 to 8 bytes; none: it does not answer.

    enhanced: the checksum includes the identifier; once: only the next header is answered; checksum: what is sent instead of the right
    one; flip: bits of the right one that are inverted
    """

    frame_id: int
    data: bytes = b""
    enhanced: bool = True
    once: bool = False
    checksum: int | None = None
    flip: int = 0

    def words(self) -> tuple[int, int, int]:
        """(lin_data_lo, lin_data_hi, lin_entry); the last one applies all."""
        data = int.from_bytes(self.data, "little")
        entry = pack(
            CONFIG["lin_entry"],
            id=self.frame_id,
            length=len(self.data),
            enhanced=int(self.enhanced),
            once=int(self.once),
            own_checksum=int(self.checksum is not None),
            checksum=self.flip if self.checksum is None else self.checksum,
        )
        return data & MASK32, data >> 32, entry


@dataclass(frozen=True)
class Response:
    """What the responder does: `launch`, `delay` ticks after the trigger, `pulses` times.

    holdoff: ticks after an answer in which nothing triggers, and from each pulse of a burst to the next;
    rearm: answer every trigger, not only the first; exclusive: no best-effort byte starts while armed;
    ignore_own: our own transmission does not trigger
    """

    trigger: Trigger
    launch: Launch
    delay: int
    holdoff: int = 0
    rearm: bool = True
    exclusive: bool = False
    ignore_own: bool = True
    pulses: int = 1

    @property
    def burst(self) -> bool:
        """More than one pulse to a trigger."""
        return self.pulses > 1

    def delay_of(self, pulse: int) -> int:
        """Ticks from the trigger to a pulse of the burst; the first one is pulse 0."""
        return self.delay + pulse * self.holdoff
