"""`kebab quarantine`: list, retry and delete the files that could not be read."""

from typing import Any

from kebab.cli.client.arguments import Parser, add_subcommands
from kebab.cli.client.connection import ApiProblem, Connection
from kebab.cli.client.servers import Needs
from kebab.cli.client.terminal import Terminal
from kebab.cli.client.workspaces import find_workspace
from kebab.cli.errors import CliError, Exit

NEEDS: Needs = "servers"
EXAMPLES = ("kebab quarantine", "kebab quarantine retry 12")
_COLUMNS = ("id", "source", "version", "path", "size_bytes", "at", "state", "reason")


def add_arguments(parser: Parser) -> None:
    """Add the arguments."""
    commands = add_subcommands(
        parser,
        {
            "retry": ("", "ask for a job that reads a file again"),
            "delete": ("", "forget an upload with its bytes"),
        },
        required=False,
    )
    for command in commands.values():
        command.add_argument("entry_id", metavar="ID", type=int, help="as listed")


def run(connection: Connection, options: dict[str, Any], terminal: Terminal) -> int:
    """Carry the command out, and return the exit code."""
    workspace = find_workspace(connection, options["workspace"])
    if options["what"] is None:
        rows = list(workspace.rows("/quarantine"))
        if terminal.as_json:
            terminal.document({"schema_version": "quarantine.v1", "files": rows})
        else:
            terminal.table(_COLUMNS, rows)
        return Exit.DONE
    entry_id = options["entry_id"]
    missing = f"There is no unreadable file {entry_id} in {workspace.slug}; see: kebab quarantine"
    entry = workspace.find("/quarantine", lambda row: row["id"] == entry_id, missing)
    address = f"/quarantine/{entry_id}"
    try:
        if options["what"] == "retry":
            job = workspace.post(f"{address}/retry")["job"]["id"]
            facts = {"schema_version": "quarantine_retry.v1", "job": job}
            return terminal.answer(
                facts, f"Job {job} reads {entry['path']} again; see: kebab inspect job {job}"
            )
        workspace.request("DELETE", address)
    except ApiProblem as problem:
        if problem.status != 404:
            raise
        raise CliError(missing, code="not_found", exit_code=Exit.NOTHING) from problem
    facts = {"schema_version": "quarantine_delete.v1", "id": entry_id, "path": entry["path"]}
    return terminal.answer(facts, f"{entry['path']} of {entry['source']} is forgotten.")
