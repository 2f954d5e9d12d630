# SPDX-License-Identifier: BSD-2-Clause
"""Our model of SB_IO and Yosys' show the same, always."""

import os
import random

import cocotb
from cocotb.triggers import Timer

SEED = int(os.environ["LITEPULSE_RUN_SEED"])
OUTPUT = int(os.environ["LITEPULSE_PARAM_PIN_TYPE"]) >> 4


@cocotb.test()
async def test_same_as_yosys(dut):
    """Random levels, changed at random moments of the half cycles, for a thousand cycles; pads and inputs, before and after each."""
    rng = random.Random(SEED)
    names = ("pad", "d_in_0", "d_in_1")
    dut.clk.value, dut.outside_drives.value = 0, int(OUTPUT == 0)
    for name in ("enable", "d_out_0", "d_out_1", "outside"):
        getattr(dut, name).value = 0
    shown = set()
    for half in range(2000):
        for wait in (rng.randrange(1, 5), rng.randrange(1, 5)):
            await Timer(wait, "ns")
            # Yosys' registers are unknown until the first edges.
            if half > 4:
                seen = [tuple(str(getattr(dut, f"{name}_{model}").value) for name in names) for model in "ab"]
                assert seen[0] == seen[1], f"half cycle {half}: {seen}"
                shown.add(seen[0])
            name = rng.choice(("enable", "d_out_0", "d_out_1", "outside"))
            getattr(dut, name).value = rng.getrandbits(1)
        await Timer(1, "ns")
        dut.clk.value = 1 - half % 2
    # all levels of a pad and of what it samples, and no pad where none is driven
    assert len(shown) >= (4 if OUTPUT == 0 else 2) and any("Z" in entry[0] for entry in shown) == (OUTPUT >= 2), shown
