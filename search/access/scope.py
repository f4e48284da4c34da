"""What a search may look at: a workspace, the sources that its reader may read, and the query's filters."""

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.contrib.postgres.fields import ArrayField
from django.db.models import (
    Case,
    Exists,
    Expression,
    F,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    TextField,
    UUIDField,
    Value,
    When,
)
from django.db.models.functions import Cast, Concat

from kebab.database.compiled_queries import Slot, Statement, compiled
from kebab.people.models import Workspace
from kebab.people.reader import Reader
from kebab.uuids import as_uuid
from search.models import Chunk, Source, SourceVersion, is_readable
from search.retrieval.query.filters import SearchFilters
from search.retrieval.query.glob import compile_glob
from search.vectors.spaces import SPACE_AS_JSON, LiveSpace, live_spaces

#: What each condition on a document is to Django.
_LOOKUPS = {
    "path": "path__matches_any",
    "not_path": "path__matches_none",
    "lang": "lang__any_of",
    "trust": "trust_level__any_of",
    "media": "media__any_of",
    "doc_id": "doc_id__any_of",
    "tags": "tags__overlap",
    "after": "indexed_at__gt",
    "source": "source__pk__any_of",
    "version": "version__tag__any_of",
}
#: The same for those on a chunk itself.
_CHUNK_LOOKUPS = {"kind": "kind__any_of", "code_lang": "language__any_of"}
# A joined table of its own, whose rows carry the workspace too.
_JOINED = ("version",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Some sources of a workspace: what Postgres and mirrors know them by. Of none there is no row."""

    ids: tuple[uuid.UUID, ...] = ()
    #: In order.
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Resolved filters and rights."""

    workspace_id: uuid.UUID
    filters: SearchFilters
    #: The log's head when the search began.
    head_seq: int
    #: None before the workspace's first vector.
    space: LiveSpace | None
    #: What rows may be of, by the filters and the reader's rights; None: any source.
    sources: Sources | None
    #: What the reader may read, whatever the filters say; None: every source that there is.
    readable: Sources | None
    #: ("",) is the default version alone; an empty tuple narrows nothing.
    version_tags: tuple[str, ...]
    #: Whether the search has waited for a change: then it is to miss nothing that has been there since.
    is_awaited: bool = False

    @property
    def values(self) -> dict[str, Any]:
        """Return the values of the conditions on a document that are in use, by name."""
        filters = self.filters
        values: dict[str, Any] = {
            "path": [compile_glob(pattern).sql_regex for pattern in filters.path_glob],
            "not_path": [compile_glob(pattern).sql_regex for pattern in filters.path_not_glob],
            "lang": list(filters.lang),
            "trust": [str(level) for level in filters.trust_min.or_better()] if filters.trust_min else [],
            "media": [media.value for media in filters.media],
            "doc_id": [uuid.UUID(hex=doc_id) for doc_id in filters.doc_id],
            "tags": list(filters.tags_any),
            "after": filters.ingested_after,
            "version": list(self.version_tags),
        }
        used = {name: value for name, value in values.items() if value}
        return used if self.sources is None else used | {"source": list(self.sources.ids)}

    @property
    def chunk_values(self) -> dict[str, Any]:
        """Return `values` with those of the conditions on a chunk itself, its kind and language."""
        on_chunk = {
            "kind": [kind.value for kind in self.filters.kind],
            "code_lang": list(self.filters.code_lang_names),
        }
        return self.values | {name: value for name, value in on_chunk.items() if value}

    def document_conditions(self) -> Q:
        """Return the conditions on a document."""
        return conditions(self.values, self.workspace_id)


def conditions(values: Mapping[str, Any], workspace_id: Any, prefix: str = "") -> Q:
    """Return the conditions on a document that `Scope.values` names; values may be slots of a statement."""
    wanted = {f"{prefix}{_LOOKUPS[name]}": value for name, value in values.items()}
    wanted |= {f"{prefix}{name}__workspace": workspace_id for name in _JOINED if name in values}
    return Q(**wanted)


def chunks_in(workspace_id: Any, values: Mapping[str, Any]) -> "QuerySet[Chunk]":
    """Return the chunks that pass what `Scope.chunk_values` names; values may be slots of a statement."""
    on_document = {name: value for name, value in values.items() if name not in _CHUNK_LOOKUPS}
    on_chunk = {_CHUNK_LOOKUPS[name]: value for name, value in values.items() if name in _CHUNK_LOOKUPS}
    chunks = Chunk.objects.filter(workspace_id=workspace_id, **on_chunk)
    if not on_document:
        return chunks
    return chunks.filter(
        conditions(on_document, workspace_id, "document__"), document__workspace=workspace_id
    )


def slots(names: Iterable[str]) -> dict[str, Slot]:
    """Return a slot for each name, in order: what a statement takes in the place of values."""
    return {name: Slot(name) for name in sorted(names)}


def resolve_scope(workspace: Workspace, filters: SearchFilters, reader: Reader) -> Scope:
    """Return the scope of a search by `reader` that begins now, in one statement.

    A query that names no version sees the default ones. Sources may be named by key or id; a name that
    nothing has, or nothing that the reader may read, finds nothing. Raises Workspace.DoesNotExist when it is
    gone.
    """
    values = {
        "workspace": workspace.pk,
        "groups": list(reader.groups),
        "names": list(filters.source),
        "ids": [id_ for id_ in map(as_uuid, filters.source) if id_ is not None],
    }
    rows = _workspace_now(reader.reads_all, bool(filters.source)).rows(values)
    if not rows:
        raise Workspace.DoesNotExist(f"The workspace {workspace.pk} is gone.")
    head_seq, is_tagged, space, readable, named = rows[0]
    return Scope(
        workspace_id=workspace.pk,
        filters=filters,
        head_seq=head_seq,
        space=None if space is None else LiveSpace(**json.loads(space)),
        sources=_sources(named if filters.source else readable),
        readable=_sources(readable),
        version_tags=filters.version or (("",) if is_tagged else ()),
    )


@cache
def _workspace_now(reads_all: bool, is_narrowed: bool) -> Statement:
    """Head, versions, space, the readable sources (NULL where none is hidden) and those that filters name."""
    tagged = SourceVersion.objects.filter(workspace_id=OuterRef("pk")).exclude(tag="")
    space = live_spaces(OuterRef("pk")).values(columns=SPACE_AS_JSON)
    return compiled(
        Workspace.objects.filter(pk=Slot("workspace", UUIDField()))
        .annotate(is_tagged=Exists(tagged), space=Subquery(space))
        .annotate(
            readable=_NULL if reads_all else _readable(), named=_named(reads_all) if is_narrowed else _NULL
        )
        .values_list("head_seq", "is_tagged", "space", "readable", "named"),
        is_planned_once=True,
    )


_NULL = Value(None, output_field=ArrayField(TextField()))


def _readable() -> Expression:
    readable = is_readable(Slot("groups"))
    hidden = _of_workspace().filter(is_restricted=True).exclude(readable)  # an index has these alone
    return Case(When(Exists(hidden), then=_listed(_of_workspace().filter(readable))), default=_NULL)


def _named(reads_all: bool) -> Expression:
    named = _of_workspace().filter(Q(key__any_of=Slot("names")) | Q(pk__any_of=Slot("ids")))
    return _listed(named if reads_all else named.filter(is_readable(Slot("groups"))))


def _of_workspace() -> "QuerySet[Source]":
    return Source.objects.filter(workspace_id=OuterRef("pk"))


def _listed(sources: "QuerySet[Source]") -> ArraySubquery:
    """Each source's id and key, in the order of the keys; without a source an empty array, never NULL."""
    listed = Concat(Cast("pk", TextField()), Value(" "), F("key"), output_field=TextField())
    return ArraySubquery(sources.order_by("key").values(listed=listed))


def _sources(listed: Sequence[str] | None) -> Sources | None:
    if listed is None:
        return None
    pairs = [each.split(" ") for each in listed]
    return Sources(ids=tuple(uuid.UUID(id_) for id_, _ in pairs), keys=tuple(key for _, key in pairs))
