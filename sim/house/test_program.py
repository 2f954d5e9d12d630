# SPDX-License-Identifier: BSD-2-Clause
"""The programs of litepulse_sequencer: what is checked in is what the sources give, constants are constant, and the numbers that stand
for the length of a path through a program (in memory words and in hdl/limits.toml) cover the longest one there is."""

import importlib.util
import re
from functools import cache

import pytest

from litex_soc.limits import cycles
from sim.cocotb_rig import ROOT, hdl_dir

spec = importlib.util.spec_from_file_location("assemble", hdl_dir() / "program" / "assemble.py")
assemble = importlib.util.module_from_spec(spec)
spec.loader.exec_module(assemble)

KE = 2  # cycles from `now` to the pin with the generic PHY
INSTRUCTION = 4  # cycles
SAMPLE = 2  # an event is seen by an instruction at most this many cycles before it begins to take the time, if none saw it before
ANSWERS = 1  # times that the last instruction of a report is run: the three before it last as long as an answer takes
NEAR = 1  # an instruction more when the tick count's low half wraps, which it does once on any way
ASK = assemble.ACTIONS.index("emit")


def programs():
    used = set(range(len(assemble.PROGRAMS)))
    texts = {name: (assemble.HERE / f"{name}.asm").read_text() for name in assemble.PROGRAMS}
    made = {name: assemble.Program(name, texts[name], entry, used) for entry, name in enumerate(assemble.PROGRAMS)}
    return {**made, assemble.SEQUENCE: assemble.Program(assemble.SEQUENCE, texts["launch_queue"], 0, {0})}


PROGRAMS = programs()


def field(word, name):
    low, bits = assemble.FIELDS[name]
    return word >> low & (1 << bits) - 1


class Graph:
    """What follows what in a program. Copies of an instruction are one: the first."""

    def __init__(self, program):
        self.program = program
        first = {}
        self.same = {address: first.setdefault(word, address) for address, word in sorted(program.code.items())}
        self.next = {}
        for address, word in program.code.items():
            target = field(word, "next")
            targets = {target, target | 1} if field(word, "cond") else {target}
            self.next[self.same[address]] = {self.same[t] for t in targets}

    def at(self, label):
        return self.same[self.program.labels[label][0]]

    def repeats(self, address):
        """How often an instruction that may follow itself runs. Once, when it waits for the tick count's wrap: that is NEAR."""
        return ANSWERS if address in self.next[address] and field(self.program.code[address], "action") == ASK else 1

    def longest(self, start, goal, avoid=()):
        """Instructions from a label (counted) to another (not counted) on the longest way that avoids others."""
        begin, goal = self.at(start), self.at(goal)
        # it is over where it waits
        stops = ("idle", "wait", *(("watch", "stopped_idle") if "watch" in self.program.labels else ()))
        avoid = {self.at(label) for label in (*avoid, *stops)} - {goal}

        @cache
        def rest(address):
            if address == goal:
                return 0
            on_way.add(address)
            ways = []
            for target in self.next[address] - {address, begin} - avoid:
                assert target not in on_way or target == goal, f"{self.program.name}: a way comes back to {target}"
                if (length := rest(target)) is not None:
                    ways.append(length)
            on_way.discard(address)
            return self.repeats(address) + max(ways) if ways else None

        on_way = set()
        lengths = [rest(target) for target in self.next[begin] - {begin} - avoid]
        return self.repeats(begin) + max(length for length in lengths if length is not None)


QUEUE, TRAIN, SEQUENCE = (Graph(program) for program in PROGRAMS.values())


def initial_words():
    """{word: value for S = 1, KE} of the sequencer's memory, as far as it is set; and the least periods by their names."""
    text = (hdl_dir() / "litepulse_sequencer.sv").read_text()
    periods = {name: int(value) for name, value in re.findall(r"(\w+_MIN_PERIOD) = (\d+);", text)}
    words = {}
    for thread, prefix, name, value in re.findall(r"mem\[\{1'b(\d), litepulse_program_pkg::([QTS])_WORD_(\w+)\}\] = 32'\((.*)\);", text):
        assert "T" if int(thread) else "Q" == prefix or "S" == prefix
        words[prefix, name] = eval(value.replace("/", "//"), {"KE": KE, "S": 1, **periods})
    assert len(words) == len(re.findall(r"_WORD_\w+\}\] = 32'\(", text))
    words["S", "HEAD_START"] = words["Q", "HEAD_START"]  # the same word
    words["S", "AGE"] = -1
    assert (
        "S_WORD_AGE}] = 32'hffffffff;" in text and PROGRAMS["sequence"].words["HEAD_START"] == PROGRAMS["launch_queue"].words["HEAD_START"]
    )
    return words, periods


