# SPDX-License-Identifier: BSD-2-Clause
"""`python -m litepulse` is the command `litepulse`."""

import sys

from litepulse.entry import main

if __name__ == "__main__":
    sys.exit(main())
