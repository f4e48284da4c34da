"""`kebab ingest PATH|URL`."""

import argparse
import json
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kebab.cli.client.arguments import TRUST, Parser, add_workspace, group_names
from kebab.cli.client.connection import Connection, Needs
from kebab.cli.client.ingest_targets import Target, existing_path, is_archive, print_report, target
from kebab.cli.client.job_progress import EmbeddingWatch, Job, follow, reload_job
from kebab.cli.client.terminal import Terminal
from kebab.cli.client.workspaces import WorkspaceApi, find_workspace
from kebab.cli.errors import CliError
from kebab.cli.output import plain
from kebab.exit_codes import Exit

NEEDS: Needs = "workers"
EXAMPLES = (
    "kebab ingest docs/ --workspace handbook --create",
    "kebab ingest report.pdf --tag finance",
    "kebab ingest https://github.com/encode/httpx --version 0.28.1",
    "kebab ingest https://docs.example.org/guide/ --trust primary",
)
_MAX_CREDENTIALS_BYTES = 50_000


def add_arguments(parser: Parser) -> None:
    """Add the arguments."""
    about = "a folder, a file, a git repository's or a site's address"
    parser.add_argument("target", type=target, metavar="PATH|URL", help=about)
    add_workspace(parser)
    parser.add_argument("--create", action="store_true", help="make the workspace if it isn't there")
    parser.add_argument("--source", metavar="NAME", help="the source (the folder's name; uploads for a file)")
    parser.add_argument("--tag", action="append", default=[], metavar="T", help="for what is new or changed")
    parser.add_argument("--trust", choices=TRUST, help="for all documents that state no other level")
    parser.add_argument(
        "--version",
        default="",
        metavar="V",
        help="the version that these documents are; of a repository the tag or branch to read",
    )
    parser.add_argument(
        "--credentials",
        type=existing_path,
        metavar="FILE",
        help="what the repository is read with from now on: JSON with token, or username and password, or"
        " private_key",
    )
    parser.add_argument(
        "--watch",
        action=argparse.BooleanOptionalAction,
        help="sync the folder soon after something in it has changed, whenever a stack runs",
    )
    parser.add_argument(
        "--as-root",
        action="store_true",
        help="an archive's documents keep their paths (else: below its name)",
    )
    parser.add_argument(
        "--readers",
        type=group_names,
        metavar="GROUP[,GROUP…]",
        help="of a new source: the groups that alone read it, beside owners and admins ('': none)",
    )
    parser.add_argument("--no-embed", action="store_true", help="lexical search only, for now")


def run(connection: Connection, options: dict[str, Any], terminal: Terminal) -> int:
    """Ingest, show the progress, print the report, and return the exit code."""
    wanted: Target = options["target"]
    workspace = _workspace(connection, options)
    job = request_ingest(workspace, wanted, options, terminal)
    watch = EmbeddingWatch.start(workspace, job)
    name = wanted.name if wanted.path is None else wanted.path.name
    try:
        job = follow(workspace, job, terminal, f"Ingesting {plain(name)}")
        if not options["no_embed"] and job["state"] == "succeeded":
            watch.follow(terminal)
    except KeyboardInterrupt:
        job = reload_job(workspace, job)
        if job["state"] == "succeeded":
            terminal.remark("All is indexed; embedding goes on whenever a stack runs.")
        else:
            terminal.remark(
                "Cancelled. What was indexed stays searchable; the same command goes on from there."
            )
        _report(terminal, job, watch)
        raise
    _report(terminal, job, watch)
    return _exit_code(workspace, job)


def _workspace(connection: Connection, options: dict[str, Any]) -> WorkspaceApi:
    named = options["workspace"]
    try:
        return find_workspace(connection, named)
    except CliError as error:
        if not options["create"] or named is None or error.code != "not_found":
            raise
    made = connection.post("/workspaces", {"slug": named})
    return WorkspaceApi(connection=connection, facts=made)


def request_ingest(
    workspace: WorkspaceApi, wanted: Target, options: dict[str, Any], terminal: Terminal
) -> Job:
    """Return the job that ingests the target. Raises CliError."""
    if options["watch"] and wanted.kind != "folder":
        raise CliError("Only a folder can be watched; leave out --watch.", code="invalid_request")
    if options["credentials"] and wanted.kind != "git":
        raise CliError("Only a repository has credentials; leave out --credentials.", code="invalid_request")
    if wanted.kind == "folder" and not workspace.connection.is_local:
        assert wanted.path is not None  # noqa: S101  # a folder has one
        terminal.remark(
            f"The server can't read this machine's folders: {plain(wanted.path.name)} is uploaded. Files that"
            " are deleted here stay there."
        )
        with _packed(wanted.path) as archive:
            return _upload(workspace, archive, options, default_source=wanted.key, as_root=True)
    if wanted.path is not None and wanted.kind == "upload":
        return _upload(
            workspace, wanted.path, options, default_source=wanted.name, as_root=options["as_root"]
        )
    source = _prepare_source(workspace, wanted, options)
    body = {"version": options["version"], "embed": not options["no_embed"]}
    job: Job = workspace.post(f"/sources/{source['id']}/sync", body)["job"]
    return job


