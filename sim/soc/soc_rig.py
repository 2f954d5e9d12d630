# SPDX-License-Identifier: BSD-2-Clause
"""Starts the simulated SoC for a test, and reads what it wrote. Talks to it through LiteX's own CommUART."""

import json
import re
import subprocess
import time
from fractions import Fraction
from typing import cast

from litex.tools.remote.comm_uart import CommUART

from litepulse import regs
from litex_soc import sim_soc

PICOSECONDS = 10**12
CSR = {r.name: regs.CSR_BASE + 4 * r.index for r in regs.CSRS}
REGISTER = {r.name: r for r in regs.CSRS}
CONFIG = {r.name: regs.WINDOW_BASE + regs.REGIONS["CONFIG"][0] + 4 * r.index for r in regs.CONFIG}
WINDOW = {name: regs.WINDOW_BASE + offset for name, (offset, _) in regs.REGIONS.items()}
KIND = {name: code for code, (name, _) in regs.EVENT_KINDS.items()}
SOURCE = {name: code for code, (name, _) in regs.EVENT_SOURCES.items()}
ALL_EVENTS = 0x7FF


class Simulated:
    """A running simulator and a connection to its bridge."""

    def __init__(self, *arguments, tcp=True, connect=True, program=None):
        command = [str(program or sim_soc.build(quiet=True)), *(["--tcp", "0"] if tcp else []), "--exit-with-parent", *map(str, arguments)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.info = json.loads(self.process.stdout.readline())
        self.bus = self.connect() if connect else None

    def connect(self, url=None):
        """A CommUART on the bridge, by default through TCP."""
        return CommUART(url or f"socket://127.0.0.1:{self.info['tcp']}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends the simulator; (exit status, what it printed on standard error)."""
        if self.bus:
            self.bus.close()
            self.bus = None
        if not self.process.stdin.closed:
            self.process.stdin.close()
        try:
            status = self.process.wait(timeout=20)
        finally:
            self.process.kill()
        self.errors = self.process.stderr.read() if not self.process.stderr.closed else self.errors
        self.process.stdout.close()
        self.process.stderr.close()
        return status, self.errors

    # Registers

    def csr(self, name):
        """{field: value} of a CSR."""
        return fields(REGISTER[name], self.bus.read(CSR[name]))

    def configure(self, **words):
        """Writes configuration words in the order given and waits for their answers."""
        before = self.csr("configs")
        for name, word in words.items():
            self.bus.write(CONFIG[name], word)
        for _ in range(1000):
            after = self.csr("configs")
            if (after["applied"] + after["refused"] - before["applied"] - before["refused"]) % 256 == len(words) % 256:
                return after
        raise AssertionError(f"{words} not answered")

    def profile(self, number, period, **format_fields):
        """Sets a line profile; `period` in ticks, exact to 1/256."""
        raw = Fraction(period) * 256
        assert raw.denominator == 1
        raw = int(raw)
        word = pack(register(regs.CONFIG, f"profile{number}_format"), period_hi=raw >> 32, **{"data_bits": 3, **format_fields})
        return self.configure(**{f"profile{number}_format": word, f"profile{number}_period": raw & 0xFFFFFFFF})

    def launch(self, tick, byte, tag=0, kind=0, profile=0, width=0):
        """Commits one timed launch."""
        word = pack(regs.LAUNCH_ENTRY[3], data=byte, profile=profile, kind=kind, tag=tag)
        self.bus.write(WINDOW["LAUNCH"], [tick & 0xFFFFFFFF, tick >> 32, width, word])

    def header(self, stream):
        """(ready, position, lost, tick) of a stream."""
        return header(self.bus.read(WINDOW[stream], 4))

    def now(self):
        """The current tick."""
        return self.header("EVENTS")[3]

    def events(self, most=62):
        """Reads and frees the events that are ready, header and records in one burst: [(tick, seq, kind, source, flags, data)]."""
        words = cast(list[int], self.bus.read(WINDOW["EVENTS"], 4 + 4 * most))
        ready, position, _, _ = header(words)
        count = min(ready, most)
        self.bus.write(WINDOW["EVENTS"], count | (position & 0x7FFF) << 16 | 1 << 31)
        return [event(words[4 + 4 * i : 8 + 4 * i]) for i in range(count)]

    def wait_events(self, done, limit=60):
        """Collects events until done(list) is true."""
        found, end = [], time.monotonic() + limit
        while not done(found):
            assert time.monotonic() < end, f"not there after {limit} s: {found[-5:]}"
            found += self.events()
        return found


def register(table, name):
    """The register called `name`."""
    return next(r for r in table if r.name == name)


def fields(r, word):
    """{field: value} of a word."""
    return {f.name: word >> f.offset & ((1 << f.size) - 1) for f in r.fields}


def pack(r, **values):
    """The word with these fields."""
    known = {f.name: f for f in r.fields}
    word = 0
    for name, value in values.items():
        assert 0 <= value < 1 << known[name].size, (name, value)
        word |= value << known[name].offset
    return word


def header(words):
    """(ready, position, lost, tick) of the first words of a stream."""
    return words[0] & 0xFFFF, words[0] >> 16, words[1], words[2] | words[3] << 32


def event(words):
    """(tick, seq, kind, source, flags, data)"""
    f = fields(regs.EVENT_RECORD[2], words[2])
    return words[0] | words[1] << 32, f["seq"], f["kind"], f["source"], f["flags"], words[3]


def read_vcd(path):
    """{signal: [(picosecond, level)]}, the first entry being the level at the start; and the last time stamp."""
    text = path.read_text()
    scale = re.search(r"\$timescale\s+(10{0,2}) (s|ms|us|ns|ps)\s+\$end", text)
    unit = int(scale[1]) * {"s": 10**12, "ms": 10**9, "us": 10**6, "ns": 10**3, "ps": 1}[scale[2]]
    names = dict(re.findall(r"\$var wire 1 (\S) (\w+) \$end", text))
    out = {name: [] for name in names.values()}
    time_now = None
    for line in text[text.index("$enddefinitions") :].splitlines()[1:]:
        if line.startswith("#"):
            assert time_now is None or int(line[1:]) * unit > time_now, "time goes back"
            time_now = int(line[1:]) * unit
        elif line[0] in "01":
            out[names[line[1]]].append((time_now, int(line[0])))
        else:
            assert line in ("$dumpvars", "$end"), line
    return out, time_now


def vcd_unit(hz=Fraction(sim_soc.PULSE_HZ)):
    """Picoseconds of a VCD's unit: the largest power of ten that is at most half a tick."""
    return 10 ** max(power for power in range(13) if power == 0 or 2 * 10**power <= Fraction(PICOSECONDS) / hz)


def tick_of(picoseconds, hz=Fraction(sim_soc.PULSE_HZ)):
    """The tick whose time, rounded to the VCD's unit, is `picoseconds`; the rounding must be exact."""
    tick = round(picoseconds * hz / PICOSECONDS)
    exact = tick * PICOSECONDS / hz
    assert picoseconds % vcd_unit(hz) == 0 and abs(exact - picoseconds) <= Fraction(vcd_unit(hz), 2), f"{picoseconds} ps is no tick"
    return tick


def edges(signal, hz=Fraction(sim_soc.PULSE_HZ)):
    """[(tick, level)] of the changes after the start."""
    return [(tick_of(at, hz), level) for at, level in signal[1:]]