WORDS, MIN_PERIODS = initial_words()


@pytest.mark.parametrize("name", PROGRAMS)
def test_constants_are_never_written(name):
    program = PROGRAMS[name]
    constant = {program.words[word] for prefix, word in WORDS if prefix == assemble.SHORT[name]} | {program.words["ZERO"]}
    host = {word for word, address in program.words.items() if name == "train" and address < 16} - {
        word for prefix, word in WORDS if prefix == "T"
    }
    written = {field(word, "a") for word in program.code.values() if field(word, "we")}
    assert not written & constant
    assert not written & {program.words[word] for word in host}, "the host's words are the host's"
    # nor by the host: words that it may write (litepulse_train: launch words and rate words)
    assert not constant & {*range(5), *range(8, 13)} or name != "train"


@pytest.mark.parametrize("graph, prefix", [(QUEUE, "Q"), (TRAIN, "T"), (SEQUENCE, "S")], ids=PROGRAMS)
def test_loads_come_as_long_after_the_time_as_the_constants_say(graph, prefix):
    """A slot's count is right when the load comes a fixed number of instructions after the time was taken."""
    names = {address: word for word, address in graph.program.words.items()}
    takes = assemble.ASEL["~now_lo"]
    found = 0
    for start, word in graph.program.code.items():
        if start != graph.same[start] or field(word, "asel") != takes:
            continue
        todo, seen = [(target, 1) for target in graph.next[start] - {start}], set()
        while todo:
            address, length = todo.pop()
            code = graph.program.code[address]
            action = assemble.ACTIONS[field(code, "action")]
            if length > 6 or (address, length) in seen or field(code, "asel") == takes:
                continue
            seen.add((address, length))
            if action in ("load", "load_any"):
                head = WORDS[prefix, names[field(code, "b")]]
                # the load is done in its instruction's cycle 5, counts from cycle 7; the time is of cycle 1
                assert -head == KE + 2 + length * INSTRUCTION + 6, f"{names[field(code, 'b')]}, {length} instructions"
                found += 1
                continue
            todo += [(target, length + 1) for target in graph.next[address]]
    assert found == {"Q": 1, "T": 3, "S": 1}[prefix]


# From a count's 0 to `wrapped`, and from the condition of an instruction to the cycle in which the first one behind it takes the time.
COUNTED_WRAPPED, CONDITION_TIME = 2, 3
FILTER = 62  # cycles by which a filter holds back an edge, at most, with one sample per cycle


def over():
    """Cycles from a wait's tick to its count's 0, at least and at most: when it is loaded again, and the first time."""
    again = SEQUENCE.longest("again_place", "again_load", ("timeout",))
    first = SEQUENCE.longest("place", "wait_soon", ("launch_hi", "late", "listen"))
    # the load is done in its instruction's cycle 5, counts from cycle 7 on; the time is of cycle 1
    return tuple(WORDS["S", "OVER"] + length * INSTRUCTION + 6 for length in (again, first))


def test_a_timeout_is_no_sooner_than_the_last_edge():
    """When a count has ended, an edge at the very tick of the timeout has been seen, behind the longest filter."""
    looked = SEQUENCE.longest("watch", "which", ("disarm",)) * INSTRUCTION
    least, most = over()
    print(f"a wait's count ends {least} or {most} cycles behind its tick, is looked at {looked} cycles later")
    assert least + COUNTED_WRAPPED + looked >= FILTER + 1


