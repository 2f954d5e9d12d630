# SPDX-License-Identifier: BSD-2-Clause
"""What can go wrong, reported in one line; what a program may want to decide by is in fields."""


def printable(text: str) -> str:
    """What others wrote (a USB plug, a file) without what a terminal would obey."""
    return "".join(character if character.isprintable() else "?" for character in text)


def shown(value: object) -> str:
    """A wrong value as a message shows it: one short line."""
    try:
        text = f"'{value}'" if isinstance(value, str) else repr(value)
    except Exception:  # a number of too many digits, or a class whose own repr() fails
        return f"this {type(value).__name__}"
    text = printable(" ".join(text.split()))
    return text if len(text) <= 60 else f"{text[:57]}..."


def lacking(what: str, *packages: str) -> str:
    """The message for a feature that needs missing Python packages. It names these, as no package
    `litepulse` is published."""
    return f"{what} needs {', '.join(packages)}: pip install {' '.join(packages)}"


class LitePulseError(Exception):
    """Something the user can understand and act on; the command prints it as one line and exits 2."""


class BadInput(LitePulseError):
    """A value that makes no sense or does not fit the device."""


def check_text(value: object, what: str) -> str:
    """The same text, or BadInput if it is none."""
    if not isinstance(value, str):
        raise BadInput(f"{what}: {shown(value)} is not text")
    return value


class Unsupported(LitePulseError):
    """This backend, board or machine cannot do what was requested."""


class TransportError(LitePulseError):
    """The board does not answer, or is gone."""


class NotLitePulse(LitePulseError):
    """A bridge answers, but not a LitePulse core that this version can drive."""


class InUse(LitePulseError):
    """Another program has the board. `process`: its number, if that is known."""

    def __init__(self, message: str, process: int | None = None) -> None:
        super().__init__(message)
        self.process = process


class Refused(LitePulseError):
    """The core refused a command, or a launch.

    reason: 'late', 'busy', 'order', 'invalid', or None where nothing is known of it
    tick: of the launch that was refused, or None
    """

    def __init__(self, message: str, reason: str | None = None, tick: int | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.tick = tick


class Underrun(Refused):
    """A launch of a sequence could not be queued in time: it did not go out, nor did any behind it.

    entry: its number in its run, from 0; run: from 0
    """

    def __init__(self, message: str, entry: int, run: int, tick: int) -> None:
        super().__init__(message, "late", tick)
        self.entry = entry
        self.run = run


class Restarted(LitePulseError):
    """The board restarted while it was in use."""


class OutputLost(LitePulseError):
    """Standard output cannot be written: a full disk."""


class OutputClosed(Exception):
    """No program reads the standard output any more (`| head`): stop quietly."""


_UNIX = {"fcntl", "termios", "pty", "tty", "resource"}  # modules of Python that Windows does not have


def check_system(error: ModuleNotFoundError) -> None:
    """Unsupported, which says what works, if a module is missing because this is no Unix."""
    if error.name in _UNIX:
        raise Unsupported("this system is not supported: LitePulse needs Linux or macOS; on Windows use WSL or a Linux VM") from None
