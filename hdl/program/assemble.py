# SPDX-License-Identifier: BSD-2-Clause
"""Assembles the programs of litepulse_sequencer: `python hdl/program/assemble.py` writes hdl/litepulse_program_pkg.sv,
hdl/litepulse_program.sv and hdl/litepulse_program_sequence.sv from the two .asm files beside it; with --check it only names the stale
ones.

The launch queue has two programs in one file: with sequences (a core with SEQUENCE = 1) and without. A line that begins with `+` belongs
to the first of them only, one that begins with `-` to the second. The one with sequences has addresses of its own.

A line is `[label:] operation | action | jump`, each part may be missing; `#` begins a comment, `word NAME ADDRESS` names a memory word.

operation   [WORD =] A + B [+ 1 | + c]      A: 0, WORD, lead, ~lead, now_lo, ~now_lo, now_hi, ~now_hi (~x is -x - 1)
                                             B: WORD, ~WORD, lq.0 to lq.3 (a word of the launch at the head of the queue)
            A word that is written is A's word, if A is one. `c` is the carry of the operation before.
            B may not be the word that the instruction before wrote: it is looked up too early for that.
action      one of ACTIONS, `do` with what it does; instead of load_any: load_far unless CONDITION
jump        LABEL, or if CONDITION LABEL else LABEL; without one the next line follows
condition   one of CONDITIONS; those that speak of the sum of the operation before are written carry(prev) and so on

Both labels of a condition lie side by side in the memory, the first at the odd address: an
instruction that is the target of several conditions is stored several times. Addresses 0 and 1 do nothing but jump to the first
instructions of the programs; with sequences the launch queue's begins at SIZE.
"""

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# In two parts, because `reuse lint` would take the whole for this file's own licence.
SPDX = "SPDX-License-" + "Identifier:"
PROGRAMS = ("launch_queue", "train")
SIZE = 256  # instructions of all programs
WORDS = 32  # memory words of a program
AGE_HALF = 16  # words from here on: AGE alone, in the launch queue's program with waits
LQ_WORD = 28  # B from here on: words of the launch at the head of the queue (only the launch queue's program)

SEQUENCE = "sequence"  # the launch queue's program with sequences
SHORT = {"launch_queue": "Q", "train": "T", SEQUENCE: "S"}
ASEL = {"0": 0, "~lead": 2, "lead": 3, "~now_lo": 4, "now_lo": 5, "~now_hi": 6, "now_hi": 7}
ASEL_WORD = 1
CIN = {None: 0, "1": 1, "c": 2}
CONDITIONS = {
    "launch_queue": ("never", "carry", "borrow", "zero", "negative", "acked", "fired", "eventful", "near", "bad", "flush", "some", "entry"),
    "train": (
        "never",
        "carry",
        "borrow",
        "zero",
        "negative",
        "acked",
        "fired",
        "eventful",
        "near",
        "bad",
        "cmd0",
        "cmd1",
        "pending",
        "asap",
        "wrapped",
        "far",
    ),
}
CONDITIONS[SEQUENCE] = (*CONDITIONS["launch_queue"], "flag", "wait", "edge")
OF_SUM = ("carry", "borrow", "zero", "negative")
UNLESS = " unless "
ACTIONS = ("none", "latch", "width", "load", "load_far", "load_any", "emit", "do")
DO = {
    "launch_queue": ("pop", "disarm", "drop", "flushed"),
    "train": ("done", "refuse", "run", "stopped", "pend", "unpend", "disarm", "fast"),
}
DO[SEQUENCE] = (*DO["launch_queue"], "listen")
OUTCOMES = ("pulse", "late", "busy", "order", "invalid", "applied", "stop", "train_done")  # 1 to 4: the reason
OUTCOME_BIT = 16  # of the argument of `do`
# field: (lowest bit, bits)
FIELDS = {
    "next": (0, 8),
    "cond": (8, 4),
    "a": (12, 5),
    "b": (17, 5),
    "asel": (22, 3),
    "bneg": (25, 1),
    "cin": (26, 2),
    "we": (28, 1),
    "action": (29, 3),
}