def test_a_wait_that_ends():
    """The first entry behind it can be launched as soon as limits.toml says, and the record is young enough."""
    age = int(re.search(r"at most (\d+) behind when req rises", (hdl_dir() / "litepulse_events.sv").read_text())[1])
    next_one = SEQUENCE.longest("idle", "place", ("disarm", "absolute")) + NEAR
    lead = -WORDS["S", "HEAD_START"]
    # from `watch`, which looks every 4 cycles, over the report, to the time that is taken for the next entry
    seen = INSTRUCTION
    by_edge = SEQUENCE.longest("watch", "ended", ("disarm", "behind", "timeout", "again_place")) + SEQUENCE.longest("ended", "idle")
    behind = SEQUENCE.longest("watch", "timeout", ("disarm", "again_place", "ended"))
    in_vain = SEQUENCE.longest("watch", "timeout", ("disarm", "mark", "again_load"))
    reported = SEQUENCE.longest("timeout", "idle", ("stopped",))
    edge = 1 + seen + (by_edge - 1 + next_one) * INSTRUCTION + CONDITION_TIME + lead
    timeout = over()[1] + COUNTED_WRAPPED + seen + (in_vain - 1 + reported + next_one) * INSTRUCTION + CONDITION_TIME + lead
    print(f"SEQUENCE_MIN_CYCLES {edge}, TIMEOUT_MIN_CYCLES {timeout}")
    assert cycles()["SEQUENCE_MIN_CYCLES"] >= edge and cycles()["TIMEOUT_MIN_CYCLES"] >= timeout
    # to the strobe of the record, in its instruction's cycle 5
    record = CONDITION_TIME + 4
    ages = {
        "an edge": FILTER
        + 1
        + seen
        + (SEQUENCE.longest("watch", "ended", ("disarm", "behind", "timeout", "again_place")) - 1 + NEAR) * INSTRUCTION
        + record,
        "a timeout": over()[1] + COUNTED_WRAPPED + seen + (in_vain + NEAR) * INSTRUCTION + record,
        # seen by `which` when the count has ended
        "an edge behind the timeout": over()[1] + COUNTED_WRAPPED + seen + (behind + NEAR) * INSTRUCTION + record,
    }
    print(ages)
    assert age >= max(ages.values())


def test_a_wait_that_stops_stops():
    """Each way on which a wait is refused or times out leads to where `stop` is looked at; a launch that is refused never does."""
    code = SEQUENCE.program.code
    conditions = assemble.CONDITIONS[assemble.SEQUENCE]
    end, over_ = SEQUENCE.at("no_edge"), SEQUENCE.at("over")
    for label in ("invalid", "order", "late"):
        word = code[SEQUENCE.at(label)]
        assert conditions[field(word, "cond")] == "wait"
        assert (SEQUENCE.same[field(word, "next") | 1], SEQUENCE.same[field(word, "next")]) == (end, over_)
    assert SEQUENCE.next[SEQUENCE.at("timeout")] == {end}
    # from there to the next entry only by way of `flag`
    looked = SEQUENCE.at("no_edge_what")
    assert conditions[field(code[looked], "cond")] == "flag"
    assert SEQUENCE.next[looked] == {SEQUENCE.at("stopped"), SEQUENCE.at("no_edge_pop")}
    reached, todo = set(), [end]
    while todo:
        address = todo.pop()
        if address not in reached and address != looked:
            reached.add(address)
            todo += SEQUENCE.next[address]
    assert SEQUENCE.at("idle") not in reached and SEQUENCE.at("place") not in reached


def test_relative_lmin():
    """Of a relative entry, also behind one that was refused: 12 cycles more, as docs/core.md says."""
    lmin = SAMPLE + (SEQUENCE.longest("idle", "place", ("disarm",)) + NEAR) * INSTRUCTION - WORDS["S", "HEAD_START"]
    print(f"Lmin of a relative entry {lmin}")
    assert cycles()["LMIN_CYCLES"] + 12 >= lmin


def test_queue_lmin():
    """The time is taken soon enough for an entry that is LMIN_CYCLES ahead when it is at the head of the idle queue."""
    lmin = SAMPLE + (QUEUE.longest("idle", "place", ("disarm",)) + NEAR) * INSTRUCTION - WORDS["Q", "HEAD_START"]
    print(f"LMIN_CYCLES {lmin}")
    assert cycles()["LMIN_CYCLES"] >= lmin
    assert lmin == KE + 58, "as sim/formal/litepulse_thread_queue.sv has it"


