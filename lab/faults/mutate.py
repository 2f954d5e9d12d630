# SPDX-License-Identifier: BSD-2-Clause
"""`make mutate`: small mistakes in a module of hdl/, one at a time, and which of them its proofs and benches see.

    python -m lab.faults.mutate [MODULE...] [--count N] [--seed N] [--jobs N] [--write]

Without a module, all that have a proof or a bench are tried. Of each, N mutants (mutants.py) are drawn, all with --count 0. A mutant
is killed by a counterexample from reset on that one of the module's proofs finds (an induction that does not close kills nothing), or
else by a failing case of the core's benches for it. For the LIN slave random traffic comes first: it is quicker. One that survives is
compared with the module as it is: if no output differs within EQUIVALENT cycles, whatever the inputs do, with 1, 2 and 4 samples per
cycle, it counts as equivalent, and is left out of the score.
`--write` writes the modules' rows of docs/develop/mutants.md.

Verdicts are remembered below the cache folder under all that they depend on: a proof's counterexample stays one until a file of the
proofs changes, any other verdict until a file of hdl/ or of the benches does.
"""

import argparse
import functools
import os
import random
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path

from lab.faults.mutants import Mutant, mutants
from litex_soc import SPDX, verilated
from litex_soc.build_cache import Store, content_key
from sim.cocotb_rig import BUILD, ROOT, BuildError, hdl_sources, simulate, tool_environment, tool_version
from sim.core import lin_traffic
from sim.core.test_core import INPUTS
from sim.proofs import FORMAL, PACKAGES, input_files, prove, sby, sections, tasks_of

PAGE = ROOT / "docs" / "develop" / "mutants.md"
SURVIVORS = Path(__file__).with_name("survivors.toml")
VERDICTS = Store("mutants")
COUNT = 40
SEARCH = 40  # cycles from reset on, in which a proof must find its counterexample
SECONDS = 120  # for each search; what takes longer kills nothing
EQUIVALENT = 24
# seconds: a bench that takes this long waits for something that never comes; that is no verdict
HUNG = 200
TOOLS = ({package: version(package) for package in PACKAGES}, (SEARCH, SECONDS))
# Modules whose proofs, or some of them, have another one on top.
PROVED_IN = {
    "litepulse_launch_queue": ("queue",),
    "litepulse_lin": ("lin",),
    "litepulse_timed_source": ("train", "queue"),
    "litepulse_train": ("train",),
}
# The core's benches that show most of a module, on Verilator with one and with four samples per cycle.
BENCHES = {
    "litepulse_arbiter": ("tb_launch", "tb_besteffort", "tb_random"),
    "litepulse_best_effort": ("tb_besteffort",),
    "litepulse_capture": ("tb_capture",),
    "litepulse_config": ("tb_streams", "tb_capture", "tb_random"),
    "litepulse_driver_enable": ("tb_launch", "tb_besteffort"),
    "litepulse_echo": ("tb_capture", "tb_responder"),
    "litepulse_events": ("tb_streams", "tb_capture"),
    "litepulse_irq": (),
    "litepulse_launch_memory": ("tb_launch", "tb_random"),
    "litepulse_lin": ("tb_lin",),
    "litepulse_lin_break": ("tb_lin",),
    "litepulse_line_rx": ("tb_capture",),
    "litepulse_port": ("tb_port",),
    "litepulse_pulse": ("tb_capture", "tb_launch", "tb_responder"),
    "litepulse_receive": ("tb_streams", "tb_capture"),
    "litepulse_receive_store": ("tb_streams",),
    "litepulse_responder": ("tb_responder",),
    "litepulse_sequencer": ("tb_launch", "tb_train", "tb_sequence"),
    "litepulse_slot": ("tb_launch", "tb_train"),
    "litepulse_timebase": ("tb_capture",),
    "litepulse_watchdog": ("tb_watchdog",),
    "litepulse_window": ("tb_streams", "tb_watchdog"),
}
BENCH_DEFAULT = ("tb_launch",)
HEADERS = 1200  # of the random LIN traffic, which comes first: it takes seconds, the proofs minutes
SAMPLES = (1, 4)


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant: killed (by `by`), survived, equivalent, or invalid: no tool reads it."""

    mutant: str
    what: str
    by: str = ""

    @property
    def by_proof(self):
        """Whether a proof has killed it; else it was a bench."""
        return self.what == "killed" and not self.by.startswith(("tb_", "lin_traffic"))


def proof_sources(module):
    """The sby files of a module's proofs, in order."""
    tops = re.compile(rf"(?m)^prep -top {module}\b")
    names = PROVED_IN.get(module, ())
    return [path for path in sorted(FORMAL.glob("*.sby")) if path.stem in names or tops.search(path.read_text())]


