# SPDX-License-Identifier: BSD-2-Clause
"""How soon the Linux SoC answers an edge or a byte at a pin with an edge at another: by a program on a tty, by one on the chardev, by a
module of the kernel in the interrupt, and by the core's responder. Measured at the simulator's recorded pins, to the tick.

The guest's program is sim/guest/programs/response.c, the kernel's module sim/guest/echo. The same run gives the same figures.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache

from lab.experiments import soc
from lab.experiments.experiment import RTL, check
from lab.experiments.p5_samples import RESPONDER_WIDTH, WIDTH, Report, Stimuli, check_exact, delays, places, row
from sim.guest import echo_module
from sim.linux.driver_bench import EACH, HZ, LEAD, PEER, PULSE, Port
from sim.linux.targets import HERE

WHERE = f"Linux SoC, {HZ // 10**6} MHz"
BAUD = 115200
DELAY = 6  # ticks, the shortest that the core can do: RESPONSE_MIN_CYCLES of docs/core.md
MODULE_LEAD = 700  # ticks from the handler to the answer; with 600 none of 20 was refused while idle, with 300 all were
SCHEDULER_TICK = HZ // 100


@dataclass(frozen=True)
class Way:
    """One that answers.

    words: of the guest's program, without LOAD COUNT MS; spacing: ticks from stimulus to stimulus, for each load; baud: it answers bytes;
    before: shell commands; module: it is in the kernel
    """

    title: str
    words: str
    spacing: dict
    baud: int = 0
    port: Port = PULSE
    before: str = ""
    module: bool = False


# While loaded a program may have to wait for the scheduler's next tick, which an interrupt and the core never do.
PROGRAM = {"idle": 240_000, "loaded": 800_000}
LITEUART = Way("a program on liteuart's tty", f"tty {PEER.path} {BAUD}", PROGRAM, BAUD, PEER)
TTY = Way("a program on LitePulse's tty", f"tty {PULSE.path} {BAUD}", PROGRAM, BAUD, before=EACH)
CHARDEV = Way("a program on LitePulse's chardev", "chardev 0", PROGRAM)
KERNEL = Way("a kernel module on LitePulse's driver", "kernel", dict.fromkeys(PROGRAM, 120_000), module=True)
RESPONDER = Way("LitePulse's responder", f"responder {DELAY}", dict.fromkeys((*PROGRAM, "halted"), 5_000))


@lru_cache(maxsize=1)
def guest():
    """The booted guest with the driver, and what halts it."""
    booted = soc.guest()
    return booted.after("insmod litepulse_halt.ko", {"litepulse_halt.ko": booted.module(HERE / "halt")["litepulse_halt"]})


def measure(way, load, count, module_lead=MODULE_LEAD):
    """The row() of `count` stimuli. ExperimentError if a pin did anything else than the program
    printed."""
    what, spacing = f"{way.title}, {load}", way.spacing[load]
    stimuli = Stimuli(places(LEAD, count, spacing), HZ, way.baud, way.port)
    ms = -(-(stimuli.at[-1] + spacing) * 1000 // HZ)
    machine = echo_module.loaded(guest(), module_lead, WIDTH) if way.module else guest()
    registers = machine.machine.description["csr_registers"]
    result = machine.run_program(
        "response",
        [*way.words.split(), "alone" if load == "idle" else load, count, ms],
        before=f"export PEER_TUNING={registers['peer_phy_tuning_word']['addr']:#x}\n{way.before}",
        stimulus=["after ready go", *(f"+{tick} {stimuli.pin} {level}" for tick, level in stimuli.wave())],
        max_cycles=(ms + 3000) * (HZ // 1000),
    )
    report = Report.of([*result.lines, f"seen {count}"] if way is RESPONDER else result.lines)
    if way.module:
        check(report.seen == count, f"{what}: the module saw {report.seen} of {count} edges")
        report = replace(report, lead=module_lead)
    came = stimuli.shifted(result.pins, what)
    answers = came.answers(result.pins, RESPONDER_WIDTH if way is RESPONDER else WIDTH, what)
    found = delays(came.begins(), answers, report, what)
    if way is RESPONDER:
        check_exact(found, DELAY, what)
    return row(way.title, WHERE, load, RTL, HZ, found, count, report)


def rows(cases, workers=2):
    """{"rows": [measure(*case) of each]}, cases: [(way, load, count), ...]; two at a time, as the guest has one CPU."""
    guest()
    with ThreadPoolExecutor(workers) as pool:
        return {"rows": list(pool.map(lambda case: measure(*case), cases))}