class Mistake(Exception):
    """An error in a source, with its file and line."""


class Program:
    """`code`: address -> instruction word; `words`: name -> address; `labels`: name -> addresses it is stored at; `used`: set of all
    addresses in use, also those of the programs before this one."""

    def __init__(self, name, text, entry, used):
        self.name, self.words, self.lines, self.alias, first = name, {}, {}, {}, None
        pending, previous, own = [], None, 0
        for number, line in enumerate(text.splitlines(), 1):
            self.where = f"{PROGRAMS[0] if name == SEQUENCE else name}.asm:{number}"
            line = line.split("#")[0]
            if line[:1] in ("+", "-"):
                if (line[0] == "+") != (name == SEQUENCE):
                    continue
                line = line[1:]
            line, own = line.strip(), own + 1
            if not line:
                continue
            if match := re.fullmatch(r"word (\w+) +(\d+)", line):
                address = int(match[2])
                if address >= WORDS or match[1] in self.words or address in self.words.values():
                    self.fail(f"word {match[1]}: address taken or too large")
                if name == SEQUENCE and (address >= AGE_HALF) != (match[1] == "AGE"):
                    self.fail(f"word {match[1]}: from {AGE_HALF} on there is AGE alone: litepulse_sequencer knows it by that bit")
                self.words[match[1]] = address
                continue
            while match := re.match(r"(\w+): *", line):
                pending.append(match[1])
                line = line[match.end() :]
            if not line:
                continue
            label = pending[0] if pending else f"line {own}"
            for other in pending or [label]:
                if other in self.lines:
                    self.fail(f"{other} is there twice")
                self.lines[other] = None if other != label else (self.where, *self.parse(line))
            self.alias.update({other: label for other in pending})
            if previous is not None and self.lines[previous][2] is None:
                self.lines[previous] = (*self.lines[previous][:2], (label,))
            first, previous, pending = first or label, label, []
        if self.lines[previous][2] is None:
            self.fail("the last line has to jump")
        self.place(first, entry, used)

    def fail(self, what):
        raise Mistake(f"{self.where}: {what}")

    def word(self, name):
        if name not in self.words:
            self.fail(f"no word {name}")
        return self.words[name]

    def parse(self, line):
        """A line's fields but `next` and `cond`, and its jump: None, (label,) or (condition, label, label)."""
        parts = [part.strip() for part in line.split("|")] + ["", ""]
        fields = dict.fromkeys(FIELDS, 0)
        if parts[0]:
            match = re.fullmatch(r"(?:(\w+) = )?([~\w]+) \+ (~?)([\w.]+)(?: \+ (1|c))?", parts[0])
            if not match:
                self.fail(f"cannot read the operation {parts[0]!r}")
            dest, a, negate, b, cin = match.groups()
            if a in ASEL:
                fields["asel"] = ASEL[a]
                fields["a"] = self.word(dest) if dest else 0
            else:
                fields["asel"], fields["a"] = ASEL_WORD, self.word(a)
                if dest and dest != a:
                    self.fail(f"{dest} would be written, {a} is read in its place")
            fields["we"], fields["cin"], fields["bneg"] = int(bool(dest)), CIN[cin], int(bool(negate))
            if b.startswith("lq."):
                if self.name not in (PROGRAMS[0], SEQUENCE) or b[3:] not in ("0", "1", "2", "3"):
                    self.fail(f"no {b} here")
                fields["b"] = LQ_WORD + int(b[3:])
            else:
                fields["b"] = self.word(b)
        jump = None
        if parts[2]:
            match = re.fullmatch(r"if (\S+) (\w+) else (\w+)|(\w+)", parts[2])
            if not match:
                self.fail(f"cannot read the jump {parts[2]!r}")
            jump = (match[4],) if match[4] else (self.condition(match[1]), match[2], match[3])
        if parts[1]:
            action, _, argument = parts[1].partition(" ")
            if parts[1].startswith(f"load_far{UNLESS}"):
                if jump is None or len(jump) == 3:
                    self.fail(f"`load_far{UNLESS}` takes the place of a condition of the jump, which needs a label")
                action, jump = "load_any", (self.condition(parts[1].split(UNLESS)[1]), *jump, *jump)
            elif action not in ACTIONS or action == "load_any":
                self.fail(f"no action {action}")
            elif argument and action != "do":
                self.fail(f"{action} takes no argument")
            fields["action"] = ACTIONS.index(action)
            if action == "do":
                if fields["we"]:
                    self.fail("`do` has no room for a written word")
                if argument in OUTCOMES:
                    fields["a"] = OUTCOME_BIT + OUTCOMES.index(argument)
                elif argument in DO[self.name]:
                    fields["a"] = DO[self.name].index(argument)
                else:
                    self.fail(f"do {argument}?")
                if fields["asel"] == ASEL_WORD:
                    self.fail("`do` has no room for a word A")
        return fields, jump

    def condition(self, text):
        """The name of a condition."""
        name = text.removesuffix("(prev)")
        if name not in CONDITIONS[self.name]:
            self.fail(f"no condition {text}")
        if (name != text) != (name in OF_SUM):
            self.fail(f"{name} speaks of the operation before: {name}(prev)" if name in OF_SUM else f"{name} is not of an operation")
        return name

    def place(self, first, entry, used):
        """Gives every instruction that can be reached an address, pairs at even ones."""
        pairs, todo, code = {}, [first], {}

        def take(count):
            for address in range(0, SIZE, count):
                if not used & set(range(address, address + count)):
                    used.update(range(address, address + count))
                    return address
            raise Mistake(f"{self.name}.asm: more than {SIZE} instructions")

        # pairs first, so that singles fill what is left
        seen = {first}
        while todo:
            label = todo.pop()
            jump = self.lines[label][2]
            targets = []
            for target in jump[1:] if len(jump) == 3 else jump:
                if target not in self.alias and target not in self.lines:
                    self.where = self.lines[label][0]
                    self.fail(f"no label {target}")
                targets.append(self.alias.get(target, target))
            if len(jump) == 3:
                key = (targets[1], targets[0])
                if key not in pairs:
                    pairs[key] = take(2)
                    code[pairs[key]], code[pairs[key] + 1] = key
            for target in targets:
                fields, after = self.lines[label][1], self.lines[target][1]
                if fields["we"] and fields["a"] == after["b"]:
                    self.where = self.lines[target][0]
                    self.fail(f"B was just written by {label}")
                if target not in seen:
                    seen.add(target)
                    todo.append(target)
        unreached = {label for label in self.lines if self.lines[label]} - seen
        if unreached:
            raise Mistake(f"{self.name}.asm: never reached: {sorted(unreached)}")
        stored = {label: address for address, label in code.items()}
        plain = [self.lines[label][2][0] for label in sorted(seen) if len(self.lines[label][2]) == 1]
        for target in [first] + [self.alias.get(t, t) for t in plain]:
            if target not in stored:
                stored[target] = take(1)
                code[stored[target]] = target
        self.labels, self.code = {}, {entry: encode({"next": stored[first]})}
        for address, label in sorted(code.items()):
            _, fields, jump = self.lines[label]
            targets = [self.alias.get(t, t) for t in (jump[1:] if len(jump) == 3 else jump)]
            if len(jump) == 3:
                more = {"next": pairs[(targets[1], targets[0])], "cond": CONDITIONS[self.name].index(jump[0])}
            else:
                more = {"next": stored[targets[0]]}
            self.code[address] = encode({**fields, **more})
            for name, real in self.alias.items():
                if real == label:
                    self.labels.setdefault(name, []).append(address)


