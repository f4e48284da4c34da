"""`kebab list KIND`."""

import argparse
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from kebab.cli.client.arguments import Parser, add_workspace
from kebab.cli.client.connection import Connection, Needs
from kebab.cli.client.terminal import Terminal
from kebab.cli.client.workspaces import WorkspaceApi, find_workspace
from kebab.exit_codes import Exit

NEEDS: Needs = "servers"
EXAMPLES = ("kebab list sources", "kebab list documents --workspace handbook --limit 1000 --json")
Row = dict[str, Any]
# Kinds that no list of pages of the API has.
_WITHOUT_API = frozenset({"libraries", "rules", "spaces"})
_MOST_ROWS = 10_000
_DEFAULT_ROWS = 1_000


def add_arguments(parser: Parser) -> None:
    """Add the arguments."""
    parser.add_argument("kind", choices=sorted((*LISTINGS, "workspaces")))
    add_workspace(parser)
    parser.add_argument("--limit", type=_limit, default=100, metavar="N", help="at most so many (100)")


def run(connection: Connection, options: dict[str, Any], terminal: Terminal) -> int:
    """Print the list, and return the exit code."""
    kind, limit = options["kind"], options["limit"]
    if kind == "workspaces":
        if terminal.as_json:
            return _print_pages(terminal, connection.pages("/workspaces", limit))
        rows = connection.rows("/workspaces", limit + 1)
        return _print(terminal, kind, ("slug", "name", "role", "seq", "id"), rows, limit)
    return print_listing(find_workspace(connection, options["workspace"]), terminal, kind, limit)


def print_listing(workspace: WorkspaceApi, terminal: Terminal, kind: str, limit: int = _DEFAULT_ROWS) -> int:
    """Print the first rows of a kind, and return the exit code."""
    columns, rows = LISTINGS[kind]
    if terminal.as_json and kind not in _WITHOUT_API:
        order = {"order": "path"} if kind == "documents" else {}
        pages = workspace.connection.pages(workspace.address(f"/{kind}"), limit, **order)
        return _print_pages(terminal, pages)
    return _print(terminal, kind, columns, rows(workspace, limit + 1), limit)


def _print_pages(terminal: Terminal, pages: Iterable[dict[str, Any]]) -> int:
    """Print pages of the API as one document, the cursor of which is that of the last."""
    found = list(pages)
    rows = [row for page in found for row in page["results"]]
    terminal.document({**found[-1], "results": rows})
    return Exit.DONE if rows else Exit.NOTHING


def _print(terminal: Terminal, kind: str, columns: tuple[str, ...], found: Iterable[Row], limit: int) -> int:
    rows = list(found)
    shown, has_more = rows[:limit], len(rows) > limit
    if terminal.as_json:
        terminal.document({"results": shown, "next_cursor": None})
    elif shown:
        terminal.table(columns, shown)
    if has_more:
        terminal.remark(f"There are more than {limit}; kebab list {kind} --limit shows more.")
    return Exit.DONE if shown else Exit.NOTHING


def _limit(text: str) -> int:
    limit = int(text)
    if not 1 <= limit <= _MOST_ROWS:
        raise argparse.ArgumentTypeError(f"{limit} is out of range; give 1 to {_MOST_ROWS}")
    return limit


def _sources(workspace: WorkspaceApi, limit: int) -> Iterable[Row]:
    rows = list(workspace.rows("/sources", limit))
    names = workspace.group_names() if any(row["readers"] for row in rows) else {}
    for row in rows:
        readers = row["readers"]
        yield {
            **row,
            "documents": row["document_count"],
            "path": row["config"].get("path"),
            "is_restricted": readers is not None,
            "readers": None if readers is None else sorted(names.get(each, each) for each in readers),
        }


def _libraries(workspace: WorkspaceApi, limit: int) -> Iterable[Row]:
    for row in workspace.rows("/sources", limit):
        versions = workspace.rows(f"/sources/{row['id']}/versions")
        yield {
            "id": row["library_id"],
            "source": row["key"],
            "title": row["title"],
            "description": row["description"],
            "snippets": row["total_snippets"],
            "trust_score": row["trust_score"],
            "versions": [version["version"] for version in versions if version["version"]],
            "state": row["state"],
            "last_indexed_at": row["last_indexed_at"],
        }


