# SPDX-License-Identifier: BSD-2-Clause
"""`make coverage`: which lines, branches and bits of the core its benches reach, by Verilator.

    python -m lab.coverage [--samples 1 2 4 8] [--benches tb_launch ...] [--jobs N] [--write]

The benches of sim/core run on a model with counters, with 1, 2, 4 and 8 samples per cycle, and some of them across the carries of the
time base. A point counts as reached if any of them reaches it, in any instance of its module. A line is reached when its block is carried
out, a branch when it is taken, a bit of a register or wire when it has risen and when it has fallen. Points that none reaches are listed
with the reason from coverage.toml: exit status 1 if there is none. `--write` writes docs/develop/coverage.md.
"""

import argparse
import os
import re
import sys
import tomllib
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path

from litex_soc import SPDX
from sim.cocotb_rig import BUILD, ROOT, hdl_sources, simulate, tool_version
from sim.core.test_core import ACROSS, INPUTS, MODULES, WRAP_CYCLES

PAGE = ROOT / "docs" / "develop" / "coverage.md"
REASONS = Path(__file__).with_name("coverage.toml")
KINDS = ("line", "branch", "toggle")
SAMPLES = (1, 2, 4, 8)
CARRIES = (32, 48)  # bits of the time base


@dataclass(frozen=True)
class Point:
    """One thing that can be reached: `kind` of KINDS, in a file of hdl/, what Verilator calls it there."""

    module: str
    kind: str
    line: int
    column: int
    what: str

    @property
    def signal(self):
        """Of a toggle, the signal without its bits and the direction."""
        return re.sub(r"(\[\d+\])*(:[01]->[01])?$", "", self.what)


@dataclass(frozen=True)
class Run:
    """Benches that run together; carry: bit of the time base that they pass, 0: none."""

    benches: tuple[str, ...]
    samples: int
    carry: int = 0

    @property
    def name(self):
        """Of its file."""
        return f"{self.benches[0]}-{self.samples}" if not self.carry else f"carry{self.carry}-{self.samples}"


def runs(samples, benches):
    """All that are made."""
    found = [Run((bench,), count) for count in samples for bench in benches]
    across = tuple(bench for bench in ACROSS if bench in benches)
    return found + [Run(across, count, bit) for count in samples if count < 8 and across for bit in CARRIES]


def carry_out(one, folder):
    """Carries out a Run; the file with what it reached."""
    file = folder / f"{one.name}.dat"
    if not file.exists():
        os.environ["LITEPULSE_FRESH"] = "1"  # what a remembered run reached is not known
        carry = {"WRAP_BIT": one.carry, "WRAP_CYCLES": WRAP_CYCLES} if one.carry else {}
        simulate(
            list(one.benches),
            "litepulse_tb",
            hdl_sources("sim/core/litepulse_tb.sv"),
            {"S": one.samples, "INPUTS": INPUTS[one.samples], **carry},
            plusargs=[f"+verilator+coverage+file+{file}"],
            build_args=["--timing", "--coverage-line", "--coverage-toggle"],
            env={"LITEPULSE_SHORT": 1} if one.samples == 8 else {},
            testcase=[case for bench in one.benches for case in ACROSS[bench]] if one.carry else None,
            timeout=3600,
        )
    return file


def points(text, hdl="hdl"):
    """{Point: times reached} of a file of Verilator, the points of the modules in a folder called `hdl` alone."""
    found = Counter()
    for record in re.finditer(r"(?m)^C '([^']*)' (\d+)$", text):
        fields = dict(part.split("\x02", 1) for part in record[1].split("\x01") if "\x02" in part)
        path = Path(fields["f"])
        kind = fields["page"].split("/")[0].removeprefix("v_")
        if path.parent.name == hdl and kind in KINDS:
            found[Point(path.stem, kind, int(fields["l"]), int(fields["n"]), fields["o"])] += int(record[2])
    return found


def reasons():
    """{module: {pattern: why it is not reached}}."""
    known = tomllib.loads(REASONS.read_text())
    return {module: {pattern: why for why, patterns in found.items() for pattern in patterns} for module, found in known.items()}


def name_of(point, lines):
    """What coverage.toml calls a point: a toggle by its signal, others by their kind and the text of their line."""
    return point.signal if point.kind == "toggle" else f"{point.kind} {point.what}: {lines[point.line - 1].strip()}"


def reason_for(point, name, known):
    """Why a point is not reached, None if no reason is given. Patterns of the module come before those of all (`*`)."""
    for module in (point.module, "*"):
        for pattern, why in known.get(module, {}).items():
            if fnmatchcase(name, pattern.replace("[", "[[]")):
                return why
    return None


