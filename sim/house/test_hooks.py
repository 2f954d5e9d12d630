# SPDX-License-Identifier: BSD-2-Clause
"""The linters. Each hook of .pre-commit-config.yaml accepts the whole tree, and each refuses a mistake of its kind."""

import os
import re
import shutil
import subprocess
import sys

import pytest
import yaml
from identify import identify

from litex_soc import SPDX
from sim.cocotb_rig import ROOT, run_folder, tool_environment
from sim.house.test_lint import tracked_files

CONFIG = ".pre-commit-config.yaml"
HOOKS = {hook["id"]: hook for repo in yaml.safe_load((ROOT / CONFIG).read_text())["repos"] for hook in repo["hooks"]}
HEAD = f"# {SPDX} BSD-2-Clause\n"
# hook: (file with a mistake, its text, what the tool says of it)
MISTAKES = {
    "reuse": ("notes.md", "Nobody's.\n", r"notes\.md: no license"),
    "ruff-check": ("sw/wrong.py", f"{HEAD}import sys\nimport os\n\nprint(os, sys)\n", r"I001"),
    "ruff-format": ("hdl/wrong.py", f"{HEAD}print( 'a' )\n", r'\+print\("a"\)'),
    "basedpyright": ("sw/litepulse/wrong.py", f'{HEAD}LIMIT: int = "8"\n', r"wrong\.py:2:\d+ - error: [^(]*\(reportAssignmentType"),
    "shellcheck": ("wrong.sh", f"#!/bin/sh\n{HEAD}rm $1\n", r"SC2086"),
    "verible": ("hdl/wrong.sv", "module other;\nendmodule\n", r"hdl/wrong\.sv:1.*module-filename"),
    "codespell": ("wrong.md", "The adress.\n", r"wrong\.md:1: adress ==> address"),  # codespell:ignore adress
    "prose": (
        "docs/wrong.md",
        "Words:\n\n| ever ever |\n|---|\n\nIt it runs `it it`\nfor ever.\n",
        r"docs/wrong\.md:6: .*'It it'[^:]*\ndocs/wrong\.md:7: 'for ever'",
    ),
    "generated": ("docs/registers.md", "# Registers\n", r"docs/registers\.md"),
}


def git(tree, *arguments, **environment):
    subprocess.run(["git", *arguments], cwd=tree, env={**os.environ, **environment}, capture_output=True, check=True)


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """What pre-commit needs to know: where it may keep things and, when this tree is no git checkout, an index of one."""
    folder = tmp_path_factory.mktemp("pre-commit")
    found = {"PRE_COMMIT_HOME": str(folder / "home"), "PRE_COMMIT_COLOR": "never"}
    if not (ROOT / ".git").exists():
        found |= {"GIT_DIR": str(folder / "git"), "GIT_WORK_TREE": str(ROOT)}
        git(ROOT, "init", "--quiet", **found)
        git(ROOT, "add", "--all", **found)
    return found


def run_hook(name, tree, environment):
    """(exit status, output) of a hook over all files of a checkout."""
    command = [sys.executable, "-m", "pre_commit", "run", "--all-files", "--config", CONFIG, name]
    done = subprocess.run(
        command, cwd=tree, env={**tool_environment(), **environment}, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("name", HOOKS)
def test_hook_accepts_the_tree(name, environment):
    status, said = run_hook(name, ROOT, environment)
    assert status == 0, said
    assert "Passed" in said and "no files to check" not in said, said


def test_every_hook_has_a_mistake():
    assert MISTAKES.keys() == HOOKS.keys()


@pytest.mark.parametrize("name", MISTAKES)
def test_hook_refuses_a_mistake(name):
    tree = run_folder("hook", name)
    parts = ["docs", "driver", "hdl", "litex_soc", "sw/litepulse"] if name == "generated" else []
    for part in (CONFIG, "pyproject.toml", "REUSE.toml", "scripts/verible.rules", "scripts/prose.py", "scripts/prose.toml", *parts):
        target = tree / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / part, target)
    (tree / ".venv").symlink_to(ROOT / ".venv")
    (tree / ".gitignore").write_text("/.venv\n/home\n")
    file, text, expected = MISTAKES[name]
    (tree / file).parent.mkdir(parents=True, exist_ok=True)
    (tree / file).write_text(text)
    git(tree, "init", "--quiet")
    git(tree, "add", "--all")
    status, said = run_hook(name, tree, {"PRE_COMMIT_HOME": str(tree / "home"), "PRE_COMMIT_COLOR": "never"})
    assert status == 1 and re.search(expected, said), said


def test_hooks_use_this_environment_only():
    """Nothing is downloaded for a hook, and no hook changes a file."""
    for hook in HOOKS.values():
        assert hook["language"] == "system" and hook["entry"].startswith(".venv/bin/"), hook
        assert not re.search(r"--(fix|write-changes|in-place)\b| -w\b", hook["entry"]), hook


def test_shell_scripts_are_found():
    """What pre-commit takes for a shell script is every file that begins as one: it reads no first line of a file that cannot be run."""
    begins = {path for path in tracked_files() if re.match(rb"#!\S*(?:/|env |busybox )(?:ba|da)?sh\b", path.read_bytes()[:80])}
    assert begins and begins == {path for path in tracked_files() if "shell" in identify.tags_from_path(str(path))}
