# SPDX-License-Identifier: BSD-2-Clause
"""The KUnit tests of the driver's pure parts (driver/litepulse_test.c), in the debug kernel;
controls show that they notice mistakes."""

import pytest

from sim.driver.uml import boot, build_module, control_module, kunit_results
from sim.guest.driver_tree import driver_copy

# (file, what is there, the mistake instead, case that must fail)
MISTAKES = [
    ("litepulse_time.c", "+ per_tick / 2", "", "bauds_are_nearest"),
    ("litepulse_time.c", "rate->shift = 31", "rate->shift = 32", "rate_is_exact"),
    ("litepulse_time.h", "GENMASK_ULL(47, 0)", "GENMASK_ULL(46, 0)", "ticks_are_extended"),
    ("litepulse_record.c", "sequence->next += missing;", "sequence->next = seq;", "lost_events_are_reported"),
    ("litepulse_record.c", "if (!sequence->open_ended)", "if (1)", "losses_without_end_are_reported"),
    ("litepulse_record.c", "\tsequence->open_ended = false;\n\tif", "\tif", "losses_without_end_are_reported"),
    ("litepulse_record.c", "\t\t\tsequence->open_ended = false;\n", "", "losses_without_end_are_reported"),
    ("litepulse_record.c", "| (open_ended ? LITEPULSE_FLAG_AT_LEAST : 0)", "", "losses_without_end_are_reported"),
    ("litepulse_record.c", "info & RECEIVE_COUNT_AT_LEAST", "false", "bytes_are_decoded"),
    ("litepulse_record.c", "sequence->gap_tick = tick;", "", "bytes_are_decoded"),
    ("litepulse_record.c", "before->lost + missing", "sequence->lost + missing", "dropped_records_are_counted"),
    ("litepulse_record.c", "sequence->dropped_open_ended = false;", "", "dropped_records_are_counted"),
    ("litepulse_ring.c", "<< 16 | (low - before)", "<< 16 | (before - low)", "runs_have_each_tick"),
    ("litepulse_ring.c", "(info ^ first) & LITEPULSE_RECEIVE_INFO_TICK_47_32_MASK", "(info ^ first) & 0", "runs_end"),
    ("litepulse_ring.c", "low - before > U16_MAX", "low - before > U16_MAX + 1", "runs_end"),
    ("litepulse_ring.c", "(room - 1) * LITEPULSE_RUN_PER_EVENT", "room * LITEPULSE_RUN_PER_EVENT", "runs_end"),
    ("litepulse_phc.c", "(u64)rest + phc->frac >= phc->div", "(u64)rest + phc->frac > phc->div", "clock_is_exact"),
    ("litepulse_phc.c", "(u64)then->period_num +", "0ull +", "trains_follow_the_clock"),
    ("litepulse_phc.c", "then->den == train->den ? num : 0", "0 * num", "train_follows_a_rate_that_returns"),
    ("litepulse_phc.c", "rest > then->num * div_u64(den, then->den)", "0", "fractions_of_the_clock_are_exact"),
    ("litepulse_phc.c", "(u64)part * phc->div", "0ull * part", "fractions_of_the_clock_are_exact"),
    ("litepulse_phc.c", "digits >= then->num", "1", "fractions_of_the_clock_are_exact"),
    ("litepulse_phc.c", "after >= DIGITS_DEN / 2", "1", "periods_that_drift_are_renewed"),
    ("litepulse_phc.c", "(tick - train->tick) >> DRIFT_SHIFT < train->period", "1", "periods_that_drift_are_renewed"),
    ("litepulse_clock_map.c", "passed >> 21", "passed >> 41", "wandering_clocks_stay_within_the_bound"),
    ("litepulse_clock_map.c", "passed + 1) >> 20", "passed + 1) >> 40", "wandering_clocks_stay_within_the_bound"),
    ("litepulse_clock_map.c", "!map->coarse", "1", "wandering_clocks_stay_within_the_bound"),
    ("litepulse_clock_map.c", "next.fault = away", "next.fault = 0 * away", "another_clock_is_shown"),
    ("litepulse_clock_map.c", "min(away, span >> 3)", "min(0 * away, span >> 3)", "another_clock_is_shown"),
    ("litepulse_clock_map.c", "(s64)line->slew * (s32)age", "0LL * (s32)age", "ticks_are_on_a_line"),
    ("litepulse_record.h", "if (tick < since)", "if (0)", "plain_events_are_put_as_usual"),
    ("litepulse_record.h", "!sequence->started || sequence->open_ended", "0", "plain_events_are_put_as_usual"),
    ("litepulse_record.h", "i < count && made < room", "i < count", "plain_events_are_put_as_usual"),
    ("litepulse_clock_map.c", "max(before, earliest)", "min(before, earliest)", "readings_bound_the_moment"),
    ("litepulse_clock_map.c", "map->breaks++;", "", "contradicting_readings_start_again"),
    (
        "litepulse_packed.c",
        "DIV_ROUND_UP(4 * words, LITEPULSE_PACKED_GROUP)",
        "4 * words / LITEPULSE_PACKED_GROUP",
        "packed_answer_by_hand",
    ),
    ("litepulse_packed.c", "return !mask;", "return true;", "packed_answer_beyond_its_end"),
    ("litepulse_packed.c", "history[at % LITEPULSE_PACKED_PERIOD]", "history[at % 8]", "packed_answers_of_any_words"),
    ("litepulse_lin_frame.c", "~(id >> 1", "(id >> 1", "lin_parity_and_checksums"),
    ("litepulse_lin_frame.c", "sum -= 255", "sum -= 256", "lin_parity_and_checksums"),
    ("litepulse_lin_frame.c", "return !expected->length &&", "return", "lin_frames"),
    ("litepulse_lin_frame.c", "frame->tick = byte->tick;", "frame->tick = frame->break_tick;", "lin_frames"),
    ("litepulse_lin_frame.c", "byte->tick > frame->deadline", "byte->tick >= frame->deadline", "lin_responses_end"),
    ("litepulse_lin_frame.c", "max(expected->length + 1, 2)", "expected->length + 1", "lin_responses_end"),
    ("litepulse_lin_frame.c", "frame->count > length ?", "frame->count >= length ?", "lin_responses_end"),
    ("litepulse_lin_frame.c", "(u8)byte->data != LITEPULSE_LIN_SYNC", "false", "lin_bad_headers"),
    ("litepulse_lin_events.c", "\t\tif (events->lost)\n\t\t\tkfifo_put", "\t\tif (false)\n\t\t\tkfifo_put", "lin_losses_are_in_place"),
    ("litepulse_lin_frame.c", "max(tick, frame->break_tick)", "tick", "lin_frames_are_awaited"),
    ("litepulse_lin_frame.c", "\tif (can_id & CAN_ERR_FLAG)", "\tif (0)", "lin_words_have_a_meaning"),
    ("litepulse_lin_frame.c", "(CAN_LIN_ID_MASK | CAN_LIN_IGNORED)", "CAN_LIN_ID_MASK", "lin_words_have_a_meaning"),
    ("litepulse_lin_frame.c", "wanted && id < CAN_LIN_ID_CLASSIC", "wanted", "lin_diagnostic_frames_are_classic"),
    ("litepulse_lin_queue.c", "tick - slot->tick >= within", "false", "lin_headers_are_heard"),
    ("litepulse_lin_queue.c", "tick - now > queue->horizon ? -ERANGE : 0", "0", "lin_frames_have_a_horizon"),
    ("litepulse_lin_queue.c", "queue->free > soon ? queue->free - soon : 0", "0 * soon", "lin_untimed_frames_wait"),
    ("litepulse_lin_queue.c", "queue->ahead - queue->ahead / 8", "queue->ahead", "lin_frames_are_given_in_time"),
    ("litepulse_lin_queue.c", "slot->tag = ++queue->tag ?: ++queue->tag", "slot->tag = ++queue->tag", "lin_frames_have_slots"),
    ("litepulse_lin_queue.c", "slot->started ? queue->patience : queue->outcome", "queue->patience", "lin_frames_have_slots"),
    ("litepulse_lin_queue.c", "min(due - tick, queue->horizon + queue->outcome)", "due - tick", "lin_frames_have_slots"),
    ("litepulse_lin_events.c", "< 1 + !!events->lost + events->restarted", "< 1", "lin_losses_are_in_place"),
    ("litepulse_entry.c", "~LITEPULSE_LAUNCH_RELATIVE", "~0xff", "launches_are_checked"),
    ("litepulse_entry.c", "memchr_inv(entry->reserved, 0, sizeof(entry->reserved))", "entry->reserved[0]", "launches_are_checked"),
    ("litepulse_entry.c", "width || !data", "width", "launches_are_checked"),
    ("litepulse_entry.c", "if (!sequence && (wait || litepulse_entry_is_relative(entry)))", "if (!sequence && wait)", "waits_are_checked"),
    ("litepulse_entry.c", "if (!sequence && (wait || litepulse_entry_is_relative(entry)))", "if (0)", "waits_are_checked"),
    ("litepulse_entry.c", "return entry->width || entry->profile ||", "return entry->profile ||", "waits_are_checked"),
    ("litepulse_entry.c", "return entry->width || entry->profile ||", "return entry->width ||", "waits_are_checked"),
    ("litepulse_entry.c", "entry->data) > inputs", "entry->data) >= inputs", "waits_are_checked"),
    (
        "litepulse_entry.c",
        "\tif (litepulse_entry_is_relative(entry))\n\t\treturn 0;\n\tif (entry->tick < last)",
        "\tif (entry->tick < last)",
        "order_is_checked_where_it_is_known",
    ),
    ("litepulse_entry.c", "if (entry->tick < last)", "if (0)", "order_is_checked_where_it_is_known"),
    ("litepulse_entry.c", "entry->tick <= now", "entry->tick < now", "order_is_checked_where_it_is_known"),
    (
        "litepulse_entry.c",
        "if (litepulse_entry_is_relative(entry) || litepulse_entry_is_wait(entry))",
        "if (litepulse_entry_is_relative(entry))",
        "order_is_checked_where_it_is_known",
    ),
    (
        "litepulse_entry.c",
        "if (litepulse_entry_is_relative(entry) || litepulse_entry_is_wait(entry))",
        "if (litepulse_entry_is_wait(entry))",
        "order_is_checked_where_it_is_known",
    ),
    ("litepulse_entry.c", "litepulse_entry_is_wait(entry) && entry->data", "entry->data", "order_is_checked_where_it_is_known"),
    ("litepulse_entry.c", "words[3] |= LITEPULSE_LAUNCH_LAUNCH_RELATIVE_MASK", "words[3] |= 0", "entries_become_words"),
    ("litepulse_entry.c", "words[1] = upper_32_bits(entry->tick)", "words[1] = 0", "entries_become_words"),
]


