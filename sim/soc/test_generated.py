# SPDX-License-Identifier: BSD-2-Clause
"""What is generated from the register map is fresh, compiles, and says what the SoC really has."""

import re
import subprocess

import pytest

from litex_soc import generate, regmap, sim_soc

ROOT = generate.ROOT
HEADER = ROOT / "driver" / "litepulse_regs.h"


def test_check_option(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    assert generate.main(["--check"]) == 1
    assert capsys.readouterr().out.count("stale: ") == len(generate.FILES)
    assert not list(tmp_path.iterdir())
    assert generate.main([]) == 0
    assert generate.main(["--check"]) == 0


def expected_macros():
    """Name: value, from the declarations; written down apart from the generator."""
    out = {}

    def fields(prefix, items):
        for f in items:
            if f.size == 32 and not f.signed:
                continue
            out[f"{prefix}_{f.name.upper()}_SHIFT"] = f.offset
            out[f"{prefix}_{f.name.upper()}_MASK"] = sum(1 << bit for bit in range(f.offset, f.offset + f.size))

    for r in regmap.CSRS:
        out[f"CSR_{r.name.upper()}"] = 4 * r.index
        fields(f"CSR_{r.name.upper()}", r.fields)
    for name, (offset, _) in regmap.REGIONS.items():
        out[f"WIN_{name}"] = offset
    for r in regmap.CONFIG:
        out[f"CFG_{r.name.upper()}"] = 0x6000 + 4 * r.index
        if re.match(r"profile[1-9]", r.name):
            continue
        fields(f"CFG_{r.name.upper().replace('PROFILE0', 'PROFILE')}", r.fields)
    for prefix, words in (
        ("HEADER", regmap.STREAM_HEADER),
        ("STREAM", regmap.STREAM_ACK),
        ("EVENT", regmap.EVENT_RECORD),
        ("RECEIVE", regmap.RECEIVE_RECORD),
        ("LAUNCH", regmap.LAUNCH_ENTRY),
        ("WAIT", regmap.WAIT_ENTRY),
        ("BRIDGE", regmap.BRIDGE),
    ):
        for r in words:
            out[f"{prefix}_{r.name.upper()}"] = 4 * r.index
            fields(f"{prefix}_{r.name.upper()}", r.fields)
    for prefix, table in (
        ("KIND", regmap.EVENT_KINDS),
        ("SRC", regmap.EVENT_SOURCES),
        ("REASON", regmap.REASONS),
        ("LAUNCH", regmap.LAUNCH_KINDS),
        ("PARITY", regmap.PARITIES),
        ("STOP", regmap.STOPS),
        ("TRIGGER", regmap.TRIGGERS),
        ("TRAIN_CMD", regmap.TRAIN_COMMANDS),
    ):
        for code, (name, _) in table.items():
            out[f"{prefix}_{name}"] = code
    for name in (
        "MAGIC",
        "VERSION_MAJOR",
        "VERSION_MINOR",
        "CSR_BASE",
        "WINDOW_BASE",
        "WINDOW_SIZE",
        "TX_PART_SIZE",
        "LAUNCH_REGION_SIZE",
        "HEADER_WORDS",
        "EVENT_WORDS",
        "RECEIVE_WORDS",
        "PROFILES",
        "EVENT_FLAG_FILTERED",
        "EVENT_FLAG_STOP",
        "EVENT_FLAG_AT_LEAST",
        "LOST_STOP",
        "EVENT_RESERVE",
        "LOOPBACK_TICKS",
        "WATCHDOG_UNIT",
        "IRQ_UNIT",
        "IRQ_UNIT_STEP",
        "ECHO_CYCLES_MAX",
        "ECHO_CYCLES_RESET",
        "BRIDGE_BASE",
        "BRIDGE_BAUD",
        "BRIDGE_FALLBACK_SECONDS",
        "BRIDGE_WORD_ONE",
        "BRIDGE_WORD_MAX",
        "BRIDGE_CLOCK_UNIT",
        "BRIDGE_FRAME_MARKER",
        "BRIDGE_PACKED_MARKER",
        "BRIDGE_FRAME_MAX",
        "BRIDGE_FRAME_WAITING",
        "BRIDGE_FRAME_SILENCE_MS",
    ):
        out[name] = getattr(regmap, name)
    return {f"LITEPULSE_{name}": value for name, value in out.items()}


@pytest.mark.parametrize("compiler, language, standard", [("gcc", "c", "gnu11"), ("g++", "c++", "c++17")])
def test_header_compiles_and_has_the_values(compiler, language, standard, tmp_path):
    names = re.findall(r"^#define (LITEPULSE_\w+)[ \t]+\S", HEADER.read_text(), re.MULTILINE)
    assert len(names) == len(set(names)) > 300
    program = tmp_path / "macros"
    source = f'#include "{HEADER}"\n#include "{HEADER}"\n#include <stdio.h>\nint main(void)\n{{\n'
    source += "".join(f'\tprintf("{name} %lu\\n", (unsigned long){name});\n' for name in names) + "\treturn 0;\n}\n"
    subprocess.run(
        [compiler, "-x", language, f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-pedantic", "-o", program, "-"],
        input=source,
        text=True,
        check=True,
    )
    lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    assert {line.split()[0]: int(line.split()[1]) for line in lines} == expected_macros()


def test_python_module_agrees_with_the_map():
    from litepulse import regs

    for name in (
        "REGIONS",
        "EVENT_KINDS",
        "EVENT_SOURCES",
        "REASONS",
        "LAUNCH_KINDS",
        "PARITIES",
        "STOPS",
        "TRIGGERS",
        "TRAIN_COMMANDS",
        "MAGIC",
        "CSR_BASE",
        "WINDOW_BASE",
    ):
        assert getattr(regs, name) == getattr(regmap, name), name
    for name in ("CSRS", "CONFIG", "STREAM_HEADER", "STREAM_ACK", "EVENT_RECORD", "RECEIVE_RECORD", "LAUNCH_ENTRY", "WAIT_ENTRY", "BRIDGE"):
        ours, theirs = getattr(regmap, name), getattr(regs, name)
        assert [(r.name, r.index, r.description, r.reset) for r in ours] == [(r.name, r.index, r.description, r.reset) for r in theirs]
        for a, b in zip(ours, theirs, strict=True):
            fields = [{key: value for key, value in vars(f).items() if key != "reset"} for f in a.fields]
            assert fields == [vars(f) for f in b.fields], a.name


def test_places_in_a_soc():
    """LiteX puts CSRs and window where the generated files say."""
    soc, _ = sim_soc.make_soc()
    soc.finalize()
    region = soc.csr.regions["pulse"]
    assert region.origin == regmap.CSR_BASE
    assert [csr.name for csr in region.obj] == [r.name for r in regmap.CSRS if r.name != "id_window"]  # the window is at its usual place
    window = soc.bus.regions["pulse_window"]
    assert (window.origin, window.size, window.cached) == (regmap.WINDOW_BASE, regmap.WINDOW_SIZE, False)
    assert "pulse" not in soc.irq.locs  # no CPU, no interrupt line


def test_fields_do_not_overlap():
    for r in [
        *regmap.CSRS,
        *regmap.CONFIG,
        *regmap.EVENT_RECORD,
        *regmap.RECEIVE_RECORD,
        *regmap.LAUNCH_ENTRY,
        *regmap.WAIT_ENTRY,
        *regmap.STREAM_HEADER,
        *regmap.STREAM_ACK,
        *regmap.BRIDGE,
    ]:
        seen = 0
        for f in r.fields:
            assert f.offset + f.size <= 32 and not seen & generate.mask(f), (r.name, f.name)
            seen |= generate.mask(f)
    assert len({r.index for r in regmap.CONFIG}) == len(regmap.CONFIG) and max(r.index for r in regmap.CONFIG) < 64
