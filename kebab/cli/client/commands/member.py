"""`kebab member list | invite | withdraw | add | role | remove`."""

from typing import Any

from kebab.cli.client.arguments import Parser, add_subcommands
from kebab.cli.client.commands.list import print_listing
from kebab.cli.client.connection import Connection
from kebab.cli.client.servers import Needs
from kebab.cli.client.terminal import Terminal
from kebab.cli.client.workspaces import WorkspaceApi, find_workspace
from kebab.cli.errors import CliError, Exit

NEEDS: Needs = "servers"
EXAMPLES = (
    "kebab member invite ada@example.org --role editor",
    "kebab member role ada@example.org admin",
)
_ROLES = ("owner", "admin", "editor", "viewer")


def add_arguments(parser: Parser) -> None:
    """Add the arguments."""
    commands = add_subcommands(
        parser,
        {
            "list": ("", "list the members"),
            "invite": ("EMAIL", "invite somebody; the link is printed, this once"),
            "withdraw": ("EMAIL", "make the link of an invitation useless"),
            "add": ("EMAIL", "make somebody a member who has an account already"),
            "role": ("EMAIL", "give a member another role"),
            "remove": ("EMAIL", "end a membership, also in all groups"),
        },
    )
    for name in ("invite", "add"):
        commands[name].add_argument("--role", choices=_ROLES, default="viewer", help="default: viewer")
    commands["role"].add_argument("role", choices=_ROLES)
    commands["invite"].add_argument(
        "--group", action="append", default=[], metavar="G", help="a group to join"
    )


def run(connection: Connection, options: dict[str, Any], terminal: Terminal) -> int:
    """Carry the command out, and return the exit code."""
    workspace = find_workspace(connection, options["workspace"])
    match options["what"]:
        case "list":
            return print_listing(workspace, terminal, "members")
        case "invite":
            return _invite(workspace, options, terminal)
        case "withdraw":
            return _withdraw(workspace, options["email"], terminal)
        case "remove":
            return _remove(workspace, options["email"], terminal)
        case "add":
            member = workspace.post("/members", {"email": options["email"], "role": options["role"]})
        case _:
            user_id = workspace.find_member(options["email"])["user_id"]
            member = workspace.request("PATCH", f"/members/{user_id}", {"role": options["role"]})
    facts = {name: member[name] for name in ("user_id", "email", "role")}
    return terminal.answer(facts, f"{member['email']} is {member['role']} of {workspace.slug} now.")


def _invite(workspace: WorkspaceApi, options: dict[str, Any], terminal: Terminal) -> int:
    groups = [workspace.find_group(each)["id"] for each in options["group"]]
    body = {"email": options["email"], "role": options["role"], "groups": groups}
    invited = workspace.post("/invitations", body)
    if terminal.as_json:
        names = ("id", "link", "is_mailed", "email", "role", "expires_at")
        terminal.document({name: invited[name] for name in names})
        return Exit.DONE
    how = "The link was mailed" if invited["is_mailed"] else "The link was not mailed, so pass it on"
    terminal.remark(f"{how}. It works once, until {invited['expires_at'][:16].replace('T', ' ')} UTC:")
    terminal.print(invited["link"] or "Only operators see the link.")
    return Exit.DONE


def _withdraw(workspace: WorkspaceApi, email: str, terminal: Terminal) -> int:
    address = email.strip().lower()
    found = [
        row
        for row in workspace.rows("/invitations")
        if row["email"].lower() == address and row["state"] == "open"
    ]
    if not found:
        raise CliError(
            f"{email} has no open invitation; see: kebab list invitations",
            code="not_found",
            exit_code=Exit.NOTHING,
        )
    for each in found:
        workspace.request("DELETE", f"/invitations/{each['id']}")
    return terminal.answer({"email": found[0]["email"], "withdrawn": len(found)}, "Withdrawn.")


def _remove(workspace: WorkspaceApi, email: str, terminal: Terminal) -> int:
    member = workspace.find_member(email)
    workspace.request("DELETE", f"/members/{member['user_id']}")
    left = sum(
        token["created_by"] == member["email"] and token["revoked_at"] is None
        for token in workspace.rows("/tokens")
    )
    message = f"{member['email']} belongs to {workspace.slug} no more."
    if left:
        message += f" Tokens made by them that still work: {left} (kebab token list)."
    return terminal.answer({"email": member["email"], "tokens_left": left}, message)
