# SPDX-License-Identifier: BSD-2-Clause
"""litepulse certify on the simulated Linux SoC: programs/certify.c is the program on the port; the
recorded pins stand for what a board would see.

    python -m sim.linux.certify liteuart -o NAME        writes NAME.html and NAME.json; or: litepulse

One clock counts everything: pins, CPU and the kernel's time. So the records are exact, and the same sources give the same.
"""

import argparse
import sys
from fractions import Fraction

from litepulse import output
from litepulse.certify.analysis import break_in
from litepulse.certify.files import Files
from litepulse.certify.records import LOADS, Block, Break, Echo, Exchange, Reading, Records, Transfer
from litepulse.certify.result import figures, stamp
from litepulse.certify.words import summary
from litepulse.line import Format
from litepulse.units import exact
from sim.guest.pins import changes
from sim.linux.driver_bench import HZ, PORTS, PULSE, Bench, frames, sent
from sim.measured import check

BAUD = 115200
BLOCKS, BLOCK, BYTES, SAMPLES = 4, 24, 128, 12
MS = HZ // 1000
FRAME = Fraction(10 * HZ, BAUD)
LEAD = 40 * MS  # from the program's word to the first byte, more than it sleeps, loaded or not
WORD = 3 * MS  # in which the word itself is printed, less than it sleeps
SPACING, SHIFT = 8 * MS, 23_431  # ticks between requests, so that each meets the scheduler's tick elsewhere
PLACES = [k * SPACING + k * k * SHIFT % SPACING // 2 for k in range(SAMPLES)]
SEEN = 1  # ticks from a change of a pin to its stamp
COUNTERS = ("rx", "tx", "frame", "overrun", "parity", "brk", "buf_overrun")
NOT_REAL = (
    "the instrument: recorded pins, and a stimulus at chosen ticks, stand for a board",
    "all of it: processor, port and pins are one simulation of their RTL at 50 MHz, cycle by cycle; what a chip's pads, wires and clocks "
    "add is not in it",
)


def stimulus(port):
    """What the line brings: a row, then requests, under each load."""
    lines = []
    for load in LOADS:
        for word, places, data in (("to", (), bytes(range(BYTES))), ("echo", PLACES, bytes(range(SAMPLES)))):
            lines.append(f"after ready {word} {load}")
            lines += [f"+{tick} {port.rx} {level}" for tick, level in frames(LEAD, data, BAUD, places)[0]]
    return lines


class Seen:
    """What one run saw, part by part."""

    def __init__(self, result, port):
        self.result, self.port = result, port
        self.rows = [line.split() for line in result.lines]
        self.line = changes(result.pins, port.tx)
        # A break is no frame: it is taken out before bytes are read.
        lows = {(fall, rise) for (fall, level), (rise, _) in zip(self.line, self.line[1:]) if not level and rise - fall > FRAME}
        self.breaks = sorted(lows)
        inside = {tick for low in lows for tick in low}
        kept = [(0, port.tx, 1), *((tick, port.tx, level) for tick, level in self.line if tick not in inside)]
        self.bytes = sent(kept, port, BAUD)
        self.heard = sent([(tick, port.tx, level) for tick, level in ((0, 1), *changes(result.pins, port.rx))], port, BAUD)
        total = BLOCKS * BLOCK + 2 * (BYTES + SAMPLES)
        check(len(self.bytes) == total, f"{port.title}: {len(self.bytes)} bytes left, not {total}")

    def all(self, *words):
        """Rest of the lines that begin with these words."""
        return [row[len(words) :] for row in self.rows if tuple(row[: len(words)]) == words]

    def text(self, word):
        """Of the one line that begins with it."""
        (row,) = self.all(word)
        return " ".join(row)

    def cut(self, name, begin, end):
        """Edges of a pin from tick to tick, as a board stamps them."""
        return tuple((tick + SEEN, level) for tick, level in changes(self.result.pins, name) if begin <= tick < end)

    def blocks(self):
        """Alternating bits, and driver enable meanwhile."""
        found = []
        for k in range(BLOCKS):
            first, last = self.bytes[BLOCK * k][0], self.bytes[BLOCK * (k + 1) - 1][0]
            around = int(FRAME), 2 * int(FRAME)  # enable comes before and goes behind
            enable = self.cut("de", first - around[0], last + around[1]) if self.port is PULSE else ()
            found.append(Block(self.cut(self.port.tx, first, last + int(FRAME)), enable, 1 - enable[0][1] if enable else 0))
        return found

    def break_records(self):
        """Each requested break, with the low level that followed, if one did."""
        requested = [(int(begun), int(ended)) for begun, ended in self.all("break")]
        check(len(self.breaks) in (0, len(requested)), f"{self.port.title}: {len(self.breaks)} breaks for {len(requested)}")
        lows = [break_in([(fall + SEEN, 0), (rise + SEEN, 1)], FRAME) for fall, rise in self.breaks] or [None] * len(requested)
        return [Break(*times, *(low or (None, None))) for times, low in zip(requested, lows)]

    def echo(self, load, place):
        """place: number of the first answer among the bytes that left."""
        requests = self.heard[-2 * SAMPLES - BYTES if load == "idle" else -SAMPLES :][:SAMPLES]
        answers = self.bytes[place : place + SAMPLES]
        reads = [[int(each) for each in row] for row in self.all("read", load)]
        check([row[2] for row in reads] == [byte for _, byte in requests] == [byte for _, byte in answers], "requests and answers differ")
        anchor = requests[0][0] - LEAD
        marks = [tick for tick, level in changes(self.result.pins, "printed") if level and tick > anchor + WORD][: SAMPLES + 1]
        readings = [Reading(tick, int(before), int(after)) for tick, (before, after) in zip(marks, self.all("reading", load))]
        check(len(readings) == SAMPLES + 1, f"{len(readings)} readings of the clocks")
        exchanges = [
            Exchange(tick + int(FRAME), read, write, answer + SEEN)
            for (tick, _), (read, write, _), (answer, _) in zip(requests, reads, answers)
        ]
        return Echo(exchanges, readings)

    def records(self):
        """All of it."""
        rs485 = self.text("rs485") == "1"
        found = Records(BAUD, Format(), self.blocks(), breaks=self.break_records(), enable=rs485, rs485=rs485, load=1)
        place = BLOCKS * BLOCK
        for load in LOADS:
            row = self.bytes[place : place + BYTES]
            data = bytes(range(BYTES))
            found.from_patient[load] = [Transfer(data, bytes(byte for _, byte in row), tuple(tick + SEEN for tick, _ in row))]
            found.to_patient[load] = [Transfer(data, bytes.fromhex("".join(self.all("heard", load)[0])))]
            found.echo[load] = self.echo(load, place + BYTES)
            place += BYTES + SAMPLES
        counts = self.all("counters")
        if counts:
            found.counters = {name: int(after) - int(before) for name, before, after in zip(COUNTERS, *counts)}
        return found


def measure(port):
    """(result, what was seen) of one of PORTS."""
    bench = Bench()
    words = [port.path, BAUD, BLOCKS, BLOCK, BYTES, SAMPLES]
    result = bench.guest.run_program("certify", words, before=bench.environment, stimulus=stimulus(port))
    seen = Seen(result, port)
    return result_of(port, seen), seen


def result_of(port, seen):
    """The object of a run."""
    return {
        "command": "certify",
        "backend": "sim",
        "simulated": True,
        "device": "recorded pins of the simulated Linux SoC",
        "clock_hz": exact(HZ),
        "samples_per_cycle": 1,
        "tick_hz": exact(HZ),
        **stamp(),
        "kind": "port",
        "port": {
            "port": port.path,
            "kind": "serial port",
            "driver": port.title,
            "uart": None,
            "usb": None,
            "latency_timer_ms": None,
            "low_latency": None,
            "says": f"a serial port, driver {port.title}",
        },
        "machine": {
            "kernel": seen.text("kernel"),
            "kernel_version": seen.text("version"),
            "architecture": seen.text("architecture"),
            "processor": "VexRiscv, 50 MHz",
            "processors": 1,
            "governor": None,
            "idle": {"driver": None, "states": [], "intel_idle_max_cstate": None, "says": "this kernel shows no idle states"},
            "virtual": None,
            "load_average": None,
        },
        "settings": {"baud": BAUD, "format": "8N1", "samples": SAMPLES, "bytes": BYTES, "blocks": BLOCKS, "enable_input": None, "seed": 1},
        "not_real": [*NOT_REAL],
    } | figures(seen.records(), Fraction(HZ))


def main():
    """The program."""
    parser = argparse.ArgumentParser(prog="python -m sim.linux.certify", description="Certifies a serial port of the simulated Linux SoC.")
    parser.add_argument("port", choices=[port.title for port in PORTS])
    parser.add_argument("-o", dest="name", required=True, metavar="NAME", help="writes NAME.html and NAME.json")
    args = parser.parse_args()
    with Files(args.name) as files:
        result, _ = measure(next(port for port in PORTS if port.title == args.port))
        files.write(result)
    print("\n".join(line.rstrip() for line in output.aligned(summary(result))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
