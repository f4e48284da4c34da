"""The made-up handbook: 100 queries, and titles typed letter by letter, as the search page sends them."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from ingest.jobs.queue.request import request_embedding, request_sync
from ingest.jobs.queue.run import run_job
from ingest.models import Job, JobState
from kebab.identity.models import Workspace
from kebab.identity.reader import Reader
from search.corpus import ensure_source
from search.engine.search import search
from search.engine.suggest import suggest
from search.mirror import local_mirrors
from search.models import Document, SourceKind
from search.pages.search.form import HIT_COUNTS, SearchInput
from search.retrieval.types import Mode
from tests.drills.bench.job_progress import await_end
from tests.support.paths import ROOT

PUBLISHED = ROOT / "docs" / "evaluation" / "handbook"
#: Results that a person looks at first.
SHOWN = 3
TYPED_TITLES = 50
_MIN_LETTERS = 6
_MIN_TYPED = 3
_SEARCHABLE_LIMIT_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query of the list, and the documents that are right."""

    kind: str
    text: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryResult:
    """A query with the documents found, best first."""

    query: Query
    found: tuple[str, ...]

    def is_found(self, count: int) -> bool:
        """Return whether a right document is among the first `count`."""
        return bool(set(self.found[:count]) & set(self.query.paths))


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedPrefix:
    """The beginning of a title, and whether it leads to the title's document."""

    title: str
    typed: str
    is_shown: bool


def read_queries() -> list[Query]:
    """Return the queries in the order of the file."""
    _, *lines = (PUBLISHED / "queries.tsv").read_text(encoding="utf-8").splitlines()
    rows = (line.split("\t") for line in lines)
    return [Query(kind=kind, text=text, paths=tuple(paths.split("|"))) for kind, text, paths in rows]


def load(workspace: Workspace, folder: Path = PUBLISHED / "files") -> None:
    """Ingest and embed the documents, and wait until they are searchable. Raises NotSearchableYet."""
    source = ensure_source(workspace, "handbook", kind=SourceKind.FOLDER, config={"path": str(folder)})
    _finish(request_sync(source))
    _finish(request_embedding(workspace.pk))
    workspace.refresh_from_db()
    local_mirrors.wait_for_seq(workspace.pk, workspace.head_seq, limit_s=_SEARCHABLE_LIMIT_S)


def _finish(job: Job) -> None:
    """Run a job in this process, or wait for the worker that has it."""
    run_job(job.workspace_id, job.pk)
    job = await_end(job)
    assert job.state == JobState.SUCCEEDED, job.error


def ask_queries(workspace: Workspace, queries: Sequence[Query]) -> list[QueryResult]:
    """Search for each query."""
    return [QueryResult(query=query, found=_find(workspace, query.text)) for query in queries]


def _find(workspace: Workspace, text: str) -> tuple[str, ...]:
    query = SearchInput(text=text, mode=Mode.HYBRID.value, k=HIT_COUNTS[0]).query()
    result = search(workspace, query, reader=Reader())
    return tuple(dict.fromkeys(hit.doc_path for hit in result.hits))


def type_titles(workspace: Workspace) -> Iterator[TypedPrefix]:
    """Type each title, and yield every prefix of at least three characters."""
    for title, path in choose_titles(workspace):
        for typed in (title[:end] for end in range(_MIN_TYPED, len(title) + 1)):
            yield TypedPrefix(title=title, typed=typed, is_shown=_is_shown(workspace, typed, path))


def choose_titles(workspace: Workspace) -> list[tuple[str, str]]:
    """Return title and path of documents, smallest SHA-256 of the path first; skip file names as titles."""
    titles = Document.objects.in_workspace(workspace).values_list("title", "path")
    real = [(title, path) for title, path in titles if _is_title(title, path)]
    return sorted(real, key=lambda one: hashlib.sha256(one[1].encode()).digest())[:TYPED_TITLES]


def _is_title(title: str, path: str) -> bool:
    return sum(map(str.isalpha, title)) >= _MIN_LETTERS and title not in (path, PurePath(path).name)


def _is_shown(workspace: Workspace, typed: str, path: str) -> bool:
    suggestions = suggest(workspace, typed, reader=Reader()).suggestions
    if any(each.kind == "title" and each.doc_path == path for each in suggestions):
        return True
    return path in _find(workspace, typed)[:SHOWN]


def share_found(results: Sequence[QueryResult], count: int) -> float:
    """Return the share of queries with a right document among the first `count`, in [0, 1]."""
    return sum(each.is_found(count) for each in results) / len(results)


def query_lines(results: Sequence[QueryResult]) -> Iterator[str]:
    """Yield the shares by kind of query, then the queries whose first document is a wrong one."""
    for kind in (*dict.fromkeys(each.query.kind for each in results), "all"):
        some = [each for each in results if kind in (each.query.kind, "all")]
        first, shown = share_found(some, 1), share_found(some, SHOWN)
        yield f"{kind:10}{len(some):4}  first {first:.0%}, first three {shown:.0%}"
    for each in results:
        if not each.is_found(1):
            wanted, found = " or ".join(each.query.paths), ", ".join(each.found[:SHOWN])
            yield f"{each.query.kind} {each.query.text!r}: wanted {wanted}, found {found}"


def typing_lines(typed: Sequence[TypedPrefix]) -> Iterator[str]:
    """Yield the share of prefixes that lead to their title's document, then the others by title."""
    missed = [each for each in typed if not each.is_shown]
    yield f"typing    {1 - len(missed) / len(typed):.1%} of {len(typed):,} prefixes of {TYPED_TITLES} titles"
    for title in dict.fromkeys(each.title for each in missed):
        yield f"{title!r}: not for {', '.join(repr(each.typed) for each in missed if each.title == title)}"
