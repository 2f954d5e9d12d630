# SPDX-License-Identifier: BSD-2-Clause
"""Programs for guests that run on this machine's CPU: those for a board on a cable, and what they are compiled with."""

import functools
import subprocess

from sim.cocotb_rig import SIM, run_folder
from sim.guest.driver_tree import DRIVER

GUEST = SIM / "guest"
LIB = GUEST / "lib"
# Warnings as the kernel has them: a table's entries need not name all members, nor a function of a table use all its parameters.
FLAGS = ("-static", "-O1", "-Wall", "-Wextra", "-Wno-missing-field-initializers", "-Wno-unused-parameter", "-Werror", "-D_GNU_SOURCE")


def compiled(target, *sources):
    """Compiles a static program of C sources and lib/; returns its path."""
    includes = (f"-I{DRIVER / 'uapi'}", f"-I{LIB}")
    subprocess.run(["gcc", *FLAGS, *includes, "-o", target, *sources, LIB / "board.c"], check=True)
    return target


@functools.lru_cache(maxsize=None)
def program(name):
    """Path of a program of cable/."""
    return compiled(run_folder("cable", name) / name, GUEST / "cable" / f"{name}.c")
