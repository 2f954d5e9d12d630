# SPDX-License-Identifier: BSD-2-Clause
"""`litepulse completion`: the scripts are those of the verbs and options there are, and bash takes its own."""

import shutil
import subprocess
import sys

import pytest

from litepulse import cli
from litepulse.commands.completion import SHELLS

ASK = """
. "$1"; shift
complete -p litepulse > /dev/null || exit 9
function=$(complete -p litepulse | sed 's/.*-F \\([^ ]*\\).*/\\1/')
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
$function litepulse "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


def script(shell):
    done = subprocess.run([sys.executable, "-m", "litepulse", "completion", shell], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("shell", SHELLS)
def test_every_verb_is_in_it(shell):
    text = script(shell)
    for verb in cli.VERBS:
        assert verb in text
    assert "at-pulse" in text and "loopback" in text


@pytest.mark.parametrize(
    "words, offered",
    [
        (["litepulse", "tr"], ["train"]),
        (["litepulse", "seq"], ["sequence"]),
        (["litepulse", "sequence", "--rep"], ["--repeat"]),
        (["litepulse", "completion", "z"], ["zsh"]),
        (["litepulse", "train", "--cou"], ["--count"]),
        (["litepulse", "adjust", "--at"], ["--at-pulse"]),
    ],
)
def test_bash_offers_them(words, offered, tmp_path):
    file = tmp_path / "litepulse"
    file.write_text(script("bash"))
    done = subprocess.run(["bash", "-c", ASK, "bash", str(file), *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, offered), done.stderr


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_shell_reads_it(shell, tmp_path):
    if not shutil.which(shell):
        pytest.skip(f"NOT TESTED: {shell} is not installed")
    file = tmp_path / "litepulse"
    file.write_text(script(shell))
    done = subprocess.run([shell, "-n", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_shell_that_there_is_not(capsys):
    assert cli.main(["completion", "tcsh"]) == 2
    assert capsys.readouterr().err.startswith("litepulse: argument SHELL: invalid choice: 'tcsh'")
