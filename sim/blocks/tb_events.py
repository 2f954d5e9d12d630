# SPDX-License-Identifier: BSD-2-Clause
"""Promise 6 on the event writer alone: the stream is read back as software reads it and held against all that happened."""

import os
import random
from bisect import bisect_left, bisect_right

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge, Timer

from litex_soc.regmap import EVENT_FLAG_AT_LEAST, EVENT_KINDS, EVENT_RESERVE, EVENT_SOURCES, LOST_STOP
from sim.blocks.bundles import Bundle

S = int(os.environ.get("LITEPULSE_PARAM_S", "1"))
C = int(os.environ.get("LITEPULSE_PARAM_C", "5"))
EB = C * S  # bits of the edge masks
AW = int(os.environ.get("LITEPULSE_PARAM_EV_AW", "6"))
SEED = int(os.environ.get("LITEPULSE_RUN_SEED", "1"))
DEPTH = 1 << AW
WAIT_MAX = 20
KIND = {name: code for code, (name, _) in EVENT_KINDS.items()}
SOURCE = {name: code for code, (name, _) in EVENT_SOURCES.items()}
# what each source may say: (kind, bit of the event mask)
SAYS = {
    "RESPONDER": [(KIND["TX"], 2), (KIND["RESPONDER_MISSED"], 9)],
    "QUEUE": [(KIND["TX"], 0), (KIND["REFUSED"], 5)],
    "TRAIN": [(KIND["TX"], 1), (KIND["REFUSED"], 6), (KIND["TRAIN_DONE"], 8)],
    "TTY": [(KIND["TX"], 3)],
    "TRAIN_CHANGE": [(KIND["APPLIED"], 7), (KIND["REFUSED"], 7)],
    "CONTROL": [(KIND["APPLIED"], 7), (KIND["REFUSED"], 7), (KIND["SNAPSHOT"], 10)],
}
# the sources of each port: of a brief one, those of the first two cycles of four and those of the last two
PORTS = {"responder": [["RESPONDER"]], "sequencer": [["QUEUE"], ["TRAIN", "TRAIN_CHANGE"]], "tty": [["TTY"]], "control": [["CONTROL"]]}
THREADS = list(PORTS.values())


def young(now):
    """What the time base says of the upper parts of a count."""
    return sum(((now & ((1 << top) - 1)) >> 7 == 0) << i for i, top in enumerate((16, 32, 48)))


def bits_of(channels):
    """The bits of these channels in the edge masks."""
    return sum(((1 << S) - 1) << (c * S) for c in range(C) if channels >> c & 1)


