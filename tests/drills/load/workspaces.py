"""Workspaces under load, of different sizes, with text recombined from a folder."""

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import httpx

from ingest.models import OPEN_STATES, Job
from kebab.identity.models import TokenScope, Workspace
from kebab.identity.tokens import mint_token
from kebab.stack.paths import DataDirectory
from search.models import Chunk, Document
from tests.drills.bench.budgets.search import heading_queries
from tests.drills.bench.growth.texts import GrowingText, TextWriter
from tests.drills.load.traffic import LoadedWorkspace, ring_path, ring_paths
from tests.support.stack import Stack, eventually

_QUERIES = 400
_BYTES_A_CHUNK = 350
_EMBED_LIMIT_S = 3_600.0
Say = Callable[[str], None]


def fill(stack: Stack, text_folder: Path, sizes: Sequence[int], say: Say) -> list[LoadedWorkspace]:
    """Create and fill a workspace of each size, in chunks, through the ordinary pipeline, and embed it."""
    text = GrowingText(text_folder)
    created = [_create(stack, f"load-{number}", size, text, say) for number, size in enumerate(sizes)]
    eventually(lambda: not _has_open_jobs(created), "all is embedded", _EMBED_LIMIT_S, poll_s=1.0)
    return [_describe(stack, workspace, text) for workspace in created]


def _create(stack: Stack, slug: str, size: int, text: GrowingText, say: Say) -> Workspace:
    say(f"  {slug}: {size:,} chunks")
    folder = TextWriter(text, DataDirectory(stack.data_dir).bench / slug).write(size * _BYTES_A_CHUNK)
    done = stack.run(
        "ingest", str(folder), "--workspace", slug, "--create", "--source", "text", "--json", limit_s=1_800
    )
    if done.returncode:
        raise RuntimeError(f"{slug} can't be filled: {done.stderr}")
    json.loads(done.stdout)
    return Workspace.objects.get(slug=slug)


def _has_open_jobs(workspaces: Sequence[Workspace]) -> bool:
    return Job.objects.filter(workspace__in=workspaces, state__in=OPEN_STATES).exists()


def _describe(stack: Stack, workspace: Workspace, text: GrowingText) -> LoadedWorkspace:
    token = mint_token(workspace, scopes=(TokenScope.SEARCH, TokenScope.INGEST), name="load")[1]
    texts = [text.recombine(1_000_000 + number) for number in range(50)]
    for path, content in zip(ring_paths(), _cycle(texts), strict=False):
        _upload(stack, workspace, token, path, content)
    eventually(lambda: not _has_open_jobs([workspace]), "the ring is ingested", _EMBED_LIMIT_S, poll_s=1.0)
    rows = Chunk.objects.in_workspace(workspace).exclude(document__path__startswith="ring/")
    ids = Document.objects.in_workspace(workspace).filter(path__startswith="ring/")
    by_path = {path: doc_id.hex for path, doc_id in ids.values_list("path", "doc_id")}
    return LoadedWorkspace(
        slug=workspace.slug,
        token=token,
        queries=heading_queries(workspace, _QUERIES),
        chunk_ids=[chunk_id.hex for chunk_id in islice(rows.values_list("chunk_id", flat=True), 500)],
        texts=texts,
        ring=[by_path[ring_path(number)] for number in range(len(by_path))],
    )


def _cycle(texts: Sequence[str]) -> Iterator[str]:
    while True:
        yield from texts


def _upload(stack: Stack, workspace: Workspace, token: str, path: str, content: str) -> None:
    httpx.post(
        f"{stack.url}/api/v1/workspaces/{workspace.slug}/documents",
        json={"path": path, "text": content},
        headers={"Authorization": f"Bearer {token}"},
        timeout=60,
    ).raise_for_status()
