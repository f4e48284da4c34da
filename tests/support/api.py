"""Requests to the API, and the jobs that they create, run in the test process."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.db import connection, transaction
from django.test import override_settings

from ingest.jobs.queue.run import run_job
from ingest.models import Job, Unreadable
from ingest.parsers.errors import Quarantined
from ingest.parsers.registry import parser_version_for
from kebab.identity.models import Workspace
from kebab.people.operator import command_line_access
from kebab.people.workspaces import delete_workspace
from search.corpus.content_ids import content_hash
from search.embedders.configured import configured_embedder, embedded_text
from search.mirror import local_mirrors
from search.mirror.sync.sync import sync_mirror
from search.models import SourceVersion
from search.vectors.backfill import batches_without_vector, store_vectors
from search.vectors.spaces import ensure_live_space
from tests.support.actors import make_workspace
from tests.support.database import count_corpus

MARKDOWN = "# Install\n\nRun the installer.\n\n## Linux\n\nUse the package manager.\n"


def address(workspace: Any, tail: str) -> str:
    """Return the address of `tail` below a workspace."""
    return f"/api/v1/workspaces/{workspace.slug}{tail}"


def post_text(
    client: Any, workspace: Any, path: str = "guides/install.md", *, wait: bool = False, **body: Any
):
    """Upload a document as JSON."""
    tail = "/documents?wait_for=searchable" if wait else "/documents"
    headers = body.pop("headers", {})
    body = {"path": path, "text": MARKDOWN, **body}
    return client.post(address(workspace, tail), body, format="json", headers=headers)


def run(workspace: Any, answer: Any) -> Job:
    """Run the job that a response names, and return it."""
    return run_to_end(Job.objects.in_workspace(workspace).get(pk=answer.json()["job"]["id"]))


def run_to_end(job: Job) -> Job:
    """Run a job, and return it."""
    run_job(job.workspace_id, job.pk)
    job.refresh_from_db()
    return job


def upload(client: Any, workspace: Any, path: str = "guides/install.md", **body: Any) -> str:
    """Upload a document, ingest it, and return its id."""
    answer = post_text(client, workspace, path, **body)
    assert answer.status_code == 202, answer.content
    assert run(workspace, answer).state == "succeeded"
    return answer.json()["document"]["id"]


def embed(workspace: Any) -> None:
    """Embed all chunks."""
    embedder = configured_embedder()
    space = ensure_live_space(workspace, embedder.space)
    chunks = next(batches_without_vector(space, size=1_000), [])
    vectors = embedder.embed_passages([embedded_text(chunk.breadcrumb, chunk.text) for chunk in chunks])
    with transaction.atomic():
        store_vectors(space, chunks, dict(zip([chunk.embed_hash for chunk in chunks], vectors, strict=True)))


@contextmanager
def committed_workspace(
    blocker: Any, mirrors: Path, write: Callable[[Workspace], object]
) -> Iterator[Workspace]:
    """Yield a workspace that `write` fills, committed, embedded and mirrored once for many tests.

    A mirror is made from what is committed, so the tests' own transactions can't hold it. It is made here,
    however long that takes.
    """
    with blocker.unblock(), override_settings(KEBAB_MIRROR_DIR=mirrors):
        workspace = make_workspace(f"corpus-of-{mirrors.name}".lower().replace("_", "-"))
        write(workspace)
        embed(workspace)
        workspace.refresh_from_db()
        sync_mirror(local_mirrors.mirror_files(workspace.pk), workspace.pk)
        count_corpus()
    yield workspace
    with blocker.unblock():
        delete_workspace(command_line_access(workspace))
        forget_acts()


def forget_acts() -> None:
    """Delete the audit events, which outlive the committed workspace that they refer to."""
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE people_auditevent")


def quarantine(workspace: Workspace, version: SourceVersion, path: str, content: bytes = b"x") -> Unreadable:
    """Put a file into quarantine as one that crashed every parser."""
    return Unreadable.objects.create(
        workspace=workspace,
        version=version,
        path=path,
        size_bytes=len(content),
        content_hash=content_hash(content),
        parser_version=parser_version_for(path),
        is_quarantined=True,
        reason="quarantined",
        detail="every parser failed on it: attempt 1: it took over 30 s",
    )


class Dying:
    """A pool of parsers that all crash."""

    def digest_groups(self, submissions: Iterator[Any], while_waiting: Any) -> Iterator[list[Any]]:
        """Return each submission as one that crashed every parser."""
        for submission in submissions:
            yield [(submission.key, Quarantined("every parser failed on it: again"))]


def hits_bytes(response: Any) -> bytes:
    """Return the bytes of the hits in a search's answer."""
    assert response.status_code == 200, response.content
    start = response.content.index(b'"hits":')
    hits = json.loads(response.content)["hits"]
    text = json.dumps(hits, ensure_ascii=False, separators=(",", ":")).encode()
    assert response.content[start:].startswith(b'"hits":' + text)
    return response.content[start : start + 7 + len(text)]


def folder(settings: Any, tmp_path: Path, **files: str) -> Path:
    """Create a folder that sources may read, with these files (`a_md` is a.md)."""
    root = tmp_path / "docs"
    root.mkdir()
    for name, text in files.items():
        (root / name.replace("_", ".")).write_text(text)
    settings.KEBAB_FOLDER_ROOTS = [tmp_path.resolve()]
    return root
