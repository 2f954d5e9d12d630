# SPDX-License-Identifier: BSD-2-Clause
"""Every task of every sby file in this folder, one test each."""

import re

import pytest

from sim.cocotb_rig import hdl_dir
from sim.long_runs import LONG
from sim.proofs import FORMAL, explain, prove, sby, tasks_of

FILES = sorted(FORMAL.glob("*.sby"))
# Those that take a minute and more, so that a first run begins with them; measured on two cores, most of them beside other work.
SECONDS = {
    "twice:respond": 2918,
    "twice:queue": 1047,
    "twice:bytes": 310,
    "capture:s4": 178,
    "train:adjust": 152,
    "events:prove_s4": 111,
    "events:prove": 95,
    "environment:s1": 95,
    "litepulse_cdc:cover": 83,
    "events:prove_s2": 73,
    "lin:two": 381,
    "lin:frames": 328,
    "train:start": 63,
}


def proof_of(file, task, tags):
    """One for parametrize. Of the tags in their files `quick` means in the quick tier, too, `nightly` only with LITEPULSE_LONG=1."""
    name = f"{file.stem}:{task}" if task else file.stem
    marks = [pytest.mark.quick] if "quick" in tags else []
    if name in SECONDS:
        marks.append(pytest.mark.seconds(SECONDS[name]))
    return pytest.param(file, task, id=name, marks=marks)


TASKS = [proof_of(file, task, tags) for file in FILES for task, tags in tasks_of(file).items() if LONG or "nightly" not in tags]


@pytest.mark.parametrize("file,task", TASKS)
def test_proof(file, task, record_property):
    proof = prove(file, task)
    print(proof)
    record_property("cached", proof.cached)
    record_property("note", str(proof))
    assert proof.status == "PASS", explain(proof)
    assert proof.checks > 0, f"{proof.name} passes, but has nothing to check"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_all_tasks_are_run(file):
    assert [task for task in tasks_of(file) if task] == sby("--dumptasks", file.name, cwd=FORMAL).split()


def test_long_ones_exist():
    assert set(SECONDS) <= {f"{file.stem}:{task}" for file in FILES for task in tasks_of(file)}


def test_all_properties_are_proved():
    """A module with properties that no proof reads would look proved and not be."""
    read = {name for file in FILES for name in re.findall(r"(\w+)\.sv", file.read_text())}
    written = {
        path.stem
        for path in [*hdl_dir().rglob("*.sv"), *FORMAL.glob("*.sv")]
        if re.search(r"`ifdef\s+FORMAL\b", path.read_text()) or path.parent == FORMAL
    }
    assert written, "no properties at all"
    assert written <= read, f"no sby file reads {sorted(written - read)}"
