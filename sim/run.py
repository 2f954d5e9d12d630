# SPDX-License-Identifier: BSD-2-Clause
"""Runs tests as the Makefile's targets ask for them.

    python -m sim.run test               some of every group, in minutes
    python -m sim.run changed [REF]      whole groups, as sim/groups.py says for what differs from where HEAD left REF (main)
    python -m sim.run all                everything
    python -m sim.run ARGUMENTS          what these name, for pytest

First all that can stand company run at the same time (JOBS), then one by one the tests marked `wallclock`. At last every test that
failed runs once more by itself: when it passes then, the run passes, and its last lines name it under UNSTEADY. A test that hangs fails.

With `test`, `changed` and `all` a test that passed with the same inputs does not run again, so they can be ended at any moment and go on
where they were. LITEPULSE_FRESH=1 runs all.
"""

import compileall
import json
import os
import subprocess
import sys
from pathlib import Path

from litex_soc.build_cache import is_fresh
from sim.groups import GROUPS, ROOT, WITHOUT_QUICK, changed_files, folder_of, git, groups_for, memory

BUILD = Path(os.environ.get("LITEPULSE_BUILD", ROOT / "build"))
MOST_AGAIN = 20  # more failures are no unsteadiness
HANGS, HANGS_IN_TEST = 3600, 600  # seconds after which a test hangs; `make test` builds no kernel and no bitstream
FAILED, PASSED, NONE = 1, 0, 5  # exit statuses of pytest


def pytest(arguments, environment, report="tests"):
    """(exit status, tests that failed)."""
    failed = BUILD / "failed.txt"
    failed.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", f"--junitxml={BUILD / report}.xml", *arguments]
    status = subprocess.run(command, cwd=ROOT, env={**environment, "LITEPULSE_FAILED": str(failed)}, check=False).returncode
    return status, failed.read_text().splitlines() if failed.exists() else []


def run(arguments, environment, jobs, alone):
    """Exit status of a run in its phases; `alone`: whether tests marked `wallclock` are among them."""
    limit = f"--timeout={HANGS_IN_TEST if environment.get('LITEPULSE_TIER') == 'test' else HANGS}"
    together = [limit, "-n", jobs, "--dist", "load", "--maxschedchunk", "1"]
    part = without(environment, "LITEPULSE_TIER")
    phases = [("tests", [*together, *arguments], environment)]
    if alone:
        phases[0][1].extend(["-m", "not wallclock"])
        phases.append(("tests-alone", [limit, "-n", "0", *arguments, "-m", "wallclock"], part))
    statuses, failed = set(), []
    for report, command, variables in phases:
        status, found = pytest(command, variables, report)
        statuses.add(status)
        failed += found
        if status not in (PASSED, FAILED, NONE):
            return status
    if statuses == {NONE}:
        return NONE
    if FAILED not in statuses:
        return PASSED
    if not failed or len(failed) > MOST_AGAIN:
        print(f"{len(failed)} tests failed; none was run again" if failed else "the run failed", flush=True)
        return FAILED
    print(f"\n{len(failed)} failed: each runs once more, by itself", flush=True)
    status, still = pytest([limit, "-n", "0", *failed], without(part, "LITEPULSE_GROUPS", "LITEPULSE_KNOWN"), "tests-again")
    unsteady = [name for name in failed if name not in still] if status == PASSED or still else []
    if unsteady:
        print("UNSTEADY: failed among the others, passed alone; to be mended", *(f"    {name}" for name in unsteady), sep="\n", flush=True)
    return status


def without(environment, *names):
    """A copy that lacks these."""
    return {name: value for name, value in environment.items() if name not in names}


def where_head_left(ref=""):
    """The commit from which HEAD and `ref` go apart; by default the main branch, of the remote if there is one."""
    names = git("for-each-ref", "--format=%(refname:short)", "refs/remotes/origin/main", "refs/heads/main").decode().split()
    return git("merge-base", "HEAD", ref or sorted(names)[-1]).decode().strip()


def main(words):
    """The command."""
    BUILD.mkdir(parents=True, exist_ok=True)
    for package in ("litex_soc", "sw/litepulse"):  # tests start the command a thousand times, and nothing else writes bytecode
        compileall.compile_dir(ROOT / package, quiet=2)
    jobs = os.environ.get("JOBS") or "auto"
    # Printed by builds of tests, past pytest's capture and its workers.
    environment = {**os.environ, "LITEPULSE_MESSAGES": f"/proc/{os.getpid()}/fd/2"}
    tier = words[0] if words and words[0] in ("test", "all", "changed") else None
    if tier is None:
        return run(words, environment, jobs, alone=False)
    groups = {group: True for group in GROUPS if tier != "test" or group not in WITHOUT_QUICK}
    if tier == "changed":
        base = where_head_left(*words[1:2])
        names = changed_files(base)
        groups = groups_for(names)
        print(f"{len(names)} files differ from {base[:12]} in more than comments: {', '.join(names[:12])}{' ...' * (len(names) > 12)}")
        requested = ", ".join(group if whole else f"{group} (what make test runs)" for group, whole in groups.items())
        print(f"groups: {requested or 'none'}", flush=True)
        if not groups:
            return PASSED
        environment["LITEPULSE_GROUPS"] = json.dumps(groups)
    else:
        environment["LITEPULSE_TIER"] = tier
    known, paths = BUILD / "known.txt", {}
    known.write_text("")
    if os.environ.get("LITEPULSE_SEED") != "random":
        paths = memory(groups)
        environment["LITEPULSE_MEMORY"] = json.dumps({group: str(path) for group, path in paths.items()})
        if not is_fresh():
            known.write_text("".join(path.read_text() for path in paths.values()))
            environment["LITEPULSE_KNOWN"] = str(known)
    wanted = [folder_of(group) for group in groups] + (["-m", "not full and not wallclock"] if tier == "test" else [])
    status = run(wanted, environment, jobs, alone=tier != "test")
    if status == NONE:
        print("all of them passed earlier with the same inputs; FRESH=1 runs them again")
    if status == NONE or (status == PASSED and known.stat().st_size):
        passed = {name for path in paths.values() for name in path.read_text().splitlines()}
        print(f"{len(passed)} passed, 0 failed", flush=True)
        return PASSED
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
