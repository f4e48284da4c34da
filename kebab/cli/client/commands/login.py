"""`kebab login SERVER`: the server that the commands of this user talk to."""

import argparse
import getpass
import sys
from typing import Any

from kebab.cli.client.connection import Connection, HttpTransport, is_secure, login_file, write_login
from kebab.cli.client.terminal import Terminal
from kebab.cli.errors import CliError
from kebab.exit_codes import Exit

NEEDS = None
EXAMPLES = ("kebab login https://search.example.org", "kebab login https://search.example.org < token.txt")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("server", metavar="SERVER", help="its address: https://search.example.org")


def run(connection: None, options: dict[str, Any], terminal: Terminal) -> int:
    """Ask for a token, try it, and store both."""
    server = options["server"].rstrip("/")
    transport = HttpTransport(server)
    if not is_secure(server):
        terminal.remark(f"{server} is not encrypted: whoever is between sees the token.")
    token = (getpass.getpass("Token: ") if sys.stdin.isatty() else sys.stdin.readline()).strip()
    if not token.isascii() or not token.isprintable() or not token:
        raise CliError("That is not a token; create one on a workspace's page Tokens or on your profile.")
    found = Connection(transport=transport, token=lambda: token).get("/workspaces")["results"]
    write_login(server, token)
    slugs = [row["slug"] for row in found]
    if terminal.as_json:
        terminal.document({"server": server, "workspaces": slugs})
    else:
        terminal.print(f"Logged in to {server}: {', '.join(slugs)}. Stored in {login_file()}.")
    return Exit.DONE
