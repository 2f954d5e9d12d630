# SPDX-License-Identifier: BSD-2-Clause
"""A bench with a LIN bus at the line's pins: a master drives it beside the core, and what happened is compared with lin_model.py."""

import re
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path

from sim.core.bench import CONSTANTS, TICK, Bench, Pin, S
from sim.core.lin_model import Master, Slave, protected
from sim.core.model import ALWAYS, BUSY, FRAME, MISSED, RESPONDER, TX, Grant, Launch, Profile, normal, receive, same_list

TRIGGER_LIN = 4
BIT = Fraction(64 * S) + Fraction(37, 256)  # ticks: close to the shortest bit with which LIN works
SPACE = 100 * S + 3


class LinBench:
    """A core that is armed as a LIN slave, and a bus. `bench` is its Bench."""

    def __init__(self, bench, period, space):
        self.bench, self.profile, self.space = bench, Profile(period), space
        self.slave = Slave(period, space, CONSTANTS["OVERTAKEN_CYCLES"], S)
        self.pin = Pin(bench.dut.rx_pin)
        self.others = []  # launches of ours that are no answers

    @classmethod
    async def start(cls, dut, clocks="unrelated", period=BIT, space=SPACE):
        """The bench, the bus at rest and no entry written."""
        bench = await Bench.start(dut, clocks)
        dut.rx_bus.value = 1
        await bench.record("tx_responder", "missed", "control", "tx_queue", "refused_queue")
        assert await bench.profile(0, Profile(period))
        await bench.config("line", rx_enable=1)
        self = cls(bench, period, space)
        await self.arm()
        return self

    async def arm(self, space=None):
        """Arms the responder, maybe with another space."""
        if space is not None:
            self.space = self.slave.space = space
        await self.bench.responder(Launch(FRAME, self.profile), self.space, trigger=TRIGGER_LIN, rearm=1)
        assert self.bench.status("responder_armed")

    async def write(self, identifier, entry):
        """Writes an entry; returns whether it was taken."""
        for name, value in entry.words(identifier).items():
            if isinstance(value, int):
                assert await self.bench.config(name, value)
            elif not await self.bench.config(name, **value):
                return False
        self.slave.write(self.bench.now, identifier, entry)
        return True

    def master(self, bit=None, ahead=30, jitter=None):
        """A Master that begins soon."""
        return Master(self.bench.now + ahead * S, self.profile.period if bit is None else bit, jitter)

    async def play(self, master):
        """What the master wrote goes onto the bus, to the end of its last frame."""
        await self.bench.play("rx_drive", master.wave)
        await self.bench.until(int(master.time))

    async def answered(self, length):
        """Waits as long as an answer of `length` bytes of data takes, and then some bits."""
        bits = (length + 1) * (10 * self.profile.period + self.space) + 4 * self.profile.period
        await self.bench.cycles(int(bits) // S + 40)

    async def header(self, identifier, length=0, **options):
        """A good header, or another one by the options of Master.header(), and the time for its answer."""
        master = self.master(bit=options.pop("bit", None), jitter=options.pop("jitter", None))
        master.header(options.pop("pid", protected(identifier)), **options)
        await self.play(master)
        await self.answered(length)

    @property
    def wave(self):
        """The bus as the core's samples show it."""
        bench = self.bench
        changes = [(ALWAYS, 1)]
        for time, level in self.pin.changes:
            if time >= bench.zero:
                changes.append(((time - bench.zero) // TICK + 1, level))
        return normal(changes)

    async def check(self):
        """The core did what the model says of what was on the bus; returns the answers that were launched: [Expected]."""
        bench = self.bench
        await bench.cycles(60)
        await bench.drain()
        await bench.drain_bytes()
        wave = self.wave
        received = receive(wave, self.profile, S)
        expected = self.slave.answers(received, wave)
        launched = [e for e in expected if not e.busy]
        same_list("bytes launched", [(r.tick, r.data & 0xFF) for r in bench.select(TX, RESPONDER)], [(e.tick, e.data) for e in launched])
        missed = [(e.tick, e.data, BUSY) for e in expected if e.busy]
        same_list("bytes missed", [(r.tick, r.data & 0xFF, r.flags) for r in bench.select(MISSED)], missed)
        bench.check_line([Grant(e.tick, Launch(FRAME, self.profile, e.data), RESPONDER, n) for n, e in enumerate(launched)] + self.others)
        same_list("bytes received", [(b.tick, b.data) for b in bench.bytes], [(r.tick, r.data) for r in received])
        return launched

    def frames(self, launched):
        """{header number: its bytes}."""
        out = {}
        for byte in launched:
            out.setdefault(byte.header, []).append(byte.data)
        return out

    def decoded(self, version):
        """[(identifier, bytes)] that sigrok's LIN decoder reads from the bus, which ends with a break; it must find no fault. `version` 1
        knows the classic checksum, 2 the enhanced one. None if sigrok-cli is not installed."""
        if not shutil.which("sigrok-cli"):
            return None
        step = max(1, int(self.profile.period) // 32)  # ticks per sample of the file
        samples, level, at = bytearray(), 1, 0
        for tick, following in [*self.wave[1:], (self.bench.now, 1)]:
            samples += bytes([level]) * (-(-tick // step) - at)
            level, at = following, len(samples)
        file = Path("bus.bin")
        file.write_bytes(samples)
        rate = 19200 * self.profile.period / step
        command = ["sigrok-cli", "-i", file, "-I", f"binary:numchannels=1:samplerate={round(rate)}"]
        command += ["-P", f"uart:rx=0:baudrate=19200,lin:version={version}", "-A", "lin"]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        assert "invalid" not in text and "bad" not in text and "Err" not in text, text
        frames = []
        for line in text.splitlines():
            if found := re.search(r"ID: (\w\w) Parity: \d \(ok\)", line):
                frames.append((int(found[1], 16), []))
            elif found := re.search(r"(?:Data|Checksum): 0x(\w\w)", line):
                frames[-1][1].append(int(found[1], 16))
        return frames
