# SPDX-License-Identifier: BSD-2-Clause
"""Which response belongs to which stimulus. Pure: ticks in, samples out."""

from collections import deque
from dataclasses import dataclass

ANSWERED, MISSING, UNKNOWN, REFUSED = "answered", "missing", "unknown", "refused"  # what becomes of a stimulus
EXTRA, STRAY, IGNORED = "extra", "stray", "ignored"  # what a response is that belongs to none


@dataclass(frozen=True)
class Sample:
    """A stimulus and its response, or one of the two without the other. Ticks; all None where there is nothing.

    number: of the stimulus; tick: of its start edge; response: tick of the response; delay: between the two
    outcome: 'answered'; 'missing': no response came in time; 'unknown': records were lost, or the job ended before; 'refused': the
        stimulus did not leave, `reason` says why; 'extra': a further response; 'stray': a response to no stimulus; 'ignored': it came
        sooner than the blanking time, or within the holdoff after another response
    overtaken: the response came after the next stimulus; where that is unknown, an extra one that
    came right after a missing one
    """

    outcome: str
    number: int | None = None
    tick: int | None = None
    response: int | None = None
    delay: int | None = None
    overtaken: bool = False
    reason: str | None = None


@dataclass
class _Stimulus:
    """One that left. outcome: None while it waits; doubtful: records were lost behind it."""

    number: int
    tick: int
    outcome: str | None = None
    doubtful: bool = False


class Pairing:
    """Stimuli and responses in the order of time; each call returns the samples that are certain by then.

    Two rules. By time: a response belongs to the newest stimulus before it. By content: it belongs to the stimulus with the same byte,
    also when others have left since; the same byte may leave again only after the timeout.
    """

    def __init__(self, timeout: int, blank: int = 0, offset: int = 0, by_content: bool = False, holdoff: int = 0) -> None:
        """timeout, blank: ticks from the stimulus's start edge; offset: what delays count from, in ticks behind that edge.

        holdoff: what comes within this many ticks after a response is part of that one.
        """
        self.timeout, self.blank, self.offset, self.by_content, self.holdoff = timeout, blank, offset, by_content, holdoff
        self._held_until = -1
        self._waiting: deque[_Stimulus] = deque()
        self._by_data: dict[int, _Stimulus] = {}
        self._newest: _Stimulus | None = None
        self._number = 0  # of the next stimulus
        self._suspect = False  # the stimulus before the newest is missing: a second response now may be its own
        self._blind_until = -1

    @property
    def waiting(self) -> bool:
        """A stimulus has no response yet and may still get one."""
        return bool(self._waiting)

    def stimulus(self, tick: int, number: int, data: int) -> list[Sample]:
        """One left."""
        samples = self.pass_time(tick) + self._counted(number)
        before = self._newest
        if not self.by_content:
            samples += self._settle_all()
        self._suspect = not self.by_content and before is not None and before.outcome == MISSING
        self._newest = self._by_data[data] = _Stimulus(number, tick, doubtful=tick <= self._blind_until)
        self._waiting.append(self._newest)
        return samples

    def refused(self, number: int, tick: int, reason: str) -> list[Sample]:
        """One did not leave."""
        return [*self._counted(number), Sample(REFUSED, number, tick, reason=reason)]

    def _counted(self, number: int) -> list[Sample]:
        """Numbers have no gaps: the record of a stimulus that is left out was lost."""
        samples = [Sample(UNKNOWN, lost) for lost in range(self._number, number)]
        self._number = number + 1
        return samples

    def response(self, tick: int, data: int = 0, good: bool = True) -> list[Sample]:
        """One came. good: False for a byte with an error, which can be no response."""
        samples = self.pass_time(tick)
        partner = self._by_data.get(data) if self.by_content else self._newest
        if partner is None or not good:
            return [*samples, Sample(STRAY, response=tick)]
        if tick < partner.tick + self.blank or tick < self._held_until:
            return [*samples, Sample(IGNORED, partner.number, response=tick)]
        self._held_until = tick + self.holdoff
        if not self.by_content and partner.doubtful:
            return [*samples, Sample(UNKNOWN, response=tick)]  # the stimulus that it belongs to may be among what was lost
        if tick > partner.tick + self.timeout:
            return [*samples, Sample(STRAY, response=tick)]
        if partner.outcome:
            overtaken, self._suspect = self._suspect, False
            return [*samples, Sample(EXTRA, partner.number, response=tick, overtaken=overtaken)]
        partner.outcome = ANSWERED
        self._waiting.remove(partner)
        delay = tick - partner.tick - self.offset
        return [*samples, Sample(ANSWERED, partner.number, partner.tick, tick, delay, partner is not self._newest)]

    def pass_time(self, tick: int) -> list[Sample]:
        """Nothing else happened before this tick."""
        samples: list[Sample] = []
        while self._waiting and self._waiting[0].tick + self.timeout < tick:
            samples.append(self._settle(self._waiting.popleft()))
        return samples

    def blind(self, until: int) -> None:
        """Of what happened since the last call of the others, up to a tick, records are missing."""
        self._blind_until = max(self._blind_until, until)
        for each in (*self._waiting, *([self._newest] if self._newest else [])):
            each.doubtful = True

    def end(self) -> list[Sample]:
        """Nothing more will come. What still waited is unknown."""
        for each in self._waiting:
            each.doubtful = True
        return self._settle_all()

    def _settle_all(self) -> list[Sample]:
        samples = [self._settle(each) for each in self._waiting]
        self._waiting.clear()
        return samples

    @staticmethod
    def _settle(each: _Stimulus) -> Sample:
        each.outcome = UNKNOWN if each.doubtful else MISSING
        return Sample(each.outcome, each.number, each.tick)
