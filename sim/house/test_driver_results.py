# SPDX-License-Identifier: BSD-2-Clause
"""scripts/driver_results.py on small sources: what it finds, and what it takes for right."""

import pytest

from scripts.driver_results import dropped, main

NAMES = {"put", "configure"}


@pytest.mark.parametrize(
    "text, lines",
    [
        ("{\n\tput(lp);\n}", [2]),
        ("{\n\tif (x)\n\t\tput(lp);\n\telse\n\t\tput(lp);\n}", [3, 5]),
        ("{\n\tfoo();\n\tlp->ops->configure(lp, f(1),\n\t\t\t2);\n}", [3]),
        ("{\n\tlist_for_each_entry(a, b, c)\n\t\tput(lp);\n}", [3]),
        ("{\n\tfoo();\nundo:\n\tput(lp);\n}", [4]),
        ("\tcase 1:\n\t\tput(lp);\n}", [2]),
        ("{\n\t(void)put(lp);\n}", [2]),
        ("{\n\t/* It need not. */\n\tfoo();\n\t(void)put(lp);\n}", [4]),
        ("{\n\t/* It need not. */\n\t(void)put(lp);\n}", []),
        ("{\n\t/* It need not. */\n\tif (x)\n\t\t(void)put(lp);\n}", []),
        ("{\n\t(void)put(lp); /* it need not */\n}", []),
        ("{\n\terror = put(lp);\n\tif (put(lp))\n\t\treturn put(lp);\n}", []),
        ("{\n\terror = error ?:\n\t\tput(lp);\n\tx = f(a) ?:\n\t\tput(lp) ?:\n\t\tput(lp);\n}", []),
        ("{\n\treturn put(a) ||\n\t\tput(b);\n}", []),
        ("{\n\tnothing(lp);\n\t/* put(lp); */\n}", []),
    ],
)
def test_dropped(text, lines):
    assert [line for line, _ in dropped(text, NAMES)] == lines


def test_names_are_those_of_the_folder(tmp_path, capsys):
    """Functions and members that return int; void ones may stand by themselves."""
    (tmp_path / "a.h").write_text("struct ops {\n\tint (*run)(void *context);\n\tvoid (*end)(void *context);\n};\n")
    (tmp_path / "a.c").write_text(
        "static int put(int x)\n{\n\treturn x;\n}\n\nvoid all(struct ops *ops)\n{\n\tput(1);\n\tops->run(0);\n\tops->end(0);\n}\n"
    )
    assert main(tmp_path) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{tmp_path.name}/a.c:8: what put() returns is dropped",
        f"{tmp_path.name}/a.c:9: what ops->run() returns is dropped",
    ]
