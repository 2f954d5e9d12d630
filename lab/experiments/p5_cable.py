# SPDX-License-Identifier: BSD-2-Clause
"""How soon a board on a USB cable answers an edge or a byte: by itself, and by programs and a module of the simulated PC behind it.

The board's time goes by the wall clock, at a clock that a busy machine keeps up with; its pins are recorded to the tick. What the PC
takes is the time of QEMU, so the ratio to the responder, in the same run, says more than the seconds do.
"""

import shlex
import tempfile
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from lab.experiments.experiment import PC, ExperimentError, check
from lab.experiments.p5_samples import RESPONDER_WIDTH, WIDTH, Report, Stimuli, check_exact, delays, places, row
from sim.guest import echo_module
from sim.linux.driver_bench import EACH
from sim.pc import kernels, pc_rig

KERNEL = "6.12"
HZ = 500_000
WHERE = f"board on a USB cable, {HZ / 10**6} MHz"
BAUD = 9600
DELAY = 6  # ticks, as on the SoC
FIRST = 14 * HZ  # tick of the first stimulus: the PC has loaded the driver and found its lead by then
SPACING = HZ // 20  # ticks, so stimuli are 25 to 75 ms apart: several polls of the driver
ATTEMPTS = 3  # the board's time must keep up with the wall clock...
CHUNK = 100  # ... for this many stimuli, a run
TTY, CHARDEV, RESPONDER = "a program on LitePulse's tty", "a program on LitePulse's chardev", "LitePulse's responder"
MODULE = "a kernel module on LitePulse's driver"


@lru_cache(maxsize=1)
def guest():
    """The PC."""
    return pc_rig.boot(KERNEL)


def run(words, stimuli, before, what, steady=True, more=None):
    """(Report, pins) of response.c on the PC; `more` files for `before`. ExperimentError if each time the PC was ready too late or, if
    `steady`, the board's time fell behind."""
    pc = guest()
    for _ in range(ATTEMPTS):
        with tempfile.TemporaryDirectory() as folder:
            moves = Path(folder) / "stimulus"
            channel = "rx" if stimuli.baud else 0
            moves.write_text("".join(f"{tick} {channel} {level}\n" for tick, level in stimuli.wave()))
            attach, files = pc.attaching()
            seconds = stimuli.at[-1] / HZ + 3
            command = shlex.join(["./response", *words, "alone", str(len(stimuli.at)), str(int(seconds * 1000))])
            result = pc.run(
                f"{attach}\n{before}\n{command}",
                {**files, **(more or {}), "response": pc.guest_program("response")},
                boards=[{"hz": HZ, "bus_divider": 1, "options": ("--stimulus", moves)}],
                seconds=int(2 * seconds) + 60,
            )
        report = Report.of(result.lines)
        if not (steady and result.stats["slips"]) and report.since is not None and report.since < stimuli.at[0]:
            return report, result.pins
    raise ExperimentError(f"{what}: this machine is too busy: board and PC do not keep up with the clock")


def measure_edges(count, steady=True):
    """Rows of the program and of the responder, which answer the same edges in one run; and of the module, which needs as long a lead."""
    stimuli = Stimuli(places(FIRST, count, SPACING), HZ)
    report, pins = run(["chardev", str(DELAY)], stimuli, "", CHARDEV, steady)
    came = stimuli.shifted(pins, CHARDEV)
    itself = replace(report, seen=count, refused=[], lead=None)
    found = {
        who: delays(came.begins(), came.answers(pins, width, who), of, who)
        for who, width, of in ((RESPONDER, RESPONDER_WIDTH, itself), (CHARDEV, WIDTH, report))
    }
    check_exact(found[RESPONDER], DELAY, RESPONDER)
    programs = [row(who, WHERE, "idle", PC, HZ, found[who], count, of) for who, of in ((RESPONDER, itself), (CHARDEV, report))]
    return [*programs, measure_module(count, report.lead, steady)]


def measure_module(count, lead, steady=True):
    """The row of a module of the kernel, whose worker launches an answer `lead` ticks ahead: the transport sleeps."""
    stimuli = Stimuli(places(FIRST, count, SPACING), HZ)
    module = f"{echo_module.NAME}.ko"
    with echo_module.sources() as folder:
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        made = {module: kernels.modules(KERNEL, folder, files, "echo")[echo_module.NAME]}
    insert = f"insmod {module} lead={lead} width={WIDTH} defer=1"
    report, pins = run(["kernel"], stimuli, insert, MODULE, steady, made)
    check(report.seen == count, f"{MODULE}: it saw {report.seen} of {count} edges")
    came = stimuli.shifted(pins, MODULE)
    found = delays(came.begins(), came.answers(pins, WIDTH, MODULE), report, MODULE)
    return row(MODULE, WHERE, "idle", PC, HZ, found, count, replace(report, lead=lead))


def measure_bytes(count, steady=True):
    """The row of a program that sends back what it reads from the tty."""
    stimuli = Stimuli(places(FIRST, count, SPACING), HZ, BAUD)
    report, pins = run(["tty", "/dev/ttyPULSE0", str(BAUD)], stimuli, EACH, TTY, steady)
    came = stimuli.shifted(pins, TTY)
    return row(TTY, WHERE, "idle", PC, HZ, delays(came.begins(), came.answers(pins, WIDTH, TTY), report, TTY), count, report)


def together(parts):
    """One row of those of several runs; its lead is the longest."""
    leads = [part["lead"] for part in parts if part["lead"] is not None]
    sums = {key: sum(part[key] for part in parts) for key in ("stimuli", "refused", "missed")}
    return {**parts[0], **sums, "delays": [delay for part in parts for delay in part["delays"]], "lead": max(leads, default=None)}


def rows(count, steady=True):
    """{"rows": ...} of all that answers. steady: no figures on a machine that is too busy for the board's time to be the wall clock's."""
    runs = [
        [*measure_edges(part, steady), measure_bytes(part, steady)]
        for part in (min(CHUNK, count - done) for done in range(0, count, CHUNK))
    ]
    found = [together(parts) for parts in zip(*runs)]
    check(all(each["delays"] for each in found), "the board on the cable: a responder did not answer at all")
    return {"rows": found}
