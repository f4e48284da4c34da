"""The command `kebab mcp`."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from kebab.cli.command import KebabCommand, add_workspace
from kebab.cli.errors import CliError
from kebab.cli.lookup import find_workspace
from kebab.errors import Forbidden
from kebab.identity.caller import Access, caller_of_token
from kebab.identity.tokens import verify_token
from kebab.people.operator import command_line_access
from kebab.stack.supervisor.plan import Roles
from kebab.tenancy.current_workspace import acting_everywhere
from search.mcp.call_context import caller_accesses_or_refuse


class Command(KebabCommand):
    """MCP server with the rights of the token in `KEBAB_TOKEN`, else with access to all of a workspace."""

    help = "Serve MCP on standard input and output, for the client that starts it."
    needs = Roles.SERVERS
    acts_everywhere = False

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_workspace(parser)

    def run_command(self, *, workspace: str | None, **options: Any) -> None:
        from search.mcp.server import serve_stdio  # every process loads all command modules, few need MCP

        serve_stdio(_build_admission(workspace))


def _build_admission(workspace: str | None) -> Callable[[], Sequence[Access]]:
    """Return the function that looks up the accesses of each request. Raises CliError, Forbidden."""
    secret = settings.KEBAB_TOKEN
    if not secret:
        return partial(_operator_accesses, str(_operator_accesses(workspace)[0].workspace.pk))
    _accesses_of_token(secret, workspace)
    return partial(_accesses_of_token, secret, workspace)


def _operator_accesses(workspace: str | None) -> Sequence[Access]:
    with acting_everywhere():
        return [command_line_access(find_workspace(workspace))]


def _accesses_of_token(secret: str, workspace: str | None) -> Sequence[Access]:
    token = verify_token(secret)
    if token is None:
        raise Forbidden("The token in KEBAB_TOKEN is unknown, expired or revoked.", code="invalid_token")
    accesses = caller_accesses_or_refuse(caller_of_token(token))
    if workspace is None:
        return accesses
    chosen = [each for each in accesses if workspace in (each.workspace.slug, str(each.workspace.pk))]
    if not chosen:
        raise CliError(f"KEBAB_TOKEN is not of the workspace {workspace!r}; leave --workspace out.")
    return chosen
