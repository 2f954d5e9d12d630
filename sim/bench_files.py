# SPDX-License-Identifier: BSD-2-Clause
"""Which files of the project decide what a cocotb bench does: its modules and all they import, and the data they read."""

import ast
import functools
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = "limits.toml"  # read by benches, in the hdl directory in use


def module_file(name):
    """The file of a module of the project, None for others."""
    for base in (ROOT, ROOT / "sw"):
        path = base / Path(*name.split("."))
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                return file
    return None


@functools.lru_cache(maxsize=None)
def imported(file):
    """Files of the project that a module imports by itself, wherever in it."""
    found = []
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    parents = [name.rsplit(".", depth)[0] for name in found for depth in range(1, name.count(".") + 1)]
    return sorted({path for name in (*found, *parents) if (path := module_file(name))})


def bench_files(modules, hdl):
    """All files that decide what benches (names of modules) do, in order; `hdl`: the hdl directory in use.

    The design itself does not count: it is part of the model's key.
    """
    found, todo = set(), [path for name in modules if (path := module_file(name))]
    while todo:
        file = todo.pop()
        if file not in found:
            found.add(file)
            todo += imported(file)
    return [*sorted(found), hdl / DATA]