def proofs(module):
    """[(sby file, task)] of a module's proofs, those with one sample per cycle first; covers are none."""
    return [(path, task) for path in proof_sources(module) for task in tasks_of(path) if mode(path, task) != "cover"]


@functools.cache
def proof_files(module):
    """All files that its proofs read, in order."""
    read = {file for path, task in proofs(module) for file in input_files(sections(config(path, task))["files"]).values()}
    return [path for path, _ in proofs(module)] + sorted(read)


def bench_files():
    """All files that a bench of the core, or a comparison with the module, may read, in order."""
    return [path for place in ("hdl", "sim/core") for path in sorted((ROOT / place).rglob("*")) if path.suffix in (".sv", ".svh", ".py")]


@functools.cache
def config(path, task):
    """What sby makes of a file for one task."""
    return sby("--dumpcfg", path.name, *([task] if task else []), cwd=path.parent)


def mode(path, task):
    """prove, bmc or cover."""
    return re.search(r"(?m)^mode (\w+)", config(path, task))[1]


def file_of(module):
    """Its source."""
    return ROOT / "hdl" / f"{module}.sv"


def differs(module, hdl, folder, samples):
    """Does an output of the module in `hdl` differ from that of the tree's within EQUIVALENT cycles? None: it cannot be read.

    If that is not known after SECONDS it counts as a difference."""
    sources = [path.name for path in hdl_sources(module)]
    parameters = f"chparam -set S {samples} {module}" if re.search(r"parameter int S\b", file_of(module).read_text()) else ""
    read = ["read -sv " + " ".join(f"{{}}/{name}" for name in sources), parameters, f"prep -flatten -top {module}", "memory_map"]
    script = []
    for side, path in (("gold", ROOT / "hdl"), ("gate", hdl)):
        # All flip-flops begin with 0, so that only what happens from then on can differ.
        script += [line.replace("{}", str(path)) for line in read if line]
        script += ["async2sync", "setundef -undriven -init -zero", f"rename {module} {side}", f"design -stash {side}"]
    script += [f"design -copy-from {side} -as {side} {side}" for side in ("gold", "gate")]
    script += ["miter -equiv -make_assert -flatten gold gate miter", "prep -top miter"]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "miter.sby").write_text(
        "\n".join(
            ["[options]", "mode bmc", f"depth {EQUIVALENT}", f"timeout {SECONDS}", "[engines]", "smtbmc yices", "[script]", *script, ""]
        )
    )
    done = subprocess.run(
        ["sby", "-f", "-d", "work", "miter.sby"], cwd=folder, env=tool_environment(), capture_output=True, text=True, check=False
    )
    return {0: False, 2: True, 8: True}.get(done.returncode)


