# SPDX-License-Identifier: BSD-2-Clause
"""Bugs that this project had: each bug of faults.toml is put back into a copy of hdl/, and what is named must catch it.

    [[fault]]
    name = "launch-beyond-2-32-ticks"               # unique
    bug = "e8bde5f: a launch slightly more ..."     # the commit that mended it, and what went wrong
    file = "hdl/program/launch_queue.asm"           # a program is assembled
    old = '''far:      0 + DISTANCE'''              # exact text, must occur once
    new = '''far:      DISTANCE + HEAD_START'''
    caught_by = [
      "formal:queue:place",                         # task `place` of sim/formal/queue.sby must find a counterexample
                                                    # within SEARCH cycles of reset,
      "formal:best_effort:s1@34",                   # within 34
      "core:tb_train.test_promise4_asap",           # case of sim/core/test_core.py (Icarus, S = 1): must fail
      "core:tb_train.test_promise4_asap@verilator,2",   # the same on Verilator with S = 2
      "block:tb_events.test_promise6_random",       # case of a block's test (Icarus, parameters as in BLOCKS below): must fail
      "crossing:traffic@unrelated",                 # case of sim/blocks/tb_crossing.py with these clocks (Icarus): must fail
      "sim/bus/test_bus.py::test_wishbone[parts_of_words]",   # pytest node id: must have a failing test
    ]

Each entry of caught_by must catch the bug by itself. Being caught means a property that is violated or a test case that fails by an
assertion; sources that do not compile, a simulator that does not start or a bench that is missing do not count.

How sensitive the proofs and benches are to any small mistake is what `make mutate` measures (mutate.py).

That a bug was caught is remembered below the cache folder under all of hdl/ and the benches, and not tried again unless
LITEPULSE_FRESH=1.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from importlib.metadata import version
from pathlib import Path

import pytest

from litex_soc.build_cache import Store, content_key, locked
from sim.blocks import test_crossing
from sim.cocotb_rig import BUILD, ROOT, BuildError, hdl_sources, simulate, tail, tool_version
from sim.proofs import FORMAL, PACKAGES, explain, prove

# As in sim/core/test_core.py: (INPUTS + 1) * S must not exceed 16.
INPUTS = {1: 4, 2: 4, 4: 3}
MORE = {"tb_sequence": {"SEQUENCE": 1}}  # parameters of the core that a module of sim/core has besides
# Top and parameters of the blocks' benches: of one of the runs in sim/blocks, so that the fault-free core is known to pass.
BLOCKS = {
    "tb_edge_capture": ("litepulse_capture", {"S": 1, "INPUTS": 4}),
    "tb_events": ("litepulse_events", {"S": 1, "C": 5, "EV_AW": 6, "PORTS": 4, "BRIEF": 2}),
    "tb_line_rx": ("litepulse_line_rx", {"S": 1}),
    "tb_receive": ("litepulse_receive", {"RING_AW": 4}),
}
# Where those tests lie that are not named as pytest names them.
BENCHES = {"formal": "sim/formal", "core": "sim/core", "block": "sim/blocks", "crossing": "sim/blocks"}
SEARCH = 24  # cycles from reset on, in which a proof must find its counterexample
HERE = Path(__file__).resolve().parent
FAULTS_CAUGHT = Store("faults")


class NotCaught(AssertionError):
    """The suite did not notice, or failed for another reason than a violated property."""


def load():
    """All faults of faults.toml."""
    faults = tomllib.loads((HERE / "faults.toml").read_text())["fault"]
    for fault in faults:
        if wrong := {"name", "bug", "file", "old", "new", "caught_by"} ^ set(fault):
            raise ValueError(f"faults.toml: fault {fault.get('name')}: missing or unknown {sorted(wrong)}")
    return faults


def patched_copy(fault, catcher):
    """A copy of hdl/ with the fault in it, for one catcher: others may be running."""
    target = BUILD / "faults" / fault["name"] / re.sub(r"\W+", "-", catcher)[-80:] / "hdl"
    with locked(target.parent / "lock"):
        if target.exists():
            shutil.rmtree(target)
        shutil.copytree(ROOT / "hdl", target)
        file = target / Path(fault["file"]).relative_to("hdl")
        text = file.read_text()
        count = text.count(fault["old"])
        if count != 1:
            raise NotCaught(f"`old` of {fault['name']} occurs {count} times in {fault['file']}, not once")
        file.write_text(text.replace(fault["old"], fault["new"]))
        if file.suffix == ".asm":
            made = subprocess.run(
                [sys.executable, str(target / "program" / "assemble.py")],
                check=False,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
            )
            if made.returncode:
                raise NotCaught(f"ERROR: {fault['name']} does not assemble: {made.stderr.strip()}")
    return target


def proof_catches(task):
    """Expects sby to find a counterexample that begins at reset. An induction that no longer closes catches nothing: a harmless
    change does the same to it."""
    task, _, depth = task.partition("@")
    stem, _, name = task.partition(":")
    proof = prove(FORMAL / f"{stem}.sby", name or None, search=int(depth or SEARCH))
    if proof.status != "FAIL":
        raise NotCaught(explain(proof))


# Arguments of the run of this process: what the other is to run, what it need not, and where it notes what passed and what failed.
OF_THIS_RUN = ("PYTEST_", "LITEPULSE_TIER", "LITEPULSE_GROUPS", "LITEPULSE_KNOWN", "LITEPULSE_MEMORY", "LITEPULSE_FAILED")


def case_catches(node, hdl, folder):
    """Expects a pytest case to fail by an assertion."""
    xml, log = folder / "results.xml", folder / "pytest.log"
    env = {name: value for name, value in os.environ.items() if not name.startswith(OF_THIS_RUN)}
    env.update(LITEPULSE_HDL=str(hdl), LITEPULSE_NESTED="1")
    xml.unlink(missing_ok=True)
    with open(log, "w", encoding="utf-8") as out:
        code = subprocess.run(
            [sys.executable, "-m", "pytest", "-x", "-p", "no:xdist", "-p", "no:cacheprovider", f"--junitxml={xml}", node],
            cwd=ROOT,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            check=False,
        ).returncode
    judge(node, code, xml, log)


def core_catches(case):
    """Expects a case of the whole core's tests to fail, with the stimulus that it has in sim/core/test_core.py."""
    name, _, how = case.partition("@")
    simulator, _, samples = (how or "icarus,1").partition(",")
    samples = int(samples or 1)
    build_args = ["--timing"] if simulator == "verilator" else []
    parameters = {"S": samples, "INPUTS": INPUTS[samples], **MORE.get(name.partition(".")[0], {})}
    run_catches(name, "litepulse_tb", hdl_sources("sim/core/litepulse_tb.sv"), parameters, simulator, build_args)


