# SPDX-License-Identifier: BSD-2-Clause
"""Which USB port is a board's bridge: one table, and the files made from it."""

import re

import pytest

from litepulse.ports import BOARDS as KNOWN
from litex_soc import boards, cable

BOARDS = boards.all_boards()


def test_a_stale_file_is_reported(tmp_path, monkeypatch, capsys):
    for name, make in cable.FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(make())
    monkeypatch.setattr(cable, "ROOT", tmp_path)
    assert cable.main(["--check"]) == 0
    (tmp_path / "driver/71-litepulse-attach.rules").write_text("old\n")
    assert cable.main(["--check"]) == 1 and "driver/71-litepulse-attach.rules is stale" in capsys.readouterr().err
    assert cable.main([]) == 0 and cable.main(["--check"]) == 0


@pytest.mark.parametrize("name", BOARDS)
def test_bridges(name):
    """A board whose plug says its name has its bridge in the table; the interface is what the table says in words."""
    board = BOARDS[name]
    if board.bridge is None:
        assert name in ("colorlight_i5", "orangecrab")  # a debugger like any other, and no USB port for the bridge
        return
    product, interface = board.bridge
    assert product == f"{board.title}*" and interface == ("01" if "second port" in board.serial_is else "00")
    (mine,) = (row for row in KNOWN if row.title == board.title)
    assert (mine.vendor, mine.chip, mine.product, mine.interface) == (*board.usb[:2], product, interface)


def test_rules_name_product_and_interface():
    """No rule acts on the ids of a chip alone."""
    lines = [line for line in cable.rules().splitlines() if "idVendor" in line]
    assert len(lines) == 2 * len(KNOWN)
    for line in lines:
        assert re.search(r'ATTRS?\{product\}=="[^"*]{5,}\*"', line)
        assert ('ENV{ID_USB_INTERFACE_NUM}=="' in line) == ('SUBSYSTEM=="tty"' in line)
        assert ("ID_MM_DEVICE_IGNORE" in line) == ('SUBSYSTEM=="usb"' in line)
    assert all(line.startswith(("#", "ACTION", "SUBSYSTEM", "ENV", "TAG", "LABEL")) for line in cable.rules().splitlines() if line)