def run(folder):
    """(results, Boot) of the KUnit tests of a copy of the driver."""
    module = build_module(folder, "LITEPULSE_KUNIT=y")
    booted = boot(["insmod litepulse_kunit.ko", "rmmod litepulse_kunit", "leaks"], {"litepulse_kunit.ko": module})
    return kunit_results(booted.lines(0)), booted


@pytest.mark.seconds(600)
def test_kunit():
    results, booted = run(driver_copy())
    print("\n".join(f"{status} {name}" for name, status in results.items()))
    # a case that is skipped does not count as passed
    assert len(results) > 10 and set(results.values()) == {"PASS"}, booted.log
    assert booted.status == [0, 0, 0] and not booted.complaints, booted.log


@pytest.mark.seconds(600)
@pytest.mark.parametrize("file, right, wrong, case", MISTAKES, ids=[f"{mistake[3]}-{number}" for number, mistake in enumerate(MISTAKES)])
def test_mistakes_are_noticed(file, right, wrong, case):
    results, _ = run(driver_copy(edit={file: lambda text: text.replace(right, wrong)}))
    assert results[f"litepulse.{case}"] == "FAIL"


@pytest.mark.seconds(600)
def test_control():
    """A failed and a skipped case are seen, although insmod succeeds; so is missing KTAP."""
    booted = boot(["insmod control.ko", "run /nothing"], {"control.ko": control_module()})
    assert booted.status == [0, 127]
    assert kunit_results(booted.lines(0)) == {"control.passes": "PASS", "control.fails": "FAIL", "control.is_skipped": "SKIP"}
    with pytest.raises(ValueError, match="no results"):
        kunit_results(booted.lines(1))
