# SPDX-License-Identifier: BSD-2-Clause
"""The boards, one small file each: what they have. Their pins and clocks are in constraints/."""

import importlib

NAMES = ("icebreaker", "alchitry_cu", "ulx3s", "colorlight_i5", "orangecrab", "ecpix5")


def all_boards():
    """{name: Board}, in the order of the table in docs/boards.md."""
    return {name: importlib.import_module(f"litex_soc.boards.{name}").BOARD for name in NAMES}
