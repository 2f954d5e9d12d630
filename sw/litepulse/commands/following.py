# SPDX-License-Identifier: BSD-2-Clause
"""How train, capture, send, respond and latency follow a job: to its end, or to the fault that cuts it short, and what they report then."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from litepulse import Board, output
from litepulse.backends import Losses
from litepulse.commands.report import span
from litepulse.errors import LitePulseError
from litepulse.job import Job

PATIENCE_SECONDS = 1  # a longer wait for the first launch is announced


def to_the_end(
    job: Job[Any],
    style: str | None,
    look: Callable[[], None],
    happened: Callable[[], int],
    report: Callable[[Losses], tuple[dict[str, Any], str]],
) -> Losses:
    """Calls look(), which shows what comes of a job, then ends the job and reports; returns the losses.

    A fault in between is raised again in the end. If nothing had happened before it, it is all that is reported.

    happened: how much has come by now
    report: (JSON object, text for people), once the job has ended
    """
    problem = None
    try:
        with job:
            look()
    except LitePulseError as error:
        if not happened():
            raise
        problem = error
    result, text = report(job.losses)
    if style == "json":
        output.write_json(result | ({"error": str(problem)} if problem else {}))
    elif text:
        (output.write if style is None else output.note)(text)
    if problem:
        raise problem
    return job.losses


class Wait:
    """The wait for the first launch at a requested tick. A long wait is announced once on standard
    error."""

    def __init__(self, board: Board, what: str, tick: int | None) -> None:
        """what: 'pulse 0', 'the first byte'; tick: None if it leaves as soon as possible."""
        self.board, self.tick = board, tick
        if tick is not None and (seconds := self._seconds(board.now().tick)) > PATIENCE_SECONDS:
            output.note(f"litepulse: {what} leaves in {span(seconds)}, at tick {tick}")

    def _seconds(self, now: int) -> Fraction:
        assert self.tick is not None
        return self.board.timescale.seconds(self.tick - now)

    def left(self, now: int) -> str:
        """', in 1 min 5 s' behind a title while the wait lasts; now: the board's tick."""
        if self.tick is None or self.tick <= now:
            return ""
        return f", in {span(Fraction(math.ceil(self._seconds(now))))}"
