# SPDX-License-Identifier: BSD-2-Clause
"""The helpers of these tests (fake_board.py) are importable."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