def test_train_lmin():
    lmin = SAMPLE + (TRAIN.longest("idle", "start_place", ("asap_lo",)) + NEAR) * INSTRUCTION - WORDS["T", "START_LEAST"]
    print(f"TRAIN_LMIN_CYCLES {lmin}")
    assert cycles()["TRAIN_LMIN_CYCLES"] >= lmin
    # as soon as possible: never too late for itself
    asap = TRAIN.longest("asap_lo", "start_place") + NEAR
    assert WORDS["T", "SOON"] >= asap * INSTRUCTION - WORDS["T", "START_LEAST"]
    # pulse 0 does not come before the start has been reported
    reported = TRAIN.longest("start_place", "wait") * INSTRUCTION
    known = -WORDS["T", "START_LEAST"] - KE
    print(f"a start is reported {reported} cycles after `start_place`, its pulse known after {known} at the earliest")
    assert known >= reported


# From the strobe of a slot's load to the first cycle in which `due` may be high, and from that of a width to the one in which the
# arbiter may look at it (litepulse_slot, litepulse_launch_memory).
LOADED_DUE, WIDTH_KNOWN = 3, 5


def test_change_lmin():
    """Counted from the moment in which the place is worked out. The width is there before the pulse is."""
    lmin = NEAR * INSTRUCTION - WORDS["T", "CHANGE_LEAST"]
    width = (TRAIN.longest("change_soon", "changed")) * INSTRUCTION + WIDTH_KNOWN - LOADED_DUE
    print(f"the width is known {width} cycles behind the first cycle in which the pulse of a change could be due")
    assert WORDS["T", "HEAD_START"] - WORDS["T", "CHANGE_LEAST"] >= width
    print(f"CHANGE_LMIN {lmin}")
    assert cycles()["CHANGE_LMIN"] >= lmin


NOTHING = ("now_or_later", "change", "pend")  # there is no change


def test_train_min_period():
    """A stop just begun when the pulse comes, or none, and the pulse's report: the next pulse is placed in time, if it may not be
    changed."""
    placed = TRAIN.longest("fired", "place", ("last", *NOTHING))
    ways = {
        "no command": TRAIN.longest("wait", "fired", ("not_fired",)) + placed,
        "a stop is looked at": TRAIN.longest("what", "fired", ("place", "busy", "change_or_stop")) + placed,
        "a stop, which the pulse comes before": TRAIN.longest("look", "fired", ("adjust", "stopped")) + placed,
    }
    for way, n in ways.items():
        print(f"{way}: {n} instructions")
    least = (max(ways.values()) + NEAR) * INSTRUCTION - SAMPLE - KE - WORDS["T", "HEAD_SHORT"]
    print(f"TRAIN_MIN_PERIOD {least}")
    assert WORDS["T", "FASTEST"] == 1 - MIN_PERIODS["TRAIN_MIN_PERIOD"]
    assert MIN_PERIODS["TRAIN_MIN_PERIOD"] == cycles()["TRAIN_MIN_PERIOD"] >= least


def fired_to_place(*avoid):
    """Instructions from `fired` to the last time that is taken."""
    return TRAIN.longest("fired", "place", ("last", "changed", *avoid))


def test_change_min_period():
    """A command just begun when the pulse comes, its answer, the pulse's report, a change that is refused, its report: and the next
    pulse is placed in time."""
    not_here = ("place", "fired", "redo", "rate_fast", "start_bad")
    ways = {
        "a change is taken, and refused when its pulse comes": TRAIN.longest("look", "pend", not_here)
        + TRAIN.longest("pend", "wait", ("fired",))
        + TRAIN.longest("wait", "fired", ("not_fired",))
        + fired_to_place(),
        "a second change is refused, and so is the first": TRAIN.longest("look", "wait", (*not_here, "rate", "stop"))
        + TRAIN.longest("wait", "fired", ("not_fired",))
        + fired_to_place(),
        "a start is refused, and so is a change": TRAIN.longest("what", "wait", (*not_here, "look"))
        + TRAIN.longest("wait", "fired", ("not_fired",))
        + fired_to_place(),
        "a change is refused": TRAIN.longest("look", "wait", (*not_here, "pend"))
        + TRAIN.longest("wait", "fired", ("not_fired",))
        + fired_to_place("change"),
        "a change is reported as applied when its pulse comes": TRAIN.longest("changed", "wait")
        + TRAIN.longest("wait", "fired", ("not_fired",))
        + fired_to_place("change"),
    }
    for way, n in ways.items():
        print(f"{way}: {n} instructions")
    # the pulse is known KE cycles before it comes, and seen by `what` in its second cycle
    least = (max(ways.values()) + NEAR) * INSTRUCTION - SAMPLE - KE - WORDS["T", "HEAD_SHORT"]
    print(f"CHANGE_MIN_PERIOD {least}")
    assert WORDS["T", "MINIMUM"] == 1 - MIN_PERIODS["CHANGE_MIN_PERIOD"]
    assert MIN_PERIODS["CHANGE_MIN_PERIOD"] == cycles()["CHANGE_MIN_PERIOD"] >= least


