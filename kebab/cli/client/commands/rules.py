"""`kebab rules list | add | import | on | off | delete`."""

import json
import sys
from pathlib import Path
from typing import Any

from kebab.cli.client.arguments import Parser, add_subcommands
from kebab.cli.client.connection import Connection
from kebab.cli.client.servers import Needs
from kebab.cli.client.terminal import Terminal
from kebab.cli.client.workspaces import find_workspace
from kebab.cli.errors import CliError

NEEDS: Needs = "servers"
EXAMPLES = (
    """kebab rules add '{"kind": "synonyms", "words": ["k8s", "Kubernetes"]}'""",
    "kebab rules list --json > rules.json",
    "kebab rules import rules.json",
)
_COLUMNS = ("id", "kind", "is_active", "about", "created_by", "note")


def add_arguments(parser: Parser) -> None:
    """Add the arguments."""
    commands = add_subcommands(
        parser,
        {
            "list": ("", "list synonyms, stop words, pins, promoted answers and boosts"),
            "add": ("RULE", "add a rule, which is JSON as in docs/searching.md"),
            "import": ("FILE", "replace all rules by those of a file, - for standard input"),
            "on": ("ID", "switch a rule on"),
            "off": ("ID", "switch a rule off"),
            "delete": ("ID", "delete a rule"),
        },
    )
    for name, command in commands.items():
        if name != "list":
            command.add_argument("--force", action="store_true", help="even if the golden queries get worse")


def run(connection: Connection, options: dict[str, Any], terminal: Terminal) -> int:
    """Carry the command out, and return the exit code."""
    workspace = find_workspace(connection, options["workspace"])
    what, force = options["what"], "?force=true" if options.get("force") else ""
    if what == "list":
        return _print(workspace.get("/rules"), terminal)
    if what == "add":
        try:
            given = json.loads(options["rule"])
        except ValueError as error:
            raise CliError(f"{options['rule'][:60]!r} is not JSON: {error}.") from error
        rule = workspace.post(f"/rules{force}", given)
        return terminal.answer(rule, f"Added rule {rule['id']}.")
    if what == "import":
        given = _read(options["file"])
        rules = given.get("rules") if isinstance(given, dict) else given
        stored = workspace.request("PUT", f"/rules{force}", {"rules": rules})
        return terminal.answer(stored, f"There are {len(stored['rules'])} rules now.")
    address = f"/rules/{options['id']}{force}"
    if what == "delete":
        workspace.request("DELETE", address)
        return terminal.answer({"id": options["id"]}, f"Deleted rule {options['id']}.")
    rule = workspace.request("PATCH", address, {"is_active": what == "on"})
    return terminal.answer(rule, f"Rule {rule['id']} is {what}.")


def _print(found: dict[str, Any], terminal: Terminal) -> int:
    if terminal.as_json:
        return terminal.answer(found, "")
    terminal.table(_COLUMNS, [{**rule, "about": _describe(rule)} for rule in found["rules"]])
    return 0


def _describe(rule: dict[str, Any]) -> str:
    """Return what a rule is about in a few words."""
    if rule["kind"] == "boost":
        return f"{rule['field']} {rule['value']} × {rule['factor']:g}"
    text = ", ".join(rule.get("words") or rule["queries"])
    then = rule.get("means") or rule.get("documents") or [rule.get("title", "")]
    return f"{text} → {', '.join(then)}" if any(then) else text


def _read(file: str) -> Any:
    try:
        return json.loads(sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CliError(f"{file} can't be read as JSON: {error}.", code="invalid_file") from error
