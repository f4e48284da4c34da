"""`kebab logout`: forget the server that `kebab login` has stored."""

from typing import Any

from kebab.cli.client.arguments import Parser
from kebab.cli.client.connection import login_file
from kebab.cli.client.terminal import Terminal

NEEDS = None
EXAMPLES = ("kebab logout",)


def add_arguments(parser: Parser) -> None:
    """Add no arguments."""


def run(connection: None, options: dict[str, Any], terminal: Terminal) -> int:
    """Forget the stored server and token."""
    login_file().unlink(missing_ok=True)
    return terminal.answer({"server": None}, "Logged out; the token itself still works until it is revoked.")
