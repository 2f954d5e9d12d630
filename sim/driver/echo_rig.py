# SPDX-License-Identifier: BSD-2-Clause
"""The debug kernel with boards without hardware (echo_board/): for the driver alone, whose waits cost no time there."""

import functools
import shutil

from sim.cocotb_rig import SIM, run_folder
from sim.driver.uml import boot, build_module, build_modules
from sim.guest.cable_programs import compiled
from sim.guest.driver_tree import driver_copy

HERE = SIM / "driver" / "echo_board"
USE = sorted(HERE.glob("use*.c"))  # the program that uses the board


@functools.cache
def echo_board(**kernel):
    """{name in the guest: path}: the driver, the boards, and the programs that use them. `kernel`: see build_modules()."""
    driver, board = driver_copy(), run_folder("echo_board")
    for name in ("Kbuild", "echo_board.c"):
        shutil.copy(HERE / name, board)
    module = build_modules(driver, **kernel)["litepulse"]
    made = build_module(board, f"LITEPULSE_DRIVER={driver}", f"KBUILD_EXTRA_SYMBOLS={driver}/Module.symvers", **kernel)
    use, names = compiled(board / "use", *USE), compiled(board / "names", HERE / "names.c")
    return {"litepulse.ko": module, "echo_board.ko": made, "use": use, "names": names}


def with_board(jobs, parameters=""):
    """The jobs, between those that load and unload the driver and a board."""
    return ["insmod litepulse.ko", f"insmod echo_board.ko {parameters}".strip(), *jobs, "rmmod echo_board", "rmmod litepulse"]


def echo_boot(*jobs, parameters="", files=None, **options):
    """Loads the driver and a board, does the jobs, unloads both and looks for leaks: a uml.Boot. Also how many jobs there were."""
    done = [*with_board(jobs, parameters), "leaks"]
    return boot(done, {**echo_board(), **(files or {})}, **options), len(done)
