# SPDX-License-Identifier: BSD-2-Clause
"""A board as the pseudoclock of a labscript experiment: a package of device code, as `user_devices`
of labconfig names it.

labscript_devices: what a connection table has. blacs_tabs, blacs_workers: what BLACS runs. shot:
what they do, without labscript.
"""
