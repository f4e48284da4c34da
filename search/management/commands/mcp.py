"""The command `kebab mcp`."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from kebab.cli.command import KebabCommand
from kebab.cli.errors import CliError
from kebab.cli.lookup import find_workspace
from kebab.cli.parser import add_workspace
from kebab.http.api.errors import Forbidden
from kebab.people.access.caller import Access, Caller, token_access
from kebab.people.operator import command_line_access
from kebab.people.tokens import verify_token
from kebab.tenancy.current_workspace import acting_everywhere


class Command(KebabCommand):
    """MCP server with the rights of the token in `KEBAB_TOKEN`, else with access to all of a workspace."""

    help = "Serve MCP on standard input and output, for the client that starts it."
    needs = "servers"
    acts_everywhere = False

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_workspace(parser)

    def run_command(self, *, workspace: str | None, **options: Any) -> None:
        from search.mcp.stdio import serve_stdio  # every process loads all command modules, few need MCP

        serve_stdio(_build_admission(workspace))


def _build_admission(workspace: str | None) -> Callable[[], Access]:
    """Return the function that looks up the access of each request. Raises CliError, Forbidden."""
    secret = settings.KEBAB_TOKEN
    if not secret:
        return partial(_operator_access, str(_operator_access(workspace).workspace.pk))
    access = _access_from_token(secret)
    if workspace is not None and workspace not in (access.workspace.slug, str(access.workspace.pk)):
        raise CliError(f"KEBAB_TOKEN is not of the workspace {workspace!r}; leave --workspace out.")
    return partial(_access_from_token, secret)


def _operator_access(workspace: str | None) -> Access:
    with acting_everywhere():
        return command_line_access(find_workspace(workspace))


def _access_from_token(secret: str) -> Access:
    token = verify_token(secret)
    if token is None:
        raise Forbidden("The token in KEBAB_TOKEN is unknown, expired or revoked.", code="invalid_token")
    return token_access(Caller(token=token), token)
