# SPDX-License-Identifier: BSD-2-Clause
"""Every task of every sby file in this folder, one test each."""

import re

import pytest
from proofs import FORMAL, explain, prove, sby, tasks_of
from rig import hdl_dir

FILES = sorted(FORMAL.glob("*.sby"))
TASKS = [(file, task) for file in FILES for task in tasks_of(file)]


@pytest.mark.parametrize("file,task", TASKS, ids=[f"{file.stem}:{task}" if task else file.stem for file, task in TASKS])
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


def test_all_properties_are_proved():
    """A module with properties that no proof reads would look proved and not be."""
    read = {name for file in FILES for name in re.findall(r"(\w+)\.sv", file.read_text())}
    written = {path.stem for path in [*hdl_dir().rglob("*.sv"), *FORMAL.glob("*.sv")]
               if re.search(r"`ifdef\s+FORMAL\b", path.read_text()) or path.parent == FORMAL}
    assert written, "no properties at all"
    assert written <= read, f"no sby file reads {sorted(written - read)}"