def block_catches(name):
    """Expects a case of a block's tests to fail, with the stimulus that it has in sim/blocks."""
    top, parameters = BLOCKS[name.partition(".")[0]]
    run_catches(name, top, hdl_sources(top), parameters, "icarus", [])


def crossing_catches(name):
    """Expects a case of the crossing's tests to fail."""
    case, _, clocks = name.partition("@")
    clocks = test_crossing.CLOCKS[clocks]
    expect_failure(f"tb_crossing.{case}", lambda: test_crossing.run(clocks, "icarus", testcase=case, timeout=900))


def run_catches(name, top, sources, parameters, simulator, build_args):
    """Runs `module.case`."""
    module, _, test = name.partition(".")
    expect_failure(name, lambda: simulate(module, top, sources, parameters, simulator, build_args=build_args, testcase=test, timeout=900))


def expect_failure(name, run):
    """Raises NotCaught unless run() says that the case `name` failed."""
    try:
        run()
    except AssertionError as error:
        if f"failed: {name}" not in str(error):
            raise NotCaught(str(error)) from None
    except BuildError as error:
        raise NotCaught(f"BuildError: {error}") from None
    else:
        raise NotCaught(f"{name} passes")


def judge(node, code, xml, log):
    """Raises NotCaught unless the run failed, by assertions only."""
    if code == 0:
        raise NotCaught(f"{node} passes")
    if code != 1:
        raise NotCaught(f"{node}: pytest ended with status {code}\n{tail(log)}")
    cases = list(ElementTree.parse(xml).getroot().iter("testcase"))
    if any(case.find("error") is not None for case in cases):
        raise NotCaught(f"{node}: an error, not a failure\n{tail(log)}")
    messages = [failure.get("message", "") for case in cases for failure in case.findall("failure")]
    for message in messages:
        if not message.startswith(("AssertionError", "assert ")):
            raise NotCaught(f"{node} fails by something else than an assertion: {message[:300]}")
        simulation = re.search(r" on (verilator|icarus) failed: (.*)", message)
        if simulation and not re.match(r"\w+\.\w+", simulation[2]):
            raise NotCaught(f"{node}: the simulation did not run to a verdict: {simulation[2]}")
    if not messages:
        raise NotCaught(f"{node}: nothing failed")


