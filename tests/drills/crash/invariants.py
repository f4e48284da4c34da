"""Invariants after a drill; each check yields the violations as sentences."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from ingest.jobs.queue.report import ingest_report
from ingest.models import ItemState, Job, JobItem, JobKind, JobState
from kebab.identity.models import Workspace
from search.corpus.blobs import has_blob, read_blob
from search.corpus.content_ids import content_hash
from search.mirror import checks
from search.models import Change, Chunk, ChunkVector, Document
from tests.drills.crash.tenant import Tenant

# Differences listed by one check.
_MOST_LISTED = 3
_MOST_SEARCHES = 20
_MARKER = re.compile(r"marker\d{6}")

_DOCUMENT_FIELDS = (
    "source__key",
    "version__tag",
    "path",
    "doc_id",
    "title",
    "lang",
    "tags",
    "trust_level",
    "mime",
    "media",
    "size_bytes",
    "content_hash",
    "overrides",
    "metadata",
    "parser_version",
    "chunker_version",
)
_CHUNK_FIELDS = (
    "chunk_id",
    "document__doc_id",
    "ordinal",
    "kind",
    "language",
    "heading_path",
    "breadcrumb",
    "section_label",
    "text",
    "plain",
    "source_spans",
    "token_count",
    "embed_hash",
)


def documents_equal_what_was_given(tenant: Tenant, files: Mapping[tuple[str, str], str]) -> Iterator[str]:
    """Check that the documents are exactly the files and uploads, each once and with its present bytes."""
    rows = Document.objects.in_workspace(tenant.workspace).values_list("source__key", "path", "content_hash")
    found = {(key, path): hash_ for key, path, hash_ in rows}
    expected = {place: content_hash(text.encode()) for place, text in files.items()}
    twice = [place for place, n in Counter((key, path) for key, path, _ in rows).items() if n > 1]
    yield from _summary("there more than once", twice)
    yield from _summary("lost", sorted(expected.keys() - found.keys()))
    yield from _summary("there although deleted", sorted(found.keys() - expected.keys()))
    both = sorted(expected.keys() & found.keys())
    yield from _summary(
        "there with other content than the file", [p for p in both if expected[p] != found[p]]
    )


def corpora_are_equal(tenant: Tenant, reference: Tenant) -> Iterator[str]:
    """Check that documents, chunks (id, text, span, breadcrumb) and vectors equal an undisturbed run's."""
    for what, rows in (("document", _document_rows), ("chunk", _chunk_rows), ("vector", _vector_rows)):
        found, expected = rows(tenant.workspace), rows(reference.workspace)
        yield from _summary(f"{what} missing", [repr(key) for key in expected.keys() - found.keys()])
        yield from _summary(f"{what} too many", [repr(key) for key in found.keys() - expected.keys()])
        both = expected.keys() & found.keys()
        yield from _summary(f"{what} different", [repr(key) for key in both if expected[key] != found[key]])


def every_chunk_has_its_vector(tenant: Tenant) -> Iterator[str]:
    """Check that each chunk has one vector, of its present text and breadcrumb."""
    chunks = dict(Chunk.objects.in_workspace(tenant.workspace).values_list("chunk_id", "embed_hash"))
    vectors = ChunkVector.objects.in_workspace(tenant.workspace).values_list("chunk_id", "embed_hash")
    yield from _summary(
        "chunk without a vector", sorted(chunks.keys() - {chunk_id for chunk_id, _ in vectors})
    )
    yield from _summary("vector of no chunk, or a stale one", [c for c, h in vectors if chunks.get(c) != h])


def jobs_ended_once(tenant: Tenant) -> Iterator[str]:
    """Check that every job succeeded, each item has one outcome, and the reports are consistent."""
    for job in tenant.jobs():
        name = f"{job.kind} {str(job.pk)[:8]}"
        if job.state != JobState.SUCCEEDED:
            yield f"{name} is {job.state}: {job.error}"
        if job.items_done != job.items_total:
            yield f"{name} has done {job.items_done} of {job.items_total} items"
        if job.kind != JobKind.EMBED:
            yield from _report_adds_up(name, job)


def job_ended_with_report(job: Job, state: JobState) -> Iterator[str]:
    """Check that the job ended in `state` with a consistent report."""
    name = f"{job.kind} {str(job.pk)[:8]}"
    if job.state != state:
        yield f"{name} is {job.state}, not {state}: {job.error}"
    if state == JobState.SUCCEEDED:
        yield from _report_adds_up(name, job)
        if job.items_done != job.items_total:
            yield f"{name} has done {job.items_done} of {job.items_total} items"
    else:
        yield from _parts_add_up(name, ingest_report(job))


def _report_adds_up(name: str, job: Job) -> Iterator[str]:
    items = JobItem.objects.in_workspace(job.workspace_id).filter(job=job)
    open_items = items.filter(state=ItemState.PENDING).count()
    if open_items:
        yield f"{name} ended with {open_items} items open"
    report = ingest_report(job)
    yield from _parts_add_up(name, report)
    reported, actual = report["seen"] + report["deleted"], items.count()
    if reported < actual or (job.kind == JobKind.INGEST_DOCUMENT and reported > actual):
        yield f"{name} reports {reported} files for {actual} items"


def _parts_add_up(name: str, report: Mapping[str, Any]) -> Iterator[str]:
    parts = sum(report[part] for part in ("new", "updated", "unchanged", "skipped", "failed"))
    if report["seen"] != parts or report["failed"]:
        yield f"{name} reports seen {report['seen']}, parts {parts}, failed {report['failed_by_reason']}"


