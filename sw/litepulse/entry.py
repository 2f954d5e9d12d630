# SPDX-License-Identifier: BSD-2-Clause
"""Where the program `litepulse` begins: an interrupt is quiet from here on, also while all else is still being loaded."""

import signal
import sys

from litepulse.errors import LitePulseError, check_system


def main(argv: list[str] | None = None) -> int:
    """The command; returns the exit status."""
    # While modules are loaded, Ctrl-C ends the process as it ends any other: out of some of them KeyboardInterrupt would come as another
    # error, and in the interpreter's own clean-up behind an import it would be lost.
    quiet = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if quiet:
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    def loaded() -> None:
        if quiet:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    try:
        from litepulse.cli import main as command

        return command(argv, loaded)
    except KeyboardInterrupt:
        return 130
    except ModuleNotFoundError as error:
        try:
            check_system(error)
        except LitePulseError as unsupported:
            print(f"litepulse: {unsupported}", file=sys.stderr)
            return 2
        raise
