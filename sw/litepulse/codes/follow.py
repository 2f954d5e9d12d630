# SPDX-License-Identifier: BSD-2-Clause
"""Follows a time code that comes in: which second begins at which tick, and how well the frames agree."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from litepulse.board import Board
from litepulse.capture import CapturePlan, Listen, LostEvent, Receiver
from litepulse.codes import barcode, harp, nmea
from litepulse.codes.barcode import BarcodeDecoder
from litepulse.codes.dcf77 import DcfDecoder
from litepulse.codes.emit import check_code, scale_of
from litepulse.codes.frames import Decoder, Fault, Fit, Found, Frame
from litepulse.codes.harp import HarpDecoder
from litepulse.codes.irig_b import IrigDecoder
from litepulse.codes.nmea import NmeaDecoder
from litepulse.codes.scale import UTC
from litepulse.codes.uart import Uart
from litepulse.errors import BadInput
from litepulse.line import Format, Profile
from litepulse.plan import Time, profile_of
from litepulse.streams import Lost, RxByte
from litepulse.units import Number, Whole, to_duration, to_rate, within

_JUMP = Fraction(1, 4)  # of a second: a frame that is farther off than this names another second than the frames before let expect


@dataclass(frozen=True)
class Followed:
    """A frame that came.

    second: as scale.py counts; text: what the frame says; tick: where the second begins, exact; time: the same in seconds since
    the board's reset; spread: see Frame; residual: by how many ticks it is behind the line through the frames before
    ppm: by how much the board's clock is fast against the code, by all frames by now; jump: it does not go on where those
    before ended, and the line begins again
    """

    second: int
    text: str
    tick: Fraction
    time: Fraction
    spread: Fraction
    residual: Fraction
    ppm: Fraction
    jump: bool


@dataclass(frozen=True)
class FollowPlan:
    """channel: whose edges are read; profile: of the line, if the board's receiver reads the bytes; pulse: channel of a pulse per second"""

    code: str
    decoder: Decoder
    capture: CapturePlan
    channel: str
    uart: Uart | None = None
    pulse: str | None = None


class Follow(Listen[Followed | Fault | Lost, Followed | Fault | LostEvent]):
    """A code that is being followed. Iterating over it gives its frames, what was not whole, and losses. `fit`: the line through them."""

    at_once = 64

    def __init__(self, board: Board, plan: FollowPlan) -> None:
        self.plan = plan
        self._receiver = Receiver(board.backend, plan.capture)
        super().__init__(board.backend, self._receiver.poller, plan.capture.count, plan.capture.duration)
        self.fit = Fit(board.tick_hz)

    def _prepare(self) -> None:
        self._receiver.prepare()

    def _poll(self) -> Sequence[Followed | Fault | Lost]:
        plan, decoder, found = self.plan, self.plan.decoder, list[Found | Lost]()
        for tick, what, value, _, _ in self._receiver.poll():
            if isinstance(value, Lost):
                found += [*self._advance(tick), value, *decoder.drop("records were lost")]
                if plan.uart:
                    plan.uart.drop()
            elif isinstance(value, RxByte):
                ok = not (value.parity_error or value.framing_error or value.is_break)
                found += decoder.feed(tick, value.data, ok)
            elif what == plan.pulse and isinstance(decoder, NmeaDecoder):
                found += decoder.pulse(tick) if value else []
            elif plan.uart:
                for start, byte, ok in plan.uart.feed(tick, value):
                    found += decoder.feed(start, byte, ok)
            else:
                found += decoder.feed(tick, value)
        found += self._advance(self.poller.tick)
        return [self._judged(each) for each in found]

    def _advance(self, tick: int) -> list[Found]:
        """Nothing more comes before this tick."""
        found: list[Found] = []
        for start, byte, ok in self.plan.uart.advance(tick) if self.plan.uart else ():
            found += self.plan.decoder.feed(start, byte, ok)
        return found + self.plan.decoder.advance(tick)

    def _rest(self) -> Sequence[Followed | Fault | Lost]:
        return [*self._poll(), *(self._judged(each) for each in self.plan.decoder.end())]

    def _judged(self, found: Found | Lost) -> Followed | Fault | Lost:
        if not isinstance(found, Frame):
            return found
        residual = found.tick - self.fit.tick_of(found.second) if self.fit.count else Fraction(0)
        jump = abs(residual) > _JUMP * self.fit.tick_hz
        if jump:
            self.fit = Fit(self.fit.tick_hz)
        self.fit.add(found)
        time_of = found.tick / self.fit.tick_hz
        return Followed(found.second, found.text, found.tick, time_of, found.spread, residual, self.fit.ppm, jump)

    def _is_loss(self, found: Followed | Fault | Lost) -> bool:
        return not isinstance(found, Followed)  # `count` is of frames

    def _item(self, found: Followed | Fault | Lost) -> Followed | Fault | LostEvent:
        return LostEvent.of(found, self._timescale) if isinstance(found, Lost) else found


