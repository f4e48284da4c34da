"""Reads of a mirror from Postgres: the log after a number, and current documents, from one snapshot."""

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import PurePosixPath
from typing import Any, Final

from django.contrib.postgres.expressions import ArraySubquery
from django.db import connection, transaction
from django.db.models import OuterRef, QuerySet

from kebab.identity.models import Workspace
from kebab.people.workspace_settings.registry import preference
from kebab.stack.servers.lost_changes import TIMELINE, LostRange, record_lost_range
from search.analysis import STEMMED, UNSTEMMED_WORDS, Analysis
from search.mirror.files import MirrorBusy, MirrorOutdated
from search.models import Change, Chunk, Document, MediaKind
from search.retrieval.outdated import read_currency
from search.retrieval.query.metadata import Value
from search.retrieval.query.titles import indexed_headings, sort_key, title_key

#: The setting of a workspace: whether words are indexed by their stems.
STEMMING = "stemming"
# Documents per query; their chunks come in the same order, and only one document's are in memory.
_BATCH = 200
# Kinds of documents of which one may replace another one.
_PROSE = frozenset({MediaKind.TEXT, MediaKind.PDF, MediaKind.OFFICE})
# Chunks fetched per round trip.
_CHUNKS_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkState:
    """A chunk as mirrored."""

    chunk_id: str
    kind: str
    #: Programming language, '' for none.
    code_lang: str
    row_version: int
    breadcrumb: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentState:
    """A document as mirrored, with its chunks in order."""

    doc_id: str
    path: str
    title: str
    lang: str
    trust_level: str
    media: str
    source_key: str
    version_tag: str
    indexed_at: float
    #: See `search.retrieval.document_date`.
    dated_at: float
    #: 1 if it is another one than that of indexing, else 0, as SQLite has no booleans.
    is_dated: int
    author: str
    tags: tuple[str, ...]
    #: Names and values of its metadata: see `search.retrieval.query.metadata`.
    values: tuple[tuple[str, Value], ...] = ()
    #: See `search.retrieval.outdated.Currency`.
    family: str = ""
    edition: str = ""
    outdated_from: float | None = None
    successor: str = ""
    chunks: tuple[ChunkState, ...]

    @property
    def title_key(self) -> str:
        """Return the folded words of the title."""
        return title_key(self.title)

    @property
    def name_key(self) -> str:
        """Return the folded words of the file name, without its extension."""
        return title_key(PurePosixPath(self.path).stem)

    @property
    def sort_key(self) -> str:
        """Return the key by which it is sorted by title."""
        return sort_key(self.title or self.path)

    @property
    def first_chunk(self) -> str:
        """Return the id of the first chunk, '' without any."""
        return self.chunks[0].chunk_id if self.chunks else ""

    def indexed_headings(self, chunk: ChunkState) -> str:
        """Return the text that is indexed as a chunk's headings."""
        return indexed_headings(chunk.breadcrumb, self.path)


