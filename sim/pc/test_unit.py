# SPDX-License-Identifier: BSD-2-Clause
"""The KUnit cases of the driver's pure parts on Debian's own kernel, which has no KUnit: kunit_small/ takes its place.

sim/driver/test_kunit.py runs the same cases by KUnit itself, in a kernel with KASAN; that kernel has to be built.
"""

import re
import subprocess

import pytest

from sim.guest.driver_tree import DRIVER, driver_copy
from sim.guest.kernel_kits import kernel_kit
from sim.pc.pc_rig import HERE
from sim.series import OWN

RESULT = re.compile(r"(?:litepulse_kunit: )?(ok|not ok) \d+ (\w+)")


def run(pc, folder):
    """{case: "ok" or "not ok"} of the KUnit cases of a copy of the driver."""
    shim = f"NOSTDINC_FLAGS=-nostdinc -I{HERE / 'kunit_small'}"  # before the kernel's own <kunit/test.h>
    status, output = kernel_kit(OWN).make(folder, "LITEPULSE_KUNIT=y", shim, "modules")
    assert status == 0 and "warning" not in output, output
    module = folder / "litepulse_kunit.ko"
    subprocess.run(["strip", "-g", module], check=True)
    guest = pc(OWN)
    result = guest.run("insmod litepulse_kunit.ko && rmmod litepulse_kunit", {module.name: module}, boards=[])
    return {match[2]: match[1] for text in result.kernel if (match := RESULT.fullmatch(text))}


@pytest.mark.quick
@pytest.mark.seconds(30)
def test_unit(pc):
    results = run(pc, driver_copy("unit"))
    cases = re.findall(r"KUNIT_CASE\((\w+)\)", (DRIVER / "litepulse_test.c").read_text())
    assert len(cases) > 10 and list(results) == cases and set(results.values()) == {"ok"}


@pytest.mark.seconds(30)
def test_a_mistake_is_noticed(pc):
    folder = driver_copy("mistake", edit={"litepulse_time.c": lambda text: text.replace("rate->shift = 31", "rate->shift = 32")})
    results = run(pc, folder)
    assert results["rate_is_exact"] == "not ok" and "ok" in results.values()
