"""The entry point `kebab`: commands of a server's API start without Django, the others are Django's."""

import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TextIO

from kebab import __version__
from kebab.cli.catalogue import COMMANDS, TASKS
from kebab.cli.errors import run_to_exit_code
from kebab.exit_codes import Exit


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command named on the command line, and exit with its code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kebab.settings")
    code = run(arguments, sys.stdout, sys.stderr)
    if code:
        sys.exit(code)


def run(arguments: Sequence[str], out: TextIO, err: TextIO) -> int:
    """Run a command, and return its exit code."""
    name, *rest = arguments or ["help"]
    if name in {"help", "-h", "--help"} and rest and rest[0] in COMMANDS:
        name, rest = rest[0], ["--help"]
    if name in {"help", "-h", "--help"}:
        out.write(help_text())
        return Exit.DONE
    if name in {"version", "-V", "--version"}:
        out.write(f"kebab {__version__}\n")
        return Exit.DONE
    if (module := client_module(name)) is None:
        return _run_django_command([name, *rest])
    return run_client_command(name, module, rest, out, err)


def run_client_command(
    name: str, module: ModuleType, arguments: Sequence[str], out: TextIO, err: TextIO
) -> int:
    """Run a command that talks to a server, and return its exit code."""
    from kebab.cli.client.arguments import make_parser
    from kebab.cli.client.connection import connect
    from kebab.cli.client.terminal import Terminal
    from kebab.cli.errors import refuse_invalid_utf8

    parser = make_parser(name, COMMANDS[name], module, arguments, err)
    options = vars(parser.parse_args(arguments))
    terminal = Terminal(out, err, as_json=options.pop("as_json"))

    def act() -> int:
        refuse_invalid_utf8(options)
        needs = module.needs(options) if hasattr(module, "needs") else module.NEEDS
        with connect(needs) as connection:
            return int(module.run(connection, options, terminal))

    return run_to_exit_code(act, err, as_json=terminal.as_json)


def help_text() -> str:
    """Return the list of commands by task."""
    width = max(map(len, COMMANDS))
    lines = ["Kebab: search and answers with citations over your documents.", "", "kebab COMMAND [OPTIONS]"]
    for task, commands in TASKS.items():
        lines += ["", task, *(f"  {name:{width}}  {text}" for name, text in commands.items())]
    return "\n".join((*lines, "", "kebab COMMAND --help explains one.", ""))


def client_module(name: str) -> ModuleType | None:
    """Return the module of a command that talks to a server; None for Django's."""
    if name not in COMMANDS or find_spec(f"kebab.cli.client.commands.{name}") is None:
        return None
    return import_module(f"kebab.cli.client.commands.{name}")


def _run_django_command(arguments: list[str]) -> int:
    # Nothing of what is imported is garbage; looking for it takes a third of the time of the start.
    gc.disable()
    from kebab.cli.dispatch import run as run_command

    run_command(["kebab", *arguments])
    return Exit.DONE