class Run:
    """One stretch of cycles with given habits of the sources, of the settings and of the reader."""

    def __init__(self, dut, rng, cycles, request=0.05, edges=0.1, read=0.3, stuck=0.0, mask=0x7FF, both=True, quiet=40, unrest=0.0):
        self.dut, self.rng, self.cycles = dut, rng, cycles
        self.request, self.edges, self.read, self.stuck, self.mask, self.both = request, edges, read, stuck, mask, both
        self.quiet = quiet  # cycles at the end in which nothing new comes
        self.unrest = unrest  # how often group, delay and mask change
        self.happened = {name: [] for name in [*SOURCE.values(), "a", "f"]}  # (cycle it arose, tick, kind, source, flags, data)
        self.stored, self.faults, self.longest, self.lost = [], 0, 0, 0

    def new_request(self, sources, n):
        rng = self.rng
        source = rng.choice(sources)
        kind, bit = rng.choice(SAYS[source])
        age, off = rng.choice([0, 1, rng.randrange(80)]), rng.randrange(S)
        item = (n, (self.start + n - age) * S + off, kind, SOURCE[source], rng.randrange(256), rng.getrandbits(32))
        return [
            item,
            {"kind": kind, "source": SOURCE[source], "flags": item[4], "lo": (self.start + n - age) & 255, "off": off, "data": item[5]},
            bit,
        ]

    async def go(self):
        dut, rng = self.dut, self.rng
        self.start = rng.choice([300, (1 << 32) - 200, (1 << 48) - 700, rng.getrandbits(59)])
        group, delay = rng.getrandbits(C), rng.randrange(63)
        mask = mask_before = self.mask
        dut.rst.value = 1
        requests, border = [Bundle(getattr(dut, name), "event_request_t") for name in PORTS], Bundle(dut.edges, "edges_t")
        dut.req.value = 0
        dut.event_mask.value = self.mask
        border(plain=0, filtered=0, group=group, delay=delay)
        dut.ev_free.value = DEPTH
        for _ in range(3):
            await RisingEdge(dut.clk)
        dut.rst.value = 0
        held = [[None] * len(threads) for threads in THREADS]
        since = [[-16] * len(threads) for threads in THREADS]
        free, stuck, burst, edges, filtered_before = DEPTH, 0, 0, (0, 0), set()
        for n in range(self.cycles):
            mask_before = mask  # by that of the cycle before it is acknowledged a request is recorded or not
            if rng.random() < self.unrest:
                group, delay = rng.choice([(rng.getrandbits(C), delay), (group, rng.randrange(63))])
            if rng.random() < self.unrest:
                mask = rng.choice([self.mask, mask ^ 1 << 4, rng.getrandbits(11)])
            dut.event_mask.value = mask
            members = bits_of(group)
            now, quiet = self.start + n, n >= self.cycles - self.quiet
            dut.now.value, dut.young.value = now, young(now)
            req, offered = 0, []
            for port, threads in enumerate(THREADS):
                brief = len(threads) > 1
                for thread, sources in enumerate(threads):
                    # a brief port shows a record in two cycles of four, again and again until it is
                    # taken
                    if held[port][thread] is None and n - since[port][thread] >= 16 and not quiet and rng.random() < self.request:
                        if not brief or n % 4 == 2 * thread:
                            held[port][thread] = self.new_request(sources, n)
                            since[port][thread] = n
                thread = n % 4 // 2 if brief else 0
                offered.append(held[port][thread])
                shown = {name: rng.getrandbits(size) for name, size in requests[port].fields.items()}
                if offered[port] is not None:
                    req |= 1 << port
                    shown = offered[port][1]
                    if brief and n % 2 == 0:
                        offered[port][0] = (n, *offered[port][0][1:])  # its age begins again
                requests[port](**shown)
            dut.req.value = req
            # the edges of the last cycle
            changed, level = edges
            stamp_f = (now - 1 - delay) * S
            if not self.both or (stamp_f, changed & members, level & members) in filtered_before:
                # with a delay that grows two cycles may have one tick: equal records are ambiguous
                changed &= ~members
            filtered_before.add((stamp_f, changed & members, level & members))
            both = {"a": changed & ~members, "f": changed & members}
            plain, filtered = (int(both[name] != 0) for name in "af")
            border(plain=plain, filtered=filtered, changed=changed, level=level, group=group, delay=delay)
            for name, bits in both.items():
                if bits and mask >> 4 & 1:
                    own = level & (members if name == "f" else ~members)
                    self.happened[name].append(
                        (
                            n,
                            stamp_f if name == "f" else (now - 1) * S,
                            KIND["EDGE"],
                            SOURCE["CAPTURE"],
                            0x80 if name == "f" else 0,
                            own << 16 | bits,
                        )
                    )
            if burst:
                burst -= 1
            elif rng.random() < self.edges / 20:
                burst = rng.randrange(1, 30)
            edges = (0, rng.getrandbits(EB))
            if (burst or rng.random() < self.edges) and not quiet:
                edges = (rng.getrandbits(EB), rng.getrandbits(EB))
            if stuck:
                stuck -= 1
            elif rng.random() < self.stuck:
                stuck = rng.randrange(300)
            elif rng.random() < self.read:
                free += min(DEPTH - free, rng.choice([1, 1, 2, 4, 30]))
            dut.ev_free.value = free
            await ReadOnly()
            acks = int(dut.ack.value)
            for port, item in enumerate(offered):
                if item is None:
                    assert not acks >> port & 1
                    continue
                thread = n % 4 // 2 if len(THREADS[port]) > 1 else 0
                self.longest = max(self.longest, n - since[port][thread])
                if acks >> port & 1:
                    if mask_before >> item[2] & 1:
                        self.happened[item[0][3]].append(item[0])
                    held[port][thread] = None
            if dut.ev_wr.value:
                word = int(dut.ev_wdata.value)
                info = word >> 64
                record = (word & (1 << 64) - 1, info >> 12 & 15, info >> 8 & 15, info & 255, word >> 96)
                self.stored.append((n, free, info >> 16 & 0xFFFF, record))
                free -= 1
            self.faults += int(dut.fault.value)
            self.lost = int(dut.ev_lost.value) if dut.ev_gap.value else 0
            await RisingEdge(dut.clk)
        assert all(item is None for items in held for item in items) or not self.quiet
        return self

    def check(self):
        """Holds the stream against what happened; returns the number of gaps and of records lost."""
        seq, gaps, told = 0, [], 0
        left = {name: list(items) for name, items in self.happened.items()}
        matched, missing, last = [], [], {}
        for place, (n, free, number, (tick, kind, source, flags, data)) in enumerate(self.stored):
            assert number == seq, f"record {place}: seq {number}, not {seq}"
            if kind == KIND["OVERFLOW"]:
                assert (source, flags) == (SOURCE["CONTROL"], 0) and data > 0
                # by itself only beyond the reserve; else a record that is no edge follows
                following = self.stored[place + 1] if place + 1 < len(self.stored) else None
                alone = following is None or (following[3][1] != KIND["EDGE"] and following[0] == n + 1)
                assert free > EVENT_RESERVE or (free >= 2 and alone)
                gaps.append((place, tick, data))
                told += data
                seq = (seq + data) & 0xFFFF
                continue
            seq = (seq + 1) & 0xFFFF
            stream = source
            if source == SOURCE["CAPTURE"]:
                stream = "f" if flags & 0x80 else "a"
                assert free > EVENT_RESERVE
            skipped = 0
            while left[stream][skipped][1:] != (tick, kind, source, flags, data):
                skipped += 1
            missing += [(item, last.get(stream, -1), place) for item in left[stream][:skipped]]
            arose = left[stream][skipped][0]
            assert n > arose
            left[stream] = left[stream][skipped + 1 :]
            matched.append((place, arose, stream))
            last[stream] = place
        if self.stored and self.stored[-1][0] == self.cycles - 1 and self.stored[-1][3][1] == KIND["OVERFLOW"]:
            self.lost = 0  # reported in this very cycle
        # all that is not in the stream was reported, or is in the count, or on its way
        lost = len(missing)
        rest = sum(len(items) for items in left.values())
        assert lost <= told + self.lost <= lost + rest
        assert not self.quiet or told + self.lost == lost + rest, "a record is missing, unreported"
        # each record reported as missing lies in a gap, and each gap begins with a missing record
        stamps = {item[1] for item, _, _ in missing} | {item[1] for items in left.values() for item in items}
        for place, tick, _ in gaps:
            assert tick in stamps, f"gap at {place}: {tick}"
        places, surely = [g[0] for g in gaps], {}
        for item, before, after in missing:
            first, end = bisect_right(places, before), bisect_left(places, after)
            assert first < end, f"{item} is missing without a report"
            if end == first + 1:
                surely[places[first]] = surely.get(places[first], 0) + 1
        for place, _, data in gaps:
            assert surely.get(place, 0) <= data
        # what arose in one cycle is in order
        rank = {SOURCE[name]: k for k, threads in enumerate(THREADS) for sources in threads for name in sources}
        rank |= {"a": len(PORTS), "f": len(PORTS) + 1}
        together = {}
        for place, arose, stream in matched:
            together.setdefault(arose, []).append((place, rank[stream]))
        for items in together.values():
            assert [r for _, r in items] == sorted(r for _, r in items)
        assert self.longest <= WAIT_MAX, f"a request waited {self.longest} cycles"
        return len(gaps), lost


