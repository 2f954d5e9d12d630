# SPDX-License-Identifier: BSD-2-Clause
"""The backend of a LitePulse core behind a bus, which reads and writes its registers and its window.

Writes over a bridge are not acknowledged, so every setting is confirmed by the core's own counters, and every acknowledgement of records
is guarded by the position it was made for: a lost or repeated one is noticed and made good, never a record taken twice or dropped.
"""
