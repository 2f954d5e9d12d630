# SPDX-License-Identifier: BSD-2-Clause
"""The table of sim/bridge_rules.py: each rule reports a conversation that breaks it, and it alone, and none that keeps it."""

import re

import pytest

from sim.bridge_frames import answer, frame, read, spoilt, write
from sim.bridge_rules import EVENTS, FRAMES, RATE, RULES, SESSION, Watcher
from sim.cocotb_rig import ROOT

RATE_WORD, FAST, BASE = 2400 << 16 | 315, 2400 << 16 | 2731, 115_200
NAME, LINE = 0x1234, EVENTS + 0x6000
TICKS = 6  # words of the header that are read, and two more


class Host:
    """Asks, and is answered at once."""

    def __init__(self):
        self.watcher, self.at, self.number, self.baud = Watcher(), 10.0, 0x80, BASE
        self.frame(read(FRAMES), words=[3])

    def send(self, data, reply=b"", after=0.03):
        """A request `after` seconds of silence, and what comes back."""
        self.at += after
        self.watcher(self.at, True, data, self.baud)
        self.at += 0.001
        if reply:
            self.watcher(self.at, False, reply)
        return data

    def frame(self, *commands, words=(), after=0.03, same=False, answered=True):
        """One with the next number."""
        self.number += not same
        data = frame(self.number, *commands)
        return self.send(data, answer(data, words) if answered is True else answered or b"", after)

    def plain(self, command, words=(), after=0.03):
        """A command."""
        return self.send(command, b"".join(word.to_bytes(4, "big") for word in words), after)

    def raised(self):
        """Bridge and port are."""
        self.frame(read(RATE), words=[RATE_WORD])
        self.frame(write(RATE, FAST), answered=False)
        self.baud = 1_000_000
        self.frame(read(RATE), words=[FAST])

    def looked(self):
        """What is read before a pledge."""
        self.frame(read(EVENTS, TICKS), words=[0] * TICKS)
        self.frame(read(SESSION), words=[NAME | 19 << 16])

    def broken(self):
        """Names of the rules that were, when the port is given back."""
        self.watcher.end(self.at)
        return {line.split(":")[0] for line in self.watcher.broken}


class Unframed(Host):
    """One that knows no frames."""

    def __init__(self):
        self.watcher, self.at, self.number, self.baud = Watcher(), 10.0, 0x80, BASE

    def raised(self):
        self.plain(read(RATE), [RATE_WORD])
        self.plain(write(RATE, FAST))
        self.baud = 1_000_000
        self.plain(read(RATE), [FAST])


def first(host, keeps):
    if keeps:
        host.frame(read(RATE), words=[RATE_WORD], after=1.6)
    host.frame(write(LINE, 1), after=0.1 if keeps else 1.6)


def doubtful(host, keeps):
    host.raised()
    host.frame(read(RATE if keeps else FRAMES), words=[FAST if keeps else 3], after=1.6)


def plain(host, keeps):
    host.plain(read(FRAMES), [3], after=2.1 if keeps else 1.9)


def repeated(host, keeps):
    host.frame(write(LINE, 1), answered=False)
    host.frame(write(LINE, 1 if keeps else 2), same=True)


def repeated_at_once(host, keeps):
    host.frame(write(LINE, 1), answered=False)
    host.frame(write(LINE, 1), same=True, after=0.03 if keeps else 0.01)


def given_up(host, keeps):
    data = frame(host.number + 1, read(FRAMES))
    host.frame(read(FRAMES), answered=spoilt(answer(data, [3])))
    host.frame(read(FRAMES), words=[3], after=0.03 if keeps else 0.01)


def ahead(host, keeps):
    host.frame(write(EVENTS, 1 << 31), read(EVENTS, TICKS), answered=False)
    host.frame(write(EVENTS if keeps else LINE, 1 << 31), after=0.001)


def pledge(host, keeps):
    host.looked()
    host.frame(write(SESSION, NAME | 1 << 31))
    if keeps:
        host.looked()
    host.frame(write(SESSION, NAME | 19 << 16))


