# SPDX-License-Identifier: BSD-2-Clause
"""The Linux that boots on the simulated SoC, for experiments: one boot, programs of this folder's guest/ and of sw/examples."""

from functools import cache

from sim.cocotb_rig import ROOT
from sim.linux import linux_rig
from sim.linux.driver_bench import CPU, HZ, Answers, environment

MS = HZ // 1000
HERE = ROOT / "lab" / "experiments" / "guest"
EXAMPLES = ROOT / "sw" / "examples"


@cache
def guest():
    """The `Guest` with the driver loaded; booted once."""
    return linux_rig.boot_with_driver(CPU)


def program(name):
    """Path of guest/NAME.c or of sw/examples/NAME.c, compiled."""
    source = HERE / f"{name}.c"
    return guest().program(source if source.exists() else EXAMPLES / f"{name}.c", includes=linux_rig.INCLUDES)


def run(words, stimulus=(), before="", max_cycles=2000 * MS, load=False):
    """`Answers` of a program and its arguments.

    stimulus: (ticks from the program's word `go`, pin, level); load: beside a process that wants all of the CPU, at the usual priority
    """
    name, *_ = words
    files = {name: program(name)} | ({"spin": program("spin")} if load else {})
    command = " ".join(["./" + str(name), *map(str, words[1:])])
    if load:
        command = f"./spin & {command}; status=$?; kill $!; exit $status"
    lines = ["after ready go", *(f"+{tick} {pin} {level}" for tick, pin, level in stimulus)] if stimulus else ()
    script = "\n".join(part for part in (environment(guest()), before, command) if part)
    return Answers(guest().run(script, files, stimulus=lines, max_cycles=max_cycles))
