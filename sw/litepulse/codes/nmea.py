# SPDX-License-Identifier: BSD-2-Clause
"""NMEA 0183 sentences of a GNSS receiver, and its pulse per second. Pure and exact.

A sentence names the second that has just begun: the one whose pulse came last before its '$'. Some
receivers name the one whose pulse comes next.
"""

from fractions import Fraction

from litepulse.codes.frames import MS, Change, Decoder, Fault, Found, Frame
from litepulse.codes.scale import UTC, Civil, Scale, year_of
from litepulse.errors import BadInput, printable, shown
from litepulse.units import Number, Whole, exact, to_fraction, to_rate, whole, within

DELAY = 100 * MS  # from the second to the first byte
PULSE = 100 * MS  # how long the pulse per second lasts
LONGEST = 82  # characters of a sentence
SENTENCES = ("RMC", "ZDA")


def checksum(body: str) -> int:
    """Of what stands between '$' and '*'."""
    value = 0
    for character in body:
        value ^= ord(character)
    return value


def sentence(kind: str, second: Whole, scale: Scale = UTC, talker: str = "GP") -> str:
    """A sentence about a second, with its checksum and line end: 'RMC' (without a position) or 'ZDA'."""
    if kind not in SENTENCES:
        raise BadInput(f"sentences: {shown(kind)} is not one of {', '.join(SENTENCES)}")
    civil = scale.civil(second)
    time = f"{civil.hour:02}{civil.minute:02}{civil.second:02}.00"
    if kind == "RMC":
        body = f"{talker}RMC,{time},A,,,,,,,{civil.day:02}{civil.month:02}{civil.year % 100:02},,,A"
    else:
        body = f"{talker}ZDA,{time},{civil.day:02},{civil.month:02},{civil.year:04},00,00"
    return f"${body}*{checksum(body):02X}\r\n"


def encode(
    second: Whole, scale: Scale = UTC, baud: Number = 9600, delay: Number = DELAY, sentences: tuple[str, ...] = SENTENCES
) -> list[Change]:
    """[(when a byte starts, byte)] of the sentences about a second, back to back, 8N1, the first byte `delay` behind it."""
    second, frame, delay = whole(second, "second"), 10 / to_rate(baud, "baud"), to_fraction(delay, "delay")
    text = "".join(sentence(kind, second, scale) for kind in sentences).encode("ascii")
    if not 0 <= delay < 1:
        raise BadInput(f"delay: {exact(delay)} s is not from 0 s to less than 1 s")
    if delay + len(text) * frame > 1:
        raise BadInput(f"baud: {exact(to_rate(baud))} is too slow: {len(text)} bytes a second do not fit behind the delay")
    return [(second + delay + n * frame, byte) for n, byte in enumerate(text)]


def pulse(second: Whole) -> list[Change]:
    """[(when, level)] of the pulse per second; the line rests at 0."""
    second = whole(second, "second")
    return [(Fraction(second), 1), (second + PULSE, 0)]