def chunks_are_numbered(tenant: Tenant) -> Iterator[str]:
    """Check that the chunks of each document are numbered from 0 without gaps or duplicates."""
    numbers: dict[Any, list[int]] = defaultdict(list)
    rows = Chunk.objects.in_workspace(tenant.workspace).order_by("ordinal")
    for path, ordinal in rows.values_list("document__path", "ordinal"):
        numbers[path].append(ordinal)
    holes = [path for path, found in numbers.items() if found != list(range(len(found)))]
    yield from _summary("with chunks missing or doubled", holes)
    paths = set(Document.objects.in_workspace(tenant.workspace).values_list("path", flat=True))
    yield from _summary("without chunks", sorted(paths - numbers.keys()))


def blobs_are_whole(tenant: Tenant) -> Iterator[str]:
    """Check that the stored bytes of each document match its hash."""
    id_ = tenant.workspace.pk
    hashes = set(Document.objects.in_workspace(id_).values_list("content_hash", flat=True))
    stored = {hash_ for hash_ in hashes if has_blob(id_, hash_)}
    yield from _summary("blob missing", sorted(hashes - stored))
    yield from _summary("blob not whole", [h for h in sorted(stored) if content_hash(read_blob(id_, h)) != h])


def changes_are_logged_once(tenant: Tenant, since_seq: int, paths: Collection[str]) -> Iterator[str]:
    """Check that the change log after `since_seq` has one change for each changed document."""
    changes = Change.objects.in_workspace(tenant.workspace).filter(seq__gt=since_seq)
    times = Counter(changes.values_list("doc_id", flat=True))
    yield from _summary("document logged twice", [doc_id.hex for doc_id, n in times.items() if n > 1])
    if len(times) != len(paths):
        yield f"the log has {len(times)} documents, {len(paths)} have changed"


def changed_paths(before: Mapping[str, str], now: Mapping[str, str]) -> set[str]:
    """Return the paths that were added, deleted or changed."""
    return {path for path in before.keys() | now.keys() if before.get(path) != now.get(path)}


def partial_changes(
    tenant: Tenant, before: Mapping[tuple[str, str], str], now: Mapping[tuple[str, str], str]
) -> tuple[list[str], int]:
    """Return documents in neither the old nor the new state, as sentences, and the number of changed ones."""
    rows = Document.objects.in_workspace(tenant.workspace).values_list("source__key", "path", "content_hash")
    found = {(key, path): hash_ for key, path, hash_ in rows}
    wrong = []
    n_changed = 0
    for place in before.keys() | now.keys():
        old, new = _hash(before.get(place)), _hash(now.get(place))
        if found.get(place) not in {old, new}:
            wrong.append(f"{'/'.join(place)} has neither its old nor its new content")
        n_changed += old != new == found.get(place)
    return wrong[:_MOST_LISTED], n_changed


def _hash(text: str | None) -> str | None:
    return None if text is None else content_hash(text.encode())


def log_is_without_holes(tenant: Tenant) -> Iterator[str]:
    """Check that the change log has every number from 1 to the workspace's head once."""
    head_seq = Workspace.objects.values_list("head_seq", flat=True).get(pk=tenant.workspace.pk)
    changes = Change.objects.in_workspace(tenant.workspace).order_by("seq")
    numbers = list(changes.values_list("seq", flat=True))
    if numbers != list(range(1, head_seq + 1)):
        yield f"the log has {len(numbers)} changes from {numbers[:1]} on, its head is {head_seq}"


def all_is_found(tenant: Tenant, files: Mapping[tuple[str, str], str]) -> Iterator[str]:
    """Check for a sample of documents that a search for a unique word finds that document alone."""
    words = {(key, path): _MARKER.search(text) for (key, path), text in files.items()}
    counts = Counter(word for text in files.values() for word in set(_MARKER.findall(text)))
    alone = {place: word[0] for place, word in words.items() if word is not None and counts[word[0]] == 1}
    for place in sorted(alone)[:: max(1, len(alone) // _MOST_SEARCHES)]:
        answer = tenant.search(alone[place], mode="lexical").json()
        # Lower-ranked hits contain a part of the word, like "marker".
        found = {hit["doc_path"] for hit in answer["hits"] if hit["retrieval"]["tier"] == "all"}
        if found != {place[1]}:
            yield f"{alone[place]} of {'/'.join(place)} finds {sorted(found)}"


def mirrors_equal_postgres() -> Iterator[str]:
    """Check that every mirror has Postgres' checksum, and that FTS5's integrity check passes."""
    results = list(checks.check_mirrors(False))
    if not results:
        yield "there is no mirror"
    yield from (f"{result.name}: {result.detail}" for result in results if result.status != "ok")


def _document_rows(workspace: Workspace) -> dict[Any, Any]:
    rows = Document.objects.in_workspace(workspace).values(*_DOCUMENT_FIELDS)
    return {(row["source__key"], row["version__tag"], row["path"]): row for row in rows}


def _chunk_rows(workspace: Workspace) -> dict[Any, Any]:
    return {row["chunk_id"]: row for row in Chunk.objects.in_workspace(workspace).values(*_CHUNK_FIELDS)}


def _vector_rows(workspace: Workspace) -> dict[Any, Any]:
    rows = ChunkVector.objects.in_workspace(workspace).values_list("chunk_id", "embed_hash", "embedding")
    return {chunk_id: (embed_hash, embedding) for chunk_id, embed_hash, embedding in rows}


def _summary(what: str, found: Iterable[object]) -> Iterator[str]:
    items = list(found)
    if items:
        yield f"{len(items)} {what}: {', '.join(str(each) for each in items[:_MOST_LISTED])}"
