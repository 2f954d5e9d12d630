# SPDX-License-Identifier: GPL-2.0-only
"""`python -m driver.upstream`: the patch series for each kernel, in build/upstream (docs/develop/upstream.md)."""

import argparse
import sys
from pathlib import Path

from driver.upstream import DRIVER, SeriesError, mails
from driver.upstream.series import AllSeries
from driver.upstream.sources import Kernel
from scripts.debian_package import PackageError, linux_source

ROOT = DRIVER.parent
KERNELS = {"6.12": "linux-source", "7.2": "linux-source-7"}  # by their entries in scripts/debian_packages.toml


def added(mail):
    """Lines that a mail adds."""
    return sum(line.startswith("+") and not line.startswith("+++ ") for line in mail.read_text(encoding="utf-8").splitlines())


def main(argv=None):
    """The command; exit status 2 with one line when no series can be made."""
    parser = argparse.ArgumentParser(prog="python -m driver.upstream", description="Makes the driver a patch series for the kernel's tree.")
    parser.add_argument("--kernel", choices=KERNELS, action="append", help="of Debian's source, which is fetched (default: each)")
    parser.add_argument("--tree", metavar="FOLDER", action="append", type=Path, help="a kernel source of yours instead")
    parser.add_argument("-o", "--out", metavar="FOLDER", type=Path, default=ROOT / "build/upstream", help="default: build/upstream")
    args = parser.parse_args(argv)
    try:
        person, date = mails.sender(ROOT), mails.date_of(DRIVER)
        trees = args.tree or [linux_source(KERNELS[name])[0] for name in args.kernel or KERNELS]
        for tree in trees:
            kernel = Kernel.of(tree)
            everything = AllSeries(kernel, person)
            for series, paths in zip(everything.series, mails.write(everything, date, args.out / kernel.name).values(), strict=True):
                lines = sum(added(path) for path in paths[1:])
                print(f"{args.out / kernel.name / series.folder}: {len(paths) - 1} patches, {lines:,} lines, and a cover letter")
            for series in everything.series:
                if series.check:
                    print(f"before you send {series.check}")
    except (SeriesError, PackageError) as error:
        print(f"upstream: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
