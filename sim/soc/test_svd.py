# SPDX-License-Identifier: BSD-2-Clause
"""docs/litepulse.svd is valid, has each register of the map where it is, and agrees with what LiteX writes for a SoC with the core."""

import logging

import pytest
from cmsis_svd import SVDParser
from cmsis_svd.model import SVDAccessType

from litex_soc import generate, regmap, sim_soc

FILE = generate.ROOT / "docs" / "litepulse.svd"
HEADERS = [
    (f"{stream}_{r.name}", base + 4 * r.index, r) for stream, base in (("events", 0), ("receive", 0x2000)) for r in regmap.STREAM_HEADER
]
RECORDS = [
    (f"{stream}_record_{r.name}", base + 16 + 4 * r.index, r)
    for stream, base, words in (("events", 0, regmap.EVENT_RECORD), ("receive", 0x2000, regmap.RECEIVE_RECORD))
    for r in words
]
READ, WRITE, BOTH = SVDAccessType.READ_ONLY, SVDAccessType.WRITE_ONLY, SVDAccessType.READ_WRITE


@pytest.fixture(scope="module")
def peripherals():
    """{name: peripheral} of our file."""
    return {p.name: p for p in SVDParser.for_xml_file(FILE).get_device().peripherals}


def registers(peripheral):
    """{name: (address, access, {field: (lowest bit, bits)})}"""
    found = list(peripheral.get_registers())
    assert len({r.name for r in found}) == len(found)
    return {
        r.name: (peripheral.base_address + r.address_offset, r.access, {f.name: (f.bit_offset, f.bit_width) for f in r.get_fields()})
        for r in found
    }


def fields(register):
    return {f.name: (f.offset, f.size) for f in register.fields}


def test_it_follows_the_schema():
    good, why = SVDParser.validate_xml_file(FILE, "1.3.9", schema_version_detection=False)
    assert good, why


def test_csrs(peripherals):
    """All of them, with reset values; one that is cleared by writing 1 says so."""
    found = registers(peripherals["PULSE"])
    assert found == {r.name: (0x8000 + 4 * r.index, READ if r.access == "read" else BOTH, fields(r)) for r in regmap.CSRS}
    assert {r.name: r.reset_value for r in peripherals["PULSE"].get_registers()} == {r.name: r.reset for r in regmap.CSRS}
    assert [r.name for r in peripherals["PULSE"].get_registers() if r.modified_write_values] == ["ev_pending"]


def test_window(peripherals):
    """Streams, what is sent, and configuration: where, and which way."""
    found, base = registers(peripherals["PULSE_WINDOW"]), 0x9000_0000
    ack = {"count": (0, 16), "position": (16, 15), "guard": (31, 1)}
    expected = {name: (base + offset, READ, fields(r)) for name, offset, r in HEADERS + RECORDS}
    expected |= {"events_ack": (base, WRITE, ack), "receive_ack": (base + 0x2000, WRITE, ack)}
    expected |= {f"tx_{n}": (base + 0x4000 + 0x400 * (n - 1), WRITE, {}) for n in (1, 2, 3, 4)}
    expected |= {f"launch_{r.name}": (base + 0x5000 + 4 * r.index, WRITE, fields(r)) for r in regmap.LAUNCH_ENTRY}
    expected |= {f"config_{r.name}": (base + 0x6000 + 4 * r.index, BOTH, fields(r)) for r in regmap.CONFIG}
    assert found == expected


def test_values_have_names(peripherals):
    """A code that the core knows is in the file."""
    trigger = next(r for r in peripherals["PULSE_WINDOW"].get_registers() if r.name == "config_resp_trigger")
    (field,) = (f for f in trigger.get_fields() if f.name == "trigger")
    (values,) = field.enumerated_values
    assert {v.name: v.value for v in values.enumerated_values} == {name: code for code, (name, _) in regmap.TRIGGERS.items()}


def test_litex_writes_the_same(peripherals, tmp_path):
    """LiteX's own file for the simulated SoC: the same CSRs at the same addresses; its fields are as wide as this core has them."""
    from litex.soc.integration import export

    logging.disable(logging.INFO)
    soc, _ = sim_soc.make_soc()
    soc.finalize()
    file = tmp_path / "litex.svd"
    file.write_text(export.get_csr_svd(soc))
    theirs = {p.name.lower(): p for p in SVDParser.for_xml_file(file).get_device().peripherals}
    for name in ("PULSE", "BRIDGE"):
        found = {r.lower(): (address, bits) for r, (address, _, bits) in registers(theirs[name.lower()]).items()}
        ours = {r: (address, bits) for r, (address, _, bits) in registers(peripherals[name]).items() if r != "id_window"}
        assert {r: address for r, (address, _) in found.items()} == {r: address for r, (address, _) in ours.items()}
        if name == "BRIDGE":
            continue  # LiteX knows no fields of a raw CSR
        for register, (_, bits) in ours.items():
            assert list(found[register][1]) == list(bits)
            for field, (low, width) in bits.items():
                assert found[register][1][field][0] == low and found[register][1][field][1] <= width, (register, field)