def _documents(workspace: WorkspaceApi, limit: int) -> Iterable[Row]:
    for row in workspace.rows("/documents", limit, order="path"):
        yield {**row, "chunks": row["chunk_count"]}


def _spaces(workspace: WorkspaceApi, limit: int) -> Iterable[Row]:
    found = workspace.get("/embedding")
    spaces = [each for each in (found["live"], found["building"], *found["retired"]) if each]
    return [{**each, "chunks": found["chunks"]} for each in spaces[:limit]]


def _jobs(workspace: WorkspaceApi, limit: int) -> Iterable[Row]:
    for row in workspace.rows("/jobs", limit):
        seconds = None
        if row["started_at"] and row["finished_at"]:
            ran = datetime.fromisoformat(row["finished_at"]) - datetime.fromisoformat(row["started_at"])
            seconds = round(ran.total_seconds(), 1)
        renamed = {"done": row["items_done"], "total": row["items_total"], "chunks": row["chunks_done"]}
        yield {**row, **renamed, "seconds": seconds}


def _members(workspace: WorkspaceApi, limit: int) -> Iterable[Row]:
    names = workspace.group_names()
    for row in workspace.rows("/members", limit):
        renamed = {"name": row["display_name"], "active": row["is_active"], "since": row["created_at"]}
        yield {**row, **renamed, "groups": _named(row["groups"], names)}


def _tokens(workspace: WorkspaceApi, limit: int) -> Iterable[Row]:
    names = workspace.group_names()
    for row in workspace.rows("/tokens", limit):
        yield {**row, "groups": _named(row["groups"], names)}


def _groups(workspace: WorkspaceApi, limit: int) -> Iterable[Row]:
    for row in workspace.rows("/groups", limit):
        counts = {name: row[f"{name[:-1]}_count"] for name in ("members", "tokens", "sources")}
        yield {"id": row["id"], "name": row["name"], **counts, "created_at": row["created_at"]}


def _named(groups: Iterable[str], names: Mapping[str, str]) -> list[str]:
    return sorted(names.get(each, each) for each in groups)


def _plain(path: str) -> Callable[[WorkspaceApi, int], Iterable[Row]]:
    return lambda workspace, limit: workspace.rows(path, limit)


#: By kind, what can be listed of one workspace: the columns of the table, and its rows.
LISTINGS: Mapping[str, tuple[tuple[str, ...], Callable[[WorkspaceApi, int], Iterable[Row]]]] = {
    "sources": (
        (
            *("key", "kind", "state", "documents", "is_restricted", "readers"),
            *("default_trust", "default_tags", "path", "last_indexed_at"),
        ),
        _sources,
    ),
    "libraries": (
        ("id", "title", "snippets", "trust_score", "versions", "state", "last_indexed_at"),
        _libraries,
    ),
    "documents": (
        ("id", "path", "title", "source", "version", "lang", "tags", "trust_level", "chunks"),
        _documents,
    ),
    "spaces": (("id", "model", "revision", "dim", "state", "vectors", "chunks"), _spaces),
    "jobs": (
        ("id", "kind", "source", "state", "done", "total", "chunks", "created_at", "seconds", "error"),
        _jobs,
    ),
    "members": (("user_id", "email", "name", "role", "groups", "active", "since"), _members),
    "tokens": (
        ("id", "prefix", "name", "scopes", "groups", "expires_at", "revoked_at", "last_used_at"),
        _tokens,
    ),
    "quarantine": (
        ("id", "source", "version", "path", "size_bytes", "at", "state", "reason"),
        _plain("/quarantine"),
    ),
    "groups": (("name", "members", "tokens", "sources", "id"), _groups),
    "invitations": (("email", "role", "state", "invited_by", "expires_at", "id"), _plain("/invitations")),
    "webhooks": (("url", "events", "is_enabled", "disabled_because", "id"), _plain("/webhooks")),
    "rules": (
        ("kind", "queries", "words", "field", "value", "is_active", "note", "id"),
        lambda workspace, limit: workspace.get("/rules")["rules"][:limit],
    ),
    "audit": (("at", "actor", "action", "subject", "address", "detail"), _plain("/audit")),
}
