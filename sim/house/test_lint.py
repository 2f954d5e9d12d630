# SPDX-License-Identifier: BSD-2-Clause
"""The tree's own rules: every tool accepts every source without a warning, licences, generated files, no trace of a machine."""

import re
import subprocess

import editorconfig
import pytest

from litex_soc import SPDX
from sim.cocotb_rig import ROOT, hdl_dir, hdl_sources, tool_environment

MODULES = sorted(path.stem for path in hdl_dir().rglob("*.sv") if not path.stem.endswith("_pkg"))
# Yosys' outlines of vendor primitives; the other tools get the models in sim/models.
PRIMITIVES = "read_verilog -lib -sv +/ice40/cells_sim.v +/ecp5/cells_sim.v +/ecp5/cells_bb.v"
# A pad is an inout port of its primitive, also where it is an input of ours, and half of its ports may be of no use.
PIN_WARNINGS = ("-Wno-ASSIGNIN", "-Wno-PINCONNECTEMPTY")
LICENCES = {"driver": "GPL-2.0-only", "": "BSD-2-Clause"}
NO_SPDX = (
    "LICENSE",
    "LICENSES/",
    "debian/copyright",
    "debian/source/format",
    "docs/images/",
    "requirements/",
    "docs/experiments.json",
    "driver/upstream/tree/Documentation/ABI/",
    "sw/litepulse/certify/schema.json",
)
BINARY = (".png", ".svg", ".ico", ".gz")


