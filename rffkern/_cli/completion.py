"""`rffkern completion SHELL`: a script that completes commands, options and their choices; all else are files."""

import argparse
from typing import Any

# Of each shell: the script, and the line for a command.
_BASH = """\
_rffkern() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} words=
    case "$before" in
{choices}
    esac
    if [ -z "$words" ]; then
        case "${{COMP_WORDS[1]}}" in
{options}
        esac
        [ "$COMP_CWORD" = 1 ] && words="{commands}"
        [[ "$COMP_CWORD" = 1 || "$word" = -* ]] || words=
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _rffkern rffkern
"""


def run(arguments: argparse.Namespace) -> None:
    """Print the script of a shell."""
    from .main import make_parser  # which names this module

    commands = commands_of(make_parser())
    print(_fish(commands) if arguments.shell == "fish" else _bash(commands, arguments.shell == "zsh"), end="")


def commands_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parser of each command."""
    action: Any = next(each for each in parser._actions if isinstance(each, argparse._SubParsersAction))
    return action.choices


def _bash(commands: dict[str, argparse.ArgumentParser], for_zsh: bool) -> str:
    """Functions of bash, which zsh understands by bashcompinit."""
    options = "\n".join(f'            {name}) words="{" ".join(_options(parser))}" ;;'
                        for name, parser in commands.items())
    choices = {before: " ".join(map(str, action.choices)) for name, parser in commands.items()
               for action in parser._actions if action.choices for before in action.option_strings or [name]}
    script = _BASH.format(commands=" ".join(commands), options=options, choices="\n".join(
        f'        {option}) words="{values}" ;;' for option, values in choices.items()))
    return ("autoload -U +X bashcompinit && bashcompinit\n" if for_zsh else "") + script


def _fish(commands: dict[str, argparse.ArgumentParser]) -> str:
    """A line for each command and each option."""
    lines = [f"complete -c rffkern -n __fish_use_subcommand -f -a '{' '.join(commands)}'"]
    for name, parser in commands.items():
        for action in parser._actions:
            longs = [option[2:] for option in action.option_strings if option.startswith("--")]
            choices = f" -x -a '{' '.join(map(str, action.choices))}'" if action.choices else ""
            if longs:
                lines += [f"complete -c rffkern -n '__fish_seen_subcommand_from {name}' -l {long}{choices}"
                          for long in longs]
            elif action.choices:
                lines.append(f"complete -c rffkern -n '__fish_seen_subcommand_from {name}'{choices}")
    return "\n".join(lines) + "\n"


def _options(parser: argparse.ArgumentParser) -> list[str]:
    """All options of a command."""
    return [option for action in parser._actions for option in action.option_strings]
