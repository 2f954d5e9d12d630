# SPDX-License-Identifier: BSD-2-Clause
"""What makes a new key and what does not: a comment, a blank line or an indentation is free, everything that a compiler sees counts."""

import re
import subprocess

import pytest

from litex_soc.build_cache import content_key
from litex_soc.tokens import tokens
from sim.cocotb_rig import ROOT, hdl_sources, headers, tool_environment

VERILOG = r"""// A counter.
`define MORE(x) x + 1
`define LONG first \
  second
module counter #(parameter int W = 8) (input logic clk, output logic [W-1:0] n);
  // verilator lint_off UNUSED
  localparam bit [7:0] FIRST = 8'hff;  /* in hexadecimal */
  initial $display("a // b /* c */ \"d\" \
e");
  wire \odd//name /*c*/ = 1'b0;
  always_ff @(posedge clk) n <= n + W'(1) - -FIRST;
`ifdef FORMAL
  (* keep *) wire k;
`endif
endmodule
"""
C = r"""/* A counter. */
#define MORE(x) ((x) + 1)
#define LONG first \
    second
static int n = 0x1f; // hexadecimal
static const char *s = "a // b /* c */ \"d\"", q = '"', e = '\'', *t = "/*";
int f(int a, int *b) {
    switch (a) {
    case 1: n += a / *b; /* fall through */
    default: return n - -a;
    }
}
"""
PYTHON = '''"""Counts."""
# A comment.
def f(a, b=[1,
            2]):
    """Says # something."""
    if a:
        return "x  # y" + \'\'\'
    # no comment
\'\'\'
    return f"{a}  {b!r}"
'''
SOURCES = {"n.sv": VERILOG, "n.c": C, "n.py": PYTHON}


def changed(name, old, new):
    """Whether the tokens differ with `new` in place of `old`, which occurs once."""
    text = SOURCES[name]
    assert text.count(old) == 1, old
    return tokens(name, text.replace(old, new).encode()) != tokens(name, text.encode())


@pytest.mark.parametrize(
    "name, old, new",
    [
        ("n.sv", "// A counter.\n", ""),
        ("n.sv", "// A counter.", '/* A counter,\n   "which" isn\'t `done`. */'),
        ("n.sv", "x + 1\n", 'x + 1  // "one // \n\n'),
        ("n.sv", "first \\", "first   \\"),
        ("n.sv", "  second", "      second"),
        ("n.sv", " /* in hexadecimal */", "// 8'h \"\n\n"),
        ("n.sv", "module counter #(", "module\tcounter // it counts\n  #("),
        ("n.sv", "n + W", "n  +\n /*\n*/ W"),
        ("n.sv", "`endif\n", "`endif  // FORMAL\n\n\n"),
        ("n.sv", "  // verilator", "\n\t// verilator"),
        ("n.sv", "endmodule\n", "endmodule"),
        ("n.sv", "/*c*/", "/* another */"),
        ("n.c", "/* A counter. */", "// it's \" a\\\ncounter"),
        ("n.c", "\n#define MORE", "\n\n  #define MORE"),
        ("n.c", "first \\\n    second", "first second"),
        ("n.c", "// hexadecimal", "/* in\n * hexadecimal */"),
        ("n.c", "    switch", "\t\tswitch"),
        ("n.c", "a / *b", "a /* / */ / *b"),
        ("n.py", "# A comment.\n", '\n\n# Another one: """\n'),
        ("n.py", "        return", "            return"),
        ("n.py", "1,\n            2", "1, 2"),
        ("n.py", "if a:", "if  a :  # so"),
    ],
)
def test_what_is_free(name, old, new):
    assert not changed(name, old, new)


