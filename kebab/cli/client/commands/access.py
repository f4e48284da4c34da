"""`kebab access`: the access report on a person or a token."""

from collections.abc import Mapping
from typing import Any

from kebab.cli.client.arguments import Parser, add_workspace
from kebab.cli.client.commands.token import find_token, missing_token
from kebab.cli.client.connection import Connection
from kebab.cli.client.servers import Needs
from kebab.cli.client.terminal import Terminal
from kebab.cli.client.workspaces import find_workspace
from kebab.cli.errors import Exit

NEEDS: Needs = "servers"
EXAMPLES = ("kebab access --user ada@example.org", "kebab access --token kbb_abcdefghijkl --source contracts")


def add_arguments(parser: Parser) -> None:
    """Add the arguments."""
    add_workspace(parser)
    whose = parser.add_mutually_exclusive_group(required=True)
    whose.add_argument("--user", metavar="EMAIL")
    whose.add_argument("--token", metavar="PREFIX", help="or its id")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--document", metavar="ID", help="tell of this one; exit code 1 if hidden")
    what.add_argument("--source", metavar="KEY", help="the same of a source, by key or id")


def run(connection: Connection, options: dict[str, Any], terminal: Terminal) -> int:
    """Print the report, and return the exit code."""
    workspace = find_workspace(connection, options["workspace"])
    if options["user"] is not None:
        whose = {"user": workspace.find_member(options["user"])["user_id"]}
    elif (token := find_token(workspace, options["token"])) is not None:
        whose = {"token": token["id"]}
    else:
        raise missing_token()
    asked = {name: options[name] for name in ("document", "source")}
    report = workspace.get("/access", **whose, **asked)
    if terminal.as_json:
        terminal.document(report)
    else:
        _print(terminal, report)
    is_hidden = any(asked.values()) and not report["things"][0]["is_searchable"]
    return Exit.NOTHING if is_hidden else Exit.DONE


def _print(terminal: Terminal, report: Mapping[str, Any]) -> None:
    terminal.print(_headline(report))
    permissions = [
        {"permission": each["name"], "allowed": each["is_allowed"], "to": each["means"], "why": each["why"]}
        for each in report["permissions"]
    ]
    terminal.table(("permission", "allowed", "to", "why"), permissions)
    things = [
        {
            each["kind"]: each["name"],
            "exists": each["is_visible"],
            "searched and read": each["is_searchable"],
            "why": each["why"],
        }
        for each in report["things"]
    ]
    if things:
        terminal.print()
        terminal.table(tuple(things[0]), things)
    if report["has_more"]:
        terminal.remark("There are more sources; --source tells of one.")


def _headline(report: Mapping[str, Any]) -> str:
    who = f"{report['subject']} in {report['workspace']}"
    if report["barred"]:
        return f"{who}: not let in.\n"
    what = report["role"] or f"scopes {', '.join(report['scopes']) or 'none'}"
    groups = ", ".join(group["name"] for group in report["groups"]) or "none"
    return f"{who}: {what}; groups: {groups}\n"