def expect_caught(fault, catcher):
    """Applies the fault and runs one of its catchers."""
    hdl = patched_copy(fault, catcher)
    kind, _, name = catcher.partition(":")
    checks = {"formal": proof_catches, "core": core_catches, "block": block_catches, "crossing": crossing_catches}
    if kind in checks:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("LITEPULSE_HDL", str(hdl))
            checks[kind](name)
    else:
        case_catches(catcher, hdl, hdl.parent)


FAULTS = load()
CASES = [(fault, catcher) for fault in FAULTS for catcher in fault["caught_by"]]


def test_every_fault_can_be_made():
    names = [fault["name"] for fault in FAULTS]
    assert names and len(names) == len(set(names)) and all(fault["caught_by"] for fault in FAULTS)
    wrong = {fault["name"]: count for fault in FAULTS if (count := (ROOT / fault["file"]).read_text().count(fault["old"])) != 1}
    assert not wrong, "faults whose `old` does not occur exactly once: the source changed, so must the fault"


def inputs_of(fault, catcher):
    """Key of all that decides whether it is caught."""
    kind, _, _ = catcher.partition(":")
    bench = BENCHES.get(kind) or str(Path(kind).parent)
    files = [path for folder in ("hdl", bench) for path in sorted((ROOT / folder).rglob("*")) if path.is_file() and path.suffix != ".pyc"]
    files += [ROOT / "sim" / f"{name}.py" for name in ("cocotb_rig", "proofs", "witness")] + [Path(__file__)]
    versions = {package: version(package) for package in (*PACKAGES, "cocotb", "cocotbext-uart", "pytest")}
    return content_key(
        {**fault, "caught_by": catcher},
        [str(path.relative_to(ROOT)) for path in files],
        files,
        versions,
        sys.version,
        os.environ.get("LITEPULSE_SEED", ""),
        *map(tool_version, ("verilator", "icarus")),
    )


@pytest.mark.parametrize(
    "fault,catcher", [pytest.param(fault, catcher, id=f"{fault['name']} by {catcher.split('/')[-1]}") for fault, catcher in CASES]
)
def test_fault_is_caught(fault, catcher, record_property):
    key, label = inputs_of(fault, catcher), f"{fault['name']}-{catcher}"
    if os.environ.get("LITEPULSE_SEED") != "random" and FAULTS_CAUGHT.recall(label, key):
        record_property("cached", True)
        return
    expect_caught(fault, catcher)
    FAULTS_CAUGHT.remember(label, key, {"fault": fault["name"], "caught_by": catcher})


def first_case(kind):
    """A listed case to try the harness itself on: a fault in SystemVerilog, whose comments may stand anywhere, and a catcher of seconds."""
    prefix = {"formal": "formal:slot:", "simulation": "block:"}[kind]
    return next((fault, catcher) for fault, catcher in CASES if fault["file"].endswith(".sv") and catcher.startswith(prefix))


@pytest.mark.parametrize("kind", ["formal", "simulation"])
def test_harmless_change_is_not_caught(kind):
    fault, catcher = first_case(kind)
    harmless = {**fault, "name": f"harness-harmless-{kind}", "new": fault["old"] + " /* the same */ "}
    with pytest.raises(NotCaught, match="PASS|passes"):
        expect_caught(harmless, catcher)


@pytest.mark.parametrize("kind", ["formal", "simulation"])
def test_compile_error_is_not_a_catch(kind):
    fault, catcher = first_case(kind)
    broken = {**fault, "name": f"harness-broken-{kind}", "new": "this is no Verilog"}
    with pytest.raises(NotCaught, match="ERROR|BuildError|something else"):
        expect_caught(broken, catcher)
