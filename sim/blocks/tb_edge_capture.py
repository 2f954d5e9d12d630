# SPDX-License-Identifier: BSD-2-Clause
"""Promise 5 on the capture block alone: a stamp is the first sample of the level that was accepted.

What should come out is worked out from the whole waveform of a channel at once, by run lengths, between one change of settings and the
next.
"""

import os
import random
from itertools import groupby
from typing import NamedTuple

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

from sim.blocks.bundles import Bundle, members

S = int(os.environ.get("LITEPULSE_PARAM_S", "1"))
INPUTS = int(os.environ.get("LITEPULSE_PARAM_INPUTS", "4"))
C = INPUTS + 1
EX = 2 if S > 1 else 0  # cycles that conditioning takes in any case
SEED = int(os.environ.get("LITEPULSE_RUN_SEED", "1"))


def wave(rng, length, mood):
    """Samples of one channel: runs of random lengths around the filter's."""
    out, level = [], rng.getrandbits(1)
    while len(out) < length:
        out += [level] * rng.choice(mood)
        level ^= 1
    return out[:length]


class Stage(NamedTuple):
    """Cycles [begin, end) whose samples count for a channel, all by the same settings."""

    begin: int
    end: int
    enabled: bool
    f: int


def take_over(written):
    """[(first cycle, cycle from which samples count)] of each row of words; `written`: {cycle in which a word is seen first: (F, enables)}.

    With one sample per cycle what was written counts from the next cycle on. With more it does from the third cycle after the last word
    of a row on, and a word that comes in these cycles belongs to the row.
    """
    rows = []
    for cycle in sorted(written):
        if S > 1 and rows and cycle < rows[-1][1]:
            rows[-1] = (rows[-1][0], cycle + 3)
        else:
            rows.append((cycle, cycle + (1 if S == 1 else 3)))
    return rows


def in_force(written, cycles):
    """(F, enables) by which the samples of each cycle count."""
    out, now = [], (1, 0)
    rows = {end: begin for begin, end in take_over(written)}
    for cycle in range(cycles):
        if cycle in rows:
            now = written[max(n for n in written if n < cycle)]
        out.append(now)
    return out


def stages(written, cycles, c):
    """The stages of channel c. One ends where its settings begin to differ, the next begins where they have been taken over."""
    cuts, (f, enables) = [], (1, 0)
    last = (f, enables)
    for begin, end in take_over(written):
        row = {n: written[n] for n in sorted(written) if begin <= n < end}
        other_f = False
        for n in range(begin, end):
            if n in row:
                other_f |= row[n][0] != last[0]
                last = row[n]
            if (last[1] ^ enables) >> c & 1 or (enables >> c & 1 and other_f):
                cuts.append((n + 1, n + 1) if S == 1 else (n, n + 1))
        f, enables = last
    force = in_force(written, cycles)
    found, begin = [], 0
    for stop, start in [*cuts, (cycles, cycles)]:
        if stop > begin or S == 1:
            found.append(Stage(begin, stop, bool(force[begin][1] >> c & 1), max(1, force[begin][0])) if begin < cycles else None)
        begin = start
    return [stage for stage in found if stage]


def shown(samples, rest, stages_):
    """{tick of the first sample: (new level, Stage)} of one channel's edges."""
    out, level = {}, rest
    for stage in stages_:
        place = stage.begin * S
        for value, group in groupby(samples[place : stage.end * S]):
            run = len(list(group))
            if value != level and run >= (stage.f if stage.enabled else 1):
                level = value
                out[place] = (level, stage)
            place += run
    return out


def delay_of(f):
    """Cycles by which filtered channels are late."""
    return next(d for d in range(64) if d * S >= max(f, 1) - 1)


