# SPDX-License-Identifier: BSD-2-Clause
"""The responder from pad to pad at the clock of an ECPIX-5: edges at any instant, delays in ps. The bench is tb_response.py.

`rtl`: the core's sources with the board's PHY and models of its pads. `netlist`: what Yosys makes of them for an ECP5, with models of its
cells and pads. Neither has the delays of a pad's buffers and wires, which docs/pins.md lists.
"""

import json

from lab.experiments.experiment import RTL, check
from sim.cocotb_rig import BUILD
from sim.netlist.synthesis import NETLISTS

HZ = 200_000_000  # of `pulse` on an ECPIX-5, docs/boards.md
# Cycles from an edge's stamp to the answer: the column of docs/pins.md.
CYCLES = {"ecp5_generic": 6, "ecp5_serdes": 12}
WHO = "LitePulse's responder"
FORMS = {"rtl": "", "netlist": ", as synthesised"}


def measure(name, count, form="rtl"):
    """{"rows": [row]} of the responder of a netlist's PHY; ExperimentError unless each answer is at its tick."""
    netlist = NETLISTS[name]
    simulate = netlist.simulate if form == "netlist" else netlist.simulate_rtl
    simulate("tb_response", "responses", env={"LITEPULSE_RESPONSES": count})
    found = json.loads((BUILD / "response.json").read_text())[f"{name if form == 'netlist' else netlist.phy}/{count}"]
    tick = 10**12 // (HZ * netlist.samples)
    shortest = CYCLES[name] * netlist.samples * tick
    delays = found["delays_ps"]
    check(found["tick_ps"] == tick and len(delays) == count, f"{name}: the bench had another clock, or other edges")
    # The stamp is that of the first sample behind the edge, less than a tick later.
    check(all(shortest < delay < shortest + tick for delay in delays), f"{name}: an answer is not {CYCLES[name]} cycles behind its stamp")
    return {
        "rows": [
            {
                "who": WHO,
                "where": f"core at {HZ // 10**6} MHz with the pins of an ECP5, S = {netlist.samples}{FORMS[form]}",
                "cpu": "none",
                "source": RTL,
                "tick_hz": HZ * netlist.samples,
                "per_second": 10**12,
                "stimuli": count,
                "delays": delays,
                "refused": 0,
                "missed": 0,
                "lead": None,
            }
        ]
    }
