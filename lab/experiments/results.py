# SPDX-License-Identifier: BSD-2-Clause
"""What was measured, kept in one file, so that a run that was interrupted goes on, and pages are made without measuring."""

import json
import time
from datetime import datetime, timezone
from functools import cache
from pathlib import Path

from litex_soc.build_cache import content_key
from sim.measured import ROOT, build_folder, sources_state

FORMAT = 1
KEPT = ROOT / "docs" / "experiments.json"  # the results that docs/experiments.md shows
# All that a figure may depend on.
SOURCES = ("hdl", "litex_soc", "driver", "sw", "lab/experiments", "sim/guest", "sim/linux", "sim/pc", "sim/core", "sim/models")
SHOWING = {"__main__.py", "catalog.py", "page.py", "pictures.py", "results.py"}  # of lab/experiments: these measure nothing
SUFFIXES = (".sv", ".svh", ".asm", ".py", ".c", ".cpp", ".h", ".S", ".toml", ".config", "")


def folder():
    """Where results, pictures and the page are made."""
    return build_folder() / "experiments"


@cache
def key():
    """Of all files that a figure may depend on."""
    files = sorted(path for name in SOURCES for path in (ROOT / name).rglob("*") if path.is_file() and path.suffix in SUFFIXES)
    files = [path for path in files if "__pycache__" not in path.parts and not path.name.startswith("test_")]
    files = [path for path in files if path.parent.name != "experiments" or path.name not in SHOWING]
    return content_key(FORMAT, [str(path.relative_to(ROOT)) for path in files], files)


class Results:
    """{experiment: {step: {"figures" or "error", "seconds", "date", "sources", "key", "long"}}} in a file."""

    def __init__(self, path):
        self.path, self.all = Path(path), {}
        try:
            kept = json.loads(self.path.read_text(encoding="utf-8"))
            if kept.get("format") == FORMAT:
                self.all = kept["experiments"]
        except (OSError, ValueError, AttributeError, KeyError):
            pass

    def take_newer(self, others):
        """The Results `others` of experiments that were measured later there, or only there: writing a page loses none."""
        for name, steps in others.all.items():
            if self._date(name) < others._date(name):
                self.all[name] = steps

    def _date(self, experiment):
        return max((one["date"] for one in self.all.get(experiment, {}).values()), default="")

    def known(self, experiment, step, long):
        """Whether this step was measured on these sources, and well."""
        one = self.all.get(experiment, {}).get(step, {})
        return "figures" in one and one["key"] == key() and one["long"] == long

    def put(self, experiment, step, long, begin, figures=None, error=None):
        """Keeps what a step gave, at once; begin: time.monotonic() at its start."""
        what = {"error": error} if error else {"figures": figures}
        self.all.setdefault(experiment, {})[step] = {
            **what,
            "seconds": round(time.monotonic() - begin, 1),
            "date": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
            "sources": sources_state(*SOURCES),
            "key": key(),
            "long": long,
        }
        self.write(self.path)

    def write(self, path):
        """All of it, a step on a line; whole or not at all."""
        text = ",\n".join(
            f"{json.dumps(name)}: {{\n"
            + ",\n".join(f"{json.dumps(step)}: {json.dumps(one, separators=(',', ':'))}" for step, one in sorted(steps.items()))
            + "\n}"
            for name, steps in sorted(self.all.items())
        )
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(".new")
        new.write_text(f'{{"format": {FORMAT}, "experiments": {{\n{text}\n}}}}\n', encoding="utf-8")
        new.replace(path)

    def figures(self, experiment):
        """{step: figures} of those that were measured."""
        return {step: one["figures"] for step, one in self.all.get(experiment, {}).items() if "figures" in one}

    def errors(self, experiment):
        """{step: what went wrong}."""
        return {step: one["error"] for step, one in self.all.get(experiment, {}).items() if "error" in one}

    def long(self, experiment):
        """Whether any of its figures are of the long variant."""
        return any(one["long"] for one in self.all.get(experiment, {}).values() if "figures" in one)

    def measured(self, experiment):
        """When, and on which sources, in words; nothing if it was not."""
        ones = [one for one in self.all.get(experiment, {}).values() if "figures" in one]
        if not ones:
            return ""
        commits = sorted({one["sources"] for one in ones})
        return f"{max(one['date'] for one in ones)}, sources {', '.join(commits)}"