#: The columns of those of its fields that a document stores.
MIRRORED: Final = {
    "doc_id": "doc_id",
    "path": "path",
    "title": "title",
    "lang": "lang",
    "trust_level": "trust_level",
    "media": "media",
    "source_key": "source__key",
    "version_tag": "version__tag",
    "indexed_at": "indexed_at",
    "dated_at": "dated_at",
    "is_dated": "is_dated",
    "author": "author",
    "tags": "tags",
    "values": "filter_values",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LogTail:
    """The log after a mirror's position: its end, and the documents to read again."""

    head_seq: int
    #: The token of the change that carries `head_seq`; 0 before the first change.
    head_token: int
    doc_ids: tuple[uuid.UUID, ...]
    #: The analysis that the workspace's text has to be indexed by now.
    analysis: Analysis
    #: False when numbers are missing or belong to another history: the mirror must be rebuilt.
    is_continuous: bool


@contextmanager
def postgres_snapshot(*, idle_limit: str = "10min") -> Iterator[None]:
    """Run the block in one repeatable-read snapshot, however long a mirror takes to write.

    Postgres ends it after `idle_limit` without a statement, '0' for never.
    """
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            cursor.execute("SELECT set_config('idle_in_transaction_session_timeout', %s, true)", [idle_limit])
        yield


def read_log(
    workspace_id: uuid.UUID, applied_seq: int, applied_token: int, landmarks: Sequence[Any] = (), *, most: int
) -> LogTail:
    """Return the log after `applied_seq`.

    If it is another one, the changes since the last common one of the `landmarks`, read at `applied_seq`, are
    recorded as lost. Raises MirrorOutdated when that is more than `most` changes, MirrorBusy on a standby
    that has not replayed `applied_seq`, Workspace.DoesNotExist when the workspace is gone.
    """
    workspace = Workspace.objects.get(pk=workspace_id)
    head_seq = workspace.head_seq
    if head_seq - applied_seq > most:
        raise MirrorOutdated(f"{head_seq - applied_seq} changes behind", why="behind")
    changes = list(
        Change.objects.in_workspace(workspace_id)
        .filter(seq__gte=max(applied_seq, 1))
        .order_by("seq")
        .values_list("seq", "token", "doc_id")
    )
    tokens = {seq: token for seq, token, _ in changes}
    follows = applied_seq == 0 or tokens.get(applied_seq) == applied_token
    if head_seq < applied_seq or (not follows and applied_seq in tokens):
        _record_lost_range(workspace_id, applied_seq, *landmarks)
    new = [(seq, doc_id) for seq, _, doc_id in changes if seq > applied_seq]
    return LogTail(
        head_seq=head_seq,
        analysis=analysis_for(workspace),
        head_token=tokens.get(head_seq, 0),
        doc_ids=tuple(dict.fromkeys(doc_id for _, doc_id in new)),
        is_continuous=follows and [seq for seq, _ in new] == list(range(applied_seq + 1, head_seq + 1)),
    )


# The timeline, 0 on a standby, and the tokens of changes at doubled distances before one, by number.
_LANDMARKS: Final = f"""
SELECT json_build_array(CASE WHEN pg_is_in_recovery() THEN 0 ELSE {TIMELINE} END, (
    SELECT coalesce(json_object_agg(seq, token), '{{}}') FROM search_change WHERE workspace_id = %s
        AND seq = ANY(ARRAY(SELECT %s - (1::bigint << n) FROM generate_series(0, 40) n))))::text
"""  # noqa: S608 - a constant


def read_landmarks(workspace_id: uuid.UUID, seq: int) -> str:
    """Return, as JSON, the server's timeline, and by number the tokens of some changes before one."""
    with connection.cursor() as cursor:
        cursor.execute(_LANDMARKS, [workspace_id, seq])
        return str(cursor.fetchone()[0])


def _record_lost_range(workspace_id: uuid.UUID, applied_seq: int, landmarks: str = "[0, {}]") -> None:
    former_timeline, former = json.loads(landmarks)
    timeline, current = json.loads(read_landmarks(workspace_id, applied_seq))
    if not timeline:
        raise MirrorBusy("the standby lacks changes that the mirror has")
    first = 1 + max((int(seq) for seq, _ in former.items() & current.items()), default=0)
    record_lost_range(LostRange(str(workspace_id), first, applied_seq, former_timeline, timeline))


def analysis_for(workspace: Workspace) -> Analysis:
    """Return the analysis that the workspace's setting `stemming` selects."""
    return select_analysis(stems=preference(workspace, STEMMING))


def select_analysis(*, stems: bool) -> Analysis:
    """Return the analysis that indexes words by their stems, or unstemmed."""
    return STEMMED if stems else UNSTEMMED_WORDS


def read_analysis(workspace_id: uuid.UUID) -> Analysis:
    """Return the analysis that a workspace's setting selects now. Raises Workspace.DoesNotExist."""
    return analysis_for(Workspace.objects.get(pk=workspace_id))


#: The tokens of a workspace's latest changes, newest first; few, as a mirror is rarely further behind.
LATEST_TOKENS: Final = ArraySubquery(
    Change.objects.filter(workspace_id=OuterRef("pk"), seq__lte=OuterRef("head_seq"))
    .order_by("-seq")
    .values("token")[:8]
)


def read_head(workspace_id: uuid.UUID) -> tuple[int, Sequence[int]]:
    """Return the head's number and the latest tokens. Raises Workspace.DoesNotExist."""
    head: tuple[int, Sequence[int]]
    head = Workspace.objects.values_list("head_seq", LATEST_TOKENS).get(pk=workspace_id)
    return head


def read_documents(
    workspace_id: uuid.UUID, doc_ids: Sequence[uuid.UUID]
) -> Iterator[tuple[uuid.UUID, DocumentState | None]]:
    """Yield each of `doc_ids` with its current state, None when it is deleted; in no order, each once."""
    for start in range(0, len(doc_ids), _BATCH):
        missing = dict.fromkeys(doc_ids[start : start + _BATCH])
        found = Document.objects.in_workspace(workspace_id).filter(doc_id__in=list(missing))
        for state in _read_states(workspace_id, found):
            doc_id = uuid.UUID(state.doc_id)
            del missing[doc_id]
            yield doc_id, state
        yield from missing.items()


def read_all_documents(workspace_id: uuid.UUID) -> Iterator[DocumentState]:
    """Yield every document of the workspace, in the order of their rows."""
    after = 0
    while True:
        documents = Document.objects.in_workspace(workspace_id).filter(id__gt=after).order_by("id")[:_BATCH]
        rows = list(documents.values_list("id", flat=True))
        if not rows:
            return
        after = rows[-1]
        yield from _read_states(workspace_id, Document.objects.in_workspace(workspace_id).filter(id__in=rows))


def _read_states(workspace_id: uuid.UUID, documents: "QuerySet[Document]") -> Iterator[DocumentState]:
    rows: list[tuple[Any, ...]] = list(
        documents.filter(source__workspace=workspace_id, version__workspace=workspace_id)
        .order_by("id")
        .values_list("id", *MIRRORED.values())
    )
    chunks_of_each = _group_chunks(workspace_id, [row[0] for row in rows])
    for (_, *values), chunks in zip(rows, chunks_of_each, strict=True):
        yield build_state(dict(zip(MIRRORED, values, strict=True)), chunks)


def build_state(fields: Mapping[str, Any], chunks: tuple[ChunkState, ...]) -> DocumentState:
    """Return the state of a document with these values of MIRRORED."""
    stored = {
        "doc_id": fields["doc_id"].hex,
        "indexed_at": fields["indexed_at"].timestamp(),
        "dated_at": fields["dated_at"].timestamp(),
        "is_dated": int(fields["is_dated"]),
        "tags": tuple(sorted(set(fields["tags"]))),
        "values": _stored_values(fields["values"]),
    }
    currency = read_currency(
        title=fields["title"],
        path=fields["path"],
        tags=fields["tags"],
        values=fields["values"],
        text=chunks[0].text if chunks else "",
        is_prose=fields["media"] in _PROSE and not fields["version_tag"],
    )
    return DocumentState(**{**fields, **stored, **asdict(currency)}, chunks=chunks)


def _stored_values(values: Mapping[str, Sequence[Value]]) -> tuple[tuple[str, Value], ...]:
    """Return each of a document's `filter_values` with its name, numbers as floats."""
    return tuple(
        (name, value if isinstance(value, str) else float(value))
        for name, several in values.items()
        for value in several
    )


def _group_chunks(workspace_id: uuid.UUID, document_ids: Sequence[int]) -> Iterator[tuple[ChunkState, ...]]:
    """Yield the chunks of each document; `document_ids` are ascending."""
    nothing: tuple[int, Iterable[tuple[int, ChunkState]]] = (0, ())
    found = groupby(_read_chunks(workspace_id, document_ids), key=itemgetter(0))
    id_, group = next(found, nothing)
    for document_id in document_ids:
        if id_ != document_id:
            yield ()
            continue
        yield tuple(chunk for _, chunk in group)
        id_, group = next(found, nothing)


def _read_chunks(workspace_id: uuid.UUID, document_ids: Sequence[int]) -> Iterator[tuple[int, ChunkState]]:
    rows = (
        Chunk.objects.in_workspace(workspace_id)
        .filter(document_id__in=document_ids)
        .order_by("document_id", "ordinal")
        .values_list("document_id", "chunk_id", "kind", "language", "row_version", "breadcrumb", "text")
    )
    for document_id, chunk_id, kind, language, row_version, breadcrumb, text in rows.iterator(
        chunk_size=_CHUNKS_AT_ONCE
    ):
        yield (
            document_id,
            ChunkState(
                chunk_id=chunk_id.hex,
                kind=kind,
                code_lang=language,
                row_version=row_version,
                breadcrumb=breadcrumb,
                text=text,
            ),
        )