@cocotb.test()
async def test_promise6_random(dut):
    """All sources, all kinds of reader: exact numbers, order, reserve, no silent loss."""
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    rng, gaps, lost, stored, longest = random.Random(SEED), 0, 0, 0, 0
    for number in range(40):
        run = await Run(
            dut,
            rng,
            1500,
            request=rng.choice([0.01, 0.05, 1.0]),
            edges=rng.choice([0.0, 0.02, 0.3, 1.0]),
            read=rng.choice([0.02, 0.2, 0.9]),
            stuck=rng.choice([0.0, 0.003, 0.02]),
            mask=0x7FF if number % 3 else rng.getrandbits(11),
            unrest=rng.choice([0.0, 0.01, 0.3, 1.0]),
        ).go()
        g, x = run.check()
        gaps, lost, stored, longest = gaps + g, lost + x, stored + len(run.stored), max(longest, run.longest)
        assert run.faults >= g
    dut._log.info(f"{stored} stored, {lost} lost in {gaps} gaps, longest wait {longest}")
    assert gaps > 100 and stored > 5000 and lost > 1000


@cocotb.test()
async def test_nothing_lost_while_there_is_room(dut):
    """A reader that keeps up and edges in every other cycle, requests as dense as allowed from one port: no loss."""
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    rng = random.Random(SEED + 1)
    for edges, request in ((0.0, 1.0), (0.15, 0.0), (1.0, 0.0)):
        run = Run(dut, rng, 1500, request=request, edges=edges, read=1.0, both=False)
        run.rng = rng
        await run.go()
        gaps, lost = run.check()
        if edges < 1.0:
            assert (gaps, lost) == (0, 0)
        else:
            # an edge in every cycle: the queue never spoils, only the FIFO can be full
            assert all(free <= EVENT_RESERVE + 1 for n, free, _, r in run.stored if r[1] == KIND["OVERFLOW"]) or gaps


