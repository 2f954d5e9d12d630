# SPDX-License-Identifier: BSD-2-Clause
"""Waiting until all that was stopped has come to rest."""

import time

from litepulse.backends.interface import Backend
from litepulse.errors import LitePulseError

REST_SECONDS = 5.0  # within which it has


def come_to_rest(backend: Backend) -> None:
    """Returns once nothing starts by itself and the line is idle. LitePulseError after REST_SECONDS."""
    end = time.monotonic() + REST_SECONDS
    while (status := backend.status()).running or status.line_busy:
        if time.monotonic() > end:
            raise LitePulseError(f"{backend.identity.name}: it does not come to rest")
        backend.recorder.wait(0.01)
