# SPDX-License-Identifier: BSD-2-Clause
"""Writes the generated files; with --check it names those that are stale: a hook of `make lint`.

python scripts/generate.py [--check]

`make generate` also writes those that have to be measured in the simulator (scripts/waves.py); a test compares these.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# In this order, because later ones import what the first writes.
GENERATORS = ("-m litex_soc.generate", "hdl/program/assemble.py", "-m litex_soc.cable", "-m litex_soc.board_cards", "scripts/limits.py")


def run(generator: str) -> int:
    """The exit status of a generator, which gets our options."""
    return subprocess.run([sys.executable, *generator.split(), *sys.argv[1:]], cwd=ROOT, check=False).returncode


def main() -> int:
    """Beside each other if they only compare."""
    with ThreadPoolExecutor(os.cpu_count() if "--check" in sys.argv else 1) as pool:
        return int(any(list(pool.map(run, GENERATORS))))


if __name__ == "__main__":
    sys.exit(main())
