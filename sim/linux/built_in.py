# SPDX-License-Identifier: BSD-2-Clause
"""A kernel for the simulated SoC with the driver built in: Debian's linux-source with the patch series."""

import inspect
import shutil
import subprocess

from litex_soc.build_cache import content_key
from sim.guest import upstream_tree
from sim.guest.builds import LINUX, BuildError, jobs, run, shortcomings
from sim.linux import kernel
from sim.linux.targets import compiler_version, target

SERIES = "6.12"
FLAVOUR = "bench"
OPTIONS = "CONFIG_SERIAL_LITEPULSE=y\nCONFIG_SERIAL_LITEPULSE_CHARDEV=y\nCONFIG_SERIAL_LITEPULSE_CONSOLE=y\nCONFIG_SERIAL_EARLYCON=y\n"


def build(cpu):
    """The `Kernel`, built unless the cache has it; no modules can be built for it."""
    of, base = target(cpu), upstream_tree.kernel(SERIES)
    wanted = "".join(path.read_text() for path in kernel.fragments(cpu, FLAVOUR)) + OPTIONS
    changed = {path: text for path, text in upstream_tree.series(SERIES).now.items() if path.startswith(("drivers/", "include/"))}
    key = content_key(base.version, wanted, changed, compiler_version(of), kernel.REPRODUCIBLE, inspect.getsource(build))

    def make(folder):
        # The build folder lies in the source, so that all paths are relative, and the same for ccache whatever the key.
        tree = upstream_tree.Tree(folder / "source", base)
        subprocess.run(["cp", "--archive", "--link", base.tree, tree.path], check=True)
        for patch in upstream_tree.patches(SERIES):
            tree.apply(patch)
        made, log = kernel.Kernel(cpu, FLAVOUR, tree.path / "build", tree.path, key), folder / "build.log"
        made.folder.mkdir()
        (folder / "wanted.config").write_text(wanted)
        run([*made.make(), f"KCONFIG_ALLCONFIG={folder / 'wanted.config'}", "allnoconfig"], log)
        if missing := shortcomings(wanted, (made.folder / ".config").read_text()):
            raise BuildError(f"the kernel for {cpu} cannot be configured with the driver: {', '.join(missing)}")
        run([*made.make(), f"-j{jobs()}", "Image"], log)
        shutil.copyfile(made.folder / of.image, folder / "image")
        shutil.rmtree(tree.path)

    what = f"Linux {base.name} for {cpu} with the driver built in (once, some minutes)"
    return kernel.Kernel(cpu, FLAVOUR, LINUX.folder(f"kernel-{cpu}-built-in", key, make, what), base.tree, key)