async def run(dut, rng, cycles, written, edges_on, sel, mood):
    """One stretch; `edges_on`: {cycle: (rise, fall)}. Returns how many records and edges were seen."""
    dut.rst.value = 1
    settings, choice = Bundle(dut.settings, "capture_settings_t"), Bundle(dut.edge_choice, "edge_choice_t")
    settings(filt_len=1)
    rise, fall = edges_on.get(0, (0, 0))
    settings(rise_en=rise, fall_en=fall)
    channel, sel_rise, sel_fall = sel
    of_line = rng.random() < 0.2
    choice(channel=channel, rise=sel_rise, fall=sel_fall, of_line=of_line)
    off = rng.random() < 0.2
    waves = [wave(rng, cycles * S, mood) for _ in range(C)]
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    seen, enabled, wanted, f = [], [], [], 1
    for n in range(cycles):
        enabled.append(int(not off and n > 0 and rng.random() < 0.9))  # nothing waits for an edge right behind a reset
        choice(enable=enabled[-1])
        rise, fall = edges_on.get(n, (rise, fall))
        wanted.append((fall, rise))
        settings(rise_en=rise, fall_en=fall)
        settings(filt_new=int(n in written), filt_len_new=int(n in written and written[n][0] != f))
        if n in written:
            f = written[n][0]
            settings(filt_len=written[n][0], filt_en=written[n][1])
        dut.samples.value = sum(waves[c][n * S + s] << (c * S + s) for c in range(C) for s in range(S))
        await ReadOnly()
        edges, chosen = members(dut.edges, "edges_t"), members(dut.chosen_edge, "chosen_edge_t")
        seen.append((edges, chosen, int(dut.cond_line.value), int(dut.line_delay.value)))
        await RisingEdge(dut.clk)

    rests = [0] * INPUTS + [1]
    force = in_force(written, cycles)
    # what each channel shows in each cycle: {sample: new level}, and the levels of all samples; likewise what the responder is given of its
    # own channel: with more than one sample per cycle, an unfiltered edge of an input before it is conditioned
    flips, levels, count = [], [], 0
    picked: list[dict[int, int]] = [{} for _ in range(cycles)]
    for c in range(C):
        flips.append([{} for _ in range(cycles)])
        for tick, (level, stage) in shown(waves[c], rests[c], stages(written, cycles, c)).items():
            cycle = tick // S + EX + (delay_of(stage.f) if stage.enabled else 0)
            if cycle < cycles:
                flips[c][cycle][tick % S] = level
                count += 1
            early = cycle - EX if not stage.enabled and c < INPUTS else cycle
            if c == channel and early < cycles:
                picked[early][tick % S] = level
        level, row = rests[c], []
        for cycle in range(cycles):
            for s in range(S):
                level = flips[c][cycle].get(s, level)
                row.append(level)
        levels.append(row)

    def bits(row):
        return sum(bit << place for place, bit in enumerate(row))

    records = 0
    for m, (edges, chosen, cond_line, line_delay) in enumerate(seen):
        # What is shown in cycle m. With S > 1 it is older, and the settings have been taken over in between only if it is the same by both.
        f, group = force[m]
        where = f"cycle {m}, words {written}"
        assert chosen["delay"] == delay_of(f), where
        assert chosen["is_line"] == (channel == INPUTS)
        assert cond_line == bits(levels[INPUTS][m * S : m * S + S]), where
        hits = [s for s, new in sorted(picked[m].items()) if (sel_rise if new else sel_fall)]
        assert chosen["found"] == bool(hits and enabled[m]), where
        if chosen["found"]:
            assert (chosen["off"], chosen["filtered"]) == (hits[0], group >> channel & 1), where
        if S > 1 and m > 0:
            assert chosen["quick"] == (channel < INPUTS and not group >> channel & 1), where
            before, behind = force[m - 1]
            assert chosen["late"] == EX + (delay_of(before) if behind >> (INPUTS if of_line else channel) & 1 else 0), where
            if chosen["found"] and not chosen["quick"] and not of_line:
                assert chosen["late"] == EX + (delay_of(f) if group >> channel & 1 else 0), where
        if m == 0:
            continue
        # the edges of the cycle before, with what was in force then
        f, group = force[m - 1]
        assert (edges["delay"], edges["group"]) == (delay_of(f), group), where
        assert line_delay == (delay_of(f) if group >> INPUTS & 1 else 0), where
        assert edges["level"] == sum(bits(levels[c][(m - 1) * S : m * S]) << (c * S) for c in range(C)), where
        changed = [0, 0]
        for c in range(C):
            for s, new in flips[c][m - 1].items():
                changed[group >> c & 1] |= (wanted[m - 1][new] >> c & 1) << (c * S + s)
        assert edges["changed"] == changed[0] | changed[1], where
        assert (edges["plain"], edges["filtered"]) == (int(changed[0] != 0), int(changed[1] != 0)), where
        records += (changed[0] != 0) + (changed[1] != 0)
    return records, count


def some_mood(rng, f):
    """Lengths of runs around a filter's length."""
    short = max(1, f - 1)
    return rng.choice([(1, 2, 3), (short, f + 1, f + 1, 2), (1, f + 1, 2 * f + 1), (f + 1, f + 2, 3 * f + 1, short)])


def some_mask(rng):
    return rng.getrandbits(C) | (2**C - 1 if rng.random() < 0.3 else 0)