def bits(group):
    """Which bits of a signal these toggles are: '[15:8,3]'; '' of a signal that has one, or of other points."""
    numbers = sorted({int(match[1]) for point in group if (match := re.search(r"\[(\d+)\](?::[01]->[01])?$", point.what))}, reverse=True)
    spans = []
    for number in numbers:
        if spans and spans[-1][1] == number + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return f"[{','.join(str(high) if high == low else f'{high}:{low}' for high, low in spans)}]" if spans else ""


def module_part(module, reached, known):
    """(lines of the page, unexplained names) of a module: {Point: times}."""
    lines = (ROOT / "hdl" / f"{module}.sv").read_text().splitlines()
    row = []
    for kind in KINDS:
        of_kind = [times > 0 for point, times in reached.items() if point.kind == kind]
        row.append(f"{sum(of_kind)} of {len(of_kind)}" if of_kind else "-")
    missing = defaultdict(list)
    for point, times in sorted(reached.items(), key=lambda item: (item[0].line, item[0].column, item[0].what)):
        if not times:
            missing[name_of(point, lines)].append(point)
    out, unexplained = [f"## {module}", "", f"Lines {row[0]}, branches {row[1]}, toggles {row[2]}."], []
    if missing:
        out += ["", "| not reached | points | why |", "| --- | --- | --- |"]
    by_reason = defaultdict(list)
    for name, group in missing.items():
        why = reason_for(group[0], name, known)
        if why is None:
            unexplained.append(f"{module}: {name}")
        by_reason[why or "not looked at yet"].append((f"`{name.replace('|', chr(92) + '|')}{bits(group)}`", len(group)))
    for why, found in by_reason.items():
        out.append(f"| {', '.join(name for name, _ in found)} | {sum(count for _, count in found)} | {why} |")
    return out, unexplained


HEAD = f"""<!-- {SPDX} BSD-2-Clause -->
<!-- Written by `make coverage WRITE=1`. -->
# Coverage: what the core's benches reach

This page says which lines, branches and bits of the core the benches of sim/core reach, and why they
do not reach the others. What a reached line does is checked by the benches' model and by the proofs:
[mutants.md](mutants.md) says how surely.

A bit counts twice: it has to rise and to fall. A point is reached if one of the benches reaches it, with
1, 2, 4 or 8 samples per cycle, or where the time base passes 2³² and 2⁴⁸.

    make coverage               # a quarter of an hour with two cores; prints what is not reached
    make coverage WRITE=1       # and writes this page
""".splitlines()


def main(argv=None):
    """The command; its exit status: 1 if something is not reached without a reason given."""
    parser = argparse.ArgumentParser(prog="make coverage", description="What the core's benches reach.")
    parser.add_argument("--samples", type=int, nargs="+", default=SAMPLES, choices=SAMPLES, help="samples per cycle; default all")
    parser.add_argument("--benches", nargs="+", default=MODULES, choices=MODULES, metavar="BENCH", help="default: all of sim/core")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="at a time; default %(default)s")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    args = parser.parse_args(argv)
    folder = BUILD / "coverage"
    folder.mkdir(parents=True, exist_ok=True)
    wanted, reached = runs(args.samples, args.benches), Counter()
    with ProcessPoolExecutor(args.jobs, max_tasks_per_child=1) as pool:
        for file in pool.map(carry_out, wanted, [folder] * len(wanted)):
            for point, times in points(file.read_text(errors="replace")).items():
                reached[point] += times  # 0 counts, too: such a point is listed as not reached
    by_module = defaultdict(dict)
    for point, times in reached.items():
        by_module[point.module][point] = times
    out, unexplained = [], []
    for module in sorted(by_module):
        part, missing = module_part(module, by_module[module], reasons())
        out += ["", *part]
        unexplained += missing
    total = [f"{sum(t > 0 for p, t in reached.items() if p.kind == kind)} of {sum(p.kind == kind for p in reached)}" for kind in KINDS]
    summary = (
        f"{date.today()}, {tool_version('verilator').partition(' cocotb')[0]}: lines {total[0]}, branches {total[1]}, toggles {total[2]}."
    )
    print("\n".join(out))
    print(summary)
    if args.write:
        PAGE.write_text("\n".join([*HEAD, "", summary, *out, ""]), encoding="utf-8")
    for name in unexplained:
        print(f"not reached, without a reason: {name}", file=sys.stderr)
    return bool(unexplained)


if __name__ == "__main__":
    sys.exit(main())
