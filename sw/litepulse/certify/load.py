# SPDX-License-Identifier: BSD-2-Clause
"""As many busy processes as there are processors, beside what is measured. They end with this process, however that ends."""

import os
import subprocess
import sys
from types import TracebackType
from typing import Self

from litepulse.child import end

# Looks at its standard input every few milliseconds, which closes when the process that started it has gone.
BUSY = """
import select
while not select.select([0], [], [], 0)[0]:
    for _ in range(200_000):
        pass
"""


class Load:
    """The processes, while the context lasts."""

    def __init__(self) -> None:
        self.count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        try:
            for _ in range(self.count):
                self._processes.append(subprocess.Popen([sys.executable, "-S", "-c", BUSY], stdin=subprocess.PIPE, start_new_session=True))
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end()

    def _end(self) -> None:
        for process in self._processes:
            assert process.stdin
            process.stdin.close()
        for process in self._processes:
            end(process)
        self._processes.clear()
