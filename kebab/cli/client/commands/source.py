"""`kebab source restrict | trust | test`: change readers or trust level of a source, or test it."""

from typing import Any

from kebab.cli.client.arguments import TRUST, Parser, add_subcommands, group_names
from kebab.cli.client.connection import Connection, Needs
from kebab.cli.client.terminal import Terminal
from kebab.cli.client.workspaces import find_workspace

NEEDS: Needs = "servers"
EXAMPLES = (
    "kebab source restrict contracts --to legal",
    "kebab source trust wiki secondary",
    "kebab source test wiki",
)


def add_arguments(parser: Parser) -> None:
    """Add the arguments."""
    commands = add_subcommands(
        parser,
        {
            "restrict": ("KEY", "say which groups may read a source, from now on"),
            "trust": ("KEY", "set the trust level of documents that state no other"),
            "test": ("KEY", "connect as a sync would, and say what is found"),
        },
    )
    whom = commands["restrict"].add_mutually_exclusive_group(required=True)
    text = "names or ids; '' is none: then only owners and admins read it"
    whom.add_argument("--to", type=group_names, metavar="GROUP[,GROUP…]", help=text)
    whom.add_argument("--open", action="store_true", help="every member of the workspace reads it")
    commands["trust"].add_argument("level", choices=TRUST, metavar="LEVEL", help=", ".join(TRUST))


def run(connection: Connection, options: dict[str, Any], terminal: Terminal) -> int:
    """Change or test the source, and return the exit code. Raises CliError for a failed test."""
    workspace = find_workspace(connection, options["workspace"])
    source = workspace.find_source(options["key"])
    address = f"/sources/{source['id']}"
    if options["what"] == "test":
        found = workspace.post(f"{address}/test")["found"]
        facts = {"schema_version": "source_test.v1", "source": source["key"], "found": found}
        return terminal.answer(facts, found)
    if options["what"] == "trust":
        level = options["level"]
        workspace.request("PATCH", address, {"default_trust": level})
        facts = {"schema_version": "source_trust.v1", "source": source["key"], "default_trust": level}
        return terminal.answer(
            facts, f"Documents of {source['key']} are {level}, unless they state another level."
        )
    groups = None if options["open"] else workspace.find_groups(options["to"])
    readers = None if groups is None else [group["id"] for group in groups]
    workspace.request("PATCH", address, {"readers": readers})
    named = None if groups is None else [{"id": each["id"], "name": each["name"]} for each in groups]
    facts = {"schema_version": "source_readers.v1", "source": source["key"], "readers": named}
    return terminal.answer(facts, _readers(source["key"], named))


def _readers(key: str, readers: list[dict[str, Any]] | None) -> str:
    if readers is None:
        return f"Every member reads {key}."
    names = ", ".join(group["name"] for group in readers)
    return (
        f"{f'Beside owners and admins only {names}' if names else 'Only owners and admins'} may read {key}."
    )
