"""`kebab completion SHELL`: the completion of bash, zsh and fish, printed for a start file."""

from collections.abc import Sequence
from typing import TextIO

from kebab.cli.catalogue import COMMANDS
from kebab.cli.errors import Exit, write_error

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
_USAGE = """\
usage: kebab completion {bash,zsh,fish}

Print the completion of a shell.

examples:
  kebab completion bash > ~/.local/share/bash-completion/completions/kebab
  kebab completion zsh > ~/.zfunc/_kebab        # a folder in $fpath
  kebab completion fish > ~/.config/fish/completions/kebab.fish
"""


def print_completion(arguments: Sequence[str], out: TextIO, err: TextIO) -> int:
    """Print the completion of the named shell, and return the exit code."""
    if list(arguments) in (["--help"], ["-h"]):
        out.write(_USAGE)
        return Exit.DONE
    shell = arguments[0] if len(arguments) == 1 else ""
    match shell:
        case "bash":
            out.write(_BASH.format(commands=" ".join(COMMANDS)))
        case "zsh":
            described = " ".join(_quote(f"{name}:{text}") for name, text in COMMANDS.items())
            out.write(_ZSH.format(described=described))
        case "fish":
            lines = (
                f"complete -c kebab -n __fish_use_subcommand -f -a {name} -d {_quote(text)}"
                for name, text in COMMANDS.items()
            )
            out.write(_FISH.format(described="\n".join(lines)))
        case _:
            message = f"{shell[:100]!r} is no shell that is known; give bash, zsh or fish."
            write_error("invalid_arguments", message, err, as_json=False)
            return Exit.ERROR
    return Exit.DONE


def _quote(text: str) -> str:
    escaped = text.replace("'", "'\\''")
    return f"'{escaped}'"