@cocotb.test()
async def test_burst_until_full(dut):
    """Edges of one group in every cycle, and nothing reads: all but the reserve is filled, the rest
    is counted."""
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    run = Run(dut, random.Random(SEED + 2), 400, request=0.0, edges=1.0, read=0.0, both=False)
    await run.go()
    assert len(run.stored) == DEPTH - EVENT_RESERVE
    assert all(record[3][4] & 0xFFFF for record in run.stored)
    total = len(run.happened["a"])
    assert [r[3][0] for r in run.stored] == [item[1] for item in run.happened["a"][: len(run.stored)]]
    assert len(run.stored) + run.lost == total


@cocotb.test()
async def test_promise6_count_stops(dut):
    """A gap's count stops at LOST_STOP or a little above and says so, and never wraps; a count below it is exact."""
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    rng, border = random.Random(SEED + 3), Bundle(dut.edges, "edges_t")
    for begin, cycles, both in (
        *((LOST_STOP - 10, n, 0) for n in (8, 9, 10, 11, 60, 400)),
        *((LOST_STOP - 10, n, 1) for n in (3, 5, 40, 400)),
        ((1 << 16) - 10, 30, 0),
        (LOST_STOP - (1 << 16) - 10, 30, 1),
        (LOST_STOP - 300, 70000, 1),
    ):
        begun = rng.randrange(1, 60)
        dut.rst.value = 1
        dut.req.value = 0
        dut.event_mask.value = 0x7FF
        dut.now.value, dut.young.value = 1 << 20, young(1 << 20)
        border(changed=1 | both << S, group=2, delay=5)
        dut.ev_free.value = EVENT_RESERVE
        for _ in range(3):
            await RisingEdge(dut.clk)
        dut.rst.value = 0

        async def edges(number, both):
            """`number` cycles with an edge in each, with `both` with one of either group; then all
            has been counted."""
            border(plain=1, filtered=both, changed=1 | both << S)
            await Timer(10 * number - 5, "ns")
            await RisingEdge(dut.clk)
            border(plain=0, filtered=0)
            for _ in range(12):
                await RisingEdge(dut.clk)

        async def records(cycles):
            found = []
            dut.ev_free.value = DEPTH
            for _ in range(cycles):
                await ReadOnly()
                if dut.ev_wr.value:
                    info = int(dut.ev_wdata.value) >> 64
                    found.append((info >> 16 & 0xFFFF, info >> 12 & 15, info & 0xFF, info >> 32))
                await RisingEdge(dut.clk)
            return found

        await edges(begun, 0)
        assert int(dut.ev_gap.value) and int(dut.ev_lost.value) == begun
        dut.st_data.value = begin  # as if this many had been lost
        await RisingEdge(dut.clk)
        assert int(dut.ev_lost.value) == begin
        await edges(cycles, both)
        total, shown = begin + cycles * (1 + both), int(dut.ev_lost.value)
        ((seq, kind, flags, data),) = await records(8)
        assert (seq, kind, data) == (0, KIND["OVERFLOW"], shown) and flags in (0, EVENT_FLAG_AT_LEAST)
        what = f"{total - LOST_STOP} above, counted {data - LOST_STOP}, flags {flags}"
        assert data <= total and data < LOST_STOP + 128, what
        assert data >= LOST_STOP if flags else data == total, what
        assert not flags or total >= LOST_STOP, what
        assert flags or total < LOST_STOP + 128, what
        # the numbers go on behind what was counted, and the next gap counts from 1
        await edges(1, 0)
        dut.ev_free.value = EVENT_RESERVE
        await edges(3, 0)
        found = await records(8)
        assert [(kind, flags, data) for _, kind, flags, data in found][-1] == (KIND["OVERFLOW"], 0, 3), found
        assert found[-1][0] == (data + 1) & 0xFFFF, found


