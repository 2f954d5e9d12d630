# SPDX-License-Identifier: BSD-2-Clause
"""The first time with a board: from its plug to its pins, one step after the other, and a report that can be sent.

steps: what is done, in which order; wires, crystal: what is measured besides what other verbs measure; report: what is handed out.
"""

SCHEMA = 1  # version of the report: it changes with what its keys mean
