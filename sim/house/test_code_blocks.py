# SPDX-License-Identifier: BSD-2-Clause
"""Every code block of README.md and docs/ is of a known kind, and is run, compiled, parsed, or named below with the reason why not.

- shell: each line's program and arguments are checked; lines for the simulated board are run, and if the block shows what they print
  (`$ ` before a command), that is compared, but for its numbers.
- Python: its names must be known; programs on pages of TESTED run where that says.
- C is compiled against driver/uapi, a device tree by dtc, JSON and YAML are parsed.
"""

import ast
import builtins
import importlib.util
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from markdown_it import MarkdownIt

import litepulse
from litepulse.cli import make_parser
from litepulse.commands.arguments import join_negatives
from litepulse.errors import LitePulseError
from sim.cocotb_rig import ROOT
from sim.house import reader

PAGES = sorted(["README.md", *(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))])
# Blocks of these pages, by kind, are run by tests that know what they should do.
TESTED = {
    ("README.md", "shell"): "sw/tests/test_readme.py",
    ("README.md", "python"): "sw/tests/test_readme.py",
    ("docs/python.md", "python"): "sw/tests/test_python_page.py",
    ("docs/latency.md", "shell"): "sw/tests/test_latency.py",
    ("docs/latency.md", "python"): "sw/tests/test_latency.py",
    ("docs/lin.md", "python"): "sw/tests/test_lin.py",
}
RECIPES = "docs/recipes/"  # all blocks of these: sim/house/test_recipes.py
PIPES = "feedgnuplot", "vnl-filter", "sigrok-cli", "litepulse plot -"  # lines with them are run by sw/tests/test_pipes.py
# Lines for the simulated board that are checked and not run: a synopsis, and what takes minutes (the same with less of it is run).
SLOW = (
    r"\[--| VERB ",
    r"--port tcp:.* certify",
    r"--sim certify --self -o self",
    r"latency .*--on edge:0:fall --count 100",
    r"sim_soc --trace ",
    r"/tmp/pulse train --rate 58 .*--count 60",
)
# Blocks that no tool here can check: the page, how the block begins, and why.
NOT_CODE = {
    ("docs/bridge.md", "word = round("): "a formula",
    ("docs/bridge.md", "host:   marker"): "the layout of bytes",
    ("docs/bridge.md", "board:  groups"): "the layout of bytes",
    ("docs/cable.md", "attached: "): "output, with a board",
    ("docs/cable.md", "/dev/litepulse/by-id"): "names of devices",
    ("docs/certify.md", "true baud"): "output, compared by sim/linux/test_certify_soc.py",
    ("docs/certify.md", "litepulse: certify: nothing"): "a message",
    ("docs/cli.md", "OK    wire"): "output, with a board, of the form that sw/tests/test_first_light.py compares",
    ("docs/core.md", "pulses "): "a diagram",
    ("docs/develop/clocks.md", "min(J"): "a formula",
    ("docs/lin.md", "[Match]"): "a file for systemd-networkd, tried by sim/pc/test_lin_programs.py",
    ("docs/lin.md", "SUBSYSTEM=="): "a udev rule, tried there, too",
    ("docs/tty.md", "console=ttyPULSE0"): "words for a kernel's command line",
    ("docs/tty.md", "ACTION=="): "a udev rule",
    ("docs/driver-admin.md", "litepulse_transaction: "): "output of a kernel",
    ("docs/driver-admin.md", "board: device="): "output of a kernel",
    ("docs/develop/clocks.md", "θ"): "a formula",
    ("docs/develop/clocks.md", "ρ"): "a formula",
    ("docs/develop/sequencer.md", "label: WORD"): "a grammar",
    ("docs/develop/sequencer.md", "place: DISTANCE"): "the sequencer's language",
    ("docs/linux-soc.md", "after ready"): "a stimulus",
    ("docs/linux-soc.md", "boot: SDRAM"): "output of a boot",
    ("docs/pins.md", "constant = received"): "a formula",
    ("docs/ptp.md", "ns = ns at"): "a formula",
    ("docs/ptp.md", "refclock PHC"): "a line of chrony's configuration",
    ("docs/ptp.md", "refclock PPS"): "a line of chrony's configuration",
    ("docs/recipes/explain.md", "due →"): "the parts of a delay",
    ("docs/recipes/labscript.md", "user_devices ="): "a line of labscript's configuration",
    ("docs/recipes/labscript.md", "0  480000"): "rows of a file, compared by sw/tests/test_labscript.py",
    ("docs/recipes/labscript.md", "label  time"): "rows of a file, compared by sw/tests/test_labscript.py",
    ("docs/recipes/pulseview.md", "sigrok-cli"): "a line that sw/tests/test_pins.py runs",
    ("docs/recipes/pps.md", "refclock PPS"): "a line of chrony's configuration",
    ("docs/recipes/time-codes.md", "refclock SOCK"): "a line of chrony's configuration",
    ("docs/recipes/pytest.md", "SIMULATED: "): "a line of a report, compared by sw/tests/test_pytest_plugin.py",
    ("docs/recipes/terminal-server.md", '{"device"'): "lines with a board, of the form that sw/tests/test_terminal_server.py compares",
    ("docs/recipes/terminal-server.md", "DEVICE="): "a service's settings, read by sw/tests/test_terminal_clients.py",
    ("docs/verilog.md", "litepulse_reset ──"): "a hierarchy of modules",
    ("docs/verilog.md", "set_max_delay -datapath_only"): "constraints of a tool that is not here",
    ("docs/verilog.md", "set_data_delay"): "constraints of a tool that is not here",
    ("docs/verilog.md", "set_max_delay -from"): "constraints of a tool that is not here",
    ("docs/verilog.md", "MAXDELAY FROM"): "constraints of a tool that is not here",
}
# Programs whose lines are not run: with a board, as root, or for long. Of make, python and litepulse all arguments are checked.
NOT_RUN = {
    "apt": "installs packages",
    "apt-get": "installs packages",
    "adduser": "changes the machine's users",
    "udevadm": "needs udev",
    "ldattach": "needs a board on a cable",
    "gtkwave": "opens a window",
    "minicom": "wants a person at a terminal",
    "pulseview": "opens a window",
    "renice": "needs the workers of a kernel",
    "stty": "needs the driver's tty",
    "sigrok-cli": "is run by test_recipes.py and sw/tests/test_pins.py",
    "socat": "needs a server; sw/tests/test_terminal_clients.py runs it with one",
    "gensiot": "needs a server; sw/tests/test_terminal_clients.py runs it with one",
    "nc": "needs a server",
    "ssh": "needs another machine",
    "setserial": "needs the driver's tty",
    "phc_ctl": "needs a PTP clock of the driver",
    "phc2sys": "needs a PTP clock of the driver",
    "ts2phc": "needs a PTP clock of the driver",
    "ppstest": "needs a PPS source of the driver",
    "litepulse-info": "needs a kernel with the driver",
    "pip": "installs packages",
    "ls": "lists what udev made",
    "cat": "reads what the lines before it made",
    "cd": "a folder of the kernel",
    "cp": "copies what the lines before it made",
    "ln": "names a terminal",
    "mkdir": "prepares the lines after it",
    "echo": "writes to the kernel",
    "tee": "writes to the kernel",
    "modprobe": "needs the driver's module",
    "litepulse-capture": "needs a kernel with the driver",
    "python3": "needs a network interface of the driver",
    "ip": "needs a network interface of the driver",
    "candump": "needs a network interface of the driver",
    "cangen": "needs a network interface of the driver",
    "cansend": "needs a network interface of the driver",
    "trace-cmd": "needs a kernel with the driver",
    "perf": "needs a kernel with the driver",
    "openssl": "makes a key for the machine",
    "mokutil": "changes the firmware's keys",
    "systemctl": "needs systemd",
    "git": "fetches this repository, or sends patches",
    "insmod": "needs the machine's kernel; sim/pc/test_responders_pc.py loads it",
    "rmmod": "needs the machine's kernel",
    "arduino-cli": "needs an Arduino",
    "mpremote": "needs a Pico",
    "fusesoc": "run by sim/boards/test_verilog_examples.py",
    "litepulse-train": "needs a kernel with the driver",
    "pytest": "needs a board, or the page's files, with which sw/tests/test_pytest_plugin.py and test_labgrid.py run it",
}
# What programs find where their page says they stand, beside litepulse itself.
GIVEN = {
    "docs/bridge.md": {"self", "platform", "sys_clk_freq", "SerialBridge"},
    "docs/develop/cable-rig.md": {"edge"},
    "docs/develop/linux.md": {"start", "edge"},
    "docs/develop/testing.md": {"pytest", "simulate", "hdl_sources"},
    "docs/litex.md": {"self", "platform", "Subsignal", "Pins", "IOStandard", "LitePulse", "litepulse"},
}
C_HEAD = """#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/litepulse.h>
"""
C_GIVEN = {
    "docs/chardev.md": "extern int device; extern __u64 soon, end; extern __u32 space; extern struct litepulse_claim claim;\n"
    "void use(struct litepulse_ring_event *event);\n",
    "docs/litex.md": "extern int device[2], claim[2]; extern struct litepulse_train train; extern __u64 start; __u64 now(int device);\n",
}
TREE = """/dts-v1/;
/ {{ #address-cells = <1>; #size-cells = <1>;
  pulse_clk: clock-0 {{ #clock-cells = <0>; }};
  clkc: clock-1 {{ #clock-cells = <1>; }};
  gic: interrupts {{ #address-cells = <0>; #interrupt-cells = <3>; interrupt-controller; }};
  soc {{ #address-cells = <1>; #size-cells = <1>; ranges; interrupt-parent = <&gic>;
{}
  }}; }};
"""


