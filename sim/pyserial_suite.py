# SPDX-License-Identifier: BSD-2-Clause
"""pyserial's own tests, which its wheel lacks."""

import subprocess
import sys

from litex_soc.build_cache import content_key
from sim.cocotb_rig import ROOT
from sim.guest.builds import LINUX

ARCHIVE = ROOT / "requirements" / "pyserial-tests.txt"
# These want wires that the board has no pins for: RTS to CTS, DTR to DSR.
WANT_MODEM_LINES = {"test.Test0_DataWires.test1_RTS", "test.Test0_DataWires.test2_DTR"}


def pyserial_tests():
    """(folder, module names) of pyserial's tests."""

    def make(folder):
        options = ("--no-deps", "--no-binary=:all:", "--no-build-isolation", "--require-hashes", "--disable-pip-version-check")
        command = [sys.executable, "-m", "pip", "download", "--quiet", *options, "--requirement", ARCHIVE, "--dest", folder]
        subprocess.run(command, check=True)
        (archive,) = folder.glob("pyserial-*.tar.gz")
        # Debian 12's tarfile knows no filters yet.
        subprocess.run(["tar", "-xf", archive, "-C", folder], check=True)

    (folder,) = LINUX.folder("pyserial-tests", content_key(ARCHIVE), make, "pyserial's source archive").glob("pyserial-*/test")
    return folder, sorted(path.stem for path in folder.glob("test*.py"))
