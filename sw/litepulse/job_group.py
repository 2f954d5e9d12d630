# SPDX-License-Identifier: BSD-2-Clause
"""Jobs on several boards that begin and end together."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, Generic, NoReturn, Protocol, Self, TypeVar

from litepulse.errors import LitePulseError
from litepulse.job import Job

PATIENCE_SECONDS = 0.02  # until all boards have been looked at once more, if nothing comes
JobType = TypeVar("JobType", bound=Job[Any])
Item = TypeVar("Item")
Fail = Callable[[int, LitePulseError], NoReturn]  # raises the error of one board


class Closable(Protocol):
    """What has an end."""

    def close(self) -> None:
        """Ends it."""


def close_all(each: Iterable[Closable]) -> LitePulseError | None:
    """Closes them all; the first error."""
    first: LitePulseError | None = None
    for one in each:
        try:
            one.close()
        except LitePulseError as error:
            first = first or error
    return first


class JobGroup(Generic[JobType, Item]):
    """One job for each board. Iterating over it gives what poll() does, as it comes."""

    def __init__(self, jobs: Sequence[JobType], fail: Fail) -> None:
        self.jobs, self._fail = tuple(jobs), fail

    @property
    def over(self) -> bool:
        """Nothing more will come."""
        return all(job.over for job in self.jobs)

    @property
    def interrupted(self) -> bool:
        """Ctrl-C has ended it."""
        return any(job.interrupted for job in self.jobs)

    def poll(self) -> list[Item]:
        """What has come since the last look; does not wait."""
        raise NotImplementedError

    def _keep(self, number: int, items: Sequence[Any]) -> None:
        """What a look at one board has shown. LitePulseError ends all."""
        raise NotImplementedError

    def _take(self, number: int, look: Callable[[], Sequence[Any]]) -> None:
        try:
            self._keep(number, look())
        except LitePulseError as error:
            self.close()
            self._fail(number, error)

    def _wait(self) -> None:
        """For something to come."""
        for number, job in enumerate(self.jobs):

            def come(job: JobType = job) -> list[Any]:
                one = job.recv(PATIENCE_SECONDS / len(self.jobs))
                return [] if one is None else [one]

            if not job.over:
                self._take(number, come)

    def batches(self) -> Iterator[list[Item]]:
        """What came, look by look, in lists that may be empty; the last has what came with the end."""
        while True:
            over = self.over
            found = self.poll()
            yield found
            if over:
                return
            if not found:
                self._wait()

    def __iter__(self) -> Iterator[Item]:
        for batch in self.batches():
            yield from batch

    def stop(self) -> None:
        """Ends them all; what has come can still be iterated over."""
        for number, job in enumerate(self.jobs):
            try:
                job.stop()
            except LitePulseError as error:
                self.close()
                self._fail(number, error)

    def close(self) -> None:
        """Ends them all: what has not left is taken back. May be called again."""
        close_all(self.jobs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.stop()
        self.close()
