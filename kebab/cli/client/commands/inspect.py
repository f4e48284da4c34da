"""`kebab inspect doc | chunk | job`."""

import re
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from kebab.cli.client.arguments import Parser, add_subcommands
from kebab.cli.client.connection import Connection, Needs
from kebab.cli.client.terminal import Terminal
from kebab.cli.client.workspaces import WorkspaceApi, find_workspace
from kebab.cli.errors import CliError, NotFound
from kebab.cli.output import plain
from kebab.exit_codes import Exit

NEEDS: Needs = "servers"
EXAMPLES = ("kebab inspect doc guides/deploy.md", "kebab inspect job 0198a3e0-5c5c-7d10-a7a4-2f0f3c1d2e3f")
_CHUNK_COLUMNS = ("id", "citation", "kind", "tokens", "embedded", "mirrored", "breadcrumb")
_MOST_FAILURES = 100
_ID = re.compile(r"[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}")


def add_arguments(parser: Parser) -> None:
    """Add the arguments."""
    commands = add_subcommands(
        parser,
        {
            "doc": ("", "a document with its chunks"),
            "chunk": ("", "a chunk with its text"),
            "job": ("", "a job with its report and what failed in it"),
        },
    )
    for name, metavar in (("doc", "ID|PATH"), ("chunk", "ID"), ("job", "ID")):
        commands[name].add_argument("named", metavar=metavar)


def run(connection: Connection, options: dict[str, Any], terminal: Terminal) -> int:
    """Print the facts, and return the exit code."""
    workspace = find_workspace(connection, options["workspace"])
    named = options["named"]
    match options["what"]:
        case "doc":
            facts = _document_facts(workspace, _find_document(workspace, named))
        case "chunk":
            facts = _chunk_facts(workspace, named)
        case _:
            facts = _job_facts(workspace, named)
    if terminal.as_json:
        terminal.document(facts)
    else:
        _print(terminal, facts)
    return Exit.DONE


def _find_document(workspace: WorkspaceApi, named: str) -> str:
    """Return the id of the document with this id or path. Raises CliError, with choices if several match."""
    if (doc_id := _as_id(named)) is not None:
        document = workspace.get_or_none(f"/documents/{doc_id}")
        if document is not None:
            return str(document["id"])
    found = list(workspace.rows("/documents", path=named))
    if not found:
        raise _missing(workspace, "document", named)
    if len(found) > 1:
        choices = ", ".join(f"{each['id']} ({each['source']} {each['version'] or ''})" for each in found)
        raise CliError(
            f"{len(found)} documents have this path; name one by its id: {choices}.", code="ambiguous"
        )
    return str(found[0]["id"])


def _document_facts(workspace: WorkspaceApi, doc_id: str) -> dict[str, Any]:
    pages = list(_inspection_pages(workspace, doc_id))
    chunks = [_chunk(row) for page in pages for row in page["chunks"]]
    mirror = {**pages[0]["mirror"], "chunks": sum(each["mirrored"] for each in chunks), "of": len(chunks)}
    return {
        "schema_version": "document_inspection.v1",
        "document": pages[0]["document"],
        "mirror": mirror,
        "chunks": chunks,
    }


def _chunk_facts(workspace: WorkspaceApi, named: str) -> dict[str, Any]:
    chunk_id = _as_id(named)
    chunk = None if chunk_id is None else workspace.get_or_none(f"/chunks/{chunk_id}")
    if chunk is None:
        raise _missing(workspace, "chunk", named)
    facts = _document_facts(workspace, chunk["doc_id"])
    found = next((each for each in facts["chunks"] if each["id"] == chunk["id"]), None)
    if found is None:  # replaced meanwhile
        raise _missing(workspace, "chunk", named)
    return {
        "schema_version": "chunk_inspection.v1",
        "document": facts["document"],
        "mirror": {**facts["mirror"], "chunks": int(found["mirrored"]), "of": 1},
        "chunk": {**found, "text": chunk["text"]},
    }


def _job_facts(workspace: WorkspaceApi, named: str) -> dict[str, Any]:
    job_id = _as_id(named)
    job = None if job_id is None else workspace.get_or_none(f"/jobs/{UUID(job_id)}")
    if job is None:
        raise NotFound(f"There is no job {named[:100]!r} in {workspace.slug}; see: kebab list jobs")
    failed = workspace.rows(f"/jobs/{job['id']}/items", _MOST_FAILURES, state="failed")
    report = job.pop("report")
    return {
        "schema_version": "job_inspection.v1",
        "job": job,
        "report": report,
        "failures": [{name: each[name] for name in ("path", "reason", "detail")} for each in failed],
    }


def _inspection_pages(workspace: WorkspaceApi, doc_id: str) -> Iterator[Mapping[str, Any]]:
    cursor = None
    while True:
        page = workspace.get(f"/documents/{doc_id}/inspection", limit=200, cursor=cursor)
        yield page
        cursor = page["next_cursor"]
        if cursor is None:
            return


def _chunk(row: Mapping[str, Any]) -> dict[str, Any]:
    same = ("id", "ordinal", "kind", "spans", "breadcrumb", "heading_path", "section_label")
    return {
        **{name: row[name] for name in same},
        "language": row["code_lang"],
        "citation": row["citation"]["uri"],
        "tokens": row["token_count"],
        "embedded": row["is_embedded"],
        "mirrored": row["is_mirrored"],
    }


def _as_id(text: str) -> str | None:
    """Return the 32 hex digits of an id, None for another text."""
    return text.replace("-", "").lower() if _ID.fullmatch(text) else None


def _missing(workspace: WorkspaceApi, what: str, value: str) -> NotFound:
    return NotFound(
        f"There is no {what} {value[:100]!r} in {workspace.slug}; see: kebab list documents, kebab search"
    )


def _print(terminal: Terminal, facts: Mapping[str, Any]) -> None:
    for title, value in facts.items():
        if isinstance(value, Mapping):
            terminal.print(terminal.style(title.capitalize(), "bold"))
            text = value.get("text")
            terminal.fields({name: each for name, each in value.items() if name != "text"})
            if text is not None:
                terminal.print("\n" + plain(text))
            terminal.print()
        elif isinstance(value, list) and value:
            columns = _CHUNK_COLUMNS if title == "chunks" else tuple(value[0])
            terminal.table(columns, value)