def test_a_command_is_answered():
    """One that is read while a pulse comes is read again behind it, and answered before the next
    one: never put off forever."""
    begun = TRAIN.longest("what", "refused_at", ("fired", "place", "redo", "rate_fast", "start_bad"))
    again = fired_to_place("change") + TRAIN.longest("place", "wait") + TRAIN.longest("wait", "what") + begun
    print(f"a refusal takes {begun} instructions, with a pulse in its way {begun + again}")
    assert (begun + again + NEAR) * INSTRUCTION <= MIN_PERIODS["CHANGE_MIN_PERIOD"]


def test_stamps_are_young_enough():
    """A pulse's record is requested at most as long behind its tick as litepulse_events allows,
    also when a command was just looked at."""
    age = int(re.search(r"at most (\d+) behind when req rises", (hdl_dir() / "litepulse_events.sv").read_text())[1])
    not_here = ("place", "redo", "rate_fast", "start_bad")
    ways = {
        "a command": TRAIN.longest("look", "fired", (*not_here, "refused")),
        "a command is looked at": TRAIN.longest("what", "fired", (*not_here, "refused", "change_or_stop")),
        "its refusal": TRAIN.longest("refused", "wait", ("fired",)) + TRAIN.longest("wait", "fired", ("not_fired",)),
        "a change is reported": TRAIN.longest("changed", "wait") + TRAIN.longest("wait", "fired", ("not_fired",)),
        "a start is reported": TRAIN.longest("started", "wait") + TRAIN.longest("wait", "fired", ("not_fired",)),
    }
    for way, n in ways.items():
        print(f"{way}: {n} instructions from where no pulse was seen to `fired`")
    # From the condition, in an instruction's cycle 2, to the strobe of the report's first instruction, in its cycle 5; the launch is due
    # KE cycles before its tick.
    assert age >= (max(ways.values()) + TRAIN.longest("fired", "fired_told") - 3) * INSTRUCTION + 3 - KE
    assert f"8'd{age} + 8'(WAIT)" in (ROOT / "sim/formal/litepulse_events_environment.sv").read_text()


def test_change_redo():
    """A pulse that is waited for and placed again: its old place comes neither before all is done, nor, when the change is refused at last,
    before it is loaded again."""
    longest = 1 + max(TRAIN.longest(begin, "place", ("adjust_late", "pend", "changed")) for begin in ("this_near", "next_near"))
    least = (longest + NEAR) * INSTRUCTION - WORDS["T", "HEAD_SHORT"]
    # a command that comes while the pulse before is worked on waits for that
    requested = max(
        TRAIN.longest("wait", "this_one", ("fired", "place", "rate_fast", "start_bad", "stop")) + 1,
        TRAIN.longest("wait", "next_one", ("fired", "place", "rate_fast", "start_bad", "stop")),
    )
    redo = SAMPLE + requested * INSTRUCTION - WORDS["T", "REDO_LEAST"]
    busy = TRAIN.longest("wait", "fired", ("not_fired",)) + fired_to_place("change") + TRAIN.longest("place", "wait")
    print(f"REDO_LEAST {least}: {longest} instructions")
    print(f"CHANGE_REDO {redo} in `wait`, {redo + busy * INSTRUCTION} while a pulse is worked on")
    assert -WORDS["T", "REDO_LEAST"] >= least
    assert cycles()["CHANGE_REDO"] >= redo + busy * INSTRUCTION