def _upload(
    workspace: WorkspaceApi, file: Path, options: dict[str, Any], *, default_source: str, as_root: bool
) -> Job:
    key = options["source"] or default_source
    if options["readers"] is not None:
        _prepare_source(workspace, Target(kind="upload", config={}, name=key), options, key=key)
    fields: dict[str, Any] = {"source": key, "version": options["version"]}
    if options["tag"]:
        fields["tags"] = options["tag"]
    if options["trust"]:
        fields["trust_level"] = options["trust"]
    if options["no_embed"]:
        fields["embed"] = "false"
    if not is_archive(file):
        fields["path"] = file.name  # the name of a file in a form loses what can't be printed
    elif as_root:
        fields["unpack"] = "root"
    path = workspace.address("/documents")
    job: Job = workspace.connection.upload(path, file, fields)["job"]
    return job


def _prepare_source(
    workspace: WorkspaceApi, wanted: Target, options: dict[str, Any], *, key: str | None = None
) -> dict[str, Any]:
    """Return the source that reads the target, a new one where there is none, changed as the options say."""
    key = key or options["source"]
    sources = {source["key"]: source for source in workspace.rows("/sources")}
    found = sources.get(key) if key else next(filter(wanted.is_read_by, sources.values()), None)
    found = found or (None if key else sources.get(wanted.key))
    if found is None:
        return _create_source(workspace, wanted, options, key or wanted.key)
    if not wanted.is_read_by(found):
        raise CliError(
            f"The source {found['key']!r} reads something else ({found['kind']}); give this one another name"
            " with --source.",
            code="source_mismatch",
            exit_code=Exit.NOTHING,
        )
    _check_readers(workspace, found, options["readers"])
    given = _stated(wanted, options)
    changes = {name: value for name, value in given.items() if value != found.get(name)}
    if changes:
        workspace.request("PATCH", f"/sources/{found['id']}", changes)
    return found


def _create_source(
    workspace: WorkspaceApi, wanted: Target, options: dict[str, Any], key: str
) -> dict[str, Any]:
    stated = _stated(wanted, options)
    config = dict(wanted.config)
    if "credentials" in stated:
        config["credentials"] = stated.pop("credentials")
    if options["readers"] is not None:
        stated["readers"] = [group["id"] for group in workspace.find_groups(options["readers"])]
    if config:
        stated["config"] = config
    made: dict[str, Any] = workspace.post("/sources", {"key": key, "kind": wanted.kind, **stated})
    return made


def _stated(wanted: Target, options: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of the source that the options state; uploads have their own tags and trust."""
    given: dict[str, Any] = {"watch": options["watch"], "credentials": _credentials(options["credentials"])}
    if wanted.kind != "upload":
        given |= {"default_tags": options["tag"] or None, "default_trust": options["trust"]}
    return {name: value for name, value in given.items() if value is not None}


def _check_readers(workspace: WorkspaceApi, source: dict[str, Any], names: tuple[str, ...] | None) -> None:
    """Raise CliError when the source has other readers than requested."""
    if names is None:
        return
    wanted = {group["id"] for group in workspace.find_groups(names)}
    if source["readers"] is None or set(source["readers"]) != wanted:
        raise CliError(
            f"The source {source['key']!r} is there already, with other readers; change them with:"
            f" kebab source restrict {source['key']} --to ...",
            code="source_exists",
            exit_code=Exit.NOTHING,
        )


def _credentials(file: Path | None) -> Any:
    if file is None:
        return None
    try:
        with file.open("rb") as opened:
            return json.loads(opened.read(_MAX_CREDENTIALS_BYTES))
    except (ValueError, OSError) as error:
        raise CliError(f"{file} can't be read as JSON.", code="credentials_refused") from error


@contextmanager
def _packed(folder: Path) -> Iterator[Path]:
    """Yield an archive of the folder's files, without hidden ones, which the server would skip."""
    with tempfile.TemporaryDirectory(prefix="kebab-") as scratch:
        archive = Path(scratch) / f"{folder.name or 'folder'}.tar.gz"
        with tarfile.open(archive, "w:gz") as opened:
            for path in sorted(folder.rglob("*")):
                place = path.relative_to(folder)
                is_hidden = any(part.startswith(".") for part in place.parts)
                if not is_hidden and path.is_file() and not path.is_symlink():
                    opened.add(path, arcname=str(place), recursive=False)
        yield archive


def _report(terminal: Terminal, job: Job, watch: EmbeddingWatch) -> None:
    report = {**job["report"], "embedding_calls": watch.calls, "embedding_error": watch.error}
    if terminal.as_json:
        terminal.document(report)
        return
    print_report(terminal, report)
    if watch.error is not None:
        terminal.remark(f"Embedding failed, lexical search works: {watch.error}")


def _exit_code(workspace: WorkspaceApi, job: Job) -> int:
    if job["state"] == "failed":
        raise CliError(f"The job failed: {job['error']}", code="job_failed")
    if job["state"] == "cancelled":
        raise CliError("The job was cancelled.", code="job_cancelled", exit_code=Exit.NOTHING)
    if job["kind"] == "ingest_document":
        item = next(workspace.rows(f"/jobs/{job['id']}/items", 1), None)
        if item is not None and item["outcome"] in {"skipped", "failed"}:
            message = f"{job['path']!r} was not ingested ({item['reason']}). {item['detail'] or ''}".strip()
            raise CliError(message, code="not_ingested", exit_code=Exit.NOTHING)
    return Exit.DONE
