# SPDX-License-Identifier: BSD-2-Clause
"""The crossing, its bus window and the interrupts, with random traffic through everything at once.

Both sides are driven and looked at on falling edges, in the middle of a cycle. CLOCKS gives the two periods in ps and their phase.
"""

import os
import random
from collections import deque

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from cocotb.utils import get_sim_time

from sim.blocks.bundles import Bundle, members
from sim.blocks.crossing_model import (
    COUNTER,
    HEADER,
    MOVE,
    MOVED,
    POSITION,
    PULSE_KNOWS,
    REGION,
    ROUND,
    SYS_KNOWS,
    TURN,
    Ring,
    Store,
    Timeline,
)

# phase -1: drawn again for each test
PULSE_PERIOD, SYS_PERIOD, PHASE = (int(x) for x in os.environ["CLOCKS"].split(","))
PHASES = random.Random(int(os.environ["LITEPULSE_RUN_SEED"]) + 1)
DEPTH = {
    name: 1 << int(os.environ.get(f"LITEPULSE_PARAM_{name}_AW", default))
    for name, default in (("EV", 8), ("RX", 9), ("RING", 6), ("TX", 9), ("LQ", 6))
}
NEAR = 1 << int(os.environ.get("LITEPULSE_PARAM_NEAR_AW", DEPTH["EV"].bit_length() - 1))  # free places for events that pulse counts
RING = DEPTH["RING"] - 1  # received records that fit into the crossing's ring, besides the one that is being moved
LEVELS = 0b01101110  # status bits that are plain levels; 0, 4, 5 and 7 are made with what sys knows
STATUS = ("tx_idle", "train_running", "train_pending", "resp_armed", None, "queue_idle", "line_busy", "rx_busy")  # of the pulse side
RX_BUSY = 1 << 7


def duration(cycles):
    """ps of (pulse, sys) cycles."""
    return cycles[0] * PULSE_PERIOD + cycles[1] * SYS_PERIOD


PULSE_DELAY, SYS_DELAY, MOVE_DELAY = duration(PULSE_KNOWS), duration(SYS_KNOWS), duration(MOVED)
EVENT_DELAY = PULSE_DELAY + (2 * PULSE_PERIOD if NEAR < DEPTH["EV"] else 0)  # a deep ring counts in two steps more


def now():
    return int(get_sim_time("ps"))


