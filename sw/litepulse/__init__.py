# SPDX-License-Identifier: BSD-2-Clause
"""LitePulse for people and programs: a serial port whose every edge has a known time."""

__version__ = "0.1.0"
