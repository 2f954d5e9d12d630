# SPDX-License-Identifier: BSD-2-Clause
"""Readers of time codes, written from their specifications alone, and recordings that were damaged. No code of the package."""

import bisect
import calendar
import random
import struct
import subprocess
from datetime import datetime, timedelta, timezone
from fractions import Fraction

HZ = 48_000_000
ZERO = datetime(1970, 1, 1, tzinfo=timezone.utc)


def moment(text):
    """Seconds since 1970 of '2026-11-30 12:00:00', as POSIX counts."""
    return calendar.timegm(datetime.strptime(text, "%Y-%m-%d %H:%M:%S").timetuple())


def ticks(records, origin, hz=HZ, offset=0):
    """[(when, value)] as the board would record them: `origin` is the second at tick `offset`."""
    return [(round((at - origin) * hz) + offset, value) for at, value in records]


def highs(edges):
    """[(begin, length)] of the high pulses."""
    found, begin = [], None
    for at, level in edges:
        if level:
            begin = at
        elif begin is not None:
            found.append((begin, at - begin))
    return found


def read_uart(edges, bit):
    """[(when, byte)]: start bit 0, eight bits, the least significant first, stop bit 1; by looking at the middle of each bit."""
    levels = [(Fraction(-10), 1), *edges]
    times = [when for when, _ in levels]

    def level(at):
        return levels[bisect.bisect_right(times, at) - 1][1]

    found, free = [], Fraction(-10)
    for when, value in edges:
        if value == 0 and when >= free:
            got = [level(when + bit * (n + Fraction(1, 2))) for n in range(10)]
            assert got[0] == 0 and got[9] == 1
            found.append((when, sum(one << n for n, one in enumerate(got[1:9]))))
            free = when + bit * Fraction(19, 2)
    return found


def read_harp(sent):
    """[(when the named second begins, its number)]: 672 us behind the start of the last of six bytes; they hold the second before."""
    found = []
    for n in range(0, len(sent), 6):
        packet = bytes(byte for _, byte in sent[n : n + 6])
        header, seconds = struct.unpack("<2sI", packet)
        assert header == b"\xaa\xaf"
        found.append((sent[n + 5][0] + Fraction(672, 1_000_000), seconds + 1))
    return found


def read_irig_b(edges):
    """[(when, {second, minute, hour, day, year, sbs, control})] of whole frames."""
    pulses = highs(edges)
    kinds = {Fraction(2, 1000): "0", Fraction(5, 1000): "1", Fraction(8, 1000): "P"}
    word = "".join(kinds[length] for _, length in pulses)
    for (a, _), (b, _) in zip(pulses, pulses[1:]):
        assert b - a == Fraction(1, 100)
    found, at = [], 0
    while len(word) - at >= 100:
        frame = word[at : at + 100]
        assert frame[0] == "P" and all(frame[n] == "P" for n in range(9, 100, 10)) and frame.count("P") == 11
        bits = [int(symbol == "1") for symbol in frame]

        def weigh(*pairs, bits=bits):
            return sum(weight for place, weight in pairs if bits[place])

        fields = {
            "second": weigh((1, 1), (2, 2), (3, 4), (4, 8), (6, 10), (7, 20), (8, 40)),
            "minute": weigh((10, 1), (11, 2), (12, 4), (13, 8), (15, 10), (16, 20), (17, 40)),
            "hour": weigh((20, 1), (21, 2), (22, 4), (23, 8), (25, 10), (26, 20)),
            "day": weigh((30, 1), (31, 2), (32, 4), (33, 8), (35, 10), (36, 20), (37, 40), (38, 80), (40, 100), (41, 200)),
            "year": weigh((50, 1), (51, 2), (52, 4), (53, 8), (55, 10), (56, 20), (57, 40), (58, 80)),
            "sbs": weigh(*[(80 + n, 1 << n) for n in range(9)], *[(90 + n, 1 << (9 + n)) for n in range(8)]),
            "leap": (bits[60], bits[61]),
            "quality": weigh((71, 1), (72, 2), (73, 4), (74, 8)),
            "ones": sum(bits[1:76]),
            "unused": [bits[n] for n in (5, 14, 18, 24, 27, 28, 34, 42, 43, 44, 45, 46, 47, 48, 54, 98)],
        }
        found.append((pulses[at][0], fields))
        at += 100
    return found