class Crossing:
    def __init__(self, dut):
        self.dut = dut
        self.rng = random.Random(int(os.environ["LITEPULSE_RUN_SEED"]))
        # what each side does in a cycle, as probabilities; a test turns the knobs
        self.rate = {"event": 0.2, "receive": 0.2, "pop": 0.3, "launch": 0.3, "answer": 0.3, "fault": 0.01, "levels": 0.01, "idle": 0.3}
        self.tick = self.rng.getrandbits(63)
        self.answers = True
        self.running = self.timers = False
        self.clear()

    def clear(self):
        """As after reset."""
        self.events, self.receive = Ring(DEPTH["EV"]), Ring(DEPTH["RX"])
        self.store = Store(self.receive, DEPTH["RX"], MOVE_DELAY, duration(MOVE))
        self.stored = Timeline()  # records that have become readable
        self.room_since = now()
        self.all_moved = now()  # since when no record is on its way to where there is room for it
        self.writing = []  # words of a received record still to be written
        self.tx, self.launches = Ring(DEPTH["TX"]), Ring(DEPTH["LQ"])
        self.event_ticks, self.receive_ticks = [], []
        self.config = deque()  # words written and not yet answered
        self.shadow = {}  # configuration words written since
        self.counters = dict.fromkeys(("launch_accepted", "launch_refused", "tx_dropped", "config_applied", "config_refused"), 0)
        self.answered = {"config_applied": Timeline(), "config_refused": Timeline()}
        self.history = {}  # tick: cycle
        self.lost = {}  # cycle: (events, receive)
        self.cycle = 0
        self.slot, self.slot_spoilt = [None] * 4, False
        self.faults, self.told = [], []  # times
        self.launch_read = None
        self.acted = False  # the bus has just done something, sys knows in the next cycle
        self.sending = 0  # bytes of a write under way
        self.popped = now()
        self.before = None  # what the interrupt levels must follow, a cycle earlier
        self.status_since = now()
        self.status = 0
        self.snapshots = {}

    async def start(self):
        dut = self.dut
        for name in (
            "tx_pop",
            "irq_ev_level",
            "irq_rx_level",
            "irq_ev_age",
            "irq_ev_idle",
            "irq_rx_age",
            "irq_rx_idle",
            "irq_unit",
            "irq_timed",
            "irq_tx_low",
            "irq_lq_space",
        ):
            getattr(dut, name).value = 0
        self.ev_write, self.rx_write = Bundle(dut.ev_write, "ev_write_t"), Bundle(dut.rx_write, "rx_write_t")
        self.lq_read, self.cfg_answer = Bundle(dut.lq_read, "lq_read_t"), Bundle(dut.cfg_answer, "cfg_answer_t")
        self.pulse_state, self.bus = Bundle(dut.state, "pulse_state_t"), Bundle(dut.bus, "bus_request_t")
        self.rest()
        self.bus()
        dut.pulse_rst.value = 1
        dut.sys_rst.value = 1
        cocotb.start_soon(Clock(dut.pulse_clk, PULSE_PERIOD, unit="ps").start(start_high=False))
        if phase := PHASES.randrange(SYS_PERIOD) if PHASE < 0 else PHASE:
            await Timer(phase, unit="ps")
        cocotb.start_soon(Clock(dut.sys_clk, SYS_PERIOD, unit="ps").start(start_high=False))
        await self.reset()
        cocotb.start_soon(self.pulse_side())
        cocotb.start_soon(self.sys_side())

    async def reset(self):
        """Both resets together for at least 4 cycles of the slower clock, released in any order."""
        dut, rng = self.dut, self.rng
        self.running = False
        await FallingEdge(dut.sys_clk)
        dut.pulse_rst.value = 1
        dut.sys_rst.value = 1
        self.rest()
        self.bus(stb=0)
        await Timer(4 * max(PULSE_PERIOD, SYS_PERIOD), unit="ps")
        order = [(dut.pulse_rst, dut.pulse_clk), (dut.sys_rst, dut.sys_clk)]
        rng.shuffle(order)
        for signal, clock in order:
            for _ in range(rng.randrange(6)):
                await FallingEdge(clock)
            await FallingEdge(clock)
            signal.value = 0
        self.clear()
        self.running = True

    def rest(self):
        """The pulse side does nothing."""
        self.ev_write(valid=0)
        self.rx_write(valid=0)
        self.lq_read(en=0, free=0)
        self.cfg_answer(done=0)
        self.pulse_state(fault=0, **{name: 0 for name in STATUS if name})
        self.dut.tx_pop.value = 0

    # The pulse side -----------------------------------------------------------------------------------------------
    async def pulse_side(self):
        dut, rng = self.dut, self.rng
        while True:
            await FallingEdge(dut.pulse_clk)
            if not self.running:
                continue
            time, rate = now(), self.rate
            # what the last rising edge made of it
            if self.launch_read:
                assert members(dut.lq_head, "lq_head_t")["data"] == self.launch_read[0], "launch word"
            ev_free, rx_free = int(dut.ev_free.value), int(dut.rx_free.value)
            self.events.check_writer(ev_free, time, EVENT_DELAY, NEAR)
            # a record that is being moved has left the ring, and may be the next already
            waiting = self.receive.put.count - self.stored.at(time - PULSE_DELAY)
            room = self.stored.count + 2 - self.receive.put.count
            assert RING - waiting <= rx_free <= min(RING, RING + room), f"room for {rx_free} received records"
            avail = members(dut.lq_head, "lq_head_t")["avail"]
            self.launches.check_reader(avail, time, PULSE_DELAY)
            # the tick of this cycle, counted in steps of 4 (S = 4); lost counts that are never the same twice
            self.cycle += 1
            self.tick += 4
            self.tick &= (1 << 64) - 1
            self.history[self.tick] = self.cycle
            gap, events, received = rng.getrandbits(1), rng.getrandbits(32), rng.getrandbits(32)
            rx_gap = rng.getrandbits(1)
            # a count that carries is none, and never in two cycles in a row
            carries = self.lost.get(self.cycle - 1) != (None, None) and rng.random() < 0.4
            self.lost[self.cycle] = (None, None) if carries else (events if gap else 0, received if rx_gap else 0)
            self.pulse_state(tick=self.tick, ev_gap=gap, ev_lost=events, ev_lost_carries=int(carries))
            self.pulse_state(rx_gap=rx_gap, rx_nlost=received ^ 0xFFFFFFFF)
            # streams
            write = ev_free > 0 and rng.random() < rate["event"]
            self.ev_write(valid=int(write))
            if write:
                record = [rng.getrandbits(32) for _ in range(4)]
                self.ev_write(data=sum(word << 32 * i for i, word in enumerate(record)))
                self.events.write(time, record)
                self.event_ticks.append(self.tick)
            # received records, in four words that may have pauses between them
            if not self.writing and rx_free > 0 and rng.random() < rate["receive"]:
                self.writing = [rng.getrandbits(16) for _ in range(4)]
                self.record_words = list(self.writing)
            write = bool(self.writing) and rng.random() < 0.9
            self.rx_write(valid=int(write), word=4 - len(self.writing) if self.writing else 0)
            self.rx_write(data=self.writing[0] if self.writing else rng.getrandbits(16))
            if write:
                assert rx_free > 0
                self.writing.pop(0)
                if not self.writing:
                    words = self.record_words
                    self.receive.write(time, [words[0] | words[1] << 16, words[2] | words[3] << 16])
                    self.receive_ticks.append(self.tick)
            # bytes to send
            head = members(dut.tx_head, "tx_head_t")
            valid = head["valid"]
            waiting = self.tx.put.count - self.tx.taken.count
            assert valid <= (waiting > 0), "a byte that was not sent"
            if not valid:
                # the newest bytes may be on their way, and one is fetched in a round
                assert self.tx.put.at(time - PULSE_DELAY) <= self.tx.taken.count or time - self.popped <= duration(ROUND), (
                    "a byte is overdue"
                )
                assert not head["none"] or self.tx.put.at(time - PULSE_DELAY) <= self.tx.taken.count, "a byte is forgotten"
            pop = bool(valid) and rng.random() < rate["pop"]
            if valid:
                assert head["data"] == self.tx.oldest(), "byte to send"
            dut.tx_pop.value = pop
            if pop:
                self.tx.free(time)
                self.popped = time
            # launches: any word of the oldest, held while not read again
            self.lq_read(en=0, free=0)
            if avail and rng.random() < rate["launch"]:
                word = rng.randrange(4)
                self.lq_read(en=1, word=word)
                self.launch_read = (self.launches.oldest()[word],)
                if rng.random() < 0.4:
                    self.lq_read(free=1)
                    self.launches.free(time)
            # configuration
            self.cfg_answer(done=0)
            cfg = members(dut.cfg, "cfg_request_t")
            if cfg["valid"]:
                assert self.config, "a configuration word that was not written"
                assert (cfg["addr"], cfg["data"]) == self.config[0], "configuration word"
                if self.answers and rng.random() < rate["answer"]:
                    refused = rng.random() < 0.3
                    self.cfg_answer(done=1, refused=int(refused))
                    self.config.popleft()
                    self.answered["config_refused" if refused else "config_applied"].add(time)
            # levels and strobes
            fault = rng.random() < rate["fault"]
            self.pulse_state(fault=int(fault))
            if fault:
                self.faults.append(time)
            if rng.random() < rate["levels"]:
                self.status = rng.getrandbits(8)
                self.status_since = time
            self.pulse_state(**{name: self.status >> bit & 1 for bit, name in enumerate(STATUS) if name})

    # The sys side, but for the bus ------------------------------------------------------------------------------------
    async def sys_side(self):
        dut = self.dut
        while True:
            await FallingEdge(dut.sys_clk)
            await Timer(1, unit="ps")  # after the bus has noted what this cycle did
            if not self.running:
                self.before = None
                continue
            time = now()
            ev_ready, rx_ready, lq_free = int(dut.ev_ready.value), int(dut.rx_ready.value), int(dut.lq_free.value)
            acted, self.acted = self.acted, False
            if not acted:
                self.events.check_reader(ev_ready, time, SYS_DELAY)
                self.store.check(rx_ready, time)
                readable = self.receive.taken.count + rx_ready
                if readable > self.stored.count:
                    self.stored.add(time, readable - self.stored.count)
                self.launches.check_writer(lq_free, time, SYS_DELAY)
            # the byte in front of the line has left the memory, so that one more may fit
            tx_free, put = int(dut.tx_free.value), self.tx.put.count
            least = DEPTH["TX"] - (put - self.tx.taken.at(time - SYS_DELAY))
            most = min(DEPTH["TX"], DEPTH["TX"] + 1 - (put - self.tx.taken.count))
            assert least - self.sending <= tx_free <= most, f"room for {tx_free} bytes, not {least}..{most}"
            status = int(dut.status.value)
            if status & 1:
                assert put == self.tx.taken.count, "idle with bytes to send"
            left = self.launches.put.count - self.launches.taken.count
            if status & 1 << 5 and not acted:
                assert left == 0, "queue idle with launches in it"
            if time - self.status_since > SYS_DELAY:
                assert status & LEVELS & ~(1 << 5) == self.status & LEVELS & ~(1 << 5), "levels"
                assert (
                    bool(status & 1) == bool(self.status & 1 and put == self.tx.taken.at(time - SYS_DELAY))
                    or put == self.tx.taken.count
                    and put != self.tx.taken.at(time - SYS_DELAY)
                    or self.sending
                    and not status & 1
                ), "tx_idle"
                left_then = self.launches.put.count - self.launches.taken.at(time - SYS_DELAY)
                if not acted and left == left_then == 0:
                    assert status & 1 << 5 == self.status & 1 << 5, "queue_idle"
            # rx_busy lasts until the records can be read, or there is no room for them
            if not acted:
                if self.receive.put.count > readable and rx_ready < DEPTH["RX"]:
                    self.all_moved = time
                if not status & RX_BUSY and rx_ready < DEPTH["RX"] and time - self.room_since > SYS_DELAY:
                    assert readable >= self.receive.put.at(time - SYS_DELAY), "not busy with a record on its way"
                self.room_since = time if rx_ready == DEPTH["RX"] else self.room_since
                if time - self.status_since > SYS_DELAY:
                    if self.status & RX_BUSY:
                        assert status & RX_BUSY, "not busy while a byte is being received"
                    elif time - self.all_moved > SYS_DELAY:
                        assert not status & RX_BUSY, "busy with nothing on its way"
            for name, timeline in self.answered.items():
                least = timeline.at(time - SYS_DELAY)
                newer = (self.counts()[name] - self.counters[name] - least) % 256
                assert newer <= timeline.count - least, name
            if int(dut.irq_fault.value):
                self.told.append(time)
            if self.before is not None:
                levels = tuple(int(getattr(dut, name).value) for name in ("irq_ev", "irq_rx", "irq_tx", "irq_lq", "irq_drained"))
                assert levels == self.before or self.timers, f"interrupt levels {levels}, not {self.before}"
            at_least = {name: int(getattr(dut, name).value) for name in ("irq_ev_level", "irq_rx_level", "irq_lq_space")}
            self.before = (
                int(0 < at_least["irq_ev_level"] <= ev_ready),
                int(0 < at_least["irq_rx_level"] <= rx_ready),
                int(DEPTH["TX"] - tx_free <= int(dut.irq_tx_low.value)),
                int(0 < at_least["irq_lq_space"] <= lq_free),
                status & 1,
            )

    # The bus ------------------------------------------------------------------------------------------------------------
    async def access(self, address, data=None, done=lambda: None):
        """One access from falling edge to falling edge; returns what was read. `done` is called when it has been done."""
        dut = self.dut
        self.bus(stb=1, we=int(data is not None), adr=address >> 2, dat_w=self.rng.getrandbits(32) if data is None else data)
        waits = 0
        while True:
            await FallingEdge(dut.sys_clk)
            waits += 1
            ended = bool(self.answer()["ack"])
            self.acted = ended and data is not None
            if ended:
                done()
                break
            assert waits <= 300, "the bus hangs"
        result = self.answer()["dat_r"]
        self.waits = waits
        await FallingEdge(dut.sys_clk)
        assert not self.answer()["ack"], "acknowledged twice"
        self.bus(stb=0, we=0)
        return result

    def answer(self):
        """What the window answers to the bus."""
        return members(self.dut.bus_answer, "bus_answer_t")

    def counts(self):
        """What the window has counted."""
        return members(self.dut.counts, "window_counts_t")

    async def pause(self, cycles=1):
        for _ in range(cycles):
            await FallingEdge(self.dut.sys_clk)

    def stream(self, name):
        ring, words, header = {"events": (self.events, 4, 1), "receive": (self.receive, 2, 2)}[name]
        return ring, words, header, "ev" if name == "events" else "rx"

    async def header(self, name):
        """Reads a header, its words 1 to 3 in any order and more than once; returns `ready`."""
        dut, rng = self.dut, self.rng
        ring, _, _, short = self.stream(name)
        ready, position = int(getattr(dut, f"{short}_ready").value), ring.taken.count % POSITION
        if rng.random() < 0.8:
            # the low half is to wrap about when the tick is sampled
            self.tick = (((self.tick >> 32) + 1) << 32) + (1 << 32) - 4 * rng.randrange(3, 8 + 20 * SYS_PERIOD // PULSE_PERIOD)
        first = self.cycle
        value = await self.access(REGION[name])
        last = self.cycle
        assert self.waits * SYS_PERIOD <= duration(HEADER), f"{self.waits} wait states for a header"
        assert value == position << 16 | ready, f"level {value:08x}, not {position:04x} {ready:04x}"
        words = {}
        for word in rng.sample([1, 2, 3] * 2, 6):
            got = await self.access(REGION[name] + 4 * word)
            assert words.setdefault(word, got) == got, "a header word changed"
        tick = words[3] << 32 | words[2]
        assert tick in self.history, f"tick {tick:x} never was"
        cycle = self.history[tick]
        assert first <= cycle <= last, "tick from another time"
        which = 0 if name == "events" else 1
        # taken two cycles before the tick; if the low half wrapped just after the first try, that was two cycles earlier
        tries = [cycle - 2] + ([cycle - 4] if words[2] < 8 else [])
        assert words[1] in [self.lost[c][which] for c in tries if c in self.lost], "lost count from another time"
        self.snapshots[name] = words
        ticks = self.event_ticks if name == "events" else self.receive_ticks
        assert all(t <= tick for t in ticks[ring.taken.count : ring.taken.count + ready]), "a ready record is younger than the header"
        return ready

    async def record(self, name):
        """Reads one word of a record near the end of what is ready."""
        dut, rng = self.dut, self.rng
        ring, words, header, short = self.stream(name)
        ready = int(getattr(dut, f"{short}_ready").value)
        index = rng.choice([0, ready - 1, ready, ready + 1, rng.randrange(ready + 1), rng.randrange(0x2000 // 4 // words - header)])
        index = min(max(index, 0), 0x2000 // 4 // words - header - 1)
        word = rng.randrange(words)
        expected = ring.oldest(index)[word] if index < ready else 0
        got = await self.access(REGION[name] + 16 + 4 * (words * index + word))
        assert got == expected, f"{name} record {index} of {ready} word {word}: {got:08x}, not {expected:08x}"
        assert self.waits == 1

    async def free(self, name, count, word=0):
        """Writes to a stream's first header word; `count` records are to go."""
        await self.access(REGION[name], word or count, lambda: self.stream(name)[0].free(now(), count))
        assert self.waits * SYS_PERIOD <= duration(TURN) + SYS_PERIOD

    async def acknowledge(self, name, kind):
        """Frees some records, with or without guard, or tries what must do nothing."""
        dut, rng = self.dut, self.rng
        ring, _, _, short = self.stream(name)
        ready = int(getattr(dut, f"{short}_ready").value)
        position = ring.taken.count % POSITION
        count = rng.choice([0, min(1, ready), ready, rng.randrange(ready + 1)])
        guard, guess = 0, rng.getrandbits(15)
        if kind == "too many":
            # some may come in before it is looked at
            count = rng.choice([ring.depth + 1, 2 * ring.depth, 0x8000, 0xFFFF])
        elif kind == "guarded":
            guard, guess = 1, position & 0x7FFF
        elif kind == "late":  # the same again, or anything else that is not the position
            guard, guess = 1, rng.choice([position ^ 1 << rng.randrange(15), position - 1, position + 1]) & 0x7FFF
        await self.free(name, count if kind in ("plain", "guarded") else 0, guard << 31 | guess << 16 | count & 0xFFFF)

    async def send(self, n):
        """Writes n bytes at once: all are queued or, when fewer than n fit, none."""
        dut, rng = self.dut, self.rng
        data = [rng.getrandbits(8) for _ in range(4)]
        # more room may come until it is looked at
        fits = int(dut.tx_free.value) >= n
        may_fit = DEPTH["TX"] + 1 - (self.tx.put.count - self.tx.taken.count) >= n
        before = self.counts()["tx_dropped"]
        self.sending = n

        def sent():
            nonlocal may_fit
            may_fit = may_fit or DEPTH["TX"] + 1 - (self.tx.put.count - self.tx.taken.count) >= n
            dropped = (self.counts()["tx_dropped"] - before) % 0x10000
            assert dropped in ([0] if fits else [0, n] if may_fit else [n])
            self.counters["tx_dropped"] += dropped
            for byte in data[: n - dropped]:
                self.tx.write(now(), byte)
            self.sending = 0

        await self.access(REGION["tx"] + 0x400 * (n - 1) + 4 * rng.randrange(256), int.from_bytes(bytes(data), "little"), sent)
        assert n + 1 <= self.waits and self.waits * SYS_PERIOD <= duration(TURN) + n * SYS_PERIOD

    async def launch(self):
        """Writes an entry, words 1 and 2 in any order and perhaps twice; now and then gives up before the last word."""
        rng = self.rng
        for word in [0, *rng.sample([1, 2, 1, 2], 4)[: rng.choice([4, 4, 4, 2])], *([1, 2] if rng.random() < 0.5 else [])] + [3]:
            if word == 3 and (rng.random() < 0.1 or None in self.slot[1:3]):
                return
            data = rng.getrandbits(32)
            full = int(self.dut.lq_free.value) == 0
            if word == 0:
                self.slot, self.slot_spoilt = [None] * 4, False
            self.slot_spoilt |= full
            self.slot[word] = data

            def committed(word=word):
                if word == 3:
                    if self.slot_spoilt:
                        self.counters["launch_refused"] += 1
                    else:
                        self.counters["launch_accepted"] += 1
                        self.launches.write(now(), list(self.slot))

            await self.access(REGION["launch"] + 16 * rng.randrange(64) + 4 * word, data, committed)
            if word == 3 and not self.slot_spoilt:
                assert self.waits * SYS_PERIOD <= duration(TURN)
            else:
                assert self.waits == 1
            if rng.random() < self.rate["idle"]:
                await self.pause(rng.randrange(3))

    async def configure(self):
        index, data = self.rng.randrange(64), self.rng.getrandbits(32)

        def handed_over():
            assert not self.config, "two words at once"
            self.config.append((index, data))
            self.shadow[index] = data

        await self.access(REGION["config"] + 4 * index, data, handed_over)

    async def read_config(self):
        if self.shadow:
            index = self.rng.choice(sorted(self.shadow))
            got = await self.access(REGION["config"] + 4 * index)
            assert got == self.shadow[index] and not self.config, "configuration word read back"

    async def nobody(self):
        """Unassigned addresses, and writes to registers that can only be read."""
        rng = self.rng
        where = rng.choice([(0x5400, 0x6000), (0x6100, 0x8000)])
        address = rng.randrange(*where) & ~3
        if rng.random() < 0.5:
            await self.access(rng.choice([address, rng.randrange(0, 0x4000) & ~3 | rng.choice([4, 8])]), rng.getrandbits(32))
        else:
            assert await self.access(rng.choice([address, rng.randrange(0x4000, 0x5400) & ~3])) == 0
        assert self.waits == 1

    async def snapshot_again(self):
        """Words 1 to 3 keep showing the stream's last snapshot, whatever the other stream did."""
        if self.snapshots:
            name = self.rng.choice(sorted(self.snapshots))
            word = self.rng.randrange(1, 4)
            assert await self.access(REGION[name] + 4 * word) == self.snapshots[name][word], "the snapshot changed"

    async def anything(self):
        rng, name = self.rng, self.rng.choice(["events", "receive"])
        kind = rng.choice(["plain", "guarded", "late", "too many"])
        action = rng.choice(
            [
                lambda: self.header(name),
                lambda: self.record(name),
                lambda: self.record(name),
                lambda: self.acknowledge(name, kind),
                lambda: self.acknowledge(name, kind),
                lambda: self.send(rng.randrange(1, 5)),
                lambda: self.send(4),
                self.launch,
                self.launch,
                self.configure,
                self.read_config,
                self.nobody,
                self.snapshot_again,
            ]
        )
        await action()
        if rng.random() < self.rate["idle"]:
            await self.pause(rng.randrange(5))

    async def settle(self):
        """Ends the traffic, takes everything out and checks that nothing is missing or left."""
        self.rate.update(event=0, receive=0, fault=0, levels=0, pop=1, launch=1, answer=1)
        self.status, self.status_since = 0xEF, now()
        for _ in range(1000):
            await Timer(PULSE_DELAY + SYS_DELAY, unit="ps")
            if self.tx.taken.count == self.tx.put.count and self.launches.taken.count == self.launches.put.count:
                break
        await Timer(PULSE_DELAY + SYS_DELAY, unit="ps")
        await FallingEdge(self.dut.sys_clk)
        for name in ("events", "receive"):
            ring, words, _, _ = self.stream(name)
            while ring.taken.count < ring.put.count:
                await self.pause(60)  # records behind those that were freed move up
                some = min(await self.header(name), 40)
                for index in range(some):
                    got = [await self.access(REGION[name] + 16 + 4 * (words * index + word)) for word in range(words)]
                    assert got == ring.oldest(index), f"{name} record {index}"
                await self.free(name, some)
                assert some, f"{name} are missing"
            assert await self.header(name) == 0 and ring.taken.count == ring.put.count == len(ring.items)
        await Timer(PULSE_DELAY + SYS_DELAY, unit="ps")
        await FallingEdge(self.dut.sys_clk)
        assert not self.config
        for name, timeline in self.answered.items():
            self.counters[name] += timeline.count
            self.answered[name] = Timeline()
        for name, value in self.counters.items():
            assert self.counts()[name] == value % COUNTER.get(name, 1 << 8), name
        for depth, name in ((NEAR, "ev_free"), (RING, "rx_free"), (DEPTH["LQ"], "lq_free"), (DEPTH["TX"], "tx_free")):
            assert int(getattr(self.dut, name).value) == depth, name
        assert int(self.dut.status.value) == 0xEF
        # every fault was reported in time, and nothing else was
        for time in self.faults:
            reported = any(time < told <= time + SYS_DELAY for told in self.told)
            assert reported, "a fault was not reported"
        for told in self.told:
            happened = any(time < told <= time + SYS_DELAY for time in self.faults)
            assert happened, "a report without a fault"
        assert len(self.told) <= len(self.faults)


async def begin(dut):
    bench = Crossing(dut)
    await bench.start()
    await FallingEdge(dut.sys_clk)
    return bench


def settings(bench):
    """Other interrupt levels; the timers stay off."""
    rng, dut = bench.rng, bench.dut
    dut.irq_ev_level.value = rng.choice([0, 1, rng.randrange(DEPTH["EV"] + 1), DEPTH["EV"]])
    dut.irq_rx_level.value = rng.choice([0, 1, rng.randrange(DEPTH["RX"] + 1), DEPTH["RX"]])
    dut.irq_tx_low.value = rng.choice([0, 1, rng.randrange(DEPTH["TX"] + 1), DEPTH["TX"]])
    dut.irq_lq_space.value = rng.choice([0, 1, rng.randrange(DEPTH["LQ"] + 1), DEPTH["LQ"]])


@cocotb.test()
async def traffic(dut):
    """Everything at once, with changing rates so that every ring runs full and dry."""
    bench = await begin(dut)
    rng, corners = bench.rng, set()

    def look():
        for name, depth in (("ev_free", NEAR), ("rx_free", RING), ("tx_free", DEPTH["TX"]), ("lq_free", DEPTH["LQ"])):
            value = int(getattr(dut, name).value)
            if value in (0, depth):
                corners.add((name, value == 0))

    for _ in range(24):
        bench.rate.update(
            event=rng.choice([0, 0.05, 0.3, 1]),
            receive=rng.choice([0, 0.05, 0.3, 1]),
            pop=rng.choice([0, 0.02, 0.3, 1]),
            launch=rng.choice([0, 0.02, 0.3, 1]),
            answer=rng.choice([0.1, 1]),
            fault=rng.choice([0, 0.01, 0.5]),
            idle=rng.choice([0, 0.5]),
        )
        settings(bench)
        for _ in range(40):
            await bench.anything()
            look()
    if DEPTH["TX"] <= 32:  # a fast core takes bytes quicker than this bus brings them
        bench.rate["pop"] = 0
        while int(dut.tx_free.value):
            await bench.send(1)
        look()
    await bench.settle()  # which empties what still holds something
    look()
    if DEPTH["RX"] <= 32:
        assert len(corners) == 8, f"only {sorted(corners)} was reached"
        assert bench.counters["launch_refused"] and bench.counters["tx_dropped"]
    assert all(bench.counters[name] for name in ("launch_accepted", "config_applied", "config_refused"))


@cocotb.test()
async def reset_in_the_middle(dut):
    """Whatever goes on, after both resets everything is as in the beginning."""
    bench = await begin(dut)
    for _ in range(8):
        bench.rate.update(event=0.5, receive=0.5, pop=0.3, launch=0.3)
        settings(bench)
        traffic_task = cocotb.start_soon(keep_going(bench))
        await Timer(bench.rng.randrange(1, 400) * SYS_PERIOD, unit="ps")
        traffic_task.cancel()
        await bench.reset()
        await FallingEdge(dut.sys_clk)
        for name in bench.counters:
            assert bench.counts()[name] == 0
        assert int(dut.lq_free.value) == DEPTH["LQ"] and int(dut.tx_free.value) == DEPTH["TX"]
        for _ in range(30):
            await bench.anything()
    await bench.settle()


@cocotb.test()
async def reads_beside_moves(dut):
    """However fast the bus reads records, those that wait move up in time, and what is read is not disturbed."""
    bench = await begin(dut)
    bench.rate.update(event=0, receive=1, levels=0)
    full = 0
    for _ in range(40):
        for _ in range(30):
            await bench.record("receive")
            full += int(dut.rx_free.value) == 0
        await bench.free("receive", bench.rng.randrange(int(dut.rx_ready.value) + 1))
    # a bus that is much faster than the bytes come moves them all in time
    assert full or DEPTH["RX"] > 32 or 2 * SYS_PERIOD < PULSE_PERIOD, "the ring was never full"
    await bench.settle()


async def keep_going(bench):
    while True:
        await bench.anything()


@cocotb.test()
async def pulse_side_silent(dut):
    """Configuration without an answer: the bus goes on, the abandoned writes are counted as
    refused, and nothing is lost later."""
    bench = await begin(dut)
    bench.answers = False
    await bench.configure()
    assert bench.waits * SYS_PERIOD <= duration(TURN)
    held = list(bench.config)

    def given_up():
        bench.counters["config_refused"] += 1

    for _ in range(2):
        refused = bench.counts()["config_refused"]
        await bench.access(REGION["config"] + 4, 0x12345678, given_up)
        assert 256 <= bench.waits <= 258 and bench.counts()["config_refused"] == refused + 1
        assert await bench.access(REGION["config"] + 4 * held[0][0]) == 0 and 256 <= bench.waits <= 258
        await bench.header("events")
    assert list(bench.config) == held
    bench.answers = True
    await bench.configure()
    await bench.read_config()
    await bench.settle()


async def first(signal, clock, limit):
    """Cycles until the signal is 1, None if it is not within the limit."""
    for cycle in range(limit + 1):
        if int(signal.value):
            return cycle
        await FallingEdge(clock)
    return None


@cocotb.test()
async def timers(dut):
    """Age and idle end at most one unit early and never late; age also when records keep coming, idle only when they stop; new times
    count from when they were written."""
    bench = await begin(dut)
    bench.timers = True
    rng = bench.rng
    bench.rate.update(event=0, receive=0)
    await Timer(SYS_DELAY, unit="ps")
    for short, name in (("ev", "event"), ("rx", "receive")):
        ring = bench.stream("events" if short == "ev" else "receive")[0]
        ready, irq = getattr(dut, f"{short}_ready"), getattr(dut, f"irq_{short}")

        async def times(age, idle, unit=0, short=short):
            """New settings, as registers would give them."""
            getattr(dut, f"irq_{short}_age").value, getattr(dut, f"irq_{short}_idle").value = age, idle
            dut.irq_unit.value, dut.irq_timed.value = unit, 1
            await bench.pause()
            dut.irq_timed.value = 0

        async def one(name=name, ring=ring):
            """Exactly one record."""
            count = ring.put.count
            bench.rate[name] = 1
            while ring.put.count == count:
                await FallingEdge(dut.pulse_clk)
            bench.rate[name] = 0

        async def empty(short=short, ring=ring):
            await Timer(SYS_DELAY, unit="ps")
            await FallingEdge(dut.sys_clk)
            await bench.free("events" if short == "ev" else "receive", ring.put.count - ring.taken.count)
            await bench.pause(3)
            assert not int(getattr(dut, f"irq_{short}").value), "interrupt without a record"

        for age, idle in ((1, 0), (3, 0), (0, 1), (0, 4), (7, 3), (3, 7), (9, 2)):
            await times(age, idle)
            await empty()
            await bench.pause(rng.randrange(64))
            await one()
            assert await first(ready, dut.sys_clk, 100) is not None
            cycles = await first(irq, dut.sys_clk, 32 * 10)
            units = min(x for x in (age, idle) if x)
            assert cycles is not None and 32 * (units - 1) < cycles <= 32 * units + 4, f"{cycles} cycles for {units} units"
        # records every now and then, never idle for long enough: only the age counts, from the first
        for age in (6, 0):
            await times(age, 4)
            await empty()
            await one()
            assert await first(ready, dut.sys_clk, 100) is not None
            cycles = 0
            while cycles < 32 * 12 and not int(irq.value):
                if cycles % 60 == 0 and ring.put.count - ring.taken.count < 8:
                    cocotb.start_soon(one())
                await FallingEdge(dut.sys_clk)
                cycles += 1
            if age:
                assert 32 * (age - 1) < cycles <= 32 * age + 4, f"{cycles} cycles for age {age}"
            else:
                assert cycles == 32 * 12, "interrupt though records kept coming and no age was set"
        # off is off
        await times(0, 0)
        await empty()
        await one()
        assert await first(irq, dut.sys_clk, 300) is None
        # switched on late, or changed while it runs: from then on, with other units, too
        for age, idle, unit in ((5, 0, 0), (200, 0, 0), (300, 0, 0), (3, 0, 1), (0, 2, 2), (1, 9, 1), (2, 0, 0), (0, 1, 3)):
            length = 32 * 8**unit
            await times(age, idle, unit)
            await bench.pause(2)
            assert not int(irq.value), "interrupt before the new time is over"
            units = min(x for x in (age, idle) if x)
            cycles = await first(irq, dut.sys_clk, 300 if age == 200 else length * units + 4)
            if age == 200:
                assert cycles is None
            else:
                assert cycles is not None and length * (units - 1) < cycles + 3, f"{cycles} cycles for {units} units"
            await bench.pause(rng.randrange(40))
        await times(0, 0)
        await empty()
