# SPDX-License-Identifier: BSD-2-Clause
"""The mutants, and how they are distinguished from changes without effect. `make mutate` tries them."""

from pathlib import Path

import pytest

from lab.faults import mutate
from lab.faults.mutants import mutants
from sim.cocotb_rig import ROOT

TEXT = """// a && b
module m #(parameter int S = 1) (input logic a, b, output logic c);
  localparam int L = S + 1;
  logic [3:0] d, e;
  assign c = a && !b;  // x || y
  always_ff @(posedge a) begin
    if (b == 1'b0) d <= d + 4'd3;
    e <= (d <= 4'd15) ? ~d : {4{a}};
  end
`ifdef FORMAL
  assert (a && b);
`endif
endmodule
"""


def listed(text):
    """[(kind, line, old, new), ...] of all mutants."""
    return [(mutant.kind, mutant.line, mutant.old, mutant.new) for mutant in mutants(text)]


def test_mutants_are_those_of_the_logic():
    """Nothing of comments, ports, declarations and properties; `<=` is a comparison only within parentheses."""
    assert listed(TEXT) == [
        ("operator", 5, "&&", "||"),
        ("operator", 5, "!", ""),
        ("condition", 7, "b == 1'b0", "!(b == 1'b0)"),
        ("operator", 7, "==", "!="),
        ("constant", 7, "1'b0", "1'b1"),
        ("assignment", 7, "d <= d + 4'd3;", ";"),
        ("operator", 7, "+", "-"),
        ("constant", 7, "4'd3", "4'd2"),
        ("constant", 7, "4'd3", "4'd4"),
        ("assignment", 8, "e <= (d <= 4'd15) ? ~d : {4{a}};", ";"),
        ("operator", 8, "<=", "<"),
        ("constant", 8, "4'd15", "4'd14"),
        ("operator", 8, "~", ""),
    ]


def test_a_mutant_changes_one_place():
    for mutant in mutants(TEXT):
        text = mutant.apply(TEXT)
        assert text[: mutant.start] == TEXT[: mutant.start] and text[mutant.start + len(mutant.new) :] == TEXT[mutant.end :]
        assert text != TEXT and text.count("\n") == TEXT.count("\n")


def test_names_stay_when_lines_come_and_are_unlike():
    names = [str(mutant) for mutant in mutants(TEXT)]
    assert len(set(names)) == len(names)
    assert [str(mutant) for mutant in mutants("// a line more\n" + TEXT)] == names
    twice = [str(mutant) for mutant in mutants("module m ();\n  assign a = b && c && d;\nendmodule\n")]
    assert twice == ["&& -> ||: assign a = b && c && d;", "&& -> ||: assign a = b && c && d; (2)"]


@pytest.mark.parametrize("words", ["litepulse_none", "litepulse_echo --count -1", "litepulse_echo --jobs 0", "litepulse_ram"])
def test_bad_words(words, capsys):
    with pytest.raises(SystemExit) as ended:
        mutate.main(words.split())
    assert ended.value.code == 2 and "error: " in capsys.readouterr().err


def test_equivalent():
    """Changes without effect are recognised."""
    module = "litepulse_echo"
    folder = Path(mutate.BUILD) / "mutants" / "test"
    text = mutate.file_of(module).read_text()
    changes = {text: False, text.replace("sent || tail_more", "tail_more", 1): True, f"no Verilog {text}": None}
    for changed, expected in changes.items():
        (folder / "hdl").mkdir(parents=True, exist_ok=True)
        for path in (ROOT / "hdl").glob("*.sv"):
            (folder / "hdl" / path.name).write_text(path.read_text())
        (folder / "hdl" / f"{module}.sv").write_text(changed)
        assert mutate.differs(module, folder / "hdl", folder / "miter", 1) is expected


def test_a_module_with_properties_has_its_proofs():
    """A proof that is not found judges nothing, which no test would notice."""
    with_properties = [path.stem for path in sorted((ROOT / "hdl").glob("*.sv")) if f'`include "{path.stem}.svh"' in path.read_text()]
    assert len(with_properties) > 15 and [module for module in with_properties if not mutate.proof_sources(module)] == []
