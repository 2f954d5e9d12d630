# SPDX-License-Identifier: BSD-2-Clause
"""Copies of driver/ to build in, so that the tree stays as it is."""

import shutil

from sim.cocotb_rig import ROOT, run_folder

DRIVER = ROOT / "driver"


def sources():
    """Files of driver/ that a build of the modules needs."""
    made = {".mod.c"}
    found = [*DRIVER.glob("*.c"), *DRIVER.glob("*.h"), *DRIVER.glob("uapi/linux/*.h")]
    found += [DRIVER / name for name in ("Kbuild", "Makefile", "dkms.conf")]
    return sorted(path for path in found if "".join(path.suffixes) not in made)


def driver_copy(*name, edit=None):
    """A fresh folder with what a build needs. `edit`: {file: function from its text to another}."""
    folder = run_folder("driver", *name)
    if "=" in folder.name:  # which make would take for a variable
        folder = folder.rename(folder.with_name(folder.name.replace("=", "-")))
    for path in sources():
        target = folder / path.relative_to(DRIVER)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    for file, change in (edit or {}).items():
        text = (folder / file).read_text()
        changed = change(text)
        assert changed != text, f"the fault for {file} changes nothing"
        (folder / file).write_text(changed)
    return folder
