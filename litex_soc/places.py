# SPDX-License-Identifier: BSD-2-Clause
"""Where the files lie that are no Python modules: at the top of a clone, or inside this package where it was installed from a wheel.

This module imports nothing of the project, so that every part of it can ask.
"""

import importlib.resources
import os
from pathlib import Path

PACKAGE = Path(str(importlib.resources.files("litex_soc")))


def folder(name: str) -> Path:
    """The folder of a clone (`hdl`, `constraints`, `sim/models`), wherever its files are now.

    Raises FileNotFoundError if they are missing.
    """
    for place in (PACKAGE / name, PACKAGE.parent / name):
        if place.is_dir():
            return place
    raise FileNotFoundError(f"LitePulse is incomplete: neither {PACKAGE / name} nor {PACKAGE.parent / name} is a folder")


def hdl() -> Path:
    """The folder of the core's Verilog, absolute; the environment variable LITEPULSE_HDL names another one."""
    return Path(os.environ.get("LITEPULSE_HDL") or folder("hdl")).resolve()
