# SPDX-License-Identifier: BSD-2-Clause
"""Promise 5 on the capture block alone: a stamp is the first sample of the level that was accepted.

What should come out is worked out from the whole waveform of a channel at once, by run lengths.
"""

import os
import random
from itertools import groupby

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

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


def accepted(samples, rest, f):
    """The level each sample counts as, None where the samples do not tell yet."""
    out, level, place = [], rest, 0
    runs = [(value, len(list(group))) for value, group in groupby(samples)]
    for number, (value, run) in enumerate(runs):
        if run >= f:
            level = value
        elif number == len(runs) - 1 and value != level:
            level = None
        out += [level] * run
        place += run
    return out


async def run(dut, rng, cycles, f, filt, rise, fall, sel, mood):
    """One stretch with constant settings; returns how many records were seen."""
    dut.rst.value = 1
    dut.filt_len.value, dut.filt_en.value, dut.rise_en.value, dut.fall_en.value = f, filt, rise, fall
    channel, sel_rise, sel_fall = sel
    dut.sel_channel.value, dut.sel_rise.value, dut.sel_fall.value = channel, sel_rise, sel_fall
    off = rng.random() < 0.2
    waves = [wave(rng, cycles * S, mood) for _ in range(C)]
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    seen, enabled = [], []
    for n in range(cycles):
        enabled.append(int(not off and rng.random() < 0.9))
        dut.sel_enable.value = enabled[-1]
        dut.samples.value = sum(waves[c][n * S + s] << (c * S + s) for c in range(C) for s in range(S))
        await ReadOnly()
        seen.append(
            {
                name: int(getattr(dut, name).value)
                for name in (
                    "edge_a",
                    "edge_f",
                    "edge_changed",
                    "edge_level",
                    "edge_group",
                    "edge_delay",
                    "cond_line",
                    "line_delay",
                    "sel_edge",
                    "sel_off",
                    "sel_filtered",
                    "sel_is_line",
                )
            }
        )
        await RisingEdge(dut.clk)

    rests = [0] * INPUTS + [1]
    f = max(f, 1)
    delay = next(d for d in range(64) if d * S >= f - 1)
    level = [accepted(waves[c], rests[c], f) if filt >> c & 1 else waves[c] for c in range(C)]

    def edges(c, n):
        """{sample: new level} of channel c in cycle n."""
        out = {}
        for s in range(S):
            t = n * S + s
            before = rests[c] if t == 0 else level[c][t - 1]
            assert level[c][t] is not None and before is not None
            if level[c][t] != before:
                out[s] = level[c][t]
        return out

    records = 0
    for m, now in enumerate(seen):
        assert now["edge_group"] == sum(((1 << S) - 1) << (c * S) for c in range(C) if filt >> c & 1)
        for group, strobe in ((0, "edge_a"), (1, "edge_f")):
            n = m - EX - 1 - (delay if group else 0)  # the edges are told a cycle later
            members = [c for c in range(C) if (filt >> c & 1) == group]
            bits = sum(((1 << S) - 1) << (c * S) for c in members)
            changed = levels = 0
            if n >= 0:
                for c in members:
                    for s, new in edges(c, n).items():
                        changed |= ((rise if new else fall) >> c & 1) << (c * S + s)
                    levels |= sum(level[c][n * S + s] << (c * S + s) for s in range(S))
                assert now["edge_level"] & bits == levels, f"levels of cycle {n} seen in {m}"
            assert now["edge_changed"] & bits == changed, f"changes of cycle {n} seen in {m}"
            assert now[strobe] == (changed != 0)
            records += changed != 0
        assert now["edge_delay"] == delay
        lag = delay if filt >> INPUTS & 1 else 0
        assert now["line_delay"] == lag
        lag += EX
        if m >= lag:
            assert now["cond_line"] == sum(level[INPUTS][(m - lag) * S + s] << s for s in range(S))
        lag = EX + (delay if filt >> channel & 1 else 0)
        hits = [s for s, new in edges(channel, m - lag).items() if (sel_rise if new else sel_fall)] if m >= lag else []
        assert now["sel_edge"] == bool(hits and enabled[m])
        if now["sel_edge"]:
            assert (now["sel_off"], now["sel_filtered"]) == (hits[0], filt >> channel & 1)
        assert now["sel_is_line"] == (channel == INPUTS)
    return records


@cocotb.test()
async def test_promise5_every_length(dut):
    """Every filter length, random masks and waveforms."""
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    rng, records = random.Random(SEED), 0
    for f in [*range(64), 1, 2, 3, 4, 5]:
        short = max(1, f - 1)
        mood = rng.choice([(1, 2, 3), (short, f + 1, f + 1, 2), (1, f + 1, 2 * f + 1), (f + 1, f + 2, 3 * f + 1, short)])
        every = rng.random() < 0.3
        masks = [rng.getrandbits(C) | (2**C - 1 if every else 0) for _ in range(3)]
        records += await run(dut, rng, 60 + 5 * f, f, *masks, (rng.randrange(C), rng.getrandbits(1), rng.getrandbits(1)), mood)
    dut._log.info(f"{records} records")
    assert records > 500


@cocotb.test()
async def test_change_of_settings(dut):
    """Changing F or an enable never shows a channel's edge to a level that is not there, nor more than one."""
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    rng = random.Random(SEED + 1)
    for _ in range(150):
        dut.rst.value = 1
        f, filt = rng.randrange(64), rng.getrandbits(C)
        dut.filt_len.value, dut.filt_en.value, dut.rise_en.value, dut.fall_en.value = f, filt, 2**C - 1, 2**C - 1
        await RisingEdge(dut.clk)
        dut.rst.value = 0
        # one change of level somewhere, one change of settings somewhere
        before, after = rng.getrandbits(C), rng.getrandbits(C)
        edge, change = rng.randrange(70 * S, 90 * S), rng.randrange(60, 170)
        new_f, new_filt = rng.choice([f, rng.randrange(64)]), rng.choice([filt, rng.getrandbits(C)])
        counts = [0] * C
        for n in range(260):
            if n == change:
                dut.filt_len.value, dut.filt_en.value = new_f, new_filt
            dut.samples.value = sum(((after if n * S + s >= edge else before) >> c & 1) << (c * S + s) for c in range(C) for s in range(S))
            await ReadOnly()
            changed, level = int(dut.edge_changed.value), int(dut.edge_level.value)
            if n >= 66:
                for c in range(C):
                    bits = changed >> (c * S) & (2**S - 1)
                    counts[c] += bin(bits).count("1")
                    for s in range(S):
                        if bits >> s & 1:
                            assert level >> (c * S + s) & 1 == after >> c & 1
            await RisingEdge(dut.clk)
        for c in range(C):
            assert counts[c] == ((before ^ after) >> c & 1), f"channel {c}: {counts[c]} edges"
