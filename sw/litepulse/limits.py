# SPDX-License-Identifier: BSD-2-Clause
"""Numbers that the command line shows in its help, apart from what uses them: to show them, no backend has to be loaded."""

from litepulse import regs

DEFAULT_BAUD = regs.BRIDGE_BAUD
LOWEST_BAUD = 4800  # of a bridge, so that the registers that must be read together fit into one command
STEP, LONGEST_STEP = 20_000, 200_000  # cycles of simulated time between two looks: by default, and where little happens
BREAK_MAX = 255  # bit times
