# SPDX-License-Identifier: BSD-2-Clause
"""Kernel series: which one the quick tier tests, and what becomes of a test whose series cannot be had.

Such a test is skipped and reported as NOT TESTED, or fails if the series is REQUIRED.
"""

import functools
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from scripts.debian_package import PackageError
from scripts.debian_table import KERNELS, own_release

REQUIRED = ("6.12",)


# The series of this machine's own release, whose packages are nearest; the required one elsewhere.
OWN = next((name for name, series in KERNELS.items() if series.routes[0].suite == own_release()), REQUIRED[0])


def each(lines: Iterable[str]) -> list[Any]:
    """For parametrize: all lines; the quick tier has OWN only."""
    return [pytest.param(line, marks=pytest.mark.quick if line == OWN else ()) for line in lines]


def or_not_tested(get: Callable[[str], Any]) -> Callable[[str], Any]:
    """`get(line)`, for tests: a kernel line that no mirror and no cache has is not tested, with the reason."""

    @functools.wraps(get)
    def got(line: str) -> Any:
        try:
            return get(line)
        except PackageError as error:
            reason = str(error)
        if not reason.startswith(f"Linux {line} "):
            reason = f"Linux {line}: {reason}"
        if line in REQUIRED:
            pytest.fail(f"{reason}. Without it the tests say too little", pytrace=False)
        pytest.skip(f"NOT TESTED: {reason}")

    return got
