# SPDX-License-Identifier: BSD-2-Clause
"""Building what guests consist of: the environment of compilers and make, steps with a log, and where what is built is kept."""

import functools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from litex_soc.build_cache import Store, ccache_environment
from sim.cocotb_rig import BuildError

LINUX = Store("linux")  # kernels, C libraries, guests and their states after the boot


def jobs():
    """How many compilers at a time."""
    return int(os.environ.get("JOBS") or min(os.cpu_count() or 1, 8))


def say(text):
    """A line for the person who waits."""
    print(f"linux: {text}", file=sys.stderr, flush=True)


def environment():
    """For compilers and make: no settings of a `make` around us, messages in English, ccache where the project keeps it."""
    env = {
        name: value
        for name, value in os.environ.items()
        if name
        not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "ARCH", "CROSS_COMPILE", "KBUILD_OUTPUT", "CFLAGS", "LDFLAGS", "W", "V", "C", "M", "O")
    }
    return {**env, **ccache_environment(), "LC_ALL": "C"}


@functools.lru_cache(maxsize=None)
def compiler_version(compiler="gcc"):
    """First line of what a compiler says of itself: part of the key of all that it makes."""
    return subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]


def ccached(compiler):
    """The compiler's command, through ccache if that is there."""
    return f"ccache {compiler}" if shutil.which("ccache") else compiler


def run(command, log, variables=(), **options):
    """Runs a step of a build, its words into `log`; BuildError with their end when it fails. `variables`: more of the environment."""
    with open(log, "a", encoding="utf-8") as handle:
        handle.write(f"$ {' '.join(map(str, command))}\n")
        handle.flush()
        try:
            result = subprocess.run(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=handle,
                stderr=subprocess.STDOUT,
                env={**environment(), **dict(variables)},
                check=False,
                **options,
            )
        except FileNotFoundError as error:
            raise BuildError(f"there is no {command[0]}: `make setup` installs it") from error
    if result.returncode:
        tail = "\n".join(Path(log).read_text(errors="replace").splitlines()[-25:])
        raise BuildError(f"{command[0]} failed:\n{tail}\nlog: {log}")


def shortcomings(wanted, config):
    """Lines of the configuration `wanted` that are not so in the finished one."""

    def lines(text):
        return dict(re.findall(r"(?m)^(CONFIG_\w+)=(.*)$", text)) | dict.fromkeys(re.findall(r"(?m)^# (CONFIG_\w+) is not set$", text))

    have = lines(config)
    return [f"{name}={value}" if value else f"# {name} is not set" for name, value in lines(wanted).items() if have.get(name) != value]
