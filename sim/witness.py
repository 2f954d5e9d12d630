# SPDX-License-Identifier: BSD-2-Clause
"""Reads a counterexample of ABC, which sby does not convert: in which cycle two copies `a` and `b` of a design part, register by register.

python -m sim.witness FOLDER [SIGNAL ...]   sby's work folder; of a signal: its value whenever it changes
"""

import sys
from collections import defaultdict
from pathlib import Path


class Witness:
    """Every cycle of a counterexample, by running it through the AIGER model that ABC was given."""

    def __init__(self, work):
        """`work`: sby's work folder, of one `abc` engine. OSError if it has no counterexample."""
        lines = (Path(work) / "engine_0" / "trace.aiw").read_text().split("\n")
        if lines[1:] and lines[1].startswith("b"):  # what was violated; older ABC does not say so
            lines = lines[2:]
        inputs = [line for line in lines if line and line[0] in "01x"][1:]  # the first are the flip-flops, all 0
        self.bits = defaultdict(dict)  # signal: {bit: (flip-flop, inverted)}
        for line in (Path(work) / "model" / "design_aiger.aim").read_text().splitlines():
            kind, *words = line.split(" ", 3)
            if kind in ("latch", "invlatch"):
                self.bits[words[2]][int(words[1])] = int(words[0]), kind == "invlatch"
        self.cycles = self._run((Path(work) / "model" / "design_aiger.aig").read_bytes(), inputs)

    @staticmethod
    def _run(aiger, inputs):
        """[state of all flip-flops] by cycle. Binary AIGER: a header, the flip-flops' next states, outputs, then gates as differences."""
        header, _, rest = aiger.partition(b"\n")
        _, n_inputs, n_states, *outputs, n_gates = [int(word) for word in header.split()[1:6]]
        outputs = sum(outputs) + sum(int(word) for word in header.split()[6:])
        following = []
        for number in range(n_states + outputs):
            line, _, rest = rest.partition(b"\n")
            if number < n_states:
                following.append(int(line.split()[0]))
        place = 0

        def difference():
            nonlocal place
            value = shift = 0
            while True:
                byte = rest[place]
                place += 1
                value |= (byte & 127) << shift
                shift += 7
                if byte < 128:
                    return value

        first = n_inputs + n_states + 1
        gates = []
        for gate in range(first, first + n_gates):
            left = 2 * gate - difference()
            gates.append((left, left - difference()))
        state, cycles = [0] * n_states, []
        value = [0] * (2 * (first + n_gates))
        for line in inputs:
            cycles.append(state)
            for number, bit in enumerate([int(c == "1") for c in line[:n_inputs]] + state, 1):
                value[2 * number], value[2 * number + 1] = bit, 1 - bit
            value[1] = 1
            for gate, (left, right) in enumerate(gates, first):
                bit = value[left] & value[right]
                value[2 * gate], value[2 * gate + 1] = bit, 1 - bit
            state = [value[literal] for literal in following]
        return cycles

    def value(self, signal, cycle):
        """Its bits as text, the highest first; `.` where a bit is no flip-flop."""
        bits = self.bits[signal]
        state = self.cycles[cycle]
        return "".join(str(state[bits[b][0]] ^ bits[b][1]) if b in bits else "." for b in range(max(bits), -1, -1))

    def differences(self):
        """[(cycle, signal, value in a, value in b)], first differences only, in their order."""
        found = {}
        pairs = [(name, "b" + name[1:]) for name in sorted(self.bits) if name.startswith("a.") and "b" + name[1:] in self.bits]
        for cycle in range(len(self.cycles)):
            for one, other in pairs:
                if one not in found and (values := (self.value(one, cycle), self.value(other, cycle)))[0] != values[1]:
                    found[one] = (cycle, one[2:], *values)
        return sorted(found.values())


def main():
    """Prints the requested signals."""
    if len(sys.argv) < 2:
        sys.exit((__doc__ or "").partition("\n\n")[2].strip())
    try:
        witness = Witness(sys.argv[1])
    except OSError as error:
        sys.exit(f"no counterexample: {error}")
    for signal in sys.argv[2:]:
        if signal not in witness.bits:
            sys.exit(f"no register {signal}")
        values = [witness.value(signal, cycle) for cycle in range(len(witness.cycles))]
        print(signal, *(f"{cycle}:{value}" for cycle, value in enumerate(values) if not cycle or value != values[cycle - 1]))
    if not sys.argv[2:]:
        for cycle, signal, one, other in witness.differences():
            print(f"{cycle:5} {signal:50} {one} {other}")


if __name__ == "__main__":
    main()
