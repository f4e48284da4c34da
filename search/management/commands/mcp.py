"""`kebab mcp`."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from kebab.cli.command import BaseVerb
from kebab.cli.errors import CliError
from kebab.cli.lookup import the_workspace
from kebab.cli.parser import add_workspace
from kebab.http.api.errors import Forbidden
from kebab.people.access.caller import Access, Caller, token_access
from kebab.people.operator import the_operator
from kebab.people.tokens import verify_token
from kebab.tenancy.current_workspace import acting_everywhere


class Command(BaseVerb):
    """Who starts it may read what the token of `KEBAB_TOKEN` may, or, without one, all of a workspace."""

    help = "Serve MCP on standard input and output, for the client that starts it."
    needs = "servers"
    acts_everywhere = False

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_workspace(parser)

    def run_verb(self, *, workspace: str | None, **options: Any) -> None:
        from search.mcp.stdio import serve_stdio  # every process loads its verbs' modules, few speak MCP

        serve_stdio(_admission(workspace))


def _admission(workspace: str | None) -> Callable[[], Access]:
    """Return what looks up, for each request, as whom it is answered. Raises CliError, Forbidden."""
    secret = settings.KEBAB_TOKEN
    if not secret:
        return partial(_operators_access, str(_operators_access(workspace).workspace.pk))
    access = _access_by(secret)
    if workspace is not None and workspace not in (access.workspace.slug, str(access.workspace.pk)):
        raise CliError(f"KEBAB_TOKEN is not of the workspace {workspace!r}; leave --workspace out.")
    return partial(_access_by, secret)


def _operators_access(workspace: str | None) -> Access:
    with acting_everywhere():
        return the_operator(the_workspace(workspace))


def _access_by(secret: str) -> Access:
    token = verify_token(secret)
    if token is None:
        raise Forbidden("The token in KEBAB_TOKEN is unknown, expired or revoked.", code="invalid_token")
    return token_access(Caller(token=token), token)
