# SPDX-License-Identifier: BSD-2-Clause
"""What these tests fetch and build is made up: the run of the tests must not report it."""

import pytest


@pytest.fixture(autouse=True)
def not_reported(monkeypatch):
    monkeypatch.delenv("LITEPULSE_MESSAGES", raising=False)
