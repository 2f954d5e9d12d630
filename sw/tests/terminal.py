# SPDX-License-Identifier: BSD-2-Clause
"""Commands whose standard output is a terminal."""

import contextlib
import os
import subprocess
import termios


def surroundings(env):
    """Of a program in a terminal: it asks the terminal how large it is."""
    return {name: value for name, value in env.items() if name not in ("COLUMNS", "LINES")} | {"TERM": "xterm", "LC_ALL": "C.UTF-8"}


def in_a_terminal(columns, command, env):
    """(what a command shows in a terminal so wide, what it writes to standard error, its status)."""
    terminal, other = os.openpty()
    termios.tcsetwinsize(other, (40, columns))
    pipes = {"stdin": subprocess.DEVNULL, "stdout": other, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=surroundings(env), **pipes) as process:
        os.close(other)
        shown = bytearray()
        with contextlib.suppress(OSError):  # the terminal's other end is closed
            while part := os.read(terminal, 65536):
                shown.extend(part)
        os.close(terminal)
        errors = process.stderr.read()
    return shown.decode().replace("\r", ""), errors, process.returncode
