# SPDX-License-Identifier: BSD-2-Clause
"""Pulses that are high: on the pins, and measured from their rising edge."""

import json

import pytest

from litepulse import cli
from litepulse.commands import latency as verb
from litepulse.vcd import Vcd

WIDTH = 480  # ticks of 10 us


def latency(capsys, *words, style="--json"):
    status = cli.main(
        ["--sim", "--wire", "0", "latency", "--width", "10us", "--interval", "1ms", "--count", "5", *words, *[style][: bool(style)]]
    )
    out, _ = capsys.readouterr()
    assert status == 0
    return json.loads(out) if style else out


@pytest.mark.parametrize(
    "words, edge, delay",
    [
        (["--high", "--on", "edge:0:rise"], "rising", 1),
        (["--high", "--on", "edge:0:fall"], "rising", WIDTH + 1),
        (["--on", "edge:0:fall"], "falling", 1),
        (["--on", "edge:0:rise"], "falling", WIDTH + 1),
        (["--on", "edge:0:rise", "--from", "end"], "falling", 1),
    ],
)
def test_a_delay_begins_at_the_edge_that_is_named(words, edge, delay, capsys):
    """A wire takes one tick; to the other edge of the pulse the delay contains its width."""
    result = latency(capsys, *words)
    assert result["stimulus_edge"] == edge and result["histogram"] == [[delay, 5]]


@pytest.mark.parametrize(
    "words, line",
    [
        (["--high", "--on", "edge:0:rise"], "high pulse of 480 ticks, from its rising edge → rising edge on 0,"),
        (["--on", "edge:0:fall"], "low pulse of 480 ticks, from its falling edge → falling edge on 0,"),
        (["--on", "edge:0:rise", "--from", "end"], "low pulse of 480 ticks, from its end → rising edge on 0,"),
    ],
)
def test_the_headline_names_the_edge(words, line, capsys):
    assert line in latency(capsys, *words, style="")


def test_the_examples_wait_for_the_edge_that_begins_the_pulse():
    """Else the delay contains the width, as the cases above show."""
    examples = [line for line in verb.EXAMPLES.splitlines() if "--width" in line and "--on edge:" in line]
    assert examples and all(("--high" in line) == (":rise" in line) for line in examples)


def test_a_high_train_on_the_pins(tmp_path, capsys):
    vcd = tmp_path / "pins.vcd"
    words = [
        "--sim",
        "--vcd",
        str(vcd),
        "train",
        "--rate",
        "1k",
        "--width",
        "10us",
        "--high",
        "--count",
        "3",
        "--start",
        "2000000t",
        "--json",
    ]
    assert cli.main(words) == 0
    result = json.loads(capsys.readouterr().out)
    edges = [edge for edge in Vcd(vcd, 48_000_000).signals["tx"] if edge[0] > 1_900_000]
    assert edges == [edge for n in range(3) for edge in ((2_000_000 + 48_000 * n, 1), (2_000_000 + 48_000 * n + WIDTH, 0))]
    assert result["launched"] == [edge[0] for edge in edges if edge[1]]


@pytest.mark.parametrize(
    "words", [["train", "--rate", "58"], ["respond", "--on", "break", "--delay", "1us"], ["latency", "--on", "edge:0"]]
)
def test_only_a_pulse_is_high(words, capsys):
    assert cli.main(["--sim", *words, "--high", "--count", "1"]) == 2
    assert capsys.readouterr().err == "litepulse: high: only a pulse (--width) is high or low; --invert turns frames and breaks around\n"
