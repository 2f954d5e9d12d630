# SPDX-License-Identifier: BSD-2-Clause
"""The reference model against examples worked out by hand from docs/core.md."""

from fractions import Fraction

import pytest

from sim.core.model import (
    ALWAYS,
    BREAK,
    BUSY,
    FRAME,
    INVALID,
    LATE,
    ORDER,
    PULSE,
    QUEUE,
    RESPONDER,
    TRAIN,
    TTY,
    Adjust,
    Echo,
    EventFifo,
    Filters,
    Grant,
    Launch,
    Profile,
    QueueEntry,
    Responder,
    Steps,
    Train,
    accepted,
    arbitrate,
    capture,
    driver_wave,
    filtered,
    gaps,
    line_wave,
    queue_fates,
    receive,
)

P10 = Profile(Fraction(10))


def pulse(tick, width, source=QUEUE, name=0):
    return Grant(tick, Launch(PULSE, P10, width=width), source, name)


def test_frame_55_at_10_ticks():
    frame = Launch(FRAME, P10, 0x55)
    assert frame.length == 100
    assert frame.levels() == [(10 * k, k % 2) for k in range(10)]


def test_frame_edges_are_floors():
    # 5.5 ticks a bit: 0, 5.5, 11, 16.5, 22 ... start bit 0, then 1 0 0 0 0 of 0x01 with 5 bits, then stop.
    frame = Launch(FRAME, Profile(Fraction(11, 2), 5), 0x01)
    assert frame.levels() == [(0, 0), (5, 1), (11, 0), (33, 1)]
    assert frame.length == 38  # 7 * 5.5 = 38.5


def test_frame_with_stop_1_5_and_parity():
    frame = Launch(FRAME, Profile(Fraction(9), 7, "even", Fraction(3, 2)), 0x03)
    assert frame.levels() == [(0, 0), (9, 1), (27, 0), (81, 1)]  # even parity of two ones is 0, bit 8
    assert frame.length == 94  # 10.5 * 9 = 94.5
    odd = Launch(FRAME, Profile(Fraction(9), 7, "odd", Fraction(2)), 0x03)
    assert odd.levels() == [(0, 0), (9, 1), (27, 0), (72, 1)] and odd.length == 99


@pytest.mark.parametrize(
    "parity, data, bit",
    [("odd", 0x00, 1), ("odd", 0x01, 0), ("even", 0x00, 0), ("even", 0x07, 1), ("mark", 0, 1), ("space", 1, 0), ("odd", 0x20, 1)],
)
def test_parity_bits(parity, data, bit):
    assert Profile(Fraction(8), 5, parity).parity_bit(data) == bit  # 0x20 lies outside five bits


def test_inverted_frame_and_break():
    inverted = Launch(FRAME, Profile(Fraction(4), 8, invert=True), 0x0F)
    assert inverted.levels() == [(0, 1), (4, 0), (20, 1), (36, 0)]
    brk = Launch(BREAK, Profile(Fraction(13, 3), stop=Fraction(2)), 13)
    assert brk.levels() == [(0, 0), (56, 1)] and brk.length == 65  # 13 * 13/3 = 56.33, 15 * 13/3 = 65


def test_validity():
    assert not Launch(BREAK, P10, 0).valid and Launch(BREAK, P10, 1).valid
    assert not Launch(PULSE, P10, width=0).valid and not Launch(3, P10, 1, 1).valid and not Launch(FRAME, None, 1).valid


def test_line_back_to_back():
    # Ends at 5, next starts at 5: no edge between; the third after a pause.
    assert line_wave([pulse(3, 2), pulse(5, 4), pulse(12, 1)]) == [(ALWAYS, 1), (3, 0), (9, 1), (12, 0), (13, 1)]


def test_line_polarity_of_its_own():
    high = Grant(20, Launch(PULSE, Profile(Fraction(8), invert=True), width=6), QUEUE, 0)
    assert line_wave([high]) == [(ALWAYS, 1)]
    assert line_wave([high], 0) == [(ALWAYS, 0), (20, 1), (26, 0)]
    assert line_wave([pulse(26, 2), high]) == [(ALWAYS, 1), (26, 0), (28, 1)]


