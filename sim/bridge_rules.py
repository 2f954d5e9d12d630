# SPDX-License-Identifier: BSD-2-Clause
"""What a host of the serial bridge does (docs/bridge.md, docs/core.md), as a table, and a Watcher that judges the line by it.

    watcher = Watcher()
    watcher(seconds, to_board, data, baud)      all bytes as they leave or reach the host; baud: of its port, None: not known
    watcher.end(seconds)
    watcher.broken, watcher.judged              what broke a rule; {name of a rule: number of
    requests judged by it}

Not on the line, so not here: how long a host waits for an answer, that it drops what comes late, that it looks whether a tick goes on,
and what it makes of a board that has another name.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from litepulse import regs
from litepulse.layout import CSRS
from sim.bridge_frames import Line, Request

RATE, FRAMES = regs.BRIDGE_BASE, regs.BRIDGE_BASE + 4
SESSION = regs.CSR_BASE + 4 * CSRS["session"].index
EVENTS, RECEIVE = (regs.WINDOW_BASE + regs.REGIONS[name][0] for name in ("EVENTS", "RECEIVE"))
TICK = {EVENTS + 8, EVENTS + 12}
SURE, LOCKED, PARSED = 1.5, float(regs.BRIDGE_FALLBACK_SECONDS), 0.1
SILENCE = regs.BRIDGE_FRAME_SILENCE_MS / 1000
NEVER = float("-inf")
JITTER = 0.002  # between the host's clock and that of who watches

Verdict = bool | None  # None: the rule says nothing about this request


def is_harmless(request: Request) -> bool:
    """Whether it only reads, or frees records by their position."""
    return set(request.writes) <= {EVENTS, RECEIVE}


class Watcher:
    """Judges all requests of one host."""

    def __init__(self, base: int = regs.BRIDGE_BAUD) -> None:
        self.base, self.line = base, Line()
        self.broken: list[str] = []
        self.judged: Counter[str] = Counter()
        self.at = self.gap = 0.0  # of the request that is judged: when it was sent, and the silence of the host before it
        self.baud: int | None = None  # of the port
        self.sent = self.came = self.answered = self.framed = NEVER  # a byte of the host, of the board, the last right answer, frame
        self.last: Request | None = None  # frame
        self.under_way: list[Request] = []  # frames that were not given up
        self.heard: dict[int, int] = {}  # {address: word} of the last right answer
        self.wrong = self.left = self.repeated = self.fallen = False
        self.rate = self.clock = 0  # what the register read since it was last written; Hz of the bus
        self.bus_hz: float | None = None  # where that is another clock
        self.requested = 0  # the word last written to the register
        self.name = self.limit = 0  # in SESSION
        # Since SESSION was written: the last read of the window, and the last one that a read of SESSION followed.
        self.touched = self.looked = NEVER
        self.vouched, self.watched = NEVER, 0  # of the frame or command that wrote SESSION last: `looked`, and `limit` before it
        self.owes_name = False
        self.ticked = self.ticked_before = self.owes_tick = False
        self.times: dict[int, float] = {}

    @property
    def raised(self) -> bool:
        """Whether the last rate written to the register is above the base rate."""
        return self.requested * self.clock > 1.5 * self.base * regs.BRIDGE_WORD_ONE

    def __call__(self, at: float, to_board: bool, data: bytes, baud: int | None = None) -> None:
        if not to_board:
            self.came = at
            for request, words in self.line.replies(data):
                self.hear(at, request, words)
            return
        self.at, self.gap, self.sent = at, at - self.sent, at
        if self.gap > PARSED:
            self.line.question = b""
        if min(self.gap, at - self.came) >= SILENCE:
            self.line.answer = b""
        self.left = bool(self.under_way)
        if self.gap >= SILENCE or baud != self.baud:
            self.under_way = []
        if self.baud not in (None, baud) and baud == self.base and self.raised:
            self.fallen, self.requested = True, 0
        self.baud = baud
        for request in self.line.requests(data):
            self.judge(request)
            self.note(request)
            self.gap = 0.0

    def end(self, at: float) -> None:
        """The host has let the port go."""
        self.at = at
        self.judge(None)

    def judge(self, request: Request | None) -> None:
        """By each rule; None: the conversation is over."""
        self.repeated = bool(request and self.last and request.number is not None and request.number == self.last.number)
        for rule in RULES:
            verdict = rule.end(self) if request is None else rule.check(self, request)
            self.judged[rule.name] += verdict is not None
            if verdict is False:
                self.broken.append(f"{rule.name}: {request.raw.hex() if request else 'the end'} at {self.at:.3f} s: not: {rule.sentence}")

    def note(self, request: Request) -> None:
        """What follows from a request that was sent."""
        if request.number is None or self.wrong or self.repeated:
            self.line.forget()
            self.under_way = []
        if request.number is not None:
            self.last, self.framed, self.wrong = request, self.at, False
            self.under_way.append(request)
        if request.number is not None or request.reads:
            self.line.waiting.append(request)
            self.times[id(request)] = self.at
        if RATE in request.writes:
            self.requested, self.rate, self.fallen = request.writes[RATE] & 0xFFFF, 0, False
        if SESSION in request.writes:
            self.owes_tick = self.repeated and self.keeps_name(request)
            if not self.repeated:
                self.ticked_before, self.ticked = self.ticked, False
                self.vouched, self.watched = self.looked, self.limit
            self.owes_name = self.keeps_name(request) and self.is_late()
            self.touched = self.looked = NEVER
            self.know(request.writes[SESSION])

    def know(self, session: int) -> None:
        """What SESSION has."""
        self.name, self.limit = session & 0xFFFF, 0 if session >> 31 else session >> 16 & 0x7FFF

    def hear(self, at: float, request: Request, words: list[int] | None) -> None:
        """What follows from an answer."""
        if words is None:
            self.wrong = True
            return
        self.heard = dict(zip(request.reads, words))
        self.answered, requested_at = at, self.times.pop(id(request), at)
        if request in self.under_way:
            del self.under_way[: self.under_way.index(request) + 1]
        for address, word in zip(request.reads, words):
            self.fallen = self.fallen and address not in (RATE, FRAMES)
            if address == RATE:
                self.rate, self.clock = word, (word >> 16) * regs.BRIDGE_CLOCK_UNIT
            elif address == SESSION:
                self.know(word)
                self.looked = self.touched
            elif 0 <= address - regs.WINDOW_BASE < regs.WINDOW_SIZE:
                self.touched = requested_at
            if address in TICK:
                self.ticked, self.owes_tick = True, False

    def keeps_name(self, request: Request) -> bool:
        """Whether it writes SESSION with the name that the board has."""
        return SESSION in request.writes and request.writes[SESSION] & 0xFFFF == self.name != 0

    def is_late(self) -> bool:
        """Whether the watchdog may have fired since the host looked, before this write of SESSION."""
        return bool(self.watched) and (self.at - self.vouched) * (self.bus_hz or self.clock) >= self.watched << regs.WATCHDOG_UNIT

    def is_sure(self) -> bool:
        """Whether the bridge has certainly not fallen back."""
        return self.at - self.answered <= SURE + JITTER

    def was_silent(self) -> bool:
        """Whether the host was, before this request."""
        return self.gap >= SILENCE - JITTER


def pledge(w: Watcher, r: Request) -> Verdict:
    """The window was read, then SESSION."""
    return None if w.repeated or not w.keeps_name(r) else w.looked > NEVER


def late(w: Watcher, r: Request) -> Verdict:
    """After a name that was written late comes another."""
    if SESSION not in r.writes:
        return None
    return not w.owes_name or w.repeated or not w.keeps_name(r)


def raising(w: Watcher, r: Request) -> Verdict:
    """The rate register read as the base rate before it is written."""
    if RATE not in r.writes or w.baud not in (None, w.base):
        return None
    word, half = w.rate & 0xFFFF, regs.BRIDGE_CLOCK_UNIT / 2
    return word > 0 and abs(word * w.clock - w.base * regs.BRIDGE_WORD_ONE) <= w.clock / 2 + word * half


def repeats_session(w: Watcher, r: Request) -> Verdict:
    """The tick is read before, and once more before SESSION is written again."""
    if w.owes_tick and SESSION in r.writes and not w.repeated:
        return False
    return w.ticked_before if w.repeated and w.keeps_name(r) else None


@dataclass(frozen=True)
class Rule:
    """`sentence` of the documents; whether a request, or the end of the conversation, keeps it. `of` : the hosts that it is for."""

    name: str
    sentence: str
    check: Callable[[Watcher, Request], Verdict] = lambda w, r: None
    end: Callable[[Watcher], Verdict] = lambda w: None
    of: str = "all"


RULES = (
    Rule(
        "first",
        "Let the first frame, and the first after 1.5 s without an answer, only read",
        lambda w, r: None if r.number is None or w.is_sure() else not r.writes,
        of="frames",
    ),
    Rule(
        "doubtful",
        "After that, send only a read of `rate`",
        lambda w, r: None if w.baud in (None, w.base) or w.is_sure() else r.reads == (RATE,) and not r.writes,
    ),
    Rule(
        "plain",
        "Send no plain command within 2 s of a frame",
        lambda w, r: None if w.last is None else r.number is not None or w.at - w.framed >= LOCKED,
        of="frames",
    ),
    Rule(
        "repeated",
        "Then send nothing for 25 ms, drop what came, and send the same frame again",
        lambda w, r: (w.last is not None and r.raw == w.last.raw and w.was_silent()) if w.repeated else None,
        of="frames",
    ),
    Rule(
        "given up",
        "Use the next number only after a right answer, or when you give up the frame",
        lambda w, r: w.was_silent() if w.left and w.wrong | w.was_silent() and not w.repeated and r.number else None,
        of="frames",
    ),
    Rule(
        "ahead",
        "A host may send such frames only if they can safely be carried out twice",
        lambda w, r: all(map(is_harmless, (*w.under_way, r))) if w.under_way and not (w.repeated or w.wrong) and r.number else None,
        of="frames",
    ),
    Rule("pledge", "A host that changes `limit` or `keep` must not give a board that was reset its old name back", pledge),
    Rule("late", "give the board another name or none", late, lambda w: False if w.owes_name else None),
    Rule("ticked", "read the tick before and after", repeats_session, lambda w: False if w.owes_tick else None, of="frames"),
    Rule(
        "fallback",
        "If they are not answered, begin again at 1",
        lambda w, r: w.baud == w.base and not r.writes and set(r.reads) <= {RATE, FRAMES} if w.fallen else None,
    ),
    Rule("raising", "If its word is not that of 115200 baud at the clock it reports, this is another bridge", raising),
    Rule(
        "lowered",
        "At the end, write the word of 115200 baud to `rate`",
        end=lambda w: None if w.last or not w.requested or w.at - w.answered > LOCKED else not w.raised,
        of="plain",
    ),
)
