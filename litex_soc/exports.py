# SPDX-License-Identifier: BSD-2-Clause
"""What lies where in a finalized SoC, as LiteX writes it. By keywords: the order of LiteX's arguments has changed."""

from litex.soc.integration import export


def _contents(soc):
    return {"csr_regions": soc.csr_regions, "constants": soc.constants, "mem_regions": soc.mem_regions}


def csr_csv(soc):
    """Text of csr.csv."""
    return export.get_csr_csv(**_contents(soc))


def csr_json(soc):
    """Text of csr.json."""
    return export.get_csr_json(**_contents(soc))
