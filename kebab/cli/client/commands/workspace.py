"""`kebab workspace create | rename | set | quota | delete`."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from kebab.cli.client.arguments import Parser, add_subcommands, parse_pairs
from kebab.cli.client.connection import ApiProblem, Connection, Needs
from kebab.cli.client.job_progress import follow
from kebab.cli.client.terminal import Terminal
from kebab.cli.client.workspaces import WorkspaceApi, find_workspace
from kebab.cli.errors import CliError
from kebab.exit_codes import Exit

EXAMPLES = (
    "kebab workspace create handbook --owner ada@example.org",
    "kebab workspace set handbook fusion=convex",
    "kebab workspace quota handbook documents=100000",
)


def add_arguments(parser: Parser) -> None:
    """Add the arguments."""
    commands = add_subcommands(
        parser,
        {
            "create": ("SLUG", "create a workspace"),
            "rename": ("SLUG", "give a workspace another slug or name"),
            "set": ("SLUG", "change settings of a workspace, or show them"),
            "quota": ("SLUG", "change what a workspace may hold and ask for, or show it"),
            "delete": ("SLUG", "delete a workspace with everything in it"),
        },
    )
    commands["create"].add_argument("--name", metavar="N", help="what people call it (the slug)")
    commands["create"].add_argument(
        "--owner",
        metavar="EMAIL",
        help="the user who owns it (the operator's account, the oldest of several)",
    )
    commands["rename"].add_argument("new_slug", nargs="?")
    commands["rename"].add_argument("--name", metavar="N")
    commands["set"].add_argument(
        "changes", nargs="*", metavar="NAME=VALUE", help="fusion=convex; without a value: the default"
    )
    commands["set"].add_argument(
        "--force", action="store_true", help="change them even where golden queries get worse"
    )
    commands["quota"].add_argument(
        "changes",
        nargs="*",
        metavar="NAME=N",
        help="documents=100000; 0: no limit; without a number: as for all",
    )
    commands["delete"].add_argument("--yes", action="store_true", help="don't ask")


def needs(options: Mapping[str, Any]) -> Needs:
    """Return what has to run: a job may have to try new settings."""
    return "workers" if options["what"] == "set" and options["changes"] else "servers"


def run(connection: Connection, options: dict[str, Any], terminal: Terminal) -> int:
    """Carry the command out, and return the exit code."""
    slug = options["slug"]
    if options["what"] == "create":
        given = {"slug": slug, "name": options["name"], "owner": options["owner"]}
        made = connection.post("/workspaces", {name: each for name, each in given.items() if each})
        return _answer(terminal, made, f"Created workspace {slug}.")
    workspace = find_workspace(connection, slug)
    match options["what"]:
        case "rename":
            return _rename(workspace, options, terminal)
        case "set":
            return _set(workspace, options, terminal)
        case "quota":
            return _limit(workspace, options["changes"], terminal)
        case _:
            return _delete(workspace, options, terminal)


def _rename(workspace: WorkspaceApi, options: dict[str, Any], terminal: Terminal) -> int:
    given = {"slug": options["new_slug"], "name": options["name"]}
    changes = {name: value for name, value in given.items() if value is not None}
    if not changes:
        raise CliError("Nothing to change: give a new slug, or --name.")
    found = workspace.request("PATCH", "", changes)
    return _answer(terminal, found, f"Workspace {workspace.slug} is now {found['slug']} ({found['name']}).")


def _set(workspace: WorkspaceApi, options: dict[str, Any], terminal: Terminal) -> int:
    found = workspace.facts
    if options["changes"]:
        body = {"settings": parse_pairs(options["changes"]), "force": options["force"]}
        try:
            found = workspace.request("PATCH", "", body)
        except ApiProblem as problem:
            if problem.code != "quality_gate_slow":
                raise
            found = _set_by_job(workspace, body, terminal)
    if terminal.as_json:
        terminal.document({"slug": found["slug"], "settings": found["settings"]})
    else:
        rows = [{"name": name, "value": json.dumps(value)} for name, value in found["settings"].items()]
        terminal.table(("name", "value"), rows)
    return Exit.DONE


def _set_by_job(workspace: WorkspaceApi, body: Mapping[str, Any], terminal: Terminal) -> Any:
    """Try the settings on the golden queries in a job, and return the workspace, which has them."""
    job = follow(workspace, workspace.post("/eval/gate", {**body, "switch": True})["job"], terminal, "Trying")
    if job["state"] != "succeeded":
        raise CliError(job["error"] or "The job was cancelled.", code="quality_gate")
    return workspace.get("")


def _limit(workspace: WorkspaceApi, changes: Sequence[str], terminal: Terminal) -> int:
    found = workspace.facts
    if changes:
        found = workspace.request("PATCH", "", {"quota": parse_pairs(changes)})
    if terminal.as_json:
        terminal.document({"slug": found["slug"], "quota": found["quota"]})
    else:
        rows = [{"name": name, "limit": limit or "none"} for name, limit in found["quota"].items()]
        terminal.table(("name", "limit"), rows)
    return Exit.DONE


def _delete(workspace: WorkspaceApi, options: dict[str, Any], terminal: Terminal) -> int:
    if not options["yes"] and not _confirms(workspace.slug, terminal):
        raise CliError(
            f"Workspace {workspace.slug} was not deleted; confirm with --yes.",
            code="refused",
            exit_code=Exit.NOTHING,
        )
    workspace.request("DELETE", "")
    return _answer(terminal, workspace.facts, f"Deleted workspace {workspace.slug}.")


def _confirms(slug: str, terminal: Terminal) -> bool:
    if terminal.as_json or not sys.stdin.isatty():
        return False
    terminal.remark(f"Deletes {slug} with all it holds. Type its slug to go on:")
    return sys.stdin.readline().strip() == slug


def _answer(terminal: Terminal, workspace: Any, message: str) -> int:
    return terminal.answer({name: workspace[name] for name in ("id", "slug", "name")}, message)
