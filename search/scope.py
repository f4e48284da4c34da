"""What a search may look at: a workspace, its visible sources and versions, and the query's filters."""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.db.models import Exists, OuterRef, Q, Subquery, UUIDField

from kebab.people.models import Workspace
from search.models import Source, SourceVersion
from search.retrieval.filters import SearchFilters
from search.retrieval.glob import compile_glob
from search.statements import Slot, Statement, compiled
from search.vectors.spaces import SPACE_AS_JSON, LiveSpace, live_spaces

#: What each condition on a document is to Django.
_LOOKUPS = {
    "path": "path__matches_any",
    "lang": "lang__any_of",
    "trust": "trust_level__any_of",
    "media": "media__any_of",
    "doc_id": "doc_id__any_of",
    "tags": "tags__overlap",
    "after": "indexed_at__gt",
    "source": "source__key__any_of",
    "version": "version__tag__any_of",
}
# Joined tables of their own, whose rows carry the workspace too.
_JOINED = ("source", "version")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Resolved filters. An empty tuple of keys or tags narrows nothing."""

    workspace_id: uuid.UUID
    filters: SearchFilters
    #: The log's head when the search began.
    head_seq: int
    #: None before the workspace's first vector.
    space: LiveSpace | None
    source_keys: tuple[str, ...]
    #: ("",) is the default version alone.
    version_tags: tuple[str, ...]

    @property
    def narrows_documents(self) -> bool:
        """Whether a condition on document or chunk has to be checked, other than source and version."""
        return bool(self.filters.shape().keys() - {"source", "version"})

    @property
    def values(self) -> dict[str, Any]:
        """Give the values of the conditions on a document that are in use, by name."""
        filters = self.filters
        values: dict[str, Any] = {
            "path": [compile_glob(pattern).sql_regex for pattern in filters.path_glob],
            "lang": list(filters.lang),
            "trust": [str(level) for level in filters.trust_min.or_better()] if filters.trust_min else [],
            "media": [media.value for media in filters.media],
            "doc_id": [uuid.UUID(hex=doc_id) for doc_id in filters.doc_id],
            "tags": list(filters.tags_any),
            "after": filters.ingested_after,
            "source": list(self.source_keys),
            "version": list(self.version_tags),
        }
        return {name: value for name, value in values.items() if value}

    def document_conditions(self, prefix: str = "") -> Q:
        """Give the conditions on a document; `prefix` leads to it from another model, like `document__`."""
        return conditions(self.values, self.workspace_id, prefix)

    def place_conditions(self, prefix: str = "") -> Q:
        """Give the conditions on a document's source and version."""
        placed = {name: value for name, value in self.values.items() if name in _JOINED}
        return conditions(placed, self.workspace_id, prefix)


def conditions(values: Mapping[str, Any], workspace_id: Any, prefix: str = "") -> Q:
    """Give the conditions on a document that `Scope.values` names; values may be slots of a statement."""
    wanted = {f"{prefix}{_LOOKUPS[name]}": value for name, value in values.items()}
    wanted |= {f"{prefix}{name}__workspace": workspace_id for name in _JOINED if name in values}
    return Q(**wanted)


def resolve_scope(workspace: Workspace, filters: SearchFilters) -> Scope:
    """Give the scope of a search that begins now. Raises Workspace.DoesNotExist when it is gone.

    A query that names no version sees the default ones. Sources may be named by key or id; a name that
    nothing has finds nothing.
    """
    rows = _workspace_now().rows({"workspace": workspace.pk})
    if not rows:
        raise Workspace.DoesNotExist(f"The workspace {workspace.pk} is gone.")
    head_seq, is_tagged, space = rows[0]
    return Scope(
        workspace_id=workspace.pk,
        filters=filters,
        head_seq=head_seq,
        space=None if space is None else LiveSpace(**json.loads(space)),
        source_keys=_source_keys(workspace, filters.source),
        version_tags=filters.version or (("",) if is_tagged else ()),
    )


@cache
def _workspace_now() -> Statement:
    tagged = SourceVersion.objects.filter(workspace_id=OuterRef("pk")).exclude(tag="")
    space = live_spaces(OuterRef("pk")).values(columns=SPACE_AS_JSON)
    return compiled(
        Workspace.objects.filter(pk=Slot("workspace", UUIDField()))
        .annotate(is_tagged=Exists(tagged), space=Subquery(space))
        .values_list("head_seq", "is_tagged", "space")
    )


def _source_keys(workspace: Workspace, names: tuple[str, ...]) -> tuple[str, ...]:
    ids = {name: _as_id(name) for name in names}
    if not any(ids.values()):
        return names
    by_id = dict(
        Source.objects.in_workspace(workspace)
        .filter(pk__in=[id_ for id_ in ids.values() if id_])
        .values_list("pk", "key")
    )
    return tuple(by_id.get(ids[name], name) for name in names)


def _as_id(name: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(name)
    except ValueError:
        return None