def encode(fields):
    return sum(value << FIELDS[name][0] for name, value in fields.items())


def constant(name, bits, value):
    return f"  localparam logic [{bits - 1}:0] {name} = {bits}'d{value};"


def package(programs):
    """The text of litepulse_program_pkg.sv: fields, codes, words and labels."""
    lines = [
        f"// Written by `python hdl/program/assemble.py`. {SPDX} BSD-2-Clause",
        "// Codes of litepulse_sequencer's instructions, its memory words, and where the programs' labels lie.",
        "package litepulse_program_pkg;",
        "  // verilator lint_off UNUSEDPARAM",
    ]
    for name, (low, _) in FIELDS.items():
        lines.append(f"  localparam int F_{name.upper()} = {low};")
    lines += [constant("LQ_WORD", 5, LQ_WORD), constant("OUTCOME_BIT", 5, OUTCOME_BIT)]
    lines += [constant(f"ACT_{name.upper()}", 3, code) for code, name in enumerate(ACTIONS)]
    lines += [constant(f"OUT_{name.upper()}", 3, code) for code, name in enumerate(OUTCOMES)]
    for program in programs:
        short = SHORT[program.name]
        known = PROGRAMS[0] if program.name == SEQUENCE else None  # whose codes it has, and more
        for what, bits, codes in (("COND", 4, CONDITIONS), ("DO", 5, DO)):
            lines += [
                constant(f"{short}_{what}_{name.upper()}", bits, code)
                for code, name in enumerate(codes[program.name])
                if known is None or name not in codes[known]
            ]
        lines += [constant(f"{short}_WORD_{name}", 5, address) for name, address in program.words.items()]
        for label, addresses in sorted(program.labels.items()):
            lines += [
                constant(f"{short}_AT_{label.upper()}{f'_{copy}' if copy else ''}", 8, address) for copy, address in enumerate(addresses)
            ]
    return "\n".join([*lines, "  // verilator lint_on UNUSEDPARAM", "endpackage", ""])