def follow(
    board: Board,
    code: str,
    *,
    input: Whole | str = "rx",
    pps: Whole | str | None = None,
    of: str = "utc",
    baud: Number | str | None = None,
    invert: bool = False,
    expression: str = "B004",
    parity: str = "even",
    layout: str | barcode.Layout = "open-ephys",
    names: str = "last",
    delay: Time = nmea.DELAY,
    epoch: Whole = harp.EPOCH,
    near: Whole | None = None,
    count: Whole = 0,
    duration: Time | None = None,
    loopback: bool = False,
    move_tx: bool = False,
) -> Follow:
    """Reads 'harp', 'irig-b', 'barcode', 'nmea' or 'dcf77': iterating over it gives each frame, what is not whole, and losses.

    input: 'rx' or a number; pps: of nmea, the input that has the pulse per second; of: 'utc' or 'tai', what the code shows
    invert: the line rests at the other level; near: a second close by, for the year (default: the PC's clock)
    expression, parity: of irig-b; layout: of barcode; names, delay: of nmea, whether a sentence names the 'last' or the 'next'
    second, and without pps how late its first byte is; epoch: of harp, seconds from its zero to 1970
    It ends after count frames, after duration, or when it is stopped. move_tx: TX may move to the receiver's idle level.
    """
    check_code(code, baud)
    if pps is not None and code != "nmea":
        raise BadInput(f"pps: {code} has its seconds in itself")
    scale, hz, timescale = scale_of(of, code), board.tick_hz, board.timescale
    about = UTC.of_posix(int(time.time())) if near is None else near
    scale.civil(about)
    channel = board.channel(input)
    pulse = None if pps is None else board.channel(pps)
    if pulse == channel:
        raise BadInput("pps: it is the input that has the sentences")
    uart: Uart | None = None
    profile: Profile | None = None
    decoder: Decoder
    if code in ("harp", "nmea"):
        rate = to_rate(9600 if baud is None else baud, "baud") if code == "nmea" else Fraction(harp.BAUD)
        if code == "harp":
            decoder = HarpDecoder(hz, scale, epoch, near)
        else:
            late = timescale.ticks(to_duration(delay, "delay", signed=True)) / hz
            decoder = NmeaDecoder(hz, scale, about, pulse is not None, names, late)
        if channel == board.identity.inputs:
            profile = profile_of(timescale, rate, Format(invert=bool(invert)))
        else:
            uart = Uart(hz, rate, bool(invert))
    elif code == "irig-b":
        decoder = IrigDecoder(hz, scale, expression, about, parity, bool(invert))
    elif code == "barcode":
        decoder = BarcodeDecoder(hz, scale, barcode.layout_of(layout), near, bool(invert))
    else:
        decoder = DcfDecoder(hz, scale, about, bool(invert))
    channels: list[int] = sorted(each for each in (None if profile else channel, pulse) if each is not None)
    capture = CapturePlan(
        channels,
        profile=profile,
        loopback=bool(loopback),
        move_tx=bool(move_tx),
        count=within(count, "count", 0, (1 << 63) - 1),
        duration=None if duration is None else math.floor(timescale.ticks(to_duration(duration, "duration"))),
    )
    name = "rx" if channel == board.identity.inputs else str(channel)
    return board.begin(Follow(board, FollowPlan(code, decoder, capture, name, uart, None if pulse is None else str(pulse))))