class NmeaDecoder(Decoder):
    """Bytes in, and pulses per second, if they are recorded; seconds out, one for each, whatever sentences name it.

    names: 'last', the second whose pulse came before the sentence, or 'next'
    delay: without pulses, from the second to the first '$' (of 'next': a negative one)
    near: a second close by, for the century of RMC
    """

    strange = "bytes of no sentence"

    def __init__(
        self,
        tick_hz: Number,
        scale: Scale = UTC,
        near: Whole | None = None,
        pulses: bool = False,
        names: str = "last",
        delay: Number = DELAY,
    ) -> None:
        super().__init__(tick_hz)
        if names not in ("last", "next"):
            raise BadInput(f"names: {shown(names)} is not last or next")
        self._scale, self._pulses, self._names = scale, pulses, names
        self._delay = to_fraction(delay, "delay")
        self._year = None if near is None else scale.civil(near).year
        self._begin: int | None = None
        self._text = bytearray()
        self._pulse: int | None = None  # the last one
        self._waiting: Frame | None = None  # for the pulse of its second
        self._named: tuple[int, int] | None = None  # (second, tick of its first '$') of the last frame

    def pulse(self, tick: Whole) -> list[Found]:
        """The next pulse per second: the tick of its first edge. Order of time with the bytes."""
        tick = whole(tick, "tick")
        found: list[Found] = []
        if self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            if tick - waiting.tick <= self.tick_hz:
                found.append(Frame(waiting.second, Fraction(tick), Fraction(0), waiting.text))
            else:
                found.append(Fault(int(waiting.tick), f"no pulse within a second behind {waiting.text}"))
        self._pulse = tick
        return found

    def _feed(self, tick: int, value: int, ok: bool) -> list[Found]:
        if self._begin is None:
            if value == ord("$") and ok:
                found = self._report()
                self._begin, self._text = tick, bytearray()
                return found
            return self._skip(tick) if value not in b"\r\n" or not ok else []
        if not ok or value == ord("$") or len(self._text) > LONGEST or not (32 <= value < 127 or value in b"\r\n"):
            found = self.drop("a byte with an error" if not ok else "it is cut")
            return found + self._feed(tick, value, ok) if ok and value == ord("$") else found
        if value != ord("\n"):
            self._text.append(value)
            return []
        begin, text, self._begin = self._begin, self._text.decode("ascii").rstrip("\r"), None
        return self._sentence(begin, text)

    def drop(self, why: str) -> list[Found]:
        found = self._report()
        if self._begin is not None:
            found.append(Fault(self._begin, f"a sentence that is not whole: {why}"))
        self._begin = None
        if self._waiting is not None:
            found.append(Fault(int(self._waiting.tick), f"no pulse behind {self._waiting.text}: {why}"))
            self._waiting = None
        return found

    def _sentence(self, begin: int, text: str) -> list[Found]:
        body, star, digits = text.rpartition("*")
        if not star or digits.upper() != f"{checksum(body):02X}":
            return [Fault(begin, f"a sentence with a wrong checksum: ${printable(text)}")]
        fields = body.split(",")
        if fields[0][2:] not in SENTENCES:
            return []
        try:
            civil = self._time(fields)
            second = None if civil is None else self._scale.second(civil)
        except BadInput as error:
            return [Fault(begin, f"a sentence that is not right: {error}")]
        if second is None:  # of a receiver with several fixes a second: not at a whole one
            return []
        return self._place(begin, second, f"{fields[0]} {civil}")

    def _time(self, fields: list[str]) -> Civil | None:
        """What a sentence names; None if that is not the beginning of a second."""
        rmc = fields[0].endswith("RMC")
        if len(fields) < (10 if rmc else 5):
            raise BadInput(f"{fields[0]} has {len(fields)} fields")
        if rmc and fields[2] != "A":
            raise BadInput("the receiver warns that it has no fix")
        date = fields[9] if rmc else f"{fields[2]}{fields[3]}{fields[4]}"
        time, _, rest = fields[1].partition(".")
        if len(time) != 6 or len(date) != (6 if rmc else 8) or not (time + date + rest).isdecimal():
            raise BadInput(f"{fields[0]} has no date and time")
        if rest.strip("0"):
            return None
        year = year_of(int(date[4:]), self._year) if rmc else int(date[4:])
        civil = Civil(year, int(date[2:4]), int(date[:2]), int(time[:2]), int(time[2:4]), int(time[4:]))
        within(civil.hour, "hour", 0, 23)
        within(civil.minute, "minute", 0, 59)
        return civil

    def _place(self, begin: int, second: int, text: str) -> list[Found]:
        """A second, at its pulse."""
        if self._named is not None:
            before, tick = self._named
            if second == before and begin - tick < self.tick_hz:
                return []
        self._named = (second, begin)
        if not self._pulses:
            return [Frame(second, begin - self._delay * self.tick_hz, Fraction(0), text)]
        if self._names == "next":
            found = [Fault(int(self._waiting.tick), f"no pulse behind {self._waiting.text}")] if self._waiting else []
            self._waiting = Frame(second, Fraction(begin), Fraction(0), text)
            return [*found]
        if self._pulse is None or begin - self._pulse >= self.tick_hz:
            return [Fault(begin, f"no pulse within a second before {text}")]
        return [Frame(second, Fraction(self._pulse), Fraction(0), text)]
