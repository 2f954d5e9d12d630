# SPDX-License-Identifier: BSD-2-Clause
"""A LitePulse board in Python, written from docs/core.md: registers, window, train, queue, LIN slave, streams with loss.

Time passes by `step` ticks with every bus transaction, so tests are repeatable and need no waiting. It shares the register
map with the package under test, but no code of it. `Server` offers it as UARTBone on a pseudo-terminal or on TCP.
"""

import contextlib
import fcntl
import math
import os
import pty
import select
import socket
import struct
import threading
import time
import tomllib
import tty
from fractions import Fraction
from pathlib import Path

from litex_soc import regmap
from sim import bridge_frames

LATE, BUSY, ORDER, INVALID = 1, 2, 3, 4
LMIN = 40
MIN_PERIOD, CHANGE_MIN_PERIOD = 120, 320
BEHIND_EDGE, BEHIND_TIMEOUT, LISTEN, LISTEN_LATE = 140, 200, 112, 80  # cycles, of waits in the queue
MASK32 = 0xFFFFFFFF
MAPS = Path(__file__).resolve().parent / "maps"
CONFIG = {r.name: r for r in regmap.CONFIG}
BY_INDEX = {r.index: r for r in regmap.CONFIG}


def field(word, register, name):
    f = next(f for f in CONFIG[register].fields if f.name == name)
    return word >> f.offset & (1 << f.size) - 1


class FrozenMap:
    """The register map of an earlier version: which bits of each register and configuration word it has."""

    def __init__(self, version):
        made = tomllib.loads((MAPS / f"{version}.toml").read_text(encoding="utf-8"))
        major, minor = map(int, made["version"].split("."))
        self.version = major << 16 | minor
        self.csrs, self.config = (self.bits(made["registers"][table]) for table in ("CSRS", "CONFIG"))

    @staticmethod
    def bits(registers):
        """{word: mask of the fields}; of a register without fields all."""
        found = {}
        for register in registers.values():
            fields = [each for name, each in register.items() if name != "word"]
            found[register["word"]] = sum((1 << size) - 1 << first for first, size in fields) if fields else MASK32
        return found


class Fifo:
    """One stream as the page says: records, position, loss reported by a record."""

    def __init__(self, depth):
        self.depth, self.records, self.position, self.lost, self.first_lost = depth, [], 0, 0, None

    def ack(self, word):
        count = word & 0xFFFF
        if word >> 31 and (word >> 16 & 0x7FFF) != self.position & 0x7FFF:
            return
        if count <= len(self.records):
            del self.records[:count]
            self.position = (self.position + count) & 0xFFFF


