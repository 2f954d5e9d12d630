# SPDX-License-Identifier: BSD-2-Clause
"""sim/ is a package of packages: no folder of it is put on sys.path, no module is imported by its bare name."""

import ast
import sys
from collections import Counter

from sim.cocotb_rig import ROOT, SIM, bench_module

FILES = [path for path in SIM.rglob("*.py") if "__pycache__" not in path.parts]
# The rig hands the tree itself on to the simulators; guests are given a script of their own.
ON_PATH = {"sim/cocotb_rig.py"}


def imported(tree):
    """Names of the modules that a source imports absolutely."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module


def changes_the_path(tree):
    """Whether a source calls a method of sys.path."""
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return any(isinstance(of, ast.Attribute) and ast.unparse(of.value) == "sys.path" for of in calls)


def test_every_folder_with_sources_is_a_package():
    folders = {path.parent for path in FILES}
    assert len(folders) > 10 and all((folder / "__init__.py").exists() for folder in folders)


def test_no_bare_imports():
    bare = {path.stem for path in FILES} - set(sys.stdlib_module_names) - {"__init__", "__main__"}
    wrong = {str(path.relative_to(ROOT)): name for path in FILES for name in imported(ast.parse(path.read_text())) if name in bare}
    assert not wrong


def test_nobody_changes_the_path():
    found = {str(path.relative_to(ROOT)) for path in FILES if changes_the_path(ast.parse(path.read_text()))}
    assert found == ON_PATH
    assert changes_the_path(ast.parse("import sys\nsys.path.insert(0, 'x')")) and not changes_the_path(ast.parse("print(sys.path)"))


def test_rigs_and_benches_have_names_of_their_own():
    names = Counter(path.stem for path in FILES if path.stem.endswith("rig") or path.stem.startswith("tb_"))
    assert names and set(names.values()) == {1}
    assert bench_module("tb_launch") == "sim.core.tb_launch" and bench_module("elsewhere") == "elsewhere"
