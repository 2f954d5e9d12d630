# SPDX-License-Identifier: BSD-2-Clause
"""Where the tests find the rig and each other's helpers."""

import sys
from pathlib import Path

SIM = Path(__file__).resolve().parent
for folder in (SIM.parent, SIM.parent / "sw", SIM, *sorted(p for p in SIM.iterdir() if p.is_dir())):
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
