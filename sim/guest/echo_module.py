# SPDX-License-Identifier: BSD-2-Clause
"""The sources of echo/, a module that answers edges in the interrupt, beside a copy of the driver, whose headers and symbols it needs."""

import contextlib
import shutil
import tempfile
from pathlib import Path

from sim.cocotb_rig import ROOT, SIM

NAME = "litepulse_echo"


@contextlib.contextmanager
def sources():
    """A folder that kbuild makes it from."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "echo"
        shutil.copytree(SIM / "guest" / "echo", folder)
        shutil.copytree(ROOT / "driver", folder / "driver")
        yield folder


def loaded(guest, lead, width):
    """The Guest of the Linux SoC with the module loaded: it answers each rising edge of input 0, `lead` ticks after its handler began."""
    with sources() as folder:
        module = guest.module(folder)[NAME]
    return guest.after(f"insmod {NAME}.ko lead={lead} width={width}", {f"{NAME}.ko": module})
