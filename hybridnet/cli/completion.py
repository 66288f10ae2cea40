"""`hybridnet completion`: what makes a shell complete the command's words, from its own parser."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Mapping
from typing import Final

SHELLS: Final = ("bash", "zsh", "fish")
_HELP: Final = """\
Prints a script that has a shell complete commands, switches and their values; file names
otherwise. For this shell and for those to come:

  bash   source <(hybridnet completion bash)          (put the line into ~/.bashrc)
  zsh    source <(hybridnet completion zsh)           (put the line into ~/.zshrc)
  fish   hybridnet completion fish > ~/.config/fish/completions/hybridnet.fish
"""
#: Words are the commands until one was typed; then its own. What follows a switch that takes one of
#: some values are these.
_BASH: Final = """\
_hybridnet() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=
  case "${COMP_WORDS[1]} $before" in
%(values)s    *)
      if [ "$COMP_CWORD" -eq 1 ]; then words="%(commands)s"; else
        case "${COMP_WORDS[1]}" in
%(switches)s        esac
      fi ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _hybridnet hybridnet
"""


def add_completion(commands: argparse._SubParsersAction, parser: argparse.ArgumentParser) -> None:
    """Adds the command.

    Args:
        commands: where it goes.
        parser: of the whole program, which is asked when the command runs.
    """
    command = commands.add_parser(
        "completion",
        help="print what makes bash, zsh or fish complete this command's words",
        description=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("shell", choices=SHELLS)
    command.set_defaults(run=lambda options: print(script(parser, options.shell), end=""))


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Returns the script.

    Args:
        parser: of the whole program.
        shell: one of `SHELLS`.
    """
    commands, helps = _commands(parser)
    if shell == "fish":
        return "".join(_fish(commands, helps))
    values = "".join(
        f"    {shlex.quote(f'{name} {switch}')}) words={shlex.quote(' '.join(found))} ;;\n"
        for name, command in commands.items()
        for switch, found in _values(command)
    )
    switches = "".join(
        f"        {name}) words={shlex.quote(' '.join(_words(command)))} ;;\n"
        for name, command in commands.items()
    )
    names = " ".join((*commands, "--help", "--version"))
    made = _BASH % {"values": values, "commands": names, "switches": switches}
    return ("autoload -U +X bashcompinit && bashcompinit\n" if shell == "zsh" else "") + made


def _commands(
    parser: argparse.ArgumentParser,
) -> tuple[Mapping[str, argparse.ArgumentParser], Mapping[str, str]]:
    """Returns the parsers of a parser's commands, and their helps, by name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {one.dest: one.help or "" for one in action._choices_actions}
            return action.choices, helps
    return {}, {}


def _words(command: argparse.ArgumentParser) -> Iterator[str]:
    """Yields the words that may follow a command: its switches, its choices, its own commands."""
    for action in command._actions:
        if action.help == argparse.SUPPRESS:
            continue
        yield from action.option_strings
        if not action.option_strings and action.choices is not None:
            yield from map(str, action.choices)
    for inner in _commands(command)[0].values():
        yield from (word for word in _words(inner) if word not in ("-h", "--help"))


def _values(command: argparse.ArgumentParser) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yields each switch that takes one of some values, with these."""
    for action in command._actions:
        if action.choices is not None:
            for switch in action.option_strings:
                yield switch, tuple(map(str, action.choices))


def _fish(
    commands: Mapping[str, argparse.ArgumentParser], helps: Mapping[str, str]
) -> Iterator[str]:
    for name, command in commands.items():
        about = shlex.quote(" ".join(helps[name].split()))
        yield f"complete -c hybridnet -n __fish_use_subcommand -a {name} -d {about}\n"
        values = dict(_values(command))
        where = f"complete -c hybridnet -n '__fish_seen_subcommand_from {name}'"
        for word in dict.fromkeys(_words(command)):
            if not word.startswith("-"):
                yield f"{where} -a {shlex.quote(word)}\n"
                continue
            switch = f"-l {word[2:]}" if word.startswith("--") else f"-s {word[1:]}"
            given = f" -x -a {shlex.quote(' '.join(values[word]))}" if word in values else ""
            yield f"{where} {switch}{given}\n"