@pytest.mark.parametrize(
    "name, old, new",
    [
        ("n.sv", "8'hff", "8'hfe"),
        ("n.sv", "8'hff", "8 'hff"),
        ("n.sv", "n + W", "n - W"),
        ("n.sv", "- -FIRST", "--FIRST"),
        ("n.sv", "logic clk", "logicclk"),
        ("n.sv", "x + 1\n", "x + 2\n"),
        ("n.sv", "x + 1\n", "x + 1 "),
        ("n.sv", "`define MORE(x)", "`define MORE (x)"),
        ("n.sv", "first \\\n", "first\n"),
        ("n.sv", "first \\\n", "first "),
        ("n.sv", "  second\n", "  second "),
        ("n.sv", "  second\n", "  second \\\n"),
        ("n.sv", "`ifdef FORMAL", "`ifndef FORMAL"),
        ("n.sv", "`ifdef FORMAL\n", "`ifdef FORMAL "),
        ("n.sv", "// verilator lint_off UNUSED", "// verilator lint_off WIDTH"),
        ("n.sv", "// verilator lint_off UNUSED", "// lint_off UNUSED"),
        ("n.sv", "(* keep *) ", ""),
        ("n.sv", "a // b", "a //  b"),
        ("n.sv", "/* c */", "/* */"),
        ("n.sv", '\\"d', '\\" d'),
        ("n.sv", "\\\ne", "\\\n e"),
        ("n.sv", "//name", "//other"),
        ("n.c", "0x1f", "0x1e"),
        ("n.c", "- -a", "--a"),
        ("n.c", "a / *b", "a /*b"),
        ("n.c", "(x) + 1)\n", "(x) + 1) "),
        ("n.c", "MORE(x)", "MORE (x)"),
        ("n.c", "first \\\n", "first\n"),
        ("n.c", "a // b", "a // c"),
        ("n.c", "/* c */", ""),
        ("n.c", "'\\''", "'\\\"'"),
        ("n.c", '"/*"', '"/* "'),
        ("n.c", "/* fall through */", ""),
        ("n.py", "    return f", "        return f"),
        ("n.py", "x  # y", "x # y"),
        ("n.py", "    # no comment\n", ""),
        ("n.py", "{a}  {b!r}", "{a} {b!r}"),
        ("n.py", "{b!r}", "{b !s}"),
        ("n.py", "Says # something.", "Says # something else."),
        ("n.py", "2]", "2,]"),
        ("n.py", '"""Counts."""\n', '#!/usr/bin/python3\n"""Counts."""\n'),
    ],
)
def test_what_counts(name, old, new):
    assert changed(name, old, new)


def test_another_file_after_a_missing_line_end():
    """The last line of a file may be a directive."""
    assert tokens("n.svh", b"`define A 1") == tokens("n.svh", b"// its value\n`define A 1\n")


@pytest.mark.parametrize(
    "name, text",
    [
        ("n.sv", "int line = `__LINE__;"),
        ("n.sv", '`define TEXT(x) `"x // y`"\n'),
        ("n.sv", '`define TEXT(x) `"`\\`"x // y`\\`"`"\n'),
        ("n.sv", "`define A 1 // one \\\n + 1\n"),
        ("n.sv", '$display("""a " // b""");'),
        ("n.c", "int line = __LINE__;"),
        ("n.cpp", 'auto s = R"(a " // b)";'),
        ("n.py", "def f(:\n"),
        ("n.py", "x = '''\n"),
        ("n.toml", "a = 1\n"),
        ("n.S", "nop\n"),
    ],
)
def test_taken_byte_for_byte(name, text):
    """Files with something unknown, or with their line numbers."""
    assert tokens(name, text.encode()) == text.encode() != tokens(name, f"{text} ".encode())


def test_every_source_of_the_project_is_understood():
    suffixes = ("*.sv", "*.svh", "*.c", "*.h", "*.cpp", "*.py")
    listed = subprocess.run(["git", "ls-files", *suffixes], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    whole = {name for name in listed if (data := (ROOT / name).read_bytes()) and tokens(name, data) == data}
    assert whole == {name for name in listed if name.endswith((".c", ".h")) and "__LINE__" in (ROOT / name).read_text()}


@pytest.mark.full
def test_the_compilers_agree(tmp_path):
    """The tokens of a source are a source with the same meaning: Verilator and GCC make the same of them."""
    sources = hdl_sources("litepulse")
    made = []
    files = {"n.c": C.encode(), **{path.name: path.read_bytes() for path in (*sources, *headers(sources))}}
    for folder, kept in (tmp_path / "whole", lambda name, data: data), (tmp_path / "tokens", tokens):
        folder.mkdir()
        for name, data in files.items():
            (folder / name).write_bytes(kept(name, data))
        verilate = ["verilator", "--cc", "--no-decoration", "-Wno-fatal", "--top-module", "litepulse", "-Mdir", "made"]
        for command in [*verilate, *(path.name for path in sources)], ["gcc", "-w", "-O1", "-S", "-o", "made/n.s", "n.c"]:
            done = subprocess.run(command, cwd=folder, env=tool_environment(), capture_output=True, text=True, check=False)
            assert not done.returncode, done.stderr
        found = {path.name: path.read_text() for path in (folder / "made").glob("*.[chs]*")}
        made.append({name: re.sub(r'(?m)^VL_FATAL_MT\("litepulse.sv", \d+,', "", text) for name, text in found.items()})
    assert "n.s" in made[0] and sum(map(len, made[0].values())) > 500_000 and made[0] == made[1]


def test_keys_are_made_of_tokens(tmp_path):
    """A source's name and tokens; the bytes of everything else, and of what is passed as bytes."""
    source, text = tmp_path / "n.sv", tmp_path / "n.txt"
    source.write_text(VERILOG)
    text.write_text(VERILOG)
    keys = content_key(source), content_key(text), content_key(source.read_bytes())
    for path in (source, text):
        path.write_text(f"// A comment.\n{VERILOG}")
    assert content_key(source) == keys[0] and content_key(text) != keys[1] and content_key(source.read_bytes()) != keys[2]
    assert content_key(source.rename(tmp_path / "m.sv")) != keys[0]
