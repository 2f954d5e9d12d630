# SPDX-License-Identifier: BSD-2-Clause
"""What programs say that use lib/lin_device.h: frames of lin0, and bytes on the line."""

import re

ERROR = 0x2000_0000  # in a can_id: an error frame


class LinLog:
    """The lines of a program."""

    def __init__(self, text):
        self.log = text
        self.frames = self.printed("frame")
        self.echoes = self.printed("echo")  # of what this host has sent
        self.ticks = {int(ns): int(tick) for tick, ns, _, _ in self.found("byte")}  # of a start edge, by the PTP clock's time

    def found(self, name):
        """The words of each line that begins with a name."""
        return [match.split() for match in re.findall(rf"(?m)^{name} (.*)$", self.log)]

    def printed(self, name):
        """[(can_id, data, ns by the PTP clock or 0)] of frames on lines that begin with a name."""
        return [(int(word, 16), b"" if data == "-" else bytes.fromhex(data), int(ns)) for word, data, ns in self.found(name)]

    def arrived(self, *, errors=False):
        """[(can_id, data, tick of its stamp)] of frames from the bus."""
        return [(word, data, self.ticks[ns]) for word, data, ns in self.frames if ns and (errors or not word & ERROR)]
