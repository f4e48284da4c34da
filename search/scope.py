"""What a search may look at: a workspace, its visible sources and versions, and the query's filters."""

import uuid
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q

from kebab.people.models import Workspace
from search.models import Source, SourceVersion
from search.retrieval.filters import SearchFilters
from search.retrieval.glob import compile_glob


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Resolved filters. An empty tuple of keys or tags narrows nothing."""

    workspace_id: uuid.UUID
    filters: SearchFilters
    #: The log's head when the search began.
    head_seq: int
    source_keys: tuple[str, ...]
    #: ("",) is the default version alone.
    version_tags: tuple[str, ...]

    @property
    def narrows_documents(self) -> bool:
        """Whether a condition on document or chunk has to be checked, other than source and version."""
        return bool(self.filters.shape().keys() - {"source", "version"})

    def document_conditions(self, prefix: str = "") -> Q:
        """Give the conditions on a document; `prefix` leads to it from another model, like `document__`."""
        filters = self.filters
        paths = Q()
        for pattern in map(compile_glob, filters.path_glob):
            paths |= Q(**{f"{prefix}path__regex": pattern.sql_regex})
        lists = {
            "lang__in": filters.lang,
            "trust_level__in": filters.trust_min.or_better() if filters.trust_min else (),
            "media__in": filters.media,
            "doc_id__in": [uuid.UUID(hex=doc_id) for doc_id in filters.doc_id],
            "tags__overlap": list(filters.tags_any),
        }
        if filters.ingested_after is not None:
            lists["indexed_at__gt"] = filters.ingested_after
        chosen = Q(**{f"{prefix}{name}": value for name, value in lists.items() if value})
        return chosen & paths & self.place_conditions(prefix)

    def place_conditions(self, prefix: str = "") -> Q:
        """Give the conditions on a document's source and version."""
        conditions = Q()
        if self.source_keys:
            conditions &= Q(
                **{
                    f"{prefix}source__workspace": self.workspace_id,
                    f"{prefix}source__key__in": self.source_keys,
                }
            )
        if self.version_tags:
            conditions &= Q(
                **{
                    f"{prefix}version__workspace": self.workspace_id,
                    f"{prefix}version__tag__in": self.version_tags,
                }
            )
        return conditions


def resolve_scope(workspace: Workspace, filters: SearchFilters) -> Scope:
    """Give the scope of a search that begins now. Raises Workspace.DoesNotExist when it is gone.

    A query that names no version sees the default ones. Sources may be named by key or id; a name that
    nothing has finds nothing.
    """
    tagged = SourceVersion.objects.filter(workspace_id=OuterRef("pk")).exclude(tag="")
    row = (
        Workspace.objects.annotate(is_tagged=Exists(tagged))
        .values("head_seq", "is_tagged")
        .get(pk=workspace.pk)
    )
    return Scope(
        workspace_id=workspace.pk,
        filters=filters,
        head_seq=row["head_seq"],
        source_keys=_source_keys(workspace, filters.source),
        version_tags=filters.version or (("",) if row["is_tagged"] else ()),
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
