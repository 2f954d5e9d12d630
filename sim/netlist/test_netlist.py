# SPDX-License-Identifier: BSD-2-Clause
"""The netlists that Yosys makes of the core and its PHYs, under the tests of the seven promises and at their start.

`make test-all` runs the cases of SHORT, in their smaller sizes, on two netlists, `make test` some of them on one;
LITEPULSE_NETLISTS=all (`make test-netlist`) runs all modules of sim/core on all. Marker port and waits are tested on the netlists that
have them: those of the ECP5, as on the boards.
"""

import json
import os
import re
from collections import defaultdict
from dataclasses import replace

import pytest

from litex_soc import boards
from litex_soc.board import choose
from litex_soc.phys import PHYS
from litex_soc.size import RAMS
from sim.core import test_core
from sim.netlist.synthesis import NETLISTS, write_once

ALL = os.environ.get("LITEPULSE_NETLISTS", "") == "all"
MODULES = (*(module for module in test_core.MODULES if module != "tb_watchdog"), "tb_sequence")
QUICK = ("ice40_ddr", "ecp5_ddr")
# Each promise at least once.
SHORT = {
    "tb_launch": ("test_promise1_earliest_legal_tick", "test_promise1_touching_within_one_cycle", "test_promise3_every_format"),
    "tb_besteffort": ("test_promise2_room_before_a_far_launch", "test_promise2_bytes_in_order"),
    "tb_train": ("test_promise4_no_drift_44100_hz", "test_promise4_adjust_named_pulse", "test_promise4_fast_train_takes_only_a_stop"),
    "tb_capture": ("test_promise5_edges_at_every_place", "test_promise5_received_less_launched"),
    "tb_streams": ("test_promise6_overflow_exact", "test_promise6_receive_overflow_pairs"),
    "tb_pins": ("test_promise1_driver_enable", "test_promise7_bus_traffic_moves_nothing"),
    "tb_responder": ("test_promise1_responder_edges_at_every_sample", "test_promise1_responder_bursts"),
    "tb_lin": ("test_promise1_lin_answers", "test_promise1_lin_overtaken"),
    "tb_port": ("test_promise1_one_mark_a_cycle",),
    "tb_sequence": ("test_promise1_relative_entries", "test_promise1_random_waits"),
}


@pytest.mark.quick
@pytest.mark.seconds(60)
def test_some_promises():
    """For the quick tier: two modules of the short form, on one netlist."""
    cases = [*SHORT["tb_capture"], *SHORT["tb_pins"]]
    assert len(NETLISTS[QUICK[0]].simulate(["tb_capture", "tb_pins"], cases, env={"LITEPULSE_SHORT": 1})) == len(cases)


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.seconds(60)
def test_promises(name):
    """The short form, on the first netlist with a random scene."""
    assert {int(case.split("_")[1][-1]) for cases in SHORT.values() for case in cases} == set(range(1, 8)), "each promise"
    short = {module: cases for module, cases in SHORT.items() if NETLISTS[name].has_parts_for(module)}
    if name == QUICK[0]:
        short["tb_random"] = ("test_random_scenes",)
    cases = [case for cases in short.values() for case in cases]
    passed = NETLISTS[name].simulate(list(short), cases, env={"LITEPULSE_SHORT": 1})
    assert passed == sorted(f"{module}.{case}" for module, cases in short.items() for case in cases)


@pytest.mark.parametrize("name", ["ice40_generic", "ice40_ddr"])
def test_block_rams_are_left(name):
    """Received records lie in two of a UP5K's four large RAMs, LIN's entries in one, so that some of its block RAMs are left to others."""
    cells = json.loads((NETLISTS[name].synthesise().parent / "cells.json").read_text())["design"]["num_cells_by_type"]
    assert cells["SB_SPRAM256KA"] == 3 and sum(n for cell, n in cells.items() if cell.startswith("SB_RAM40_4K")) <= RAMS - 4


def test_without_entries_nothing_of_lin_is_left():
    """LIN_ENTRIES = 0 costs no cell: no net of the LIN slave is in the netlist, in which there are some with entries."""
    without = replace(NETLISTS["ice40_generic"], name="ice40_without_lin", lin_entries=0)
    found = [
        set(re.findall(r"[\w.]*(?:\blin_|by_lin|gen_lin|overtaken)[\w.]*", netlist.synthesise().read_text()))
        for netlist in (NETLISTS["ice40_generic"], without)
    ]
    assert found[0] and not found[1], found[1]
    cells = json.loads((without.synthesise().parent / "cells.json").read_text())["design"]["num_cells_by_type"]
    assert cells["SB_SPRAM256KA"] == 2


