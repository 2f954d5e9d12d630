# SPDX-License-Identifier: BSD-2-Clause
"""Records are decoded as docs/core.md says, ticks extended, every loss counted."""

from litepulse.streams import Event, EventStream, Header, Lost, ReceiveStream, RxByte, edges, extend_tick


def record(tick, seq, kind, source, flags, data):
    return [tick & 0xFFFFFFFF, tick >> 32, seq << 16 | kind << 12 | source << 8 | flags, data]


def test_header():
    assert Header.decode([5 | 0xFFFE << 16, 7, 0x89ABCDEF, 0x1234567]) == Header(5, 0xFFFE, 7, 0x123456789ABCDEF)


def test_event_fields():
    event = Event.decode(record(0x1_0000_0002, 9, 3, 1, 2, 44))
    assert event == Event(0x1_0000_0002, 9, "refused", "train", 2, 44) and event.reason == "busy"
    assert Event.decode(record(0, 0, 0, 0, 0, 0)) is None
    assert Event.decode(record(1, 0, 5, 5, 0x80, 3)).stop and not Event.decode(record(1, 0, 5, 5, 0, 3)).stop
    assert not Event.decode(record(1, 0, 5, 6, 0x80, 3)).stop
    assert Event.decode(record(1, 0, 1, 0, 0, 0xBEEF01FF)).tag == 0xBEEF
    assert Event.decode(record(1, 0, 2, 4, 0x80, 1)).filtered


def test_edges_unfold_in_order_of_time():
    # S = 4: channel 1 falls at sample 1, channel 0 rises at sample 3 (levels 0 and 1)
    found = edges(Event(400, 0, "edge", "capture", 0, 1 << 3 << 16 | 1 << 3 | 1 << 5), 4)
    assert [(e.tick, e.channel, e.level) for e in found] == [(401, 1, 0), (403, 0, 1)]


def test_ticks_extend_backwards_only():
    now = (5 << 48) + 1000
    assert extend_tick(1000, now) == now
    assert extend_tick(999, now) == now - 1
    assert extend_tick(1001, now) == (4 << 48) + 1001
    assert extend_tick((1 << 48) - 1, now) == (5 << 48) - 1


def test_losses_are_reported_and_sequence_numbers_close():
    stream = EventStream()
    assert stream.feed(record(10, 0xFFFE, 1, 1, 0, 0), 99)[0].data == 0
    assert stream.feed(record(20, 0xFFFF, 4, 6, 0, 3), 99) == [Lost(20, 3)]
    assert stream.feed(record(50, 2, 1, 1, 0, 4), 99)[0].data == 4
    assert (stream.lost, stream.broken) == (3, 0)


def test_an_unreported_gap_is_noticed():
    stream = EventStream()
    stream.feed(record(10, 4, 1, 1, 0, 0), 99)
    stream.feed(record(20, 6, 1, 1, 0, 1), 99)
    assert (stream.lost, stream.broken) == (0, 1)


def test_received_bytes():
    stream = ReceiveStream()
    assert stream.feed([0x10, 0x1FF | 0b0110011 << 9 & ~(1 << 12) | 2 << 16], 1 << 40) == [
        RxByte(0x2_0000_0010, 0xFF, 1, True, True, False, True, True)
    ]
    assert stream.feed([0, 0], 5) == [RxByte(0, 0)]  # a real record: byte 0 at tick 0


def test_lost_bytes_come_as_two_records():
    stream = ReceiveStream()
    assert stream.feed([777, 1 << 12], 10**6) == []
    assert stream.feed([5, 1 << 12 | 1 << 15], 10**6) == [Lost(777, 5)]
    assert stream.lost == 5


def test_a_count_that_stopped_is_a_lower_bound():
    events = EventStream()
    assert events.feed(record(20, 5, 4, 6, 0x80, 0xFFFF0003), 99) == [Lost(20, 0xFFFF0003, True)]
    assert events.feed(record(50, 8, 1, 1, 0, 4), 99)[0].seq == 8 and events.broken == 0
    assert events.feed(record(60, 9, 4, 6, 0, 2), 99) == [Lost(60, 2)]
    assert events.at_least and events.lost == 0xFFFF0005
    received = ReceiveStream()
    assert received.feed([777, 1 << 12], 10**6) == [] and not received.at_least
    assert received.feed([0xFFFF0000, 1 | 1 << 12 | 1 << 15], 10**6) == [Lost(777, 0xFFFF0000, True)]
    assert received.at_least
    assert (str(Lost(1, 7)), str(Lost(1, 7, True))) == ("7 records", "at least 7 records")
