# SPDX-License-Identifier: BSD-2-Clause
"""A hundred thousand random headers on a LIN bus: lin_traffic.cpp plays them to the core alone, and lin_model.py says what had to happen.

Traffic(seed).run(headers)      raises AssertionError if one was answered wrongly; returns what was on the bus: Counts
"""

import random
import subprocess
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from litex_soc import regmap
from sim import core_alone
from sim.cocotb_rig import SIM, run_folder
from sim.core.bench import CONSTANTS, encode
from sim.core.lin_bench import TRIGGER_LIN
from sim.core.lin_model import Slave, random_entry, random_header
from sim.core.model import ALWAYS, BUSY, FRAME, MISSED, RESPONDER, TX, Grant, Launch, Profile, line_wave, normal, receive, same_list

BIT = Fraction(64) + Fraction(37, 256)  # ticks: close to the shortest bit with which LIN works
PROFILE = Profile(BIT)
SPACES = (CONSTANTS["RESPONSE_MIN_BYTE"], 103, 2 * int(BIT))  # ticks: the shortest one, one between, the longest
FIRST = 5_000  # tick of the first configuration word: lin_traffic.cpp needs some before
WORD = 60  # ticks, more than a configuration word takes
BATCH = 300  # headers from one reset to the next


class Counts(NamedTuple):
    """Headers, and the answers to them that were launched."""

    headers: int
    answers: int


def program(entries=64):
    """The program of lin_traffic.cpp, to be built, for a core with `entries` entries."""
    return core_alone.program("lin-traffic", "the core alone on a LIN bus", SIM / "core" / "lin_traffic.cpp", f"LIN_ENTRIES={entries}")


@dataclass
class Printed:
    """What lin_traffic.cpp printed, a list of its lines' numbers for each kind."""

    wrote: list = field(default_factory=list)
    event: list = field(default_factory=list)
    byte: list = field(default_factory=list)
    bus: list = field(default_factory=list)
    line: list = field(default_factory=list)

    @classmethod
    def of(cls, text):
        """From all it printed."""
        self = cls()
        for line in text.splitlines():
            kind, *numbers = line.split()
            getattr(self, kind).append(tuple(map(int, numbers)))
        return self


class Batch:
    """Some headers from a reset on; `entries` of the core."""

    def __init__(self, seed, entries=64):
        self.rng = random.Random(seed)
        self.tick, self.script, self.entries = FIRST, [], []
        self.identifiers = self.rng.sample(range(entries), min(entries, 12))
        self.space = self.rng.choice((*SPACES[:2], self.rng.randrange(SPACES[0], SPACES[2])))

    def word(self, name, word=None, **fields):
        """A configuration word."""
        register = regmap.config(name)
        value = encode(register, **fields) if word is None else word
        self.script.append(f"write {self.tick} {regmap.REGIONS['CONFIG'][0] + 4 * register.index} {value}")
        self.tick += WORD

    def set_up(self):
        """The slave is armed, and some identifiers have an entry."""
        self.word("event_mask", tx_responder=1, missed=1)
        self.word("profile0_format", data_bits=3)
        self.word("profile0_period", int(BIT * 256))
        self.word("line", rx_enable=1)
        self.word("resp_trigger", trigger=TRIGGER_LIN, rearm=1)
        self.word("resp_delay", self.space)
        self.word("resp_launch", Launch(FRAME, PROFILE).word())
        self.word("resp_arm", arm=1)
        for identifier in self.identifiers[::2]:
            self.write(identifier, random_entry(self.rng, self.rng.choice((1, 2, 8))))

    def write(self, identifier, entry):
        """An entry of the table."""
        for name, value in entry.words(identifier).items():
            self.word(name, value) if isinstance(value, int) else self.word(name, **value)
        self.entries.append((identifier, entry))

    def header(self):
        """Up to three entries change, then a header, and the time for its answer."""
        rng = self.rng
        for _ in range(rng.choice((0, 0, 1, 3))):
            self.write(rng.choice(self.identifiers), random_entry(rng, rng.choice((1, 1, 2, 8)), once=rng.random() < 0.1))
        master = random_header(rng, self.tick + 20 + rng.randrange(200), BIT, self.space, self.identifiers)
        self.script += [f"level {tick} {level}" for tick, level in master.wave]
        self.tick = int(master.time) + int((rng.choice((2, 8)) + 1) * (10 * BIT + self.space) + 4 * BIT) + 40

    def run(self, path, file):
        """Plays them by the program at `path`, the script in `file`; Printed."""
        self.tick += int(9 * (10 * BIT + self.space)) + 500
        file.write_text("\n".join([*self.script, f"end {self.tick}", ""]))
        done = subprocess.run([path, file], capture_output=True, text=True, check=False)
        assert not done.returncode, done.stderr
        return Printed.of(done.stdout)

    def judge(self, printed):
        """All that was launched, missed and received is what the model says, and so is each edge of the line; the answers launched."""
        slave = Slave(BIT, self.space, CONSTANTS["OVERTAKEN_CYCLES"], 1)
        assert len(printed.wrote) == len(self.entries)
        for (tick,), (identifier, entry) in zip(printed.wrote, self.entries, strict=True):
            slave.write(tick, identifier, entry)
        bus = normal([(ALWAYS, 1), *printed.bus])
        received = receive(bus, PROFILE, 1)
        expected = slave.answers(received, bus)
        launched = [e for e in expected if not e.busy]
        events = [(kind, source, tick, data & 0xFF, flags) for tick, kind, source, flags, data in printed.event]
        same_list("launched", [e[2:] for e in events if e[:2] == (TX, RESPONDER)], [(e.tick, e.data, 0) for e in launched])
        same_list("missed", [e[2:] for e in events if e[0] == MISSED], [(e.tick, e.data, BUSY) for e in expected if e.busy])
        assert len(events) == len(expected), "a record of something else"
        wave = line_wave([Grant(e.tick, Launch(FRAME, PROFILE, e.data), RESPONDER, n) for n, e in enumerate(launched)])
        same_list("the line's edges", normal([(ALWAYS, 1), *printed.line]), wave)
        same_list("received", printed.byte, [(r.tick, r.data, r.is_break, r.framing_error) for r in received])
        return len({e.header for e in launched})


def run(seed, headers, entries=64, path=None):
    """Plays `headers` random headers in batches, by the program at `path` or else the one for the
    core as it is; Counts."""
    path, file, answers = path or program(entries).build(), run_folder("lin_traffic", str(seed)) / "script", 0
    for number, first in enumerate(range(0, headers, BATCH)):
        batch = Batch(f"{seed} {number}", entries)
        batch.set_up()
        for _ in range(min(BATCH, headers - first)):
            batch.header()
        answers += batch.judge(batch.run(path, file))
    return Counts(headers, answers)
