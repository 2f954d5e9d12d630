# SPDX-License-Identifier: BSD-2-Clause
"""The verbs of the command, a file each: add() puts it on the command line, run() does it. Text becomes numbers here, once."""
