# SPDX-License-Identifier: BSD-2-Clause
"""What `make bench` measures on the simulated SoC, in short."""

import importlib

import pytest

bench = importlib.import_module("lab.bench.__main__")


@pytest.mark.seconds(10)
def test_draining_in_short(monkeypatch):
    monkeypatch.setattr(bench, "ROUNDS", 1)
    monkeypatch.setattr(bench, "WINDOW", 0.5)
    found = bench.measure_drain()
    assert found["records"] >= 62 and found["raw"]["per_second"] > 0 and found["decoded"]["per_second"] > 0
    bridge = found["bridge"]
    assert bridge["records"] == 62 and bridge["bytes"] == 1020
    # No waiting in between: each burst takes the same number of whole cycles, at least one for each byte of it.
    assert bridge["least"] == bridge["most"] == bridge["mean"] and int(bridge["mean"]) >= 1020 + 6 + 10
    assert "0 bursts were not full" in "\n".join(bench.drain_lines(found))