@dataclass(frozen=True)
class Block:
    """A block of a page, as CommonMark sees it."""

    page: str
    line: int
    language: str
    text: str

    @property
    def name(self):
        return f"{self.page}:{self.line}"

    @property
    def not_code(self):
        """The key of NOT_CODE that names it, or None."""
        return next((key for key in NOT_CODE if key[0] == self.page and self.text.lstrip().startswith(key[1])), None)

    @property
    def shown(self):
        """[(command, what it prints)] of a block with `$ `; else the commands, and None."""
        text = re.sub(r"\\\n\s*|(?<=\|)\n\s+|(?<=&&)\n\s+", " ", self.text)
        text = re.sub(r"\n {8,}(?=\[)", " ", text)  # a synopsis of two lines
        text = re.sub(r"\n +done", "; done", re.sub(r"; do\n +", "; do ", text))
        if not re.search(r"(?m)^\$ ", text):
            return [(re.sub(r"\s{2,}#? .*| +# .*", "", line), None) for line in text.splitlines() if line and not line.startswith("#")]
        return [(part.split("\n")[0], "\n".join(part.split("\n")[1:])) for part in re.split(r"(?m)^\$ ", text) if part]

    @property
    def kind(self):
        """What it is: of NOT_CODE, a language, or "" if that is unknown."""
        if self.not_code:
            return "not code"
        if self.language:
            return self.language
        if re.match(r"\w+: [\w-]+@[0-9a-f]+ \{", self.text):
            return "dts"
        if is_shell(self.shown[0][0]):
            return "shell"
        for kind, parse in (("json", json.loads), ("python", ast.parse)):
            try:
                parse(self.text)
                return kind
            except (ValueError, SyntaxError):
                pass
        return ""