def judge(module, mutant: Mutant, benches=True):
    """The Verdict on a mutant. Changes the environment: for a process of its own."""
    text = file_of(module).read_text()
    folder = BUILD / "mutants" / f"{module}-{content_key(str(mutant), mutant.start)[:12]}"
    name = f"{module}-{mutant.line}"
    by_proof = content_key(str(mutant), mutant.start, proof_files(module), *TOOLS)
    by_all = content_key(by_proof, benches, tool_version("verilator"), EQUIVALENT, bench_files())
    for key in (by_proof, by_all):
        if known := VERDICTS.recall(name, key):
            return Verdict(**known)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "hdl", folder / "hdl")
    (folder / "hdl" / f"{module}.sv").write_text(mutant.apply(text))
    os.environ["LITEPULSE_HDL"] = str(folder / "hdl")
    try:
        verdict = Verdict(str(mutant), *decide(module, folder, benches))
    finally:
        del os.environ["LITEPULSE_HDL"]
        shutil.rmtree(folder, ignore_errors=True)
    VERDICTS.remember(name, by_proof if verdict.by_proof else by_all, vars(verdict))
    return verdict


def decide(module, folder, benches):
    """(what, by) of the mutant in `folder`/hdl, which LITEPULSE_HDL names."""
    if benches and module == "litepulse_lin":
        try:
            for entries in (64, 8):
                (build := folder / f"entries{entries}").mkdir()
                lin_traffic.run("mutant", HEADERS, entries, lin_traffic.program(entries).compile(build, 1))
        except verilated.BuildError:
            return "invalid", ""
        except AssertionError:
            return "killed", "lin_traffic"
    for path, task in proofs(module):
        if prove(path, task, timeout=SECONDS, search=SEARCH).status == "FAIL":
            return "killed", f"{path.stem}:{task}" if task else path.stem
    different = [differs(module, folder / "hdl", folder / f"miter{samples}", samples) for samples in (1, 2, 4)]
    if None in different:
        return "invalid", ""
    if True not in different:
        return "equivalent", ""
    runs = [(bench, samples) for samples in SAMPLES for bench in BENCHES.get(module, BENCH_DEFAULT)]
    for bench, samples in runs if benches else ():
        parameters = {"S": samples, "INPUTS": INPUTS[samples]}
        try:
            simulate(bench, "litepulse_tb", hdl_sources("sim/core/litepulse_tb.sv"), parameters, build_args=["--timing"], timeout=HUNG)
        except BuildError:
            return "invalid", ""
        except AssertionError as error:
            # As in test_faults.py: a simulation without a verdict kills nothing.
            return ("killed", bench) if f"failed: {bench}." in str(error) else ("invalid", "")
    return "survived", ""


def drawn(module, count, seed):
    """`count` mutants of a module, or all with 0; the same seed draws the same."""
    found = mutants(file_of(module).read_text())
    return found if not count or count >= len(found) else sorted(random.Random(seed).sample(found, count), key=lambda mutant: mutant.start)


def modules():
    """Those that a proof or a bench of BENCHES judges, in order."""
    return [path.stem for path in sorted((ROOT / "hdl").glob("*.sv")) if path.stem in BENCHES or proofs(path.stem)]


def reasons():
    """{module: {mutant: why it survives}} of survivors.toml."""
    return tomllib.loads(SURVIVORS.read_text())


def outdated(module):
    """The mutants of survivors.toml that the module no longer has: their lines have changed."""
    return sorted(set(reasons().get(module, {})) - {str(mutant) for mutant in mutants(file_of(module).read_text())})


def row(module, verdicts, seed, total):
    """Lines of a module on the page."""
    counts = Counter(verdict.what for verdict in verdicts)
    judged = counts["killed"] + counts["survived"]
    by_proof = sum(verdict.by_proof for verdict in verdicts)
    score = f"{100 * counts['killed'] / judged:.0f} %" if judged else "-"
    drawn_of = f"all {total}" if len(verdicts) == total else f"{len(verdicts)} of {total}, seed {seed}"
    lines = [
        f"## {module}",
        "",
        f"{date.today()}: {drawn_of}. Score: **{score}**. Killed: {by_proof} by a proof, {counts['killed'] - by_proof} by a bench.",
        f"Survived: {counts['survived']}. Equivalent: {counts['equivalent']}. Not readable: {counts['invalid']}.",
    ]
    why = reasons().get(module, {})
    survived = [verdict for verdict in verdicts if verdict.what == "survived"]
    if survived:
        lines += ["", "| survivor | why |", "| --- | --- |"]
        for verdict in survived:
            shown = verdict.mutant.replace("|", "\\|")
            lines.append(f"| `{shown}` | {why.get(verdict.mutant, 'not looked at yet')} |")
    return lines