# A program that is right but for one line.
AROUND = """word ZERO 0
word A 1
first: A = A + ZERO
{}
last: | do pop | first
"""


@pytest.mark.parametrize(
    "line, message",
    [
        ("A + ZERO | | if carry first else last", "carry speaks of the operation before: carry(prev)"),
        ("A + ZERO | | if flush(prev) first else last", "flush is not of an operation"),
        ("A + ZERO | | if red first else last", "no condition red"),
        ("A + ZERO | | carry ? first : last", "cannot read the jump"),
        ("A + ZERO | | nowhere", "no label nowhere"),
        ("0 + A", "B was just written by first"),
        ("A = ZERO + ZERO", "A would be written, ZERO is read in its place"),
        ("A - ZERO", "cannot read the operation"),
        ("A + OTHER", "no word OTHER"),
        ("0 + ZERO | load_any | last", "no action load_any"),
        ("0 + ZERO | latch ZERO | last", "latch takes no argument"),
        ("0 + ZERO | load_far unless zero | last", "zero speaks of the operation before: zero(prev)"),
        ("0 + ZERO | load_far unless zero(prev)", "needs a label"),
        ("0 + ZERO | load_far unless zero(prev) | if flush first else last", "takes the place of a condition"),
        ("| do dance | last", "do dance?"),
        ("A = A + ZERO | do pop | last", "no room for a written word"),
        ("first: | | last", "first is there twice"),
    ],
)
def test_mistakes_are_reported_with_their_line(line, message):
    """With the file and the line."""
    with pytest.raises(assemble.Mistake) as caught:
        assemble.Program("launch_queue", AROUND.format(line), 0, {0, 1})
    assert message in str(caught.value) and str(caught.value).startswith("launch_queue.asm:4: ")


def test_load_far_unless():
    """Loads in one of two ways, and goes on at one place."""
    program = assemble.Program("launch_queue", AROUND.format("0 + ZERO | load_far unless zero(prev) | last"), 0, {0, 1})
    (word,) = [word for word in program.code.values() if field(word, "action") == assemble.ACTIONS.index("load_any")]
    assert assemble.CONDITIONS["launch_queue"][field(word, "cond")] == "zero"
    assert program.code[field(word, "next")] == program.code[field(word, "next") | 1]


PAGE = (ROOT / "docs" / "develop" / "sequencer.md").read_text()


def table(heading):
    """The rows of the table of docs/develop/sequencer.md below a heading."""
    section = re.split(r"^#+ ", PAGE.split(f"# {heading}\n", 1)[1], maxsplit=1, flags=re.M)[0]
    rows = [[cell.strip().strip("`") for cell in line.strip("|").split(" | ")] for line in section.splitlines() if line.startswith("| ")]
    return rows[1:]


def test_the_page_has_the_language():
    """docs/develop/sequencer.md lists what the assembler knows: fields, actions, arguments of `do`, conditions and whose they are."""
    assert [(name, int(low), int(bits)) for name, low, bits, _ in table("Encoding")] == [
        (name, *place) for name, place in assemble.FIELDS.items()
    ]
    assert [row[0] for row in table("Action")] == list(assemble.ACTIONS)
    named = re.findall(r"`(\w+)`", PAGE.split("`do` takes one argument.")[1].split("### Jump")[0])
    more = [name for name in assemble.DO[assemble.SEQUENCE] if name not in assemble.DO["launch_queue"]]
    assert named == [*assemble.OUTCOMES, *assemble.DO["launch_queue"], *assemble.DO["train"], *more]
    queue, train, sequence = (assemble.CONDITIONS[name] for name in (*assemble.PROGRAMS, assemble.SEQUENCE))
    both = [name for name in queue if name in train]
    assert {name: whose for name, _, whose in table("Jump")} == (
        dict.fromkeys(both, "both")
        | {n: "queue" for n in queue if n not in both}
        | {n: "train" for n in train if n not in both}
        | {n: "sequence" for n in sequence if n not in queue}
    )
    assert f"holds {assemble.SIZE} instructions" in PAGE and f"from {assemble.LQ_WORD} on" in PAGE
