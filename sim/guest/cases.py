# SPDX-License-Identifier: BSD-2-Clause
"""Cases of the guests' programs, by the tables in their sources; and what of them Python sources name, without running either."""

import ast
import importlib
import itertools
import re

from sim.cocotb_rig import ROOT

TABLE = re.compile(r"(?ms)^(?:static )?const struct guest_case \w+\[\] = \{$(.*?)^\};$")
UNKNOWN = "?"  # in a text: something that is known only when the test runs


def cases(*sources):
    """Names of the cases in the tables of C sources. ValueError: two have the same."""
    names = [name for path in sources for table in TABLE.findall(path.read_text()) for name in re.findall(r'\{ "([^"]+)"', table)]
    if len(set(names)) < len(names):
        raise ValueError(f"{[path.name for path in sources]}: two cases have the same name: {names}")
    return set(names)


class Texts:
    """The strings of a Python source. Names in f-strings stand for each value that the test's parameters, or calls in the source, give."""

    def __init__(self, path):
        self.tree = ast.parse(path.read_text())
        self.module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        nodes = list(ast.walk(self.tree))
        self.functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
        self.calls = [node for node in nodes if isinstance(node, ast.Call)]
        self.parts = {part for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}

    def parameters(self, function):
        """{name: values} of a function."""
        found = {}
        calls = [call for call in self.calls if getattr(call.func, "id", "") == function.name]
        for at, parameter in enumerate(function.args.args):
            given = [call.args[at] for call in calls if len(call.args) > at]
            found[parameter.arg] = [value.value for value in given if isinstance(value, ast.Constant)]
        if function.name.startswith("test_"):
            for mark in getattr(getattr(importlib.import_module(self.module), function.name), "pytestmark", ()):
                if mark.name == "parametrize":
                    names = [name.strip() for name in mark.args[0].split(",")]
                    for name, values in zip(names, zip(*(row if len(names) > 1 else (row,) for row in mark.args[1]))):
                        found[name] = list(values)
        return found

    def expand(self, node, parameters):
        """All texts that a string may become."""
        if isinstance(node, ast.Constant):
            return [str(node.value)]
        if isinstance(node, ast.FormattedValue):
            return list(map(str, parameters.get(getattr(node.value, "id", ""), ()))) or [UNKNOWN]
        if isinstance(node, ast.JoinedStr):
            return ["".join(parts) for parts in itertools.product(*(self.expand(part, parameters) for part in node.values))]
        return []

    def scopes(self):
        """(nodes, {name: values}) of the source's functions, and of all together. Parts of f-strings are no nodes."""
        scopes = [*((function, self.parameters(function)) for function in self.functions), (self.tree, {})]
        yield from (([node for node in ast.walk(scope) if node not in self.parts], parameters) for scope, parameters in scopes)

    def all(self):
        """Each string of the source."""
        return {text for nodes, parameters in self.scopes() for node in nodes for text in self.expand(node, parameters)}

    def arguments(self, name):
        """(call, texts of its first argument or of its items) for each call of a function or method."""
        for nodes, parameters in self.scopes():
            lists = {
                target.id: node.value
                for node in nodes
                if isinstance(node, ast.Assign)
                for target in node.targets
                if isinstance(target, ast.Name)
            }
            for call in (node for node in nodes if isinstance(node, ast.Call) and node.args):
                if name in (getattr(call.func, "id", ""), getattr(call.func, "attr", "")):
                    given = lists.get(getattr(call.args[0], "id", ""), call.args[0])
                    items = given.elts if isinstance(given, ast.List) else [given]
                    yield call, {text for item in items for text in self.expand(item, parameters)}


def known(found):
    """Those of (program, word) whose word is known. The same string is known in one scope and not in another."""
    return {(program, word) for program, word in found if UNKNOWN not in word}
