# SPDX-License-Identifier: BSD-2-Clause
"""A debug kernel with lin0 on a LIN bus that is slow enough to keep its time."""

from litepulse.vcd import Vcd
from sim.cocotb_rig import run_folder
from sim.driver.cable_rig import Board, cable_files, modules
from sim.driver.uml import boot
from sim.guest.lin_bus import SLOW_HZ as HZ

MODULES = ("litepulse", "litepulse_uartbone", "litepulse_lin")
ON_BUS = ("--bus", "--pace", "--pulse-hz", HZ)  # of a board


def boot_on_bus(runs, programs, stimulus=(), *, files=None, made=None, between=None):
    """(Boot, TX as it was recorded): loads all modules, does the jobs `runs` of `programs` of cable/, unloads all, looks for leaks.

    The first of `runs` is job 3. stimulus: [(tick, level)] of the other nodes; files: further ones; made: other modules than those of
    this tree; between: see Board. Fails unless all went well.
    """
    folder = run_folder("lin")
    vcd, nodes = folder / "pins.vcd", folder / "nodes"
    nodes.write_text("".join(f"{tick} rx {level}\n" for tick, level in stimulus))
    made = made or modules()
    jobs = [*(f"insmod {name}.ko" for name in MODULES), *runs, *(f"rmmod {name}" for name in MODULES[::-1]), "leaks"]
    files = cable_files(made, programs) | {"litepulse_lin.ko": made["litepulse_lin"]} | (files or {})
    with Board(*ON_BUS, "--stimulus", nodes, "--vcd", vcd, wired=False, lockstep=None, between=between) as board:
        booted = boot(jobs, files, lines=[board.line])
    assert booted.status == [0] * len(jobs) and not booted.complaints, booted.log
    return booted, Vcd(vcd, HZ).signals["tx"]
