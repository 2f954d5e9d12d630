# SPDX-License-Identifier: BSD-2-Clause
"""Stimuli, which are edges or bytes, and the delays of the answers to them, in ticks of the recorded pins.

The guest's program is sim/guest/programs/response.c. It answers in order and says whose answer was refused, so each answer has its stimulus
however late it is.
"""

from dataclasses import dataclass
from fractions import Fraction

from lab.experiments.experiment import ExperimentError, check
from litepulse.regs import LOOPBACK_TICKS
from sim.guest.pins import changes, pulses
from sim.linux import driver_bench
from sim.linux.driver_bench import PULSE, Port, frames, sent

WIDTH, RESPONDER_WIDTH = 40, 20  # ticks: the pulse that is the answer of a program or module, and of the responder
HIGH = 400  # ticks from a stimulus, a rising edge, to the falling edge, which is ignored
SHIFT = 23_431  # divides nothing here: each stimulus meets the scheduler's tick elsewhere


def places(first, count, spacing):
    """Ticks of `count` stimuli, at least half of `spacing` apart, anywhere between two ticks of a
    scheduler."""
    return [first + n * spacing + n * n * SHIFT % (spacing // 2) for n in range(count)]


@dataclass(frozen=True)
class Stimuli:
    """What comes in, of ticks at `hz`: edges of input 0, or 8N1 bytes at `baud` if there is one, which count up."""

    at: list  # ticks
    hz: int
    baud: int = 0
    port: Port = PULSE

    @property
    def pin(self):
        """The one that they come in at."""
        return self.port.rx if self.baud else "aux0"

    @property
    def scaled_baud(self):
        """As driver_bench has it, whose ticks are those of the Linux SoC."""
        return Fraction(self.baud * driver_bench.HZ, self.hz)

    @property
    def data(self):
        """The bytes."""
        return [n & 255 for n in range(len(self.at))]

    def wave(self):
        """[(tick, level)] of the pin."""
        if self.baud:
            return frames(self.at[0], self.data, self.scaled_baud, [tick - self.at[0] for tick in self.at])[0]
        return [(tick + after, level) for tick in self.at for after, level in ((0, 1), (HIGH, 0))]

    def begins(self):
        """Ticks from which delays count: the edge, or the begin of a byte's stop bit, as docs/benchmarks.md has it."""
        return [tick + int(Fraction(9 * self.hz, self.baud)) if self.baud else tick for tick in self.at]

    def answers(self, pins, width, what):
        """Ticks of what came out behind the first stimulus: pulses of that width, or bytes."""
        if not self.baud:
            return [tick for tick, wide in pulses(pins, "tx", 0) if wide == width and tick > self.at[0]]
        out = sent(pins, self.port, self.scaled_baud)
        check([byte for _, byte in out] == self.data[: len(out)], f"{what}: other bytes came back")
        return [tick for tick, _ in out]

    def shifted(self, pins, what):
        """The same stimuli as they were recorded: all as much later as the first one."""
        seen, wanted = changes(pins, self.pin), self.wave()
        check(bool(seen), f"{what}: there was no stimulus")
        late = seen[0][0] - wanted[0][0]
        expected = [(tick + late, level) for tick, level in wanted]
        check(seen == expected, f"{what}: the stimuli are not those requested")
        return Stimuli([tick + late for tick in self.at], self.hz, self.baud, self.port)


@dataclass(frozen=True)
class Report:
    """What response.c printed: the stimuli it saw, the numbers of those whose answer was refused,
    its lead (None: it has none)."""

    seen: int
    refused: list
    lead: int | None
    since: int | None  # tick

    @classmethod
    def of(cls, lines):
        """From its lines."""
        words = [line.split() for line in lines]

        def numbers(name):
            return [int(row[1]) for row in words if row[:1] == [name] and len(row) == 2]

        def last(name):
            return numbers(name)[-1] if numbers(name) else None

        seen = last("seen")
        if seen is None:
            raise ExperimentError("response.c did not come to its end")
        refused = sorted(numbers("refused"))
        right = len(set(refused)) == len(refused) and set(refused) <= set(range(seen))
        check(right, f"response.c: {seen} stimuli were seen, refused were the answers to {refused}")
        return cls(seen, refused, last("lead"), last("from"))


def delays(begins, answers, report, what):
    """Ticks from each stimulus that was answered to its answer, in order; ExperimentError if answers are missing, early or too many.

    Stimuli that were not seen are the last ones: a program that notices a lost record gives up.
    """
    check(report.seen <= len(begins), f"{what}: {report.seen} stimuli were seen, {len(begins)} were sent")
    wanted = [begin for number, begin in enumerate(begins[: report.seen]) if number not in report.refused]
    check(len(answers) == len(wanted), f"{what}: {len(wanted)} answers were made, {len(answers)} came out")
    found = [answer - begin for begin, answer in zip(wanted, answers)]
    check(all(delay > 0 for delay in found), f"{what}: an answer is before its stimulus")
    return found


def check_exact(found, delay, what):
    """ExperimentError unless each of the responder's delays is the one that it was given: from the stamp, a tick behind the edge."""
    check(set(found) == {delay + LOOPBACK_TICKS}, f"{what}: an answer is not at its tick")


def row(who, where, cpu, source, hz, found, stimuli, report):
    """What is kept of a measurement, of JSON's types. `delays` are in 1 / `per_second` s, here
    ticks; `missed`: stimuli that were not seen."""
    return {
        "who": who,
        "where": where,
        "cpu": cpu,
        "source": source,
        "tick_hz": hz,
        "per_second": hz,
        "stimuli": stimuli,
        "delays": found,
        "refused": len(report.refused),
        "missed": stimuli - report.seen,
        "lead": report.lead,
    }