def test_driver_enable_overlaps():
    assert driver_wave([pulse(100, 10), pulse(125, 5), pulse(200, 1)], 10, 5) == [(ALWAYS, 0), (90, 1), (135, 0), (190, 1), (206, 0)]
    assert driver_wave([pulse(100, 10), pulse(126, 5)], 10, 5)[2:4] == [(115, 0), (116, 1)]
    assert driver_wave([pulse(100, 10), pulse(110, 5)], 0, 0) == [(ALWAYS, 0), (100, 1), (115, 0)]


def test_arbitration():
    a, b, c = pulse(10, 5, QUEUE, 1), pulse(14, 5, QUEUE, 2), pulse(15, 5, QUEUE, 3)
    assert arbitrate([a, b, c]) == ([a, c], [b])
    r, q, t = pulse(50, 3, RESPONDER), pulse(50, 2, QUEUE), pulse(50, 1, TRAIN)
    assert arbitrate([t, q, r]) == ([r], [q, t])
    tty = Grant(12, Launch(FRAME, P10, 1), TTY, 0)
    with pytest.raises(AssertionError):
        arbitrate([a], [tty])
    late = pulse(60, 1)
    assert arbitrate([a, late], [tty._replace(tick=20)]) == ([a, tty._replace(tick=20)], [late])


def test_queue_order_of_checks():
    good, bad = Launch(PULSE, P10, width=1), Launch(PULSE, P10, width=0)
    entries = [
        QueueEntry(100, good, 0),
        QueueEntry(90, bad, 1),
        QueueEntry(80, good, 2),
        QueueEntry(80, good, 3),
        QueueEntry(95, good, 4, late=True),
        QueueEntry(94, good, 5),
    ]
    candidates = queue_fates(entries)
    assert [e.fate for e in entries] == [None, INVALID, ORDER, None, LATE, ORDER]
    assert [c.name for c in candidates] == [0, 3] and BUSY not in [e.fate for e in entries]


def test_train_of_58_hz():
    # 24 000 000 / 29 = 827586 + 6/29: twenty-nine pulses later exactly 24 000 000 ticks.
    train = Train(1000, 827586, 6, 29)
    assert [train.tick(k) - 1000 for k in (0, 1, 4, 5, 29, 58)] == [0, 827586, 3310344, 4137931, 24000000, 48000000]


def test_train_adjust_keeps_or_drops_the_fraction():
    train = Train(0, 10, 1, 2)  # 0, 10.5, 21, 31.5
    train.adjust(Adjust(4, 10, 1, 2, 3))  # 31.5 + 10.5 + 3 = 45, then 55.5
    assert [train.tick(k) for k in range(7)] == [0, 10, 21, 31, 45, 55, 66]
    train.adjust(Adjust(6, 20, 1, 3))  # D changes at 55.5: 55 + 20 1/3 = 75 1/3, 95 2/3, 116
    assert [train.tick(k) for k in range(4, 9)] == [45, 55, 75, 95, 116] and train.place(8) == 116
    train.adjust(Adjust(8, 20, 1, 3, -7))  # 95 2/3 + 20 1/3 - 7 = 109, once
    assert [train.tick(k) for k in range(7, 10)] == [95, 109, 129]


def test_train_changes_its_width():
    train = Train(0, 10, launch=Launch(PULSE, P10, width=1))
    train.adjust(Adjust(2, 10, 0, 1, width=5))
    train.adjust(Adjust(3, 20, 0, 1))  # names none
    train.adjust(Adjust(5, 20, 0, 1, width=7))
    assert [(g.tick, g.end) for g in train.pulses(stop=6)] == [(0, 1), (10, 11), (20, 25), (40, 45), (60, 65), (80, 87)]


def test_train_ends():
    train = Train(5, 7, count=3, launch=Launch(PULSE, P10, width=1))
    assert [g.tick for g in train.pulses()] == [5, 12, 19]
    assert [g.tick for g in train.pulses(stop=2)] == [5, 12] and [g.tick for g in train.pulses(until=19)] == [5, 12]


def test_filter():
    wave = [(ALWAYS, 1), (10, 0), (12, 1), (13, 0), (16, 1), (18, 0), (30, 1)]
    assert filtered(wave, 3) == [(ALWAYS, 1), (13, 0), (30, 1)]
    assert filtered(wave, 4) == [(ALWAYS, 1), (18, 0), (30, 1)]
    assert filtered(wave, 1) == wave


