"""`kebab completion SHELL`: the completion of bash, zsh and fish, printed for a start file."""

from typing import Any

from kebab.cli.catalogue import COMMANDS
from kebab.cli.client.arguments import Parser
from kebab.cli.client.terminal import Terminal
from kebab.exit_codes import Exit

NEEDS = None
EXAMPLES = (
    "kebab completion bash > ~/.local/share/bash-completion/completions/kebab",
    "kebab completion zsh > ~/.zfunc/_kebab        # a folder in $fpath",
    "kebab completion fish > ~/.config/fish/completions/kebab.fish",
)
_BASH = """\
_kebab() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}"
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{commands}" -- "$word"))
  elif [[ "$word" == -* ]]; then
    local known
    known="$(kebab "${{COMP_WORDS[1]}}" --help 2>/dev/null | grep -oE -e '--[a-z][a-z-]*' | sort -u)"
    COMPREPLY=($(compgen -W "$known" -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}}
complete -o filenames -F _kebab kebab
"""
_ZSH = """\
#compdef kebab
_kebab() {{
  local -a commands options
  commands=({described})
  if (( CURRENT == 2 )); then
    _describe command commands
  elif [[ "$words[CURRENT]" == -* ]]; then
    options=(${{(f)"$(kebab $words[2] --help 2>/dev/null | grep -oE -e '--[a-z][a-z-]*' | sort -u)"}})
    compadd -- $options
  else
    _files
  fi
}}
compdef _kebab kebab
"""
_FISH = """\
{described}
complete -c kebab -n 'not __fish_use_subcommand' -a \\
  "(kebab (commandline -opc)[2] --help 2>/dev/null | string match -ar -- '--[a-z][a-z-]*' | sort -u)"
"""


def add_arguments(parser: Parser) -> None:
    """Add the arguments."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))


def run(connection: None, options: dict[str, Any], terminal: Terminal) -> int:
    """Print the completion of the named shell, and return the exit code."""
    match options["shell"]:
        case "bash":
            terminal.print(_BASH.format(commands=" ".join(COMMANDS)), end="")
        case "zsh":
            described = " ".join(_quote(f"{name}:{text}") for name, text in COMMANDS.items())
            terminal.print(_ZSH.format(described=described), end="")
        case _:
            lines = (
                f"complete -c kebab -n __fish_use_subcommand -f -a {name} -d {_quote(text)}"
                for name, text in COMMANDS.items()
            )
            terminal.print(_FISH.format(described="\n".join(lines)), end="")
    return Exit.DONE


def _quote(text: str) -> str:
    escaped = text.replace("'", "'\\''")
    return f"'{escaped}'"