def run(*command, cwd=ROOT):
    """Fails with the tool's output unless it ends with 0; returns the output."""
    result = subprocess.run(
        [str(c) for c in command],
        cwd=cwd,
        env=tool_environment(),
        stdin=subprocess.DEVNULL,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert result.returncode == 0, f"{' '.join(map(str, command[:3]))} ...: status {result.returncode}\n{result.stdout}"
    return result.stdout


def tracked_files():
    """Files under version control, or all but built ones when this is no git checkout."""
    result = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if result.returncode == 0:
        return [ROOT / name for name in result.stdout.split("\0") if name and (ROOT / name).is_file()]
    skip = {".venv", "build", "__pycache__", ".git"}
    return [path for path in ROOT.rglob("*") if path.is_file() and not skip & set(path.relative_to(ROOT).parts)]


def text_of(module):
    """The source of a module of hdl/."""
    return next(hdl_dir().rglob(f"{module}.sv")).read_text()


def primitives(module):
    """Paths of the models of the vendor primitives that a module uses. None outside hdl/phy."""
    found = [
        path
        for path in sorted((ROOT / "sim" / "models").glob("*.sv"))
        if any(re.search(rf"(?m)^\s*{path.stem}\s+(?:#\(|\w+\s*\()", source.read_text()) for source in hdl_sources(module))
    ]
    assert not found or module.startswith("litepulse_phy_"), f"{module} uses {found}"
    return found


def parameter_sets(module):
    """Parameters to try: S = 1, 2 and 4 where S is one, from the default up (a PHY may need two samples or more)."""
    text = next(path for path in hdl_sources(module) if path.stem == module).read_text()
    default = re.search(r"parameter\s+(?:int\s+)?(?:unsigned\s+)?S\s*=\s*(\d+)", text)
    if not default:
        return [{}]
    sets = [{"S": samples} for samples in (1, 2, 4) if samples >= int(default[1])]
    if re.search(r"parameter\s+(?:int\s+)?INPUTS\b", text):
        for parameters in sets:
            parameters["INPUTS"] = min(4, 16 // parameters["S"] - 1)  # no more edges fit a record
    if re.search(r"parameter\s+int\s+LIN_ENTRIES\b", text):
        sets += [{**parameters, "LIN_ENTRIES": 64} for parameters in sets]
    return sets


# Yosys reads `-W'(x)` as `(-W)'(x)`, without a word: other hardware than the simulators show.
SIGNED_CAST = re.compile(r"""(?:[=(,?:{+<>!~^-]\s*|[&|]\s+)[-~!&|^]\s*(?:\w+|\([^()]*\))'\(""")


@pytest.mark.parametrize(
    "code, wrong",
    [
        ("a <= -W'(S);", True),
        ("x & ~32'(S - 1)", True),
        ("f(!(W - 1)'(y))", True),
        ("a && 3'(s) >= b", False),
        ("a - W'(S)", False),
        ("b & 3'(S - 1)", False),
        ("a == (W - SL)'(K)", False),
    ],
)
def test_signed_casts_are_recognised(code, wrong):
    assert bool(SIGNED_CAST.search(code)) == wrong


@pytest.mark.parametrize("module", MODULES)
def test_no_operator_before_a_cast(module):
    text = text_of(module)
    found = [line.strip() for line in text.splitlines() if SIGNED_CAST.search(line.split("//")[0])]
    assert not found, found


@pytest.mark.parametrize("module", MODULES)
def test_no_always_comb(module):
    """Icarus 11, Debian 12's, fires every always_comb of the core whenever one of them is, for ever: `always @*` runs everywhere."""
    text = text_of(module)
    assert not re.search(r"^\s*always_comb\b", text, re.MULTILINE)


def test_there_is_something_to_check():
    assert MODULES and any(primitives(module) for module in MODULES)


@pytest.mark.parametrize("module", MODULES)
def test_one_module_per_file(module):
    text = text_of(module)
    assert re.findall(r"(?m)^\s*module\s+(\w+)", text) == [module]


@pytest.mark.parametrize("module", MODULES)
def test_verilator(module):
    pins = primitives(module)
    for parameters in parameter_sets(module):
        out = run(
            "verilator",
            "--lint-only",
            "-Wall",
            "-Wno-fatal",
            *(PIN_WARNINGS if pins else ()),
            "--timescale",
            "1ns/1ps",
            *(f"-G{k}={v}" for k, v in parameters.items()),
            "--top-module",
            module,
            f"-I{hdl_dir()}",
            *hdl_sources(module),
            *pins,
        )
        # Not of the models, which have ports and parameters for the sake of the vendor's, and not of pads, see PIN_WARNINGS.
        warnings = [
            line
            for line in out.splitlines()
            if line.startswith("%Warning")
            and "/sim/models/" not in line
            and not (pins and re.search(r"Signal is not used: '\w+_pad'", line))
        ]
        assert not warnings, out


@pytest.mark.parametrize("module", MODULES)
def test_icarus(module):
    for parameters in parameter_sets(module):
        out = run(
            "iverilog",
            "-g2012",
            "-Wall",
            "-Wno-timescale",
            "-t",
            "null",
            *(f"-P{module}.{k}={v}" for k, v in parameters.items()),
            "-s",
            module,
            f"-I{hdl_dir()}",
            *hdl_sources(module),
            *primitives(module),
        )
        # Of its warnings the ones that tell a mistake: versions differ in what they remark about their own scheduling.
        pattern = r"implicit|expects|adding|(?i:pruning)|undeclared|multiple drivers"
        mistakes = [line for line in out.splitlines() if re.search(pattern, line)]
        assert not mistakes, "\n".join(mistakes)


@pytest.mark.parametrize("module", [pytest.param(module, marks=() if module == "litepulse" else pytest.mark.full) for module in MODULES])
def test_yosys(module):
    files = " ".join(str(path) for path in hdl_sources(module))
    known = f"{PRIMITIVES}; " if primitives(module) else ""
    for parameters in parameter_sets(module):
        parameter = " ".join(f"-chparam {k} {v}" for k, v in parameters.items())
        # An inferred latch or a loop is a mistake everywhere in this core.
        out = run(
            "yosys",
            "-q",
            "-p",
            f"{known}read_verilog -sv {files}; hierarchy -check {parameter} -top {module}; proc; flatten; "
            "opt_clean; check -assert; select -assert-none t:$dlatch t:$adlatch t:$sr",
        )
        assert "Warning" not in out, out


def test_licence_lines():
    wrong = []
    for path in tracked_files():
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(NO_SPDX) or name.endswith(BINARY):
            continue
        head = "\n".join(path.read_text(errors="replace").splitlines()[:5])
        expected = LICENCES.get(name.split("/")[0], LICENCES[""])
        if SPDX not in head or expected not in head:
            wrong.append(name)
    assert not wrong, f"no or an unexpected {SPDX} line in the first five lines"


def test_nothing_of_a_machine():
    """No absolute path of somebody's machine, no registry's address: the tree works anywhere or it does not work."""
    pattern = re.compile(r"/(?:home|root|Users|work|scratch)/\w|(?:https?://)?(?:files\.pythonhosted|pypi)\.org|--(?:extra-)?index-url")
    found = []
    for path in tracked_files():
        name = path.relative_to(ROOT).as_posix()
        if name.startswith("LICENSES/") or name.endswith(BINARY) or name == "sim/house/test_lint.py":
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if pattern.search(line):
                found.append(f"{name}:{number}: {line.strip()[:100]}")
    assert not found, "\n".join(found)


def departures(path, rules):
    """Where a text file does otherwise than the rules of .editorconfig: ["LINE: what", ...]."""
    text = path.read_bytes().decode(rules["charset"])
    # A generator decides for its own files.
    longest = int(rules.get("max_line_length", 0)) if "Generated by" not in text[:200] else 0
    wrong_indent = {"space": "\t", "tab": "  "}.get(rules.get("indent_style"), "\n")
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if "\r" in line:
            found.append(f"{number}: a carriage return")
        elif rules["trim_trailing_whitespace"] == "true" and line != line.rstrip():
            found.append(f"{number}: spaces at the end")
        if line.startswith(wrong_indent):
            found.append(f"{number}: an indent of the other kind")
        if longest and len(line) > longest and "|" not in line:
            found.append(f"{number}: {len(line)} columns")
    if rules["insert_final_newline"] == "true" and text and not text.endswith("\n"):
        found.append("no newline at the end")
    return found


def test_editorconfig():
    found = [
        f"{path.relative_to(ROOT)}: {what}"
        for path in tracked_files()
        if path.suffix not in BINARY
        for what in departures(path, editorconfig.get_properties(path))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "name, text, what",
    [
        ("a.py", "if x:\r\n    y()\r\n", "1: a carriage return"),
        ("a.md", "text", "no newline at the end"),
        ("a.toml", "x = 1 \n", "1: spaces at the end"),
        ("a.py", "if x:\n\ty()\n", "2: an indent of the other kind"),
        ("a.c", "int f(void)\n{\n    return 0;\n}\n", "3: an indent of the other kind"),
        ("a.sv", "x" * 141 + "\n", "1: 141 columns"),
    ],
)
def test_editorconfig_is_looked_at(tmp_path, name, text, what):
    (tmp_path / ".editorconfig").write_bytes((ROOT / ".editorconfig").read_bytes())
    (tmp_path / name).write_bytes(text.encode())
    assert what in departures(tmp_path / name, editorconfig.get_properties(tmp_path / name))


def test_generated_files_are_marked():
    """.gitattributes names the files that say in their first lines that a program wrote them."""
    marked = re.findall(r"(?m)^(\S+) linguist-generated$", (ROOT / ".gitattributes").read_text())
    written = re.compile(r"^(?://|#|/\*|<!--) ?(?:Generated|Written) by `", re.MULTILINE)
    files = (path for path in tracked_files() if path.suffix not in BINARY)
    says = {path.relative_to(ROOT).as_posix() for path in files if written.search("".join(path.read_text().splitlines(True)[:2]))}
    assert says and says == {name for name in marked if "*" not in name}
