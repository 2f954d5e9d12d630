# SPDX-License-Identifier: BSD-2-Clause
"""The statistics are exact: a single tick in a million pulses shows."""

import math
from fractions import Fraction

import pytest

from litepulse.measurement import IdealTrain, TrainRecord, histogram
from litepulse.units import Period

P58 = Period(827586, 6, 29)


def test_positions_never_drift():
    train = IdealTrain(P58, 1000)
    for n in (0, 1, 28, 29, 10**6, 2**32 - 1):
        assert train.position(n) == 1000 + n * 24_000_000 // 29


def test_the_start_follows_from_any_pulse():
    train = IdealTrain(P58)
    train.anchor(7, 5000 + 7 * 24_000_000 // 29)
    assert train.start == 5000


def test_a_change_keeps_the_fraction_if_the_denominator_stays():
    train = IdealTrain(Period(100, 1, 3), 0)
    train.adjust(2, Period(200, 1, 3), step=5)
    assert train.position(1) == 100 and train.exact(2) == Fraction(301, 3) + Fraction(601, 3) + 5
    assert train.exact(4) == train.exact(2) + 2 * Fraction(601, 3)


def test_a_change_of_denominator_drops_it_once():
    train = IdealTrain(Period(100, 2, 3), 0)
    train.adjust(2, Period(50, 1, 7), step=-1)
    assert train.exact(2) == 100 + 50 + Fraction(1, 7) - 1
    train.adjust(5, Period(60, 0, 7))
    assert train.exact(5) == train.exact(4) + 60
    with pytest.raises(ValueError):
        train.adjust(5, P58)


def test_exact_means_exact():
    record = TrainRecord(IdealTrain(P58, 0))
    for n in range(100):
        record.add_launch(n, n * 24_000_000 // 29)
        record.add_received(n * 24_000_000 // 29 + 1)
    assert record.exact and record.max_error == 0 and record.delays() == {1: 100}
    assert (record.min_interval, record.max_interval) == (827586, 827587)
    assert record.mean_period == Fraction(math.floor(99 * Fraction(24_000_000, 29)), 99)


def test_one_tick_shows():
    record = TrainRecord(IdealTrain(P58, 0))
    for n in range(50):
        record.add_launch(n, n * 24_000_000 // 29 + (n == 30))
    assert record.max_error == 1 and not record.exact


def test_a_late_echo_shows():
    record = TrainRecord(IdealTrain(P58, 0))
    record.add_launch(0, 0)
    record.add_received(2)
    assert not record.exact and record.delays() == {2: 1}


def test_a_skipped_pulse_is_no_interval():
    record = TrainRecord(IdealTrain(P58))
    record.add_refused(0, 77, "busy")
    record.add_launch(1, 77 + 827586)
    record.add_launch(3, 77 + 3 * 24_000_000 // 29)
    assert record.ideal.start == 77 and record.max_error == 0 and record.min_interval is None and not record.exact


def test_loss_shows():
    record = TrainRecord(IdealTrain(P58, 0), events_lost=2, bytes_lost=1)
    record.add_launch(0, 0)
    assert record.lost == 3 and not record.exact


def test_histogram():
    assert histogram([3, 1, 3, -2]) == [(-2, 1), (1, 1), (3, 2)]