def blocks_of(page, text):
    """The blocks of a page."""
    return [
        Block(page, token.map[0] + 1, token.info.strip(), textwrap.dedent(token.content))
        for token in MarkdownIt("commonmark").enable("table").parse(text)
        if token.type in ("fence", "code_block") and not token.info.startswith("{")
    ]


def hidden_commands(text):
    """Lines that look like a command with its prompt and are none: a block in a list must be indented further."""
    return [
        token.content
        for token in MarkdownIt("commonmark").enable("table").parse(text)
        if token.type == "inline" and token.content[:2] == "$ "
    ]


BLOCKS = [block for page in PAGES for block in blocks_of(page, (ROOT / page).read_text(encoding="utf-8"))]


# Shell ------------------------------------------------------------------------------------------------------------------------

KNOWN = {"make", "python", "litepulse", "printf", "for", "kernel", "initrd", "examples", "responders", "pytest", *NOT_RUN}


def words_of(command):
    """The words of one command without `sudo`, settings, redirections and `&`; the program by its name alone."""
    words = shlex.split(re.sub(r"\b2?[<>]+\s*\S+|(?<!\S)[<>]+\s*\S+|(?<!&)&\s*$", " ", command), comments=True)
    while words and (words[0] == "sudo" or re.match(r"[A-Z_]+=", words[0])):
        words = words[1:]
    if words and words[0].startswith(".venv/bin/"):
        words[0] = words[0].removeprefix(".venv/bin/")
    return words


def program_of(command):
    """The first program of a line."""
    words = words_of(re.split(r"&&|\||;", command.lstrip("("))[0])
    found = re.match(r"(kernel|initrd)=\$|(examples)/|/tmp/(responders)/", words[0]) if words else None
    return (found[1] or found[2] or found[3]) if found else words[0] if words else ""