class FakeBoard:
    burst = 255  # words in a transaction

    def __init__(
        self,
        step=20_000,
        clock_hz=48_000_000,
        samples=1,
        loop=True,
        event_depth=8,
        receive_depth=9,
        lin_depth=6,
        port=True,
        sequence=False,
        csr_base=regmap.CSR_BASE,
        window_base=regmap.WINDOW_BASE,
        frozen=None,
    ):
        """frozen: the register map that it answers by, '0.6', one of maps/; None: that of now."""
        self.csr_base, self.window_base = csr_base, window_base
        self.step, self.clock, self.samples, self.loop = step, Fraction(clock_hz), samples, loop
        self.event_log2, self.receive_log2, self.lin_log2 = event_depth, receive_depth, lin_depth
        self.has_port, self.has_sequence = port, sequence
        self.magic, self.version = regmap.MAGIC, regmap.VERSION_MAJOR << 16 | regmap.VERSION_MINOR
        self.map = None
        if frozen is not None:
            self.map = FrozenMap(frozen)
            self.version = self.map.version
        fast = self.version >= 10  # trains that are, and a width that can be changed
        self.min_period = MIN_PERIOD if fast else CHANGE_MIN_PERIOD
        self.fixed_in_train = () if fast else (CONFIG["train_width"].index,)
        self.beyond = []  # (register or word, what was written) that the frozen map does not have
        self.drop_write = lambda address, words: False  # a write that gets lost on the cable
        self.mute_config = False  # the core does not answer configuration writes
        self.frozen = False
        self.reads = self.writes = self.configs_written = 0
        self.reset()

    def hold(self):
        """As a bus of one user: there is no other to exclude."""
        return contextlib.nullcontext()

    def reset(self):
        """As after power-up."""
        self.tick, self.session = 0, 0  # SESSION: its name, the watchdog's limit and keep
        self.config = {}
        self.profiles = {}
        self.pending_period = {}
        self.applied = self.refused = self.accepted = 0
        self.events, self.received = Fifo(1 << self.event_log2), Fifo(1 << self.receive_log2)
        self.seq = 0
        self.snapshots = {}
        self.train = None
        self.train_over = 0
        self.change = None
        self.empty_queue()
        self.entry = [0, 0, 0]
        self.busy_until = 0
        self.coming = []  # [(tick when stored, start tick, data and flags)], in order
        self.armed = False
        self.levels = 1 << 4  # of the pins: rx alone rests at 1
        self.lin = {}  # what is answered: {identifier: (data, the word lin_entry)}
        self.header = []  # what was heard of a header
        self.answer = None  # (tick, bytes that are still to be sent, the first at that tick); tick None: it is on the line
        self.line_log = []  # [(start, end, source, data)]
        self.marks = []  # [(tick, source, code)]

    def empty_queue(self):
        """As a flush leaves it."""
        self.queue, self.last_queued = [], -1
        self.soonest = self.listens = 0  # ticks: of the next entry at least; from when on an edge ends a wait
        self.halted = False  # a wait has stopped the queue

    # The bus ------------------------------------------------------------------------------------------------------

    def read(self, address, count):
        self.reads += 1
        self.advance(self.step)
        return [self.read_word(address + 4 * i) & 0xFFFFFFFF for i in range(count)]

    def write(self, address, words):
        self.writes += 1
        if not self.drop_write(address, words):
            for i, word in enumerate(words):
                self.write_word(address + 4 * i, word)
        self.advance(self.step)

    def silence(self, ticks):
        """The host does nothing for `ticks`. The bus of this board has the core's clock."""
        limit = (self.session >> 16 & 0x7FFF) << regmap.WATCHDOG_UNIT
        limit *= self.samples
        if not limit or self.session >> 31 or ticks < limit:
            self.advance(ticks)
            return
        self.advance(limit)
        self.session = 0
        self.train_command(3)
        self.armed = False
        self.empty_queue()
        self.applied += 3
        self.advance(ticks - limit)

    def close(self):
        pass

    def read_word(self, address):
        if self.csr_base <= address < self.csr_base + 0x100:
            return self.csr((address - self.csr_base) // 4)
        offset = address - self.window_base
        if not 0 <= offset < regmap.WINDOW_SIZE:
            return 0
        if offset >= 0x6000:
            return self.config.get((offset - 0x6000) // 4, 0)
        if offset >= 0x4000:
            return 0
        fifo, base, width = (self.events, 0, 4) if offset < 0x2000 else (self.received, 0x2000, 2)
        word = (offset - base) // 4
        if word == 0:
            self.snapshots[base] = (len(fifo.records), fifo.lost, self.tick)
        ready, lost, tick = self.snapshots.get(base, (0, 0, 0))
        if word < 4:
            return (ready | fifo.position << 16, lost, tick & 0xFFFFFFFF, tick >> 32)[word]
        record, part = divmod(word - 4, width)
        return fifo.records[record][part] if record < len(fifo.records) else 0

    def csr(self, index):
        geometry = self.samples | 4 << 4 | self.event_log2 << 8 | self.receive_log2 << 12 | 9 << 16 | 6 << 20 | self.lin_log2 << 26
        status = (
            1
            | bool(self.train) << 1
            | (self.change is not None) << 2
            | self.armed << 3
            | (not self.queue) << 5
            | (self.tick < self.busy_until) << 6
            | bool(self.coming) << 7
            | self.levels << 16
        )
        geometry |= self.has_port << 29 | self.has_sequence << 30
        mask = MASK32 if self.map is None else self.map.csrs.get(index, 0)
        return mask & {
            0: self.magic,
            1: self.version,
            2: geometry,
            3: self.clock.numerator,
            4: self.clock.denominator,
            5: self.session,
            6: len(self.events.records) | len(self.received.records) << 16,
            7: 512 | (64 - len(self.queue)) << 16,
            8: self.accepted & 0xFF,
            9: self.applied & 0xFF | (self.refused & 0xFF) << 16,
            11: status,
            20: 0 if self.window_base == regmap.WINDOW_BASE else self.window_base,
        }.get(index, 0)

    def write_word(self, address, word):
        if self.csr_base <= address < self.csr_base + 0x100:
            index = (address - self.csr_base) // 4
            if index == 5:
                self.session = word
            return
        offset = address - self.window_base
        if offset == regmap.REGIONS["EVENTS"][0]:
            self.events.ack(word)
            self.report_loss()
        elif offset == regmap.REGIONS["RECEIVE"][0]:
            self.received.ack(word)
        if 0x5000 <= offset < 0x5400:
            part = offset // 4 % 4
            if part < 3:
                self.entry[part] = word
            else:
                if not self.queue:
                    self.listens = max(self.listens, self.tick + LISTEN_LATE * self.samples)
                self.queue.append((self.entry[0] | self.entry[1] << 32, self.entry[2], word))
                self.accepted += 1
        elif 0x6000 <= offset < 0x6100:
            self.configure((offset - 0x6000) // 4, word)

    # Configuration --------------------------------------------------------------------------------------------------

    def configure(self, index, word):
        self.configs_written += 1
        if self.map is not None and word & ~self.map.config.get(index, 0):
            self.beyond.append((BY_INDEX[index].name if index in BY_INDEX else index, word))
            self.refused += 1
            return
        if self.train and index in self.fixed_in_train:
            self.refused += 1
            return
        lead_before = self.word("driver_enable") & 0xFFFF
        self.config[index] = word
        if self.mute_config:
            return
        ok = index in BY_INDEX
        if ok and index < 8 and index % 2:
            ok = self.set_profile(index // 2, word)
        elif ok and 32 <= index <= 37:
            self.armed = False
        elif index == CONFIG["port"].index:
            ok = self.has_port
        elif index == CONFIG["echo"].index:
            ok = word <= 1023 * self.samples
        elif index == CONFIG["driver_enable"].index:
            ok = not self.train or word & 0xFFFF == lead_before
        elif index == CONFIG["resp_arm"].index:
            ok = not word & 1 or not self.by_lin or self.can_be_slave()
            self.armed = bool(word & 1) and ok
            self.header, self.answer = [], None
        elif index == CONFIG["lin_entry"].index:
            ok = self.set_lin(word)
        elif index == CONFIG["train_command"].index:
            ok = self.train_command(word)
        elif index == CONFIG["command"].index and word & 1:
            self.empty_queue()
        if ok:
            self.applied += 1
        else:
            self.refused += 1

    def set_profile(self, number, period):
        word = self.config.get(2 * number, 0)
        raw = period | field(word, "profile0_format", "period_hi") << 32
        if raw < 4 * self.samples * 256:
            self.profiles.pop(number, None)
            return False
        stop = (Fraction(1), Fraction(3, 2), Fraction(2))[field(word, "profile0_format", "stop")]
        bits = 1 + field(word, "profile0_format", "data_bits") + 5 + (field(word, "profile0_format", "parity") != 0)
        self.profiles[number] = (Fraction(raw, 256), bits, stop)
        return True

    def set_lin(self, word):
        number, length = field(word, "lin_entry", "id"), field(word, "lin_entry", "length")
        if number >> self.lin_log2 or not self.lin_log2 or length > 8:
            return False
        data = self.word("lin_data_lo").to_bytes(4, "little") + self.word("lin_data_hi").to_bytes(4, "little")
        self.lin[number] = (data[:length], word)
        return True

    @property
    def by_lin(self):
        """Whether LIN headers trigger the responder."""
        return regmap.TRIGGERS[field(self.word("resp_trigger"), "resp_trigger", "trigger")][0] == "LIN"

    def can_be_slave(self):
        return field(self.word("resp_trigger"), "resp_trigger", "rearm") and not field(self.word("resp_launch"), "resp_launch", "kind")

    def word(self, name):
        return self.config.get(CONFIG[name].index, 0)

    def mask(self, name):
        return field(self.word("event_mask"), "event_mask", name)

    # Events ---------------------------------------------------------------------------------------------------------

    def event(self, tick, kind, source, flags, data, enable, edge=False):
        if not self.mask(enable):
            return
        free = self.events.depth - len(self.events.records)
        reserved = 1 if self.events.lost else 0
        room = free > regmap.EVENT_RESERVE + reserved if edge else free >= 1 + reserved
        if room:
            if self.events.lost:
                self.store_overflow()
            self.store(tick, kind, source, flags, data, self.seq)
        else:
            if not self.events.lost:
                self.events.first_lost = (tick, self.seq)
            self.events.lost += 1
        self.seq += 1

    def store(self, tick, kind, source, flags, data, seq):
        self.events.records.append(
            (tick & 0xFFFFFFFF, tick >> 32, flags | source << 8 | kind << 12 | (seq & 0xFFFF) << 16, data & 0xFFFFFFFF)
        )

    def store_overflow(self):
        tick, seq = self.events.first_lost
        self.store(tick, 4, 6, 0, self.events.lost, seq)
        self.events.lost = 0

    def report_loss(self):
        if self.events.lost and self.events.depth - len(self.events.records) > regmap.EVENT_RESERVE:
            self.store_overflow()

    # The line ---------------------------------------------------------------------------------------------------------

    def length(self, word, width):
        kind, number, data = word >> 10 & 3, word >> 8 & 3, word & 0xFF
        if kind == 3 or number not in self.profiles or (kind == 2 and not width) or (kind == 1 and not data):
            return None
        period, bits, stop = self.profiles[number]
        if kind == 2:
            return width
        return math.floor(period * ((bits if kind == 0 else data) + stop))

    def launch(self, tick, word, width, source):
        """True if it went out."""
        if self.has_port and word >> 10 & 3 == 0 and field(self.config.get(2 * (word >> 8 & 3), 0), "profile0_format", "to_port"):
            self.marks.append((tick, source, word & 0xFF))
            return True
        if tick < self.busy_until:
            return False
        length = self.length(word, width)
        self.busy_until = tick + length
        self.line_log.append((tick, self.busy_until, source, word & 0xFF))
        kind, data = word >> 10 & 3, word & 0xFF
        if self.loop and kind < 2 and field(self.word("line"), "line", "rx_enable"):
            is_break = kind == 1 and data > 9  # the start bit, eight data bits and the stop bit are space
            seen = 3 << 10 if is_break else data if kind == 0 else 0xFF << (data - 1) & 0xFF
            self.arrives(tick + length, tick + 1, seen | 1 << 13)
        if self.loop and (word >> 10 & 3) == 2 and field(self.word("capture_edges"), "capture_edges", "fall") >> 4 & 1:
            seen = tick + 1
            self.event(seen - seen % self.samples, 2, 4, 0, 1 << 4 * self.samples + seen % self.samples, "edge", edge=True)
        return True

    def arrives(self, stored, start, data):
        """A byte on its way; own ones have bit 13."""
        self.coming = sorted([*self.coming, (stored, start, data)])

    def hear(self, tick, *values):
        """Another node's bytes, back to back from a tick on; None is a break of 13 bits and its delimiter. Where the last one ends."""
        period = self.profiles[0][0]
        place = Fraction(tick)
        for value in values:
            start = math.floor(place)
            place += period * (14 if value is None else 10)
            self.arrives(math.floor(place), start + 1, 3 << 10 if value is None else value)
        return math.floor(place)

    def lin_receive(self, start, data):
        """LIN of docs/core.md: a break, 0x55 and an identifier with an entry are answered; what comes back wrong ends the answer."""
        end = start + math.floor(10 * self.profiles[0][0]) + field(self.word("resp_delay"), "resp_delay", "delay")
        if data >> 10 & 3:
            self.header, self.answer = ["break"], None
        elif self.answer:
            _, (sent, *rest) = self.answer
            self.answer = (end, rest) if rest and data == sent | 1 << 13 else None
        elif self.header == ["break"] and data & 0xFF == 0x55:
            self.header = ["break", 0x55]
        elif self.header == ["break", 0x55]:
            self.header = []
            bit = [data >> n & 1 for n in range(8)]
            number = data & 63
            if bit[6] == bit[0] ^ bit[1] ^ bit[2] ^ bit[4] and bit[7] == 1 ^ bit[1] ^ bit[3] ^ bit[4] ^ bit[5] and number in self.lin:
                self.lin_answer(end, number, data & 0xFF)
        else:
            self.header = []

    def lin_answer(self, tick, number, pid):
        data, word = self.lin[number]
        if not data:
            return
        if field(word, "lin_entry", "once"):
            self.lin[number] = (b"", word)
        last = field(word, "lin_entry", "checksum")
        if not field(word, "lin_entry", "own_checksum"):
            total = sum(data) + (pid if field(word, "lin_entry", "enhanced") else 0)
            last ^= 255 - (total % 255 or (255 if total else 0))
        self.answer = (tick, [*data, last])

    def run_answer(self):
        tick, rest = self.answer
        word = self.word("resp_launch") & ~0xFF | rest[0]
        if self.launch(tick, word, 0, "responder"):
            self.event(tick, 1, 2, 0, word, "tx_responder")
            self.answer = (None, rest)
        else:
            self.event(tick, 7, 2, BUSY, word, "missed")
            self.answer = None

    def train_command(self, word):
        command = word & 3
        if command == 1:
            return self.start_train(bool(word & 4))
        if command == 2:
            return self.adjust_train()
        if command == 3:
            number = self.train["n"] if self.train else self.train_over
            self.train, self.change, self.train_over = None, None, number
            self.event(self.tick, 5, 5, 0x80, number, "control")
            return True
        return False

    def period(self):
        return self.word("train_period") + Fraction(self.word("train_num"), self.word("train_den") or 1 << 32), self.word("train_den")

    def start_train(self, asap):
        start = self.tick + LMIN * self.samples if asap else self.word("train_start_lo") | self.word("train_start_hi") << 32
        period, den = self.period()
        reason = 0
        if self.train:
            reason = BUSY
        elif self.length(self.word("train_launch"), self.word("train_width")) is None or period < self.min_period * self.samples:
            reason = INVALID
        elif start < self.tick + LMIN * self.samples:
            reason = LATE
        if reason:
            self.event(self.tick, 3, 5, reason, 0, "control")
            return False
        self.train = {
            "n": 0,
            "a": Fraction(start),
            "period": period,
            "den": den,
            "count": self.word("train_count"),
            "word": self.word("train_launch"),
            "width": self.word("train_width"),
        }
        self.event(self.tick, 5, 5, 0, 0, "control")
        return True

    def adjust_train(self):
        number, t = self.word("train_at_pulse"), self.train
        period, den = self.period()
        step = self.word("train_step")
        step -= (step >> 31) << 32
        reason = 0
        least = CHANGE_MIN_PERIOD * self.samples
        if (
            not t
            or min(period, t["period"]) < least
            or (t["count"] and number >= t["count"])
            or not self.length(t["word"], self.word("train_width"))
        ):
            reason = INVALID
        elif self.change is not None:
            reason = BUSY
        else:
            number = number or max(t["n"], 1)
            if (number - t["n"]) & 1 << 31 or (number == t["n"] and self.place(period, den, step) < self.tick + LMIN * self.samples):
                reason = LATE
        if reason:
            self.event(self.tick, 3, 5, reason, self.word("train_at_pulse"), "control")
            return False
        self.change = (number, period, den, step, self.word("train_width"))
        if number == t["n"]:
            self.apply_change()
        return True

    def place(self, period, den, step):
        """Where the coming pulse goes with a new period and step."""
        t = self.train
        return (t["before"] if den == t["den"] else Fraction(math.floor(t["before"]))) + period + step

    def apply_change(self):
        number, period, den, step, width = self.change
        self.train.update(a=self.place(period, den, step), period=period, den=den, width=width)
        self.change = None
        self.event(self.tick, 5, 5, 0, number, "control")

    def advance(self, ticks):
        """Time passes; everything due happens in order."""
        if self.frozen:
            return
        end = self.tick + ticks
        while True:
            due = [(math.floor(self.train["a"]), 2)] if self.train else []
            if self.queue:
                due.append((max(self.place_of(self.queue[0]), 0), 1))
            if self.answer and self.answer[0] is not None:
                due.append((self.answer[0], 3))
            if self.coming:
                due.append((self.coming[0][0], 0))
            if not due or min(due)[0] > end:
                break
            tick, what = min(due)
            self.tick = max(self.tick, tick)
            (self.receive, self.run_queue, self.run_train, self.run_answer)[what]()
        self.tick = end

    def receive(self):
        _, start, data = self.coming.pop(0)
        if self.armed and self.by_lin:
            self.lin_receive(start, data)
        fifo = self.received
        if fifo.depth - len(fifo.records) < (3 if fifo.lost else 1):
            if not fifo.lost:
                fifo.first_lost = start
            fifo.lost += 1
            return
        if fifo.lost:
            first = fifo.first_lost
            fifo.records.append((first & 0xFFFFFFFF, 1 << 12 | (first >> 32 & 0xFFFF) << 16))
            fifo.records.append((fifo.lost, 1 << 12 | 1 << 15))
            fifo.lost = 0
        fifo.records.append((start & 0xFFFFFFFF, data | (start >> 32 & 0xFFFF) << 16))

    def place_of(self, entry):
        """The tick of the entry at the head. What will be refused is refused at once."""
        tick, width, word = entry
        if self.has_sequence and word >> 12 & 1:
            tick = (tick + max(self.last_queued, 0)) & (1 << 64) - 1
        return tick

    def edge(self, tick, channel, level):
        """An edge of an input: it may end the wait at the head of the queue."""
        if not self.queue or not self.has_sequence or self.halted:
            return
        word, limit = self.queue[0][2], self.place_of(self.queue[0])
        if word >> 10 & 3 == 3 and word & 15 == channel and word >> (4 if level else 5) & 1 and self.listens <= tick <= limit:
            self.end_wait(tick, word, 0)

    def end_wait(self, tick, word, timeout):
        self.queue.pop(0)
        self.last_queued = tick
        self.soonest = self.listens = tick + (BEHIND_TIMEOUT if timeout else BEHIND_EDGE) * self.samples
        self.halted = bool(timeout and word >> 6 & 1)
        self.event(tick, 1, 0, 0x80 if timeout else 0, word & ~(1 << 12), "tx_queue")

    def run_queue(self):
        tick, (_, width, word) = self.place_of(self.queue[0]), self.queue[0]
        is_wait = self.has_sequence and word >> 10 & 3 == 3
        reason = 0
        if self.halted:
            reason = ORDER
        elif word & 15 > 4 if is_wait else self.length(word, width) is None:
            reason = INVALID
        elif tick < self.last_queued:
            reason = ORDER
        elif tick < max(self.tick, self.soonest):
            reason = LATE
        if is_wait and not reason:
            self.end_wait(tick, word, 1)
            return
        self.queue.pop(0)
        self.last_queued = tick
        self.halted = self.halted or bool(is_wait and word >> 6 & 1)
        self.soonest, self.listens = 0, tick + LISTEN * self.samples
        if not reason and not self.launch(tick, word, width, "queue"):
            reason = BUSY
        if reason:
            self.event(tick if reason == BUSY else self.tick, 3, 0, reason, word, "refused_queue")
        else:
            self.event(tick, 1, 0, 0, word, "tx_queue")

    def run_train(self):
        t = self.train
        tick, n = math.floor(t["a"]), t["n"]
        if self.launch(tick, t["word"], t["width"], "train"):
            self.event(tick, 1, 1, 0, n, "tx_train")
        else:
            self.event(tick, 3, 1, BUSY, n, "refused_train")
        t["n"] += 1
        if t["count"] and t["n"] == t["count"]:
            self.event(self.tick, 6, 1, 0, t["n"], "train_done")
            self.train, self.train_over = None, t["n"]
            return
        t["before"] = t["a"]
        if self.change and self.change[0] == t["n"]:
            self.apply_change()
        else:
            t["a"] += t["period"]


def speed_of(fd):
    """Bits per second that a terminal is set to."""
    return struct.unpack("IIIIB19sII", fcntl.ioctl(fd, 0x802C542A, bytes(44)))[-1]  # TCGETS2


class Bridge:
    """The serial bridge of docs/bridge.md, by the clock on the wall: the rate word in force, the fallback, the register.

    A pseudo-terminal has no bit rate; what its user has set it to is compared with the bridge's, and what was sent at another
    rate is no command.
    """

    BASE, ADDRESS = 115200, 0x8800

    def __init__(self, clock_hz=24_000_000, fallback=2.0):
        self.clock, self.fallback = clock_hz, fallback
        self.base = self.word = round(self.BASE * 65536 / clock_hz)
        self.heard = time.monotonic()  # the last valid command
        self.rates = []  # the words it has had since
        self.deaf = False  # to raised rates, as with a bad cable
        self.garbled = 0  # bytes that came at a wrong rate

    def set(self, word):
        if word != self.word:
            self.word = word
            self.rates.append(word)

    def pass_time(self):
        if time.monotonic() - self.heard > self.fallback:
            self.set(self.base)

    def understands(self, fd):
        """Whether the user of the terminal has its rate."""
        self.pass_time()
        speed = speed_of(fd)
        raised = self.word != self.base
        return abs(speed * 65536 / self.clock / self.word - 1) < 0.03 and not (raised and self.deaf)

    def read(self):
        return self.word | self.clock // 10_000 << 16

    def write(self, word):
        if self.base <= word & 0xFFFF <= 8191:
            self.set(word & 0xFFFF)


class Checked:
    """What a bridge knows of checked frames, by the clock on the wall. `lose`: whether a frame gets damaged on its way to it."""

    ADDRESS = 0x8804

    def __init__(self, version=3, lock=2.0):
        self.version, self.lock = version, lock
        self.number = None  # of the last frame
        self.framed = self.came = float("-inf")  # when the last frame was answered, and the last byte came
        self.deaf = False
        self.frames = []  # (number, marker, the commands), each as often as it was carried out
        self.repeats = 0  # frames whose writes were left out
        self.lose = lambda frame: False

    @property
    def locked(self):
        return time.monotonic() - self.framed < self.lock

    def reset(self):
        """As the board's reset leaves it."""
        self.number, self.framed, self.deaf = None, float("-inf"), False

    def markers(self):
        return bridge_frames.MARKERS[: min(self.version, 2)]


class Server:
    """Speaks LiteX's UARTBone for a board, on a pseudo-terminal (path) or TCP (port), in a thread; with a Bridge its rate counts.

    watcher: gets what passes, as sim.bridge_rules.Watcher wants it. checked: a Checked, if it knows frames.
    """

    def __init__(self, board, kind="pty", answer=None, bridge=None, watcher=None, checked=None):
        self.board, self.kind, self.answer, self.bridge, self.watcher = board, kind, answer, bridge, watcher
        self.checked = checked
        self._stop = threading.Event()
        self.received = b""
        self.lock = threading.Lock()
        if kind == "pty":
            self.fd, self.slave = pty.openpty()
            tty.setraw(self.slave)
            self.spec = os.ttyname(self.slave)
        else:
            self.listener = socket.create_server(("127.0.0.1", 0))
            self.spec = f"tcp:127.0.0.1:{self.listener.getsockname()[1]}"
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Unplugs it."""
        if self._stop.is_set():
            return
        self._stop.set()
        self.thread.join()
        if self.kind == "pty":
            os.close(self.slave)
            os.close(self.fd)
        else:
            self.listener.close()

    def _serve(self):
        if self.kind == "pty":
            self._talk(self.fd)
            return
        while not self._stop.is_set():
            if select.select([self.listener], [], [], 0.05)[0]:
                with self.listener.accept()[0] as connection:
                    self._talk(connection.fileno())

    def _talk(self, fd):
        buffer = b""
        while not self._stop.is_set():
            if not select.select([fd], [], [], 0.1)[0]:
                buffer = b""  # the bridge's resynchronisation after silence
                continue
            try:
                data = os.read(fd, 4096)
            except OSError:
                return
            if not data:
                return
            self.received += data
            if self.watcher:
                self.watcher(time.monotonic(), True, data, speed_of(self.slave))
            if self.bridge and not self.bridge.understands(self.slave):
                self.bridge.garbled += len(data)
                buffer = b""  # bytes of other bits, none of them a command
                continue
            if self.checked and time.monotonic() - self.checked.came > 0.015:
                self.checked.deaf, buffer = False, b""
            buffer = b"" if self.checked and self.checked.deaf else buffer + data
            while buffer:
                before = buffer
                buffer = self._framed(fd, buffer) if self.checked else self._plain(fd, buffer)
                if buffer == before:
                    break
            if self.checked:
                self.checked.came = time.monotonic()

    def _framed(self, fd, buffer):
        """What follows the frame or command at the beginning."""
        if buffer[0] not in self.checked.markers():
            if not self.checked.locked:
                return self._plain(fd, buffer)
            self.checked.deaf = True
            return b""
        if len(buffer) < 3 or len(buffer) < buffer[2] + 6:
            return buffer
        frame = bridge_frames.heard(buffer)
        if frame is None or self.checked.lose(frame):
            self.checked.deaf = True
            return b""
        number, again = frame[1], frame[1] == self.checked.number
        self.checked.number = number
        self.checked.frames.append((number, frame[0], frame[3:-2]))
        self.checked.repeats += again
        words = b"".join(self._carry_out(code, address, body, again) for code, address, body in split(frame[3:-2]))
        self._reply(fd, bridge_frames.answer(frame, [w for (w,) in struct.iter_unpack(">I", words)]))
        self.checked.framed = time.monotonic()
        return buffer[len(frame) :] if self.checked.version >= 3 else b""

    def _plain(self, fd, buffer):
        if len(buffer) < 6:
            return buffer
        command, count, address = struct.unpack(">BBI", buffer[:6])
        size = 6 + (4 * count if command in (1, 3) else 0)
        if command not in (1, 2):
            return buffer[1:]
        if len(buffer) < size:
            return buffer
        reply = self._carry_out(command, 4 * address, buffer[6:size] if command == 1 else count, False)
        if command == 2:
            self._reply(fd, reply)
        return buffer[size:]

    def _carry_out(self, code, address, body, again):
        """A command; the bytes of its answer."""
        with self.lock:
            if self.bridge:
                self.bridge.heard = time.monotonic()
            rate = self.bridge and address == self.bridge.ADDRESS
            if code == 1:
                words = [w for (w,) in struct.iter_unpack(">I", body)]
                if rate:
                    self.bridge.write(words[0])
                elif not again:
                    self.board.write(address, words)
                return b""
            if rate:
                words = [self.bridge.read()]
            elif self.checked and (address, body) == (self.checked.ADDRESS, 1):
                words = [self.checked.version]
            else:
                words = self.board.read(address, body)
        return b"".join(w.to_bytes(4, "big") for w in words)

    def _reply(self, fd, reply):
        if self.answer:
            reply = self.answer(reply)
        if self.watcher:
            self.watcher(time.monotonic(), False, reply)
        os.write(fd, reply)


def split(payload):
    """(code, address in bytes, what is written or how many words are read) of each command in a row."""
    while payload:
        code, count, address = struct.unpack(">BBI", payload[:6])
        size = 6 + (4 * count if code == 1 else 0)
        yield code, 4 * address, payload[6:size] if code == 1 else count
        payload = payload[size:]
