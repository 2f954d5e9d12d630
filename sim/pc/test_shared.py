# SPDX-License-Identifier: BSD-2-Clause
"""The tests of tty, device and clock that need no edges on the inputs, as on the simulated Linux
SoC: same programs, same checks.

The board's clock is slower; the programs ask for bauds and waits that are as many ticks as on the SoC, so what the pins do is the same.
"""

from types import FunctionType

import pytest

from sim.linux import test_chardev, test_ptp, test_tty
from sim.pc.board import HZ

LINE = "6.12"
TTY = (
    "bauds_and_formats",
    "impossible_settings",
    "serial_info_and_no_console",
    "long_row_of_bytes",
    "drain_is_exact",
    "settings_do_not_change_a_train",
    "loop",
    "stopped_output",
    "stopped_output_does_not_stop_launches",
    "xoff_is_sent_while_stopped",
    "flush",
    "close_sends_what_was_written",
    "break_makes_launches_busy",
    "rs485_lead_and_lag",
    "driver_goes_while_in_use",
)
CHARDEV = (
    "bad_input",
    "launches_happen_at_their_ticks_or_not_at_all",
    "refusals_of_the_board_are_reported",
    "marks_are_on_the_port",
    "poll_reports_room",
    "a_signal_interrupts_a_write_that_waits",
    "a_full_queue_blocks_or_fails",
    "trains_are_exact_and_adjusted_without_a_glitch",
    "a_denominator_of_0_and_inverted_frames",
    "a_killed_holder_stops_its_train_unless_kept",
    "a_claim_that_fails_leaves_a_kept_train",
    "the_responder_ignores_its_own_line",
)
PTP = ("what_does_not_fit_is_refused",)


@pytest.fixture
def chardev(pc):
    """As that of test_chardev, on the PC."""

    def run(case, **options):
        result = pc(LINE).run_program("chardev", [case], **options)
        return test_chardev.Report(result.lines, late=HZ), result.pins

    return run


@pytest.fixture
def ptp(pc):
    """As that of test_ptp, on the PC."""

    def run(case, **options):
        result = pc(LINE).run_program("ptp", [case], **options)
        return test_ptp.Report(result.lines), result.pins, "\n".join(result.kernel)

    return run


@pytest.fixture
def tty(pc):
    """As that of test_tty, the PC's kernels in place of CPUs."""

    def run(line, steps, shell, **options):
        guest = pc(line)
        if not shell:
            return guest.run_program("tty_steps", ["/dev/ttyPULSE0", *steps], **options)
        return guest.attached(shell, {"tty_steps": guest.guest_program("tty_steps")}, **options)

    # tcflow() does not wait for the board; less than half of what is written is sent meanwhile.
    return test_tty.Tty(run, HZ, late=1000, steady=False, settle=["sleep=2000"])


def on_the_pc(test):
    """The same test without its marks, for a kernel where it wants a CPU."""
    copy = FunctionType(test.__code__, test.__globals__, test.__name__)
    copy.__doc__ = test.__doc__
    return pytest.mark.parametrize("cpu", [LINE])(copy) if "cpu" in test.__code__.co_varnames else copy


for module, names in ((test_tty, TTY), (test_chardev, CHARDEV), (test_ptp, PTP)):
    globals().update({f"test_{name}": on_the_pc(getattr(module, f"test_{name}")) for name in names})
