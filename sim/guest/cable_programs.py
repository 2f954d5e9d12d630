# SPDX-License-Identifier: BSD-2-Clause
"""Programs for guests with a board on a cable, compiled for this machine."""

import functools
import shutil
import subprocess

from sim.cocotb_rig import SIM, run_folder
from sim.guest.driver_tree import DRIVER

GUEST = SIM / "guest"


@functools.lru_cache(maxsize=None)
def program(name, *more):
    """Path of a static program of cable/."""
    folder = run_folder("cable", name)
    for path in (GUEST / "cable").iterdir():
        shutil.copy(path, folder)
    flags = ["-static", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{DRIVER / 'uapi'}", f"-I{GUEST / 'programs'}"]
    subprocess.run(["gcc", *flags, "-o", name, f"{name}.c", "board.c", *more], cwd=folder, check=True)
    return folder / name
