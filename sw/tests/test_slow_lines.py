# SPDX-License-Identifier: BSD-2-Clause
"""Bit rates that serial ports do not have: the slow start of a car's K-line, and teletypes. At their pins, on the simulated SoC."""

import json
from fractions import Fraction

import pytest

from .test_kept import HZ, Soc


@pytest.mark.parametrize(
    "words, levels, bit",
    [
        (["--period", "3s", "--count", "1", "--byte", "0x33", "--baud", "5"], [0, 1, 1, 0, 0, 1, 1, 0, 0, 1], Fraction(HZ, 5)),
        (
            ["--rate", "6", "--count", "3", "--byte", "21", "--baud", "45.45", "--format", "5N1.5"],
            [0, 1, 0, 1, 0, 1, 1],
            Fraction(round(HZ / Fraction(4545, 100) * 256), 256),
        ),
    ],
)
def test_each_bit_has_its_length(words, levels, bit, tmp_path):
    with Soc(tmp_path, "--loop-tx-rx") as soc:
        done = soc.run("train", *words, "--json")
        assert done.returncode == 0 and done.stderr == "", done.stderr
        result = json.loads(done.stdout)
        end = soc.info()["tick"]
    edges, before = [], 1
    for start in result["launched"]:
        for number, level in enumerate(levels):
            if level != before:
                edges.append((start + int(number * bit), level))
            before = level
    assert soc.tx(1, end) == edges
    assert Fraction(result["bit_period_ticks"]) == bit and result["bad_frames"] == 0
    assert result["received"] == [tick + 1 for tick in result["launched"]] and result["lost"] == 0
