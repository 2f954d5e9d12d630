# SPDX-License-Identifier: BSD-2-Clause
"""Archives that a kernel unpacks as its first file system."""


def member(name, mode, data=b"", device=(0, 0), number=0):
    """One file of a "newc" archive."""

    def padded(text):
        return text + bytes(-len(text) % 4)

    path = name.encode() + b"\0"
    fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(path), 0)
    return padded(b"070701" + b"".join(b"%08X" % field for field in fields) + path) + padded(data)


def archive(files):
    """A "newc" archive of (name, mode, data, device), the same bytes whenever and wherever it is made."""
    members = [member(*file, number=number) for number, file in enumerate(files, 1)]
    return b"".join(members) + member("TRAILER!!!", 0)
