# SPDX-License-Identifier: BSD-2-Clause
"""LONG: whether LITEPULSE_LONG=1 asks for what takes minutes more: full scale, more seeds and pulses, every catcher of a
fault, the longest proofs, all on Icarus, Linux on both CPUs."""

import os

LONG = os.environ.get("LITEPULSE_LONG", "") not in ("", "0")
