# SPDX-License-Identifier: BSD-2-Clause
"""What can go wrong, told in one line."""


class LitePulseError(Exception):
    """Something the user can understand and act on; the command prints it as one line and exits 2."""


class BadInput(LitePulseError):
    """A value that makes no sense or does not fit the device."""


class TransportError(LitePulseError):
    """The bridge does not answer, or is gone."""


class NotLitePulse(LitePulseError):
    """A bridge answers, but not a LitePulse core that this version can drive."""


class Refused(LitePulseError):
    """The core refused a command."""


class Restarted(LitePulseError):
    """The board restarted while it was in use."""


class OutputClosed(Exception):
    """Nobody reads the standard output any more (`| head`): stop quietly."""
