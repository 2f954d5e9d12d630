# SPDX-License-Identifier: BSD-2-Clause
"""Why an edge was late: the pins with their ticks and the kernel's trace, on one time line.

trace, chain, align, causes and perfetto are pure; tracefs and record use the machine.
"""

from litepulse.explain.align import Frame, frames_of_bytes, frames_of_edges
from litepulse.explain.causes import Explained, Explanation, Part, Share, explain

__all__ = ["Explained", "Explanation", "Frame", "Part", "Share", "explain", "frames_of_bytes", "frames_of_edges"]
