"""`kebab token create | list | revoke | rotate`."""

import argparse
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from kebab.cli.client.arguments import Parser, add_filters, add_subcommands, duration, filters_of
from kebab.cli.client.commands.list import print_listing
from kebab.cli.client.connection import Connection, Needs
from kebab.cli.client.terminal import Terminal
from kebab.cli.client.workspaces import WorkspaceApi, find_workspace
from kebab.cli.errors import NotFound
from kebab.exit_codes import Exit

NEEDS: Needs = "servers"
EXAMPLES = (
    "kebab token create --scope search,ask --name assistant",
    "kebab token create --scope search --tag public --name website",
    "kebab token rotate kbb_abcdefghijkl --overlap 2h",
)
_SCOPES = ("search", "ask", "ingest", "manage", "administer")
_MAX_OVERLAP = timedelta(days=1)
_PREFIX = re.compile(r"(?:kbb_)?([a-z2-7]{12})(?:_.*)?")


def add_arguments(parser: Parser) -> None:
    """Add the arguments."""
    commands = add_subcommands(
        parser,
        {
            "create": ("", "create a token and print it, this once"),
            "list": ("", "list a workspace's tokens"),
            "revoke": ("", "make a token useless, at once and for good"),
            "rotate": ("", "replace a token by a new one like it, printed this once"),
        },
    )
    create = commands["create"]
    create.add_argument("--scope", type=_scopes, required=True, metavar="S[,S…]", help=", ".join(_SCOPES))
    create.add_argument("--expires", type=duration, metavar="30d", help="30d, 12h, 45m; without it: never")
    create.add_argument("--name", default="", metavar="N")
    create.add_argument(
        "--group", action="append", default=[], metavar="G", help="whose restricted sources it may read"
    )
    create.add_argument("--owner", metavar="EMAIL", help="for whom a token to administer acts")
    add_filters(create)
    for name in ("revoke", "rotate"):
        commands[name].add_argument("token", metavar="ID|PREFIX")
    commands["rotate"].add_argument(
        "--overlap",
        type=_overlap,
        default=timedelta(0),
        metavar="2h",
        help="how long the old one still works, at most 1d (not at all)",
    )


def run(connection: Connection, options: dict[str, Any], terminal: Terminal) -> int:
    """Carry the command out, and return the exit code."""
    if options["what"] == "create":
        workspace = find_workspace(connection, options["workspace"])
        expires = options["expires"]
        body = {
            "scopes": options["scope"],
            **{name: options[name] for name in ("name", "owner") if options[name]},
            "groups": [workspace.find_group(each)["id"] for each in options["group"]],
            **({"filters": filters} if (filters := filters_of(options)) else {}),
            **({} if expires is None else {"expires_at": (datetime.now(UTC) + expires).isoformat()}),
        }
        return _show(terminal, workspace, workspace.post("/tokens", body))
    if options["what"] == "list":
        return print_listing(find_workspace(connection, options["workspace"]), terminal, "tokens")
    workspace, token = _find(connection, options["workspace"], options["token"])
    if options["what"] == "rotate":
        body = {"overlap_minutes": int(options["overlap"].total_seconds() // 60)}
        return _show(terminal, workspace, workspace.post(f"/tokens/{token['id']}/rotate", body))
    workspace.request("DELETE", f"/tokens/{token['id']}")
    facts = {"id": token["id"], "prefix": token["prefix"], "revoked": True}
    return terminal.answer(facts, f"Revoked kbb_{token['prefix']}.")


def _find(
    connection: Connection, named: str | None, id_or_prefix: str
) -> tuple[WorkspaceApi, dict[str, Any]]:
    """Return a token with its workspace, which need not be named. Raises CliError."""
    form = _PREFIX.fullmatch(id_or_prefix)
    field, value = ("id", id_or_prefix.lower()) if form is None else ("prefix", form[1])
    if named is not None:
        workspaces = [find_workspace(connection, named)]
    else:
        workspaces = [
            WorkspaceApi(connection=connection, facts=row) for row in connection.rows("/workspaces", 100_000)
        ]
    for workspace in workspaces:
        for token in workspace.rows("/tokens"):
            if token[field] == value:
                return workspace, token
    raise NotFound("There is no such token; see: kebab list tokens")


def _show(terminal: Terminal, workspace: WorkspaceApi, token: dict[str, Any]) -> int:
    if terminal.as_json:
        names = ("token", "id", "name", "scopes", "groups", "filters", "expires_at")
        facts = {name: token[name] for name in names}
        terminal.document({**facts, "workspace": workspace.slug})
    else:
        terminal.remark("This token is shown only now:")
        terminal.print(token["token"])
    return Exit.DONE


def _scopes(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in _SCOPES:
            raise argparse.ArgumentTypeError(f"{name!r} is not a scope; the scopes are {', '.join(_SCOPES)}")
    return names


def _overlap(text: str) -> timedelta:
    overlap = duration(text)
    if overlap > _MAX_OVERLAP:
        raise argparse.ArgumentTypeError(f"{text} is too long; a replaced token works for at most 1d more")
    return overlap
