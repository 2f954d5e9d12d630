# SPDX-License-Identifier: BSD-2-Clause
"""The core in a LiteX SoC, and what is generated from it."""

# For the licence lines of generated files. In two parts, because `reuse lint` would take the whole for this file's own licence.
SPDX = "SPDX-License-" + "Identifier:"