def is_shell(command):
    """Does it begin with a program that we know?"""
    try:
        return program_of(command) in KNOWN
    except ValueError:  # a quote that is not closed
        return False


def parser_of(verbs):
    """The parser of a verb, and all options it knows."""
    parser = make_parser()
    options = {option for action in parser._actions for option in action.option_strings}
    for verb in verbs:
        (sub,) = [action for action in parser._actions if action.dest in ("verb", "command", "lin_verb") and action.choices]
        parser = sub.choices[verb]
        options |= {option for action in parser._actions for option in action.option_strings}
    return options


def check_litepulse(words):
    """A call that the command takes; in a synopsis, options that it has."""
    if "..." in words:  # litepulse [--device DEV | ...] VERB ...
        assert set(re.findall(r"--[a-z-]+", " ".join(words))) <= parser_of(())
    elif any("[" in word for word in words):
        verbs = [word for word in words[1:3] if re.fullmatch(r"[a-z]+", word)]
        assert set(re.findall(r"--[a-z-]+", " ".join(words))) <= parser_of(verbs)
    else:
        make_parser().parse_args(join_negatives(words[1:]))  # raises if something is wrong


def check_make(words):
    """Targets and variables that the Makefile has."""
    folder = words[words.index("-C") + 1] if "-C" in words else "."
    text = (ROOT / folder / "Makefile").read_text(encoding="utf-8")
    for word in words[1:]:
        if word in ("-C", folder):
            continue
        name, given, _ = word.partition("=")
        if given:
            known = re.search(rf"(?m)\$[({{]{name}\b|^{name} \?=|^export .*\b{name}\b", text)
            assert known or name == "CC", f"{folder}/Makefile reads no {name}"
        else:
            assert re.search(rf"(?m)^(?:[\w-]+ )*{name}(?: [\w-]+)*:(?!=)", text), f"{folder}/Makefile has no target {name}"


def check_python_call(words):
    """A module or a file that exists."""
    if words[1] == "-m":
        assert importlib.util.find_spec(words[2]), f"there is no module {words[2]}"
        if words[2] == "pytest":
            assert all((ROOT / word).exists() for word in words[3:] if word.startswith(("sim/", "sw/")))
    else:
        assert words[1] == "my_program.py" or (ROOT / words[1]).is_file(), words[1]


def check_command(command):
    """Each program of a line."""
    if re.match(r"for |\(", command) or "$(" in command:  # of the shell: `bash -n` has seen it
        return
    for part in re.split(r"&&|\|(?![^\[]*\])", command):
        words = words_of(part)
        if "$kernel" in part or program_of(part) in NOT_RUN or words[0] in ("printf", "cut"):
            continue
        if words[0] == "litepulse":
            check_litepulse(words)
        elif words[0] == "make":
            check_make(words)
        elif words[0] == "python":
            check_python_call(words)
        elif words[0].startswith("/tmp/target/"):
            assert (ROOT / "sw" / "target" / f"{words[0].removeprefix('/tmp/target/litepulse-')}.c").is_file(), words[0]
        elif words[0].startswith("/tmp/responders/"):
            assert (ROOT / "sw" / "responders" / f"{words[0].removeprefix('/tmp/responders/').replace('-', '_')}.c").is_file(), words[0]
        elif words[0].startswith("examples/"):
            assert os.access(ROOT / words[0], os.X_OK)
        else:
            assert re.search(rf"(?m)(^|\b){re.escape(words[0])}", " ".join(PIPES)), f"{words[0]} is in no list of this file"


def refuses(shown):
    """Does the page show an error?"""
    return shown is not None and shown.startswith("litepulse: ")


def check_shell(block):
    """All its lines, and its syntax."""
    usage = any("[--" in command or "..." in command for command, _ in block.shown)
    if not usage:
        script = "\n".join(command for command, _ in block.shown)
        done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
    for command, shown in block.shown:
        if not refuses(shown):
            check_command(command)


# Run on the simulated board -----------------------------------------------------------------------------------------------------


def wanted(command, shown):
    """Is it one that needs no board and no other program? Without a board, `info` is one if the page shows what it then says."""
    if any(pipe in command for pipe in PIPES) or any(re.search(pattern, command) for pattern in SLOW):
        return False
    simulated = r"(\.venv/bin/)?litepulse --sim |python -m litex_soc\.sim_"
    here = rf"{simulated}|litepulse --port (tcp:|/tmp/|/dev/ttyUSB7)|printf |for " + ("|litepulse info$" if shown else "")
    return bool(re.match(here, command))