def read_barcodes(edges, gap, bar, begin, count=32):
    """[(when, number)] as the field's scripts do it: a first pulse behind a gap, then the level in the middle of each bar."""
    levels = [(edges[0][0] - 2 * gap, 0), *edges]
    found, last = [], edges[0][0] - 2 * gap
    for when, value in edges:
        if value and when - last > gap:
            middle = [when + begin + bar * (n + Fraction(1, 2)) for n in range(count)]
            bits = [[level for at, level in levels if at <= here][-1] for here in middle]
            found.append((when, sum(bit << n for n, bit in enumerate(bits))))
            last = when + begin + bar * count
    return found


def read_nmea(text):
    """[(name, fields)] of sentences whose checksum is right."""
    found = []
    for line in text.split("\r\n")[:-1]:
        assert line[0] == "$" and line[-3] == "*"
        total = 0
        for character in line[1:-3]:
            total ^= ord(character)
        assert int(line[-2:], 16) == total and len(line) <= 80
        name, *fields = line[1:-3].split(",")
        found.append((name, fields))
    return found


def read_dcf77(edges):
    """[(when the minute begins, local datetime, {announcements})] of whole minutes: PTB's table of bits."""
    pulses, found, bits = highs(edges), [], None
    for (at, length), after in zip(pulses, [begin for begin, _ in pulses[1:]] + [None]):
        assert length in (Fraction(1, 10), Fraction(1, 5))
        if bits is not None:
            bits.append(int(length == Fraction(1, 5)))
        if after is None or after - at == 1:
            continue
        assert after - at == 2
        if bits is not None:
            assert len(bits) in (59, 60) and bits[0] == 0 and bits[20] == 1 and bits[17] != bits[18]
            assert not sum(bits[21:29]) % 2 and not sum(bits[29:36]) % 2 and not sum(bits[36:59]) % 2

            def value(first, count, bits=bits):
                return sum(weight for weight, bit in zip((1, 2, 4, 8, 10, 20, 40, 80), bits[first : first + count]) if bit)

            local = datetime(2000 + value(50, 8), value(45, 5), value(36, 6), value(29, 6), value(21, 7))
            assert local.isoweekday() == value(42, 3)
            more = {"change": bits[16], "summer": bits[17], "leap": bits[19], "bits": len(bits)}
            found.append((after, local, more))
        bits = []
    return found


def dcf_utc(local, summer):
    """POSIX seconds of what a minute names."""
    return calendar.timegm((local - timedelta(hours=2 if summer else 1)).timetuple())


def sigrok(tmp_path, edges, rate, decoder, annotations, rest=0):
    """What a decoder of sigrok says of edges [(seconds, level)]: its lines."""
    samples, level, at = bytearray(), rest, 0
    for when, new in edges:
        place = round(when * rate)
        samples += bytes([level]) * (place - at)
        level, at = new, place
    samples += bytes([level]) * rate
    (tmp_path / "samples").write_bytes(samples)
    command = ["sigrok-cli", "-I", f"binary:numchannels=1:samplerate={rate}", "-i", str(tmp_path / "samples")]
    done = subprocess.run([*command, "-P", decoder, "-A", annotations], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def damaged(records, seed):
    """A recording in which something is missing: (its parts, between which records were lost, the ticks between which the damage is)."""
    chance = random.Random(seed)
    place = chance.randrange(1, len(records) - 1)
    tick = records[place][0]
    kind = chance.choice(["one is missing", "it begins late", "it ends early", "some were lost"])
    if kind == "some were lost":
        end = min(len(records), place + chance.randrange(1, 40))
        return [records[:place], records[end:]], tick, records[end - 1][0]
    if kind == "it begins late":
        return [records[place:]], 0, tick
    if kind == "it ends early":
        return [records[:place]], tick, 1 << 62
    return [records[:place] + records[place + 1 :]], tick, tick


def decode_parts(decoder, parts, lost, until):
    """What a decoder finds. lost: the tick from which on records were lost; the recording's end is known, too."""
    found = []
    for number, part in enumerate(parts):
        if number:
            found += decoder.advance(lost) + decoder.drop("records were lost")
        for record in part:
            found += decoder.feed(*record)
    return found + decoder.advance(until) + decoder.end()


def check_damage(frames, truth, first, last, length):
    """No frame names what was not there, and each is there that lies `length` ticks away from the damage.

    truth: {tick: second}
    """
    for frame in frames:
        assert truth.get(frame.tick) == frame.second, frame
    there = {frame.tick for frame in frames}
    for tick in truth:
        if tick + length < first or tick - length > last:
            assert tick in there, (tick, first, last)