@cocotb.test()
async def test_promise6_count_is_whole(dut):
    """What the header shows of a gap grows by the losses of each cycle, also where the count's
    lower half wraps, or where a flag announces its carry."""
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    border = Bundle(dut.edges, "edges_t")
    for both in (0, 1):
        for early in range(6):
            dut.rst.value = 1
            dut.req.value = 0
            dut.event_mask.value = 0x7FF
            dut.now.value, dut.young.value = 1 << 20, young(1 << 20)
            border(changed=1 | both << S, group=2, delay=5)
            dut.ev_free.value = EVENT_RESERVE
            for _ in range(3):
                await RisingEdge(dut.clk)
            dut.rst.value = 0
            border(plain=1, filtered=both, changed=1 | both << S)
            for _ in range(20):
                await RisingEdge(dut.clk)
            dut.st_data.value = (1 << 16) - 3 - early
            await RisingEdge(dut.clk)
            carries, counts = 0, []
            for _ in range(12):
                await RisingEdge(dut.clk)
                await ReadOnly()
                assert int(dut.ev_gap.value)
                carries += int(dut.ev_lost_carries.value)
                counts.append(None if int(dut.ev_lost_carries.value) else int(dut.ev_lost.value))
            await RisingEdge(dut.clk)
            border(plain=0, filtered=0)
            assert carries == 1 and max(n for n in counts if n) >= 1 << 16, counts
            shown = [n for n in counts if n is not None]
            assert all(0 <= later - n <= 64 for n, later in zip(shown, shown[1:])), counts


@cocotb.test()
async def test_promise6_count_beyond_16_bits(dut):
    """A gap of about 65536 losses is reported exactly, in whichever cycle around the carry of the
    count there is room again."""
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    for early in range(10):
        dut.rst.value = 1
        border = Bundle(dut.edges, "edges_t")
        dut.req.value = 0
        dut.event_mask.value = 0x7FF
        border(changed=1, level=1)
        dut.now.value, dut.young.value, dut.ev_free.value = 300, young(300), 0
        for _ in range(3):
            await RisingEdge(dut.clk)
        dut.rst.value = 0
        await RisingEdge(dut.clk)
        # An edge in each cycle, and no room, until shortly before or behind the carry.
        came = (1 << 16) + 4 - early
        border(plain=1)
        await Timer(10 * came - 5, "ns")
        await RisingEdge(dut.clk)
        free, seq, kinds = DEPTH, 0, []
        for n in range(30):
            border(plain=int(n < 5))
            came += n < 5
            dut.ev_free.value = free
            await ReadOnly()
            if dut.ev_wr.value:
                word = int(dut.ev_wdata.value)
                kinds.append(word >> 76 & 15)
                assert word >> 80 & 0xFFFF == seq & 0xFFFF
                seq += word >> 96 if kinds[-1] == KIND["OVERFLOW"] else 1
                free -= 1
            await RisingEdge(dut.clk)
        assert kinds[0] == KIND["OVERFLOW"] and set(kinds[1:]) <= {KIND["EDGE"]}
        assert seq == came, f"{came} edges came, the stream accounts for {seq}"