# Nets of the marker port and of waits and relative entries.
OF_PORT = r"\bgen_port\b|\b(?:at|format|prof|to)_port\b|\bport_we\b|\bis_mark\b"
OF_SEQUENCE = r"\bgen_(?:sequence|waits?)\b|\blaunch_queue\.age\b|\bage_off\b"


def test_without_port_and_sequence_nothing_of_them_is_left():
    """PORT = 0 and SEQUENCE = 0 cost no cell: no net of either is in the netlist, and the port is tied low."""
    whole = NETLISTS["ecp5_ddr"]
    netlists = (whole, replace(whole, name="ecp5_without_port", port=False, sequence=False))
    with_both, without = (netlist.synthesise().read_text() for netlist in netlists)
    for nets in (OF_PORT, OF_SEQUENCE):
        assert re.search(nets, with_both) and not re.search(nets, without), re.findall(rf"\S*(?:{nets})\S*", without)[:5]
    tied = "assign port_o = 8'h00;"
    assert tied in without and tied not in with_both


@pytest.mark.quick
def test_parts_are_those_of_the_boards():
    """A netlist has marker port and waits if the boards with its family and PHY are shipped with them."""
    of_boards = defaultdict(set)
    for name, board in boards.all_boards().items():
        for choice in (choose(name, samples=PHYS[phy].samples) for phy in board.phys):
            of_boards[board.family, choice.phy].add((bool(choice.constraints.port), choice.sequences))
    assert of_boards == {(n.family, n.phy): {(n.port, n.sequence)} for n in NETLISTS.values()}


@pytest.mark.parametrize("clocks", ("unrelated", "1:1", "4:1"))
@pytest.mark.parametrize("name", NETLISTS if ALL else QUICK)
def test_configuration(name, clocks):
    """From configuration to the first level."""
    NETLISTS[name].simulate("tb_configuration", env={"LITEPULSE_CLOCKS": clocks})


if ALL:

    @pytest.mark.parametrize(
        "name, module", [(name, module) for name in NETLISTS for module in MODULES if NETLISTS[name].has_parts_for(module)]
    )
    def test_module(name, module):
        """The long form."""
        NETLISTS[name].simulate(module)

    @pytest.mark.parametrize("name", NETLISTS)
    def test_four_states(name):
        """On Icarus, which knows unknown levels: none comes out of what configuration leaves open."""
        NETLISTS[name].simulate("tb_configuration", simulator="icarus")
        NETLISTS[name].simulate("tb_launch", "test_promise1_touching_within_one_cycle", simulator="icarus")


# The control: what these runs are for must make them fail ----------------------------------------------------------------------


def pad_cell(text, pad):
    """(start, end) of the instance of the cell that has this pad of ice40_ddr."""
    cells = [m.span() for m in re.finditer(r"^  SB_IO #\(.*?^  \);", text, re.MULTILINE | re.DOTALL) if f".PACKAGE_PIN({pad})" in m[0]]
    assert len(cells) == 1, f"{len(cells)} cells have {pad}"
    return cells[0]


def swapped(text, pad, first, second):
    """The netlist with two ports of the cell of a pad connected the wrong way round."""
    start, end = pad_cell(text, pad)
    cell = re.sub(rf"\.({first}|{second})\(", lambda m: f".{second if m[1] == first else first}(", text[start:end])
    assert cell != text[start:end]
    return text[:start] + cell + text[end:]


def always_driven(text, pad):
    """The netlist with an output pad that does not look at its enable."""
    start, end = pad_cell(text, pad)
    cell = text[start:end].replace(".PIN_TYPE(6'h30)", ".PIN_TYPE(6'h10)")
    assert cell != text[start:end]
    return text[:start] + cell + text[end:]


WRONG = {
    "samples of tx swapped": (swapped, ("tx_pad", "D_OUT_0", "D_OUT_1"), "tb_launch.test_promise1_touching_within_one_cycle"),
    "samples of rx swapped": (swapped, ("rx_pad", "D_IN_0", "D_IN_1"), "tb_capture.test_promise5_edges_at_every_place"),
    "de always driven": (always_driven, ("de_pad",), "tb_configuration.test_start_from_configuration"),
}


@pytest.mark.parametrize("wrong", list(WRONG)[: None if ALL else 1])
def test_a_wrong_netlist_fails(wrong):
    """The case that passes on the netlist as it is fails on one that is wrong at a pad."""
    change, arguments, named = WRONG[wrong]
    module, case = named.split(".")
    netlist = NETLISTS["ice40_ddr"]
    file = write_once("wrong", "netlist.v", change(netlist.synthesise().read_text(), *arguments))
    with pytest.raises(AssertionError, match=rf"failed: {module}\.{case}\n"):
        netlist.simulate(module, case, netlist=file, env={"LITEPULSE_SHORT": 1})