def runs_here(block):
    """Is it a block whose commands the simulated board carries out, and that no other test runs?"""
    if block.kind != "shell" or (block.page, "shell") in TESTED or block.page.startswith(RECIPES):
        return False
    return any(wanted(*each) and not re.match("printf |for ", each[0]) for each in block.shown)


def free_port():
    """A TCP port that is free."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_for(path, port, process, seconds=600):
    """Until a background program is there."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert process.poll() in (None, 0), "it has ended"
        if path and os.path.exists(path):
            return
        if port:
            try:
                with socket.create_connection(("127.0.0.1", port), 1):
                    return
            except OSError:
                pass
        time.sleep(0.2)
    raise AssertionError(f"neither {path} nor port {port} is there after {seconds} s")


def normal(text):
    """Output without its numbers, the width of its columns, and what a plot's paper shows."""
    lines = [line for line in text.splitlines() if not re.search(r"[┤│└⠀-⣿█]", line)]
    return re.sub(r"\b0x[0-9a-f]+|\d[\d.]*", "0", " ".join(" ".join(lines).split()))


def run(block, folder):
    """Runs what can be run of it, in order; what it says must be what the page shows."""
    port = free_port()
    shutil.copy(ROOT / "sw" / "examples" / "door.ldf", folder)
    background, ran = [], 0
    commands = block.shown
    if any(":4000" in command for command, _ in commands) and not any("--tcp 4000" in command for command, _ in commands):
        commands = [("python -m litex_soc.sim_soc -- --tcp 4000 --loop-tx-rx &", None), *commands]  # the page says: run it by itself
    try:
        for command, shown in commands:
            if shown and (file := re.fullmatch(r"cat ([\w.]+)", command)):  # a file that later commands read
                (folder / file[1]).write_text(shown + "\n")
            if not wanted(command, shown):
                continue
            ran += 1
            script = command.replace("/tmp/", f"{folder}/").removeprefix(".venv/bin/")
            script = re.sub(r"(localhost:|127\.0\.0\.1:|--tcp )4000", rf"\g<1>{port}", script)
            serves = command.startswith("python -m litex_soc.sim_") and "--build" not in command
            if serves:
                process = subprocess.Popen(
                    ["bash", "-c", f"exec {script.rstrip('& ')}"],
                    cwd=folder,
                    env=reader.ENVIRONMENT,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
                background.append(process)
                path = re.search(r"--pty (\S+)", script)
                wait_for(path[1] if path else None, port if f"--tcp {port}" in script else None, process)
                continue
            done = reader.run(script, folder, capture_output=True)
            output = done.stdout + done.stderr
            assert done.returncode == (2 if refuses(shown) else 0), f"{command}\n{output}"
            if shown is not None:  # what a page shows of a command is one of its streams or both
                streams = (done.stdout, done.stderr, output)
                assert normal(shown) in [normal(stream.replace(str(port), "4000")) for stream in streams], f"{command}\n{output}"
        assert ran, "nothing of it was run"
    finally:
        for process in background:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
            process.wait(20)


# Python, C, device trees ----------------------------------------------------------------------------------------------------------


def unknown_names(code, given):
    """Names that a program uses without a definition, modules that do not exist, and names that
    litepulse does not have."""
    tree, bound, used, missing = ast.parse(code), set(given), set(), []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            bound.add(node.name)
        elif isinstance(node, ast.Import):
            bound |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
            missing += [alias.name for alias in node.names if not importlib.util.find_spec(alias.name)]
        elif isinstance(node, ast.ImportFrom):
            bound |= {alias.asname or alias.name for alias in node.names}
            module = importlib.import_module(node.module)
            missing += [f"{node.module}.{alias.name}" for alias in node.names if not hasattr(module, alias.name)]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "litepulse":
            missing += [f"litepulse.{node.attr}"] if not hasattr(litepulse, node.attr) else []
    return sorted({name for name in used if name not in bound and not hasattr(builtins, name)} | set(missing))


def check_python(block):
    """It compiles; a program that no test runs uses what there is."""
    compile(block.text, block.name, "exec")
    if (block.page, "python") not in TESTED and not any(module in block.text for module in reader.ELSEWHERE):
        assert unknown_names(block.text, GIVEN.get(block.page, ())) == []


def check_c(block, folder):
    """gcc finds nothing wrong."""
    source = folder / "block.c"
    source.write_text(f"{C_HEAD}{C_GIVEN[block.page]}void block(void);\nvoid block(void)\n{{\n{block.text}}}\n")
    words = ["gcc", "-fsyntax-only", "-Wall", "-Wno-unused-variable", "-Wno-unused-but-set-variable", "-Wno-unused-result", "-Werror"]
    done = subprocess.run([*words, f"-I{ROOT / 'driver' / 'uapi'}", source], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def check_tree(block, folder):
    """dtc finds nothing wrong."""
    source = folder / "block.dts"
    source.write_text(TREE.format(block.text))
    words = ["dtc", "-Wno-unit_address_vs_reg", "-Wno-simple_bus_reg", "-O", "dtb", "-o", folder / "block.dtb", source]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and not re.search(r"Warning|ERROR", done.stderr), done.stderr


CHECKS = {
    "shell": lambda block, _: check_shell(block),
    "python": lambda block, _: check_python(block),
    "json": lambda block, _: json.loads(block.text),
    "yaml": lambda block, _: yaml.safe_load(block.text),
    "c": check_c,
    "dts": check_tree,
}


# The tests ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", BLOCKS, ids=[block.name for block in BLOCKS])
def test_a_block(block, tmp_path):
    """Of a known kind, and right as far as can be seen without running it."""
    if block.kind == "not code":
        assert NOT_CODE[block.not_code]
        return
    assert block.kind in CHECKS, f"{block.name} is of no known kind; if it cannot be checked, NOT_CODE wants it and a reason:\n{block.text}"
    if block.kind == "dts" and not shutil.which("dtc"):
        pytest.skip("NOT TESTED: dtc is not installed")
    CHECKS[block.kind](block, tmp_path)


RUN = [block for block in BLOCKS if runs_here(block)]


@pytest.mark.full
@pytest.mark.seconds(15)
@pytest.mark.parametrize("block", RUN, ids=[block.name for block in RUN])
def test_it_runs(block, tmp_path):
    run(block, tmp_path)


def test_who_runs_the_blocks_reads_the_page():
    for (page, _), path in TESTED.items():
        assert Path(page).name in (ROOT / path).read_text(encoding="utf-8"), f"{path} does not read {page}"


def test_blocks_are_found():
    assert len(BLOCKS) >= 120 and len(RUN) >= 14
    assert {"shell", "python", "c", "dts", "json", "yaml", "not code"} == {block.kind for block in BLOCKS}


@pytest.mark.parametrize("page", PAGES)
def test_no_command_hides_in_a_paragraph(page):
    assert hidden_commands((ROOT / page).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", [*PAGES, "CHANGELOG.md", "CONTRIBUTING.md", "RELEASING.md"])
def test_variables_of_make_within_a_sentence(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for words in re.findall(r"`make ([^`]*)`", text):
        check_make(["make", *(f"{name}=" for name in re.findall(r"\b([A-Z_]+)=", words))])


@pytest.mark.parametrize(
    "text",
    [
        "    litepulse --sim train --rat 58 --nothing\n",
        "    unheard-of --option\n",
        "```python\nimport litepulse\n\nlitepulse.nothing()\n```\n",
        "```c\nstruct litepulse_nothing x = { .field = 1 };\n```\n",
        "```\nlitepulse: serial@43c08000 {\n        reg = <;\n};\n```\n",
    ],
)
def test_a_wrong_block_is_noticed(text, tmp_path):
    (block,) = blocks_of("docs/chardev.md", text)
    if block.kind == "dts" and not shutil.which("dtc"):
        pytest.skip("NOT TESTED: dtc is not installed")
    with pytest.raises((AssertionError, LitePulseError, ValueError)):
        test_a_block(block, tmp_path)


def test_wrong_output_is_noticed(tmp_path):
    """And a status that is not 0."""
    right = "litepulse: /dev/ttyUSB7: cannot open the port (No such file or directory)"
    run(Block("x", 1, "", f"$ litepulse --port /dev/ttyUSB7 info\n{right}\n"), tmp_path)
    for wrong in ("$ litepulse --port /dev/ttyUSB7 info\nlitepulse: another message\n", "litepulse --port /dev/ttyUSB7 info\n"):
        with pytest.raises(AssertionError):
            run(Block("x", 1, "", wrong), tmp_path)
