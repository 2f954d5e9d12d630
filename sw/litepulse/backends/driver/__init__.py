# SPDX-License-Identifier: BSD-2-Clause
"""The backend of a board that the Linux driver has: /dev/litepulseN, by its ioctls. docs/chardev.md has their semantics.

What launches is the claim, a file of its own that one program at a time has. It is taken when it is first needed, and its end stops
what runs. Line profile 0 is the tty's, so bit rate and format of the receiver are set on the tty, and put back at the end.
"""