def test_capture_masks():
    low, line = [(ALWAYS, 0)], [(ALWAYS, 1)]
    # S = 4: channel 0 rises at 9 and falls at 11, channel 1 rises at 10, the line falls at 12.
    waves = [low + [(9, 1), (11, 0)], low + [(10, 1)], line + [(12, 0)]]
    both = capture(waves, 4, 0b111, 0b111)
    assert both == [(8, 0, 0b1111_1100_0110 << 16 | 0b0000_0100_1010), (12, 0, 0b0000_1111_0000 << 16 | 0b0001_0000_0000)]
    assert capture(waves, 4, 0b001, 0) == [(8, 0, 0b1111_1100_0110 << 16 | 0b0010)]
    split = capture(waves, 4, 7, 7, Filters(4, 0b010, 2))
    assert split == [(8, 0, 0b1111_0000_0110 << 16 | 0b1010), (8, 0x80, 0b1100_0000 << 16 | 0b0100_0000), (12, 0, 0x0000 << 16 | 0x100)]


def test_receive_plain_parity_framing_break():
    grants = [Grant(100, Launch(FRAME, P10, 0xA5), QUEUE, 0)]
    wave = line_wave(grants)
    assert [r[:7] for r in receive(wave, P10, 1)] == [(100, 0xA5, 0, 0, 0, 0, 0)]
    assert receive(wave, P10, 1, Echo([grants[0]], 1))[0].own == 1
    even = Profile(Fraction(10), 8, "even")
    wrong = line_wave([Grant(50, Launch(FRAME, Profile(Fraction(10), 8, "odd"), 0x01), QUEUE, 0)])
    assert receive(wrong, even, 1)[0][:6] == (50, 0x001, 1, 0, 0, 0)  # odd: parity bit 0, even wants 1
    brk = line_wave([Grant(50, Launch(BREAK, P10, 12), QUEUE, 0), Grant(300, Launch(FRAME, P10, 0x42), QUEUE, 0)])
    assert [r[:6] for r in receive(brk, P10, 1)] == [(50, 0, 0, 1, 1, 0), (300, 0x42, 0, 0, 0, 0)]
    short = [(ALWAYS, 1), (10, 0), (13, 1), (40, 0), (50, 1)]
    assert [r[:2] for r in receive(short, P10, 1)] == [(40, 0xFF)]  # a false start leaves no record
    spike = line_wave(grants)
    spike = sorted([*spike, (114, 0), (115, 1)])  # one of the samples 114, 115, 116
    assert receive(spike, P10, 1)[0][:6] == (100, 0xA5, 0, 0, 0, 1)


def test_event_fifo():
    fifo = EventFifo(depth=20, reserve=16)
    for tick in range(6):
        fifo.happen(tick, True, "edge")  # 20, 19, 18, 17 slots free: four fit, two do not
    assert len(fifo.stored) == 4 and fifo.lost == 2
    fifo.happen(6, False, "tx")  # reports the gap first
    assert fifo.stored[4:] == [("overflow", 4, 4, 2), ("event", 6, 6, "tx")]
    for tick in range(7, 22):
        fifo.happen(tick, False, "tx")
    assert fifo.used == 20 and fifo.lost == 1 and fifo.first_lost == (21, 21)
    fifo.happen(22, True, "edge")
    fifo.free(1)
    fifo.happen(23, False, "tx")  # one slot, two needed
    assert fifo.lost == 3
    fifo.free(16)
    assert fifo.stored[-1] == ("overflow", 21, 21, 3) and fifo.lost == 0


def test_event_fifo_stops_counting():
    fifo = EventFifo(depth=20, reserve=16, lost_stop=3)
    for tick in range(9):
        fifo.happen(tick, True, "edge")
    assert len(fifo.stored) == 4 and fifo.lost == 3
    fifo.happen(9, False, "tx")
    assert fifo.stored[4:] == [("at_least", 4, 4, 3), ("event", 9, 7, "tx")] and fifo.lost == 0


def test_filter_in_parts():
    wave = [(ALWAYS, 0), (10, 1), (20, 0), (22, 1), (30, 0)]
    assert accepted(wave, [(ALWAYS, 50, 5)]) == [(10, 1, 0), (30, 0, 0)]
    # five samples, but three of them from before the change
    assert accepted(wave, [(ALWAYS, 13, 5), (13, 50, 5)]) == [(13, 1, 1), (30, 0, 1)]
    # a cycle that counts for neither
    assert accepted(wave, [(ALWAYS, 20, 1), (24, 50, 3)]) == [(10, 1, 0), (30, 0, 1)]


