#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs one of the YoWASP tools under its plain name: `yowasp_tool.py yosys ARGUMENTS`.

Three things are put right on the way:
- A WASM program is given an empty /tmp of its own, so that files below the real one are not found. Each folder of the real /tmp is
  offered beside it (the longest matching name wins), so a tree below /tmp works; files that lie in /tmp itself stay hidden.
- nextpnr-ice40 has no Python here, so LiteX's --pre-pack script, which only declares clocks, becomes lines of the PCF file.
- The compiled programs are kept in this project's cache.
"""

import contextlib
import importlib.metadata
import os
import re
import sys
from pathlib import Path

MAX_FOLDERS = 400  # each takes a file descriptor


def cache_folder():
    """Where this project keeps what it can make again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "litepulse"


def folders_of_tmp(arguments):
    """Readable folders directly below /tmp: first the one we are in, then those that the arguments name, then the newest."""
    words = "\n".join([f"{Path.cwd()}/", *arguments])
    order = []
    with os.scandir("/tmp") as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):  # gone meanwhile
                if entry.is_dir() and os.access(entry.path, os.R_OK | os.X_OK):
                    at = words.find(f"{entry.path}/")
                    order.append((at < 0, at, -entry.stat().st_mtime, entry.name))
    return [name for *_, name in sorted(order)[:MAX_FOLDERS]]


def offer_tmp(arguments):
    """Makes the WASM runtime also offer the folders of the real /tmp."""
    import wasmtime

    preopen = wasmtime.WasiConfig.preopen_dir

    def preopen_dir(self, host, guest, *args, **kwargs):
        preopen(self, host, guest, *args, **kwargs)
        if guest == "/tmp" and host != "/tmp":
            for name in folders_of_tmp(arguments):
                try:
                    preopen(self, f"/tmp/{name}", f"/tmp/{name}", *args, **kwargs)
                except wasmtime.WasmtimeError:
                    continue  # gone, or not ours

    wasmtime.WasiConfig.preopen_dir = preopen_dir  # pyright: ignore[reportAttributeAccessIssue]


def option(arguments, name):
    """Index of the value of `--name value`; `--name=value` is split in place."""
    for index, argument in enumerate(arguments):
        if argument == name and index + 1 < len(arguments):
            return index + 1
        if argument.startswith(name + "="):
            arguments[index : index + 1] = [name, argument[len(name) + 1 :]]
            return index + 1
    return None


def clocks_to_pcf(arguments):
    """Replaces --pre-pack by the equivalent PCF lines, in a copy of the PCF file beside the original."""
    script = option(arguments, "--pre-pack")
    if script is None:
        return
    clocks = []
    for line in Path(arguments[script]).read_text().splitlines():
        match = re.fullmatch(r"""\s*ctx\.addClock\(\s*["']([^"']+)["']\s*,\s*([0-9.eE+-]+)\s*\)\s*""", line)
        if match:
            clocks.append(f"set_frequency {match[1]} {match[2]}")
        elif line.strip() and not line.lstrip().startswith("#"):
            sys.exit(f"nextpnr-ice40: {arguments[script]}: only ctx.addClock(name, MHz) is understood here, not: {line.strip()}")
    del arguments[script - 1 : script + 1]
    pcf = option(arguments, "--pcf")
    if pcf is None:
        arguments += ["--pcf", "clocks.pcf", "--pcf-allow-unconstrained"]
        pcf, text = arguments.index("clocks.pcf"), ""
    else:
        text = Path(arguments[pcf]).read_text().rstrip("\n") + "\n"
        arguments[pcf] = str(Path(arguments[pcf]).with_suffix(".clocks.pcf"))
    Path(arguments[pcf]).write_text(text + "".join(f"{clock}\n" for clock in clocks))


def main():
    name, *arguments = sys.argv[1:]
    os.environ.setdefault("YOWASP_CACHE_DIR", str(cache_folder() / "yowasp"))
    # sby and yosys-smtbmc call their helpers by name.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    if name == "nextpnr-ice40":
        clocks_to_pcf(arguments)
    if os.path.isdir("/tmp"):
        offer_tmp(arguments)
    sys.argv = [name, *arguments]
    (entry,) = importlib.metadata.entry_points(group="console_scripts", name=f"yowasp-{name}")
    sys.exit(entry.load()())


if __name__ == "__main__":
    main()
