"""The help of the command, whose examples are commands, and the words that a shell completes."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess

import pytest

from hybridnet.cli.completion import SHELLS, script
from hybridnet.cli.main import _parser, main


def test_the_examples_of_the_help_are_commands(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    found = re.findall(r"(?m)^  hybridnet (.+?)(?:  +.*)?$", shown)
    assert len(found) == 12
    for words in map(shlex.split, found):
        if "--help" not in words:
            assert _parser().parse_args(words).command == words[0]
    assert set(_parser()._subparsers._group_actions[0].choices) <= set(re.findall(r"\w+", shown))


def completed(*words: str) -> list[str]:
    """Returns what bash would offer for the last of some words."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("needs bash")
    line = " ".join(map(shlex.quote, words))
    asked = (
        f'COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _hybridnet; echo "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(
        [bash, "--norc", "-c", script(_parser(), "bash") + asked],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    "words, offered",
    [
        (["hybridnet", "tr"], ["train"]),
        (["hybridnet", "c"], ["cache", "convert", "chat", "completion"]),
        (["hybridnet", "cache", "c"], ["clear"]),
        (["hybridnet", "launch", "--launcher", "s"], ["ssh", "sge", "slurm"]),
        (["hybridnet", "launch", "-n", "2", "--st"], ["--standby", "--state-dir"]),
        (["hybridnet", "train", "--ways", "ea"], ["eager"]),
        (["hybridnet", "rec", "ch"], ["check"]),
        (["hybridnet", "completion", ""], ["-h", "--help", *SHELLS]),
        (["hybridnet", "run", "script"], []),  # files, which are the default
    ],
)
def test_bash_completes(words, offered):
    assert completed(*words) == offered


def test_every_shell_has_a_script_with_every_command(capsys):
    for shell in SHELLS:
        assert main(["completion", shell]) == 0
        shown = capsys.readouterr().out
        for command in ("train", "run", "info", "cache", "launch", "completion"):
            assert command in shown
    assert main(["completion", "fish"]) == 0
    assert "-l launcher -x -a 'local ssh mpi sge slurm ray'" in capsys.readouterr().out