def test_filter_changes():
    rest = [(ALWAYS, 0)], [(ALWAYS, 1)]
    wave = [(ALWAYS, 0), (10, 1), (30, 0)]
    filters = Filters(2)
    filters.set(6, 1, 4)  # from cycle 6 on channel 0 is filtered
    assert filters.edges(0, wave) == [(12, 1, 16), (30, 0, 34)] and filters.shown(0, wave) == [(ALWAYS, 0), (16, 1), (34, 0)]
    assert filters.delays(0).steps == [(ALWAYS, 0), (4, 2)] and filters.delays(1).steps == [(ALWAYS, 0), (4, 0)]
    assert capture([wave, *rest], 2, 7, 7, filters) == [(12, 0x80, 3 << 16 | 1), (30, 0x80, 1)]
    # The level of the filtered channel, which goes on, is not in an unfiltered record; it is in the filtered ones.
    assert capture([wave, [(ALWAYS, 0), (9, 1), (20, 0)], rest[1]], 2, 7, 7, filters) == [
        (8, 0, (0b11_10_00 << 16) | 0b1000),
        (12, 0x80, 3 << 16 | 1),
        (20, 0, (0b11_00_00 << 16) | 0b0100),
        (30, 0x80, 1),
    ]
    # As every channel goes on whose setting is the same.
    filters.set(20, 1, 4)
    assert filters.edges(0, wave) == [(12, 1, 16), (30, 0, 34)]
    # With one sample per cycle there is no gap: the last sample of the old setting is the one before T.
    filters = Filters(1, 1, 3)
    filters.set(13, 0, 3)
    assert filters.edges(0, wave) == [(10, 1, 12), (30, 0, 30)]
    filters = Filters(1, 1, 4)
    filters.set(13, 0, 4)
    assert filters.edges(0, wave) == [(13, 1, 13), (30, 0, 30)]


def test_echo_windows():
    grants = [pulse(100, 5)]
    assert Echo(grants, 1, 16, 3).windows == [(100, 125)] and Echo(grants, 4, 16, 3).windows == [(24, 46)]
    echo = Echo(grants, 1, 16, 3)
    assert [echo.edge(tick) for tick in (97, 98, 122, 123)] == [0, 1, 1, 0]
    assert echo.byte(0, 97) and not echo.byte(0, 96) and echo.byte(122, 200) and not echo.byte(123, 200)
    # A word that comes in time counts; one that comes within the window keeps it open; one that comes later waits for the next launch.
    tail, delay = Steps(16), Steps(3)
    tail.set(103, 40)
    assert Echo(grants, 1, tail, delay, [103]).windows == [(100, 149)]
    tail = Steps(16)
    tail.set(120, 0)
    assert Echo(grants, 1, tail, delay, [120]).windows == [(100, 120 + 2049 + 3)]
    assert Echo([*grants, pulse(140, 1)], 1, tail, delay, [120]).windows == [(100, 140), (140, 145)]
    tail = Steps(16)
    tail.set(126, 0)
    assert Echo(grants, 1, tail, delay, [126]).windows == [(100, 125)]


def test_gaps_and_responder():
    assert gaps([pulse(10, 5), pulse(15, 5), pulse(40, 1)], 100) == [(20, 40), (41, 100)]
    responder = Responder(Launch(PULSE, P10, width=2), 30, holdoff=20)
    assert [g.tick for g in responder.answers([100, 110, 149, 150, 500], 1, 16)] == [130, 180, 530]
    bursts = Responder(Launch(PULSE, P10, width=2), 30, holdoff=20, pulses=3)
    assert [(g.tick, g.name) for g in bursts.answers([100, 189, 190], 1, 16)] == [
        (t, k) for at in (130, 220) for k, t in enumerate((at, at + 20, at + 40))
    ]
    assert [g.tick for g in bursts.answers([100, 185, 186], 1, 16, {170})] == [130, 150, 170, 216, 236, 256]
    responder.rearm = False
    assert [g.tick for g in responder.answers([100, 500], 1, 16)] == [130]
