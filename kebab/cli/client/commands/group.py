"""`kebab group create | list | rename | add | remove | delete`."""

from typing import Any

from kebab.cli.client.arguments import Parser, add_subcommands
from kebab.cli.client.commands.list import print_listing
from kebab.cli.client.connection import Connection
from kebab.cli.client.servers import Needs
from kebab.cli.client.terminal import Terminal
from kebab.cli.client.workspaces import WorkspaceApi, find_workspace

NEEDS: Needs = "servers"
EXAMPLES = ("kebab group create legal", "kebab group add legal ada@example.org")


def add_arguments(parser: Parser) -> None:
    """Add the arguments."""
    add_subcommands(
        parser,
        {
            "create": ("NAME", "create a group"),
            "list": ("", "list the groups"),
            "rename": ("GROUP NAME", "give a group another name"),
            "add": ("GROUP EMAIL", "put a member into a group"),
            "remove": ("GROUP EMAIL", "take a member out of a group"),
            "delete": ("GROUP", "delete a group; sources restricted to it stay restricted"),
        },
    )


def run(connection: Connection, options: dict[str, Any], terminal: Terminal) -> int:
    """Carry the command out, and return the exit code."""
    workspace = find_workspace(connection, options["workspace"])
    what = options["what"]
    if what == "list":
        return print_listing(workspace, terminal, "groups")
    if what == "create":
        group = workspace.post("/groups", {"name": options["name"]})
        return _answer(terminal, group, f"Created group {group['name']}.")
    group = workspace.find_group(options["group"])
    if what == "rename":
        renamed = workspace.request("PATCH", f"/groups/{group['id']}", {"name": options["name"]})
        return _answer(terminal, renamed, f"Group {options['group']} is now {renamed['name']}.")
    if what == "delete":
        return _delete(workspace, group, terminal)
    member = workspace.find_member(options["email"])
    method, state = ("PUT", "in {} now") if what == "add" else ("DELETE", "in {} no more")
    workspace.request(method, f"/groups/{group['id']}/members/{member['user_id']}")
    message = f"{member['email']} is {state.format(group['name'])}."
    return _answer(terminal, group, message, email=member["email"])


def _delete(workspace: WorkspaceApi, group: dict[str, Any], terminal: Terminal) -> int:
    last = workspace.request("DELETE", f"/groups/{group['id']}")
    had = {name: last[f"{name[:-1]}_count"] for name in ("members", "tokens", "sources")}
    counts = ", ".join(f"{name}: {count}" for name, count in had.items())
    stay = " These sources stay restricted." if had["sources"] else ""
    return _answer(terminal, group, f"Deleted group {group['name']} ({counts}).{stay}", **had)


def _answer(terminal: Terminal, group: dict[str, Any], message: str, **facts: Any) -> int:
    return terminal.answer({"id": group["id"], "name": group["name"], **facts}, message)