def pledge_in_order(host, keeps):
    host.frame(read(EVENTS, TICKS), words=[0] * TICKS)
    host.frame(read(SESSION), words=[NAME | 19 << 16])
    host.frame(write(SESSION, NAME | 1 << 31))
    host.frame(read(SESSION), words=[NAME | 1 << 31])
    host.frame(read(EVENTS, TICKS), words=[0] * TICKS)
    if keeps:
        host.frame(read(SESSION), words=[NAME | 1 << 31])
    host.frame(write(SESSION, NAME | 19 << 16))


def late(host, keeps):
    """19 units are 0.21 s with 24 MHz."""
    host.frame(read(RATE), words=[RATE_WORD])
    host.looked()
    host.frame(write(SESSION, NAME | 1 << 31), after=0.1 if keeps else 0.2)


def late_repeated(host, keeps):
    host.frame(read(RATE), words=[RATE_WORD])
    host.looked()
    host.frame(write(SESSION, NAME | 1 << 31), answered=False)
    host.frame(write(SESSION, NAME | 1 << 31), same=True, after=0.1 if keeps else 0.2)
    host.frame(read(EVENTS, TICKS), words=[0] * TICKS)


def late_and_named(host, keeps):
    host.frame(read(RATE), words=[RATE_WORD])
    host.looked()
    host.frame(write(SESSION, NAME | 1 << 31), after=0.2)
    host.looked()
    host.frame(write(SESSION, 0 if keeps else NAME))


def ticked_before(host, keeps):
    if keeps:
        host.looked()
    else:
        host.frame(read(LINE), words=[0])
        host.frame(read(SESSION), words=[NAME])
    host.frame(write(SESSION, NAME | 1 << 31), answered=False)
    host.frame(write(SESSION, NAME | 1 << 31), same=True)
    host.frame(read(EVENTS, TICKS), words=[0] * TICKS)


def ticked_after(host, keeps):
    host.looked()
    host.frame(write(SESSION, NAME | 1 << 31), answered=False)
    host.frame(write(SESSION, NAME | 1 << 31), same=True)
    if keeps:
        host.frame(read(EVENTS, TICKS), words=[0] * TICKS)


def fallback(host, keeps):
    host.raised()
    host.baud = BASE
    if keeps:
        host.frame(read(FRAMES), words=[3], after=2.3)
        host.frame(read(RATE), words=[RATE_WORD])
    host.frame(read(LINE), words=[0], after=0.03 if keeps else 2.3)


def raising(host, keeps):
    host.plain(read(RATE), [RATE_WORD if keeps else 2400 << 16 | 400])
    host.plain(write(RATE, 2400 << 16 | 315))


def raising_unread(host, keeps):
    if keeps:
        host.plain(read(RATE), [RATE_WORD])
    host.plain(write(RATE, RATE_WORD))


def lowered(host, keeps):
    host.raised()
    if keeps:
        host.plain(write(RATE, RATE_WORD))


def lowered_late(host, keeps):
    host.raised()
    host.at += 1.7
    if keeps:
        host.plain(read(RATE), [FAST])
        host.plain(write(RATE, RATE_WORD))


PLAIN = (raising, raising_unread, lowered, lowered_late)
CASES = {
    "first": [first],
    "doubtful": [doubtful],
    "plain": [plain],
    "repeated": [repeated, repeated_at_once],
    "given up": [given_up],
    "ahead": [ahead],
    "pledge": [pledge, pledge_in_order],
    "late": [late, late_repeated, late_and_named],
    "ticked": [ticked_before, ticked_after],
    "fallback": [fallback],
    "raising": [raising, raising_unread],
    "lowered": [lowered, lowered_late],
}


@pytest.mark.parametrize("name, talk", [(name, talk) for name, talks in CASES.items() for talk in talks])
def test_a_rule(name, talk):
    for keeps in (True, False):
        host = Unframed() if talk in PLAIN else Host()
        talk(host, keeps)
        assert host.broken() == (set() if keeps else {name}), host.watcher.broken
        assert host.watcher.judged[name]


def test_each_rule_has_a_case():
    assert list(CASES) == [rule.name for rule in RULES]


def test_the_documents_say_so():
    texts = [re.sub(r"\s+", " ", (ROOT / "docs" / page).read_text()) for page in ("bridge.md", "core.md")]
    assert not [rule.sentence for rule in RULES if not any(rule.sentence in page for page in texts)]