@cocotb.test()
async def test_promise5_every_length(dut):
    """Every filter length, random masks and waveforms."""
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    rng, records = random.Random(SEED), 0
    for f in [*range(64), 1, 2, 3, 4, 5]:
        sel = (rng.randrange(C), rng.getrandbits(1), rng.getrandbits(1))
        edges_on = {0: (some_mask(rng), some_mask(rng))}
        seen = await run(dut, rng, 60 + 5 * f, {0: (f, some_mask(rng))}, edges_on, sel, some_mood(rng, f))
        records += seen[0]
    dut._log.info(f"{records} records")
    assert records > 500


@cocotb.test()
async def test_promise5_settings_at_any_time(dut):
    """F, enables and directions change at any time, again within cycles, too: what is shown is what the settings of its time accept,
    with their group and delay, and no edge is shown twice."""
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    rng, records, count = random.Random(SEED + 1), 0, 0
    lengths = (0, 1, 2, 3, S, S + 1, 2 * S + 1, 7, 63)
    for _ in range(120):
        f, cycles = rng.choice(lengths), 250
        written, edges_on, at = {}, {0: (some_mask(rng), some_mask(rng))}, rng.randrange(4)
        mask = some_mask(rng)
        while at < cycles - 8:
            # often the same length or the same channels
            f = rng.choice([f, rng.choice(lengths), rng.randrange(64)])
            mask = rng.choice([mask, mask ^ 1 << rng.randrange(C), some_mask(rng)])
            written[at] = (f, mask)
            at += rng.choice([1, 2, 3, 4, 5, rng.randrange(1, 40), rng.randrange(1, 120)])
        for _ in range(rng.choice([0, 5, 60])):
            edges_on[rng.randrange(cycles)] = (some_mask(rng), some_mask(rng))
        sel = (rng.randrange(C), rng.getrandbits(1), rng.getrandbits(1))
        seen = await run(dut, rng, cycles, written, edges_on, sel, some_mood(rng, rng.choice([1, 2, 5, f])))
        records, count = records + seen[0], count + seen[1]
    dut._log.info(f"{records} records of {count} edges")
    assert records > 1000 and count > 3000


@cocotb.test()
async def test_one_edge_one_change(dut):
    """One edge of a channel, a change of settings in each cycle around it: one edge is shown, to the level that is there, stamped with
    its first sample or with the first that counts by the new settings."""
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    rng, total = random.Random(SEED + 2), 0
    for old, new in (((5, 1), (9, 1)), ((9, 1), (5, 1)), ((7, 0), (7, 1)), ((7, 1), (7, 0)), ((4, 1), (0, 1)), ((0, 1), (4, 1))):
        for change in range(30, 56):
            edge = 40 * S + rng.randrange(S)
            seen, mask = 0, (1 << S) - 1
            dut.rst.value = 1
            settings = Bundle(dut.settings, "capture_settings_t")
            settings(filt_len=1, rise_en=2**C - 1, fall_en=2**C - 1)
            dut.samples.value = mask << (INPUTS * S)
            for _ in range(3):
                await RisingEdge(dut.clk)
            dut.rst.value = 0
            for n in range(80):
                word = {2: old, change: new}.get(n)
                settings(filt_new=int(word is not None), filt_len_new=int(word is not None and word[0] != (1 if n == 2 else old[0])))
                if word:
                    settings(filt_len=word[0], filt_en=word[1])
                dut.samples.value = mask << (INPUTS * S) | sum((n * S + s >= edge) << s for s in range(S))
                await ReadOnly()
                edges = members(dut.edges, "edges_t")
                if edges["changed"]:
                    changed, level = edges["changed"] & mask, edges["level"] & mask
                    assert changed and changed & (changed - 1) == 0 and changed & level, (change, changed, level)
                    filtered = edges["group"] & 1
                    stamp = (n - 1 - EX - (edges["delay"] if filtered else 0)) * S + changed.bit_length() - 1
                    first = (change + (1 if S == 1 else 3)) * S  # that counts by the new settings
                    end = (change + 1 if S == 1 else change) * S  # of the samples that count by the old ones
                    by_old = edge + (max(1, old[0]) if old[1] else 1) <= end
                    expected = edge if by_old else max(edge, first)
                    assert (stamp, filtered) == (expected, (old if by_old else new)[1]), (old, new, change, stamp, expected)
                    seen += 1
                await RisingEdge(dut.clk)
            assert seen == 1, f"{seen} edges, {old} to {new} in cycle {change}, edge at {edge}"
            total += 1
    assert total > 100
