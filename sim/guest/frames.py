# SPDX-License-Identifier: BSD-2-Clause
"""Frames on a recorded pin, by the model that the core's tests are judged with: it shares nothing with core or driver.

A waveform is [(tick, level)], the first entry being the level before anything happened.
"""

from fractions import Fraction
from math import floor

from sim.core.model import ALWAYS, FRAME, TTY, Grant, Launch, Profile, edges, level_at, line_wave, normal

HZ = 50_000_000  # ticks a second of the simulated SoC
PARITIES = {"N": "none", "O": "odd", "E": "even", "M": "mark", "S": "space"}


def profile(baud, form="8N1", hz=HZ):
    """The model's profile of a baud rate, to the nearest 1/256 tick, and a format such as 7E2; 5 bits have 1.5 for 2 stop bits."""
    period = Fraction(floor(Fraction(256 * hz, baud) + Fraction(1, 2)), 256)
    bits, parity, stop = int(form[0]), PARITIES[form[1]], Fraction(int(form[2]))
    return Profile(period, bits, parity, Fraction(3, 2) if (bits, stop) == (5, 2) else stop)


def got_baud(baud, hz=HZ):
    """The rate that a program gets reported for `baud`. A board at `hz` reports one that is lower
    in proportion to its clock."""
    return floor(hz / profile(baud).period + Fraction(1, 2))


def frame(tick, byte, form):
    """A frame on the line."""
    return Grant(tick, Launch(FRAME, form, byte), TTY, 0)


def row(tick, data, form, gap=0):
    """Bytes one after the other from a tick on, `gap` ticks between them."""
    frames = []
    for byte in data:
        frames.append(frame(tick, byte, form))
        tick = frames[-1].end + gap
    return frames


def wave(frames):
    """The waveform of a line with these frames."""
    return line_wave(frames)


def read_frames(recorded, forms):
    """The frames on a pin: [Grant]. `forms` gives the profile of each in turn; its last one, that of all that follow.

    Fails unless the whole waveform is that of these frames, edge by edge.
    """
    forms, found, until = list(forms), [], ALWAYS
    for tick, level in edges(recorded):
        if tick < until:
            continue
        assert level == 0, f"no start bit at {tick}"
        form = forms.pop(0) if len(forms) > 1 else forms[0]
        bits = [level_at(recorded, tick + floor((k + Fraction(3, 2)) * form.period)) for k in range(form.data_bits)]
        found.append(frame(tick, sum(bit << k for k, bit in enumerate(bits)), form))
        # The edge at its very end may be the next start bit.
        until = found[-1].end
    assert edges(wave(found)) == edges(normal(recorded)), "the pin has other edges than these frames"
    return found


def data_of(frames):
    """The bytes of frames."""
    return bytes(one.launch.data for one in frames)