HEAD = f"""<!-- {SPDX} BSD-2-Clause -->
<!-- Written by `make mutate WRITE=1`. -->
# Mutants: which small mistakes are caught

This page says how many small mistakes in a module its proofs and benches catch. A mutant is the
module with one operator, constant or condition changed, or one assignment left out.

A counterexample of one of the module's proofs, within {SEARCH} cycles of reset, kills it. So does a
failing case of the core's benches for the module. A proof by induction that no longer closes kills
nothing. A mutant is equivalent if its outputs are those of the module for {EQUIVALENT} cycles, whatever its
inputs do, with 1, 2 and 4 samples per cycle. Equivalent ones do not count.

    make mutate                                          # {COUNT} mutants of each module: for hours
    make mutate MODULE=litepulse_best_effort             # {COUNT} of its mutants
    make mutate MODULE="litepulse_echo litepulse_slot" COUNT=0   # all of theirs
    make mutate MODULE=litepulse_echo WRITE=1            # and its part of this page
""".splitlines()


def write_page(parts):
    """Writes the parts {module: lines}; those of other modules stay."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    kept = {match[1]: match[0].rstrip().splitlines() for match in re.finditer(r"(?ms)^## (\w+)$.*?(?=^## |\Z)", text)}
    kept.update(parts)
    PAGE.write_text("\n".join([*HEAD, *(line for module in sorted(kept) for line in ["", *kept[module]]), ""]), encoding="utf-8")


def main(argv=None):
    """The command; its exit status: 1 if a mutant survived for which there is no reason."""
    parser = argparse.ArgumentParser(prog="make mutate", description="Small mistakes, and who sees them.")
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="of hdl/, without .sv; default: all with a proof or a bench")
    parser.add_argument("--count", type=int, default=COUNT, help="mutants of each; 0: all; default %(default)s")
    parser.add_argument("--seed", type=int, default=1, help="which are drawn; default %(default)s")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="at a time; default %(default)s")
    parser.add_argument("--no-benches", action="store_true", help="proofs only")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    args = parser.parse_args(argv)
    for module in args.modules:
        if not file_of(module).is_file():
            parser.error(f"there is no hdl/{module}.sv")
        if not proofs(module) and module not in BENCHES:
            parser.error(f"{module} has neither a proof nor a bench")
    if args.count < 0 or args.jobs < 1:
        parser.error("count is at least 0, jobs at least 1")
    parts, unexplained = {}, 0
    with ProcessPoolExecutor(args.jobs) as pool:
        for module in args.modules or modules():
            for name in outdated(module):
                print(f"{module}: survivors.toml gives a reason for a mutant that does not exist any more: {name}", flush=True)
            chosen = drawn(module, args.count, args.seed)
            waiting = [pool.submit(judge, module, mutant, not args.no_benches) for mutant in chosen]
            verdicts = []
            for future in waiting:
                verdict = future.result()
                verdicts.append(verdict)
                print(f"{module}: {verdict.what}{f' by {verdict.by}' if verdict.by else ''}: {verdict.mutant}", flush=True)
                unexplained += verdict.what == "survived" and verdict.mutant not in reasons().get(module, {})
            parts[module] = row(module, verdicts, args.seed, len(mutants(file_of(module).read_text())))
            print("\n".join(parts[module]), flush=True)
    if args.write:
        write_page(parts)
    return int(unexplained > 0)


if __name__ == "__main__":
    sys.exit(main())