def rom(module, programs, sequence=None):
    """The text of an instruction memory. sequence: the program that lies behind the others, at addresses of its own."""
    code, names = {}, {}
    for base, program in [*((0, program) for program in programs), *([(SIZE, sequence)] if sequence else [])]:
        code.update({base + address: word for address, word in program.code.items()})
        names.update({base + address: f"{program.name} {label}" for label, addresses in program.labels.items() for address in addresses})
    size = 2 * SIZE if sequence else SIZE
    begin = f"0, 1 and {SIZE}" if sequence else "0 and 1"
    lines = [
        f"// Written by `python hdl/program/assemble.py`. {SPDX} BSD-2-Clause",
        "// The programs of litepulse_sequencer, from hdl/program/*.asm. Latency: one cycle, the output is held while `en` is low.",
        f"module {module} (",
        "    input  logic        clk,",
        "    input  logic        en,",
        f"    input  logic [{size.bit_length() - 2}:0]  address,      // {begin}: where the programs begin ({len(code)} of {size} in use)",
        "    output logic [31:0] instruction",
        ");",
        f'  (* ram_style = "block" *) logic [31:0] code[0:{size - 1}];',
        "",
        "  initial begin",
    ]
    for address in range(size):
        note = f"  // {names[address]}" if address in names else ""
        lines.append(f"    code[{address}] = 32'h{code.get(address, 0):08x};{note}")
    lines += ["  end", "", "  always_ff @(posedge clk) if (en) instruction <= code[address];", "endmodule", ""]
    return "\n".join(lines)


def assemble():
    """{file name: text} of what this makes."""
    used = set(range(len(PROGRAMS)))
    texts = {name: (HERE / f"{name}.asm").read_text() for name in PROGRAMS}
    programs = [Program(name, texts[name], entry, used) for entry, name in enumerate(PROGRAMS)]
    sequence = Program(SEQUENCE, texts[PROGRAMS[0]], 0, {0})
    return {
        "litepulse_program_pkg.sv": package([*programs, sequence]),
        "litepulse_program.sv": rom("litepulse_program", programs),
        "litepulse_program_sequence.sv": rom("litepulse_program_sequence", programs, sequence),
    }


def main():
    """Writes the files, or with --check names the stale ones and returns 1."""
    try:
        made = assemble()
    except Mistake as mistake:
        sys.exit(str(mistake))
    stale = [name for name, text in made.items() if not (file := HERE.parent / name).exists() or file.read_text() != text]
    for name in stale:
        print(f"hdl/{name} is stale" if "--check" in sys.argv else f"wrote hdl/{name}")
        if "--check" not in sys.argv:
            (HERE.parent / name).write_text(made[name])
    return int("--check" in sys.argv and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
