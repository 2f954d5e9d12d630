#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Everything that this project downloads: docs/downloads.md, and the sizes that set-up announces.

downloads.py [--check]          writes docs/downloads.md, from requirements/ and debian_packages.toml; or only compares
downloads.py --missing LOCK...  of the Python packages of these locks: how many are not installed, and their size
downloads.py --measure FOLDER   measures what each system package adds on the minimal Debian in FOLDER (`debootstrap
                                --variant=minbase`, as root) and writes it to requirements/system.txt
"""

import argparse
import importlib.metadata
import re
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from litex_soc import SPDX  # noqa: E402
from litex_soc.generate import stale_files  # noqa: E402
from scripts import lock  # noqa: E402

PAGE = ROOT / "docs" / "downloads.md"
SYSTEM = ROOT / "requirements" / "system.txt"
DEBIAN = ROOT / "scripts" / "debian_packages.toml"
# step: (commands that need it, steps that it includes)
STEPS = {
    "demo": ("`make demo`", ("demo",)),
    "test": ("`make test`", ("demo", "test")),
    "boards": ("`make bitstream`, `flash`, `boot-image`, `boards`", ("demo", "boards")),
    "docs": ("`make docs`", ("demo", "docs")),
    "all": ("`make test-all`, `make setup`", ("demo", "test", "boards", "docs", "all")),
}


def system_packages():
    """[(steps, check, package, {release of Debian: MB})] of requirements/system.txt, in its order."""
    rows = [line.split() for line in SYSTEM.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return [(tuple(steps.split(",")), check, package, {"12": float(old), "13": float(new)}) for steps, check, package, old, new in rows]


def python_packages():
    """{"name==version": (bytes, steps that need it)}, in alphabetical order."""
    found = {}
    for name, step in [*zip(STEPS, STEPS), ("build", "test"), ("build", "boards"), ("uv", "lock")]:
        for entry in lock.entries(name):
            size, steps = found.setdefault(f"{entry['name']}=={entry['version']}", (int(entry["bytes"]), []))
            steps.append(step)
    return {name: (size, tuple(steps)) for name, (size, steps) in sorted(found.items())}


def is_installed(name, version):
    """Is a Python package here, in this version?"""
    try:
        return importlib.metadata.version(name) == version
    except importlib.metadata.PackageNotFoundError:
        return False


def missing(names):
    """What the locks `names` ask for and this Python lacks, as a phrase."""
    wanted = {
        (entry["name"], entry["version"]): int(entry["bytes"]) for name in names for entry in lock.entries(name) if lock.applies(entry)
    }
    sizes = [size for (name, version), size in wanted.items() if not is_installed(name, version)]
    return f"{len(sizes)} package{'s' if len(sizes) > 1 else ''}, {sum(sizes) / 1e6:.1f} MB" if sizes else "nothing"


def first_steps(steps):
    """The steps that need something and do not include another one that does."""
    steps = list(dict.fromkeys(steps))
    return ", ".join(step for step in steps if not any(other in STEPS.get(step, ("", ()))[1] for other in steps if other != step))


def table(head, rows):
    """Lines of a Markdown table; the columns named MB are flush right."""
    marks = ["---:" if "MB" in name else "---" for name in head]
    return [f"| {' | '.join(cells)} |" for cells in (head, marks, *rows)]


def mb(size):
    """A size of `size` MB; what is smaller than 0.1 is not told apart."""
    return f"{size:.1f}" if size >= 0.05 else "< 0.1"


def debian_rows():
    """(rows of a table, MB in total): packages of other releases of Debian."""
    known = tomllib.loads(DEBIAN.read_text(encoding="utf-8"))
    rows, total = [], 0.0
    for name, of in known["kernel"].items():
        parts = {"headers": "its headers", "compiler": "the compiler that built it", "image": "the kernel itself"}
        for part, size in of["download_mb"].items():
            rows.append((f"Linux {name}: {parts[part]}", of["version"] if part != "compiler" else "", of["routes"][0]["suite"], mb(size)))
            total += size
    for of in known["package"].values():
        names = ", ".join(package.replace("=", " ") for package in of["packages"])
        rows.append(
            (of["what"], names + (", with all it needs" if of.get("dependencies") else ""), of["routes"][0]["suite"], mb(of["download_mb"]))
        )
        total += of["download_mb"]
    for suite, sizes in known["lists_mb"].items():
        rows.append(("lists of packages and of source packages", "", suite, mb(sum(sizes))))
        total += sum(sizes)
    return rows, total


def paragraph(text):
    """Lines of a paragraph."""
    return textwrap.wrap(text, 99, break_long_words=False, break_on_hyphens=False)


def page():
    """Text of docs/downloads.md."""
    system, python, (debian, debian_mb) = system_packages(), python_packages(), debian_rows()
    short = []
    for step, (command, included) in STEPS.items():
        of = [sizes for steps, *_, sizes in system if set(included) & set(steps) or "extra" in steps]
        mine = sum(size for size, steps in python.values() if set(included) & set(steps)) / 1e6
        short.append((step, command, *(mb(sum(sizes[release] for sizes in of)) for release in ("12", "13")), mb(mine)))
    lines = [
        f"<!-- {SPDX} BSD-2-Clause -->",
        "<!-- Written by scripts/downloads.py (make generate). -->",
        "# What is downloaded",
        "",
        *paragraph(
            "Set-up has steps. Each command below runs the step it needs, which prints the size of what is missing, then downloads it. "
            "Steps `test`, `boards` and `docs` include `demo`; `all` includes everything."
        ),
        "",
        *table(("step", "of", "system packages on Debian 12, MB", "on Debian 13, MB", "Python packages, MB"), short),
        "",
        *paragraph(
            "Sizes are in MB (10^6 bytes). Those of system packages were measured on a minimal Debian and include all that a package "
            "depends on."
        ),
        "",
        *paragraph(
            "The tests of the driver and of Linux fetch packages of other Debian releases. Each is fetched when the first test needs it. "
            f"All of them together are {debian_mb:.0f} MB."
        ),
        "",
        *paragraph(
            "`make lock` needs the package `uv` as well, and nothing else does. `make test-all` fetches pyserial's source archive from "
            f"PyPI for the tests in it, {mb(int(lock.entries('pyserial-tests')[0]['bytes']) / 1e6)} MB."
        ),
        "",
        "| what | where it is kept | how to remove it |",
        "| --- | --- | --- |",
        "| system packages | the system | `apt-get remove`, `apt-get clean` |",
        "| apt's package lists, about 10 MB | `/var/lib/apt/lists` | `apt-get update` replaces them |",
        "| Python packages | `.venv`, copies in pip's cache (`~/.cache/pip`) | `make distclean`, `pip cache purge` |",
        "| packages of other Debian releases | `~/.cache/litepulse/debian` | remove the folder |",
        "| what is built here: models, kernels, compiled tools | `build`, `~/.cache/litepulse` | `make clean`, remove the folder |",
        "",
        "`XDG_CACHE_HOME` names another folder than `~/.cache`.",
        "",
        "## System packages",
        "",
        *paragraph(
            "From the Debian or Ubuntu release of this machine, without recommended packages. Set-up asks before it calls `sudo`; as root "
            "it does not ask. The list is `requirements/system.txt`."
        ),
        "",
        *table(
            ("package", "step", "Debian 12, MB", "Debian 13, MB"),
            [
                (
                    " or ".join(f"`{name}`" for name in package.replace("@", "3.N").split("|")),
                    first_steps(step for step in steps if step != "extra") or "optional",
                    *(mb(sizes[release]) for release in ("12", "13")),
                )
                for steps, _, package, sizes in system
            ],
        ),
        "",
        "## Python packages",
        "",
        *paragraph(
            "From the package index that pip uses on this machine. pip checks the hash of each: `requirements/*.txt`. If the files for "
            "Python 3.11, 3.12 and 3.13 differ, the size is that of the largest."
        ),
        "",
        *table(
            ("package", "version", "step", "MB"),
            [
                (name, version, first_steps(steps), mb(size / 1e6))
                for (name, version), (size, steps) in ((key.split("=="), value) for key, value in python.items())
            ],
        ),
        "",
        "## Packages of other Debian releases",
        "",
        *paragraph(
            "From the Debian mirror that apt uses on this machine. They are unpacked, not installed. apt checks their signatures. "
            "`scripts/debian_packages.toml` is the list; it also names the other releases that are tried if one lacks a package."
        ),
        "",
        *table(("what for", "package and version", "release", "MB"), debian),
    ]
    return "\n".join(lines) + "\n"


def apt_bytes(root, packages):
    """Bytes that apt in the Debian at `root` would download for packages."""
    command = ["chroot", root, "apt-get", "-qq", "--print-uris", "install", "--no-install-recommends", *packages]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return sum(int(line.split()[2]) for line in said.splitlines())


def measure(root):
    """Writes to requirements/system.txt what each package adds to those before it on the minimal Debian at `root`."""
    (release,) = re.findall(r'(?m)^VERSION_ID="?(\d+)', (root / "etc/os-release").read_text())
    about = subprocess.run(["chroot", root, "apt-cache", "show", "python3"], capture_output=True, text=True, check=True).stdout
    python, *_ = re.findall(r"(?m)^Version: (\d+\.\d+)", about)
    text, packages, before = SYSTEM.read_text(encoding="utf-8"), [], 0
    for _, check, package, sizes in system_packages():
        names = package.replace("@", python).split("|")
        known = [
            name for name in names if subprocess.run(["chroot", root, "apt-cache", "show", name], capture_output=True, check=False).stdout
        ]
        packages.append(known[0])
        total = apt_bytes(root, packages)
        sizes[release] = (total - before) / 1e6
        before = total
        columns = rf"(?m)^(.*\s{re.escape(check)}\s+{re.escape(package)})\s.*$"
        line = lambda found, of=sizes: f"{found[1]:<74} {of['12']:>6.1f} {of['13']:>7.1f}"  # noqa: E731
        text, count = re.subn(columns, line, text)
        assert count == 1
    SYSTEM.write_text(text, encoding="utf-8")
    print(f"downloads: Debian {release}: {before / 1e6:.1f} MB in all")


def main():
    parser = argparse.ArgumentParser(prog="downloads.py", description="Writes docs/downloads.md: everything that is downloaded.")
    parser.add_argument(
        "--missing", nargs="+", metavar="LOCK", choices=lock.NAMES, help="size of the Python packages that are not installed"
    )
    parser.add_argument("--check", action="store_true", help="exit status 1 if the page is stale")
    parser.add_argument("--measure", type=Path, metavar="FOLDER", help="measure the system packages on the minimal Debian there")
    args = parser.parse_args()
    if args.missing:
        print(missing(args.missing))
    elif args.measure:
        measure(args.measure)
    else:
        stale = stale_files([(PAGE, page())], args.check)
        for path in stale:
            print(f"{'stale' if args.check else 'written'}: {path.relative_to(ROOT)}")
        return int(args.check and bool(stale))
    return 0


if __name__ == "__main__":
    sys.exit(main())
