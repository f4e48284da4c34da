"""The scope of a search: a workspace, the sources that the reader may read, and the query's filters."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import orjson
from django.contrib.postgres.expressions import ArraySubquery
from django.contrib.postgres.fields import ArrayField
from django.db.models import (
    BooleanField,
    Case,
    Exists,
    Expression,
    F,
    Func,
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

from kebab.database.compiled_queries import CompiledQuery, Param, compile_queryset
from kebab.identity.models import Workspace
from kebab.identity.reader import Reader
from kebab.uuids import parse_uuid
from search.mirror.sync.snapshot import LATEST_TOKENS
from search.models import Source, SourceVersion, is_readable
from search.retrieval.query.conditions import Comparison, Condition, NamedCondition
from search.retrieval.query.filters import SearchFilters
from search.retrieval.query.operators import QueryOperators
from search.retrieval.query.rules import NO_RULES, SearchRules
from search.settings.search_settings import rules_of
from search.vectors.spaces import SPACE_AS_JSON, LiveSpace, live_spaces


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Sources of a workspace, by their ids in Postgres and keys in mirrors. Without any, no row matches."""

    ids: tuple[uuid.UUID, ...] = ()
    #: Sorted.
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SearchScope:
    """The resolved filters and rights of a search."""

    workspace_id: uuid.UUID
    filters: SearchFilters
    #: The head of the change log at the start of the search.
    head_seq: int
    #: Tokens of the latest changes, newest first; they tell histories of the log apart.
    tokens: Sequence[int] = ()
    #: None before the workspace's first vector.
    space: LiveSpace | None
    #: The sources allowed by the filters and the reader's rights; None: any source.
    sources: Sources | None
    #: The sources that the reader may read, regardless of the filters; None: all sources.
    readable: Sources | None
    #: ("",) is the default version only; an empty tuple means no restriction.
    version_tags: tuple[str, ...]
    #: Whether the search has waited for a change; then it must miss nothing indexed since.
    has_waited: bool = False
    #: The operators typed in the query; None without any.
    operators: QueryOperators | None = None
    #: The workspace's search rules.
    rules: SearchRules = NO_RULES
    #: Whether it was read from a standby, which may lack changes that the mirror has.
    is_of_standby: bool = False

    @property
    def head(self) -> tuple[int, int]:
        """Return number and token of the head, 0 and 0 before the first change."""
        return self.head_seq, self.tokens[0] if self.tokens else 0

    @cached_property
    def filter_conditions(self) -> tuple[NamedCondition, ...]:
        """The conditions of the filters."""
        found = list(self.filters.conditions())
        if self.filters.source and self.sources is not None:
            found.append(NamedCondition(name="source", condition=_are_in(self.sources)))
        if self.version_tags:
            of_version = Comparison(field="version", test="one_of", values=self.version_tags)
            found.append(NamedCondition(name="version", condition=of_version))
        return tuple(found)

    @cached_property
    def conditions(self) -> tuple[NamedCondition, ...]:
        """The conditions of the filters and of the typed operators."""
        typed = () if self.operators is None else self.operators.conditions
        return (*self.filter_conditions, *typed)

    @cached_property
    def narrowing(self) -> tuple[Condition, ...]:
        """These conditions and that of the reader's rights, by which PostgreSQL narrows."""
        conditions = tuple(each.condition for each in self.conditions)
        if self.sources is None or self.filters.source:
            return conditions
        return (_are_in(self.sources), *conditions)


def _are_in(sources: Sources) -> Comparison:
    return Comparison(field="sources", test="one_of", values=(sources,))


def resolve_scope(
    workspace: Workspace, filters: SearchFilters, reader: Reader, *, has_waited: bool = False
) -> SearchScope:
    """Return the scope of a search by `reader` that begins now, in one statement.

    A query without a version covers the default versions. Sources may be named by key or id; the name of no
    source, or of one that the reader may not read, matches nothing. Raises Workspace.DoesNotExist if the
    workspace was deleted.
    """
    values = {
        "workspace": workspace.pk,
        "groups": list(reader.groups),
        "names": list(filters.source),
        "ids": [id_ for id_ in map(parse_uuid, filters.source) if id_ is not None],
    }
    rows = _scope_query(reader.reads_all, bool(filters.source)).fetch(values)
    if not rows:
        raise Workspace.DoesNotExist(f"The workspace {workspace.pk} is gone.")
    head_seq, tokens, is_tagged, space, readable, named, is_of_standby = rows[0]
    return SearchScope(
        workspace_id=workspace.pk,
        filters=filters,
        head_seq=head_seq,
        tokens=tokens,
        space=None if space is None else LiveSpace(**orjson.loads(space)),
        sources=_parse_sources(named if filters.source else readable),
        readable=_parse_sources(readable),
        version_tags=filters.version or (("",) if is_tagged else ()),
        has_waited=has_waited,
        rules=rules_of(workspace),
        is_of_standby=is_of_standby,
    )


@cache
def _scope_query(reads_all: bool, is_narrowed: bool) -> CompiledQuery:
    """Return the query of head, versions, space, readable (NULL if none is hidden), named and the server."""
    tagged = SourceVersion.objects.filter(workspace_id=OuterRef("pk")).exclude(tag="")
    space = live_spaces(OuterRef("pk")).values(columns=SPACE_AS_JSON)
    return compile_queryset(
        Workspace.objects.filter(pk=Param("workspace", UUIDField()))
        .annotate(latest_tokens=LATEST_TOKENS, is_tagged=Exists(tagged), space=Subquery(space))
        .annotate(
            readable=_NULL if reads_all else _readable_sources(),
            named=_named_sources(reads_all) if is_narrowed else _NULL,
            on_standby=Func(function="pg_is_in_recovery", output_field=BooleanField()),
        )
        .values_list("head_seq", "latest_tokens", "is_tagged", "space", "readable", "named", "on_standby"),
        is_prepared=True,
    )


_NULL = Value(None, output_field=ArrayField(TextField()))


def _readable_sources() -> Expression:
    readable = is_readable(Param("groups"))
    hidden = _workspace_sources().filter(is_restricted=True).exclude(readable)  # uses a partial index
    return Case(When(Exists(hidden), then=_source_list(_workspace_sources().filter(readable))), default=_NULL)


def _named_sources(reads_all: bool) -> ArraySubquery:
    named = _workspace_sources().filter(Q(key__any_of=Param("names")) | Q(pk__any_of=Param("ids")))
    return _source_list(named if reads_all else named.filter(is_readable(Param("groups"))))


def _workspace_sources() -> "QuerySet[Source]":
    return Source.objects.filter(workspace_id=OuterRef("pk"))


def _source_list(sources: "QuerySet[Source]") -> ArraySubquery:
    """Return id and key of each source, sorted by key; without sources an empty array, never NULL."""
    listed = Concat(Cast("pk", TextField()), Value(" "), F("key"), output_field=TextField())
    return ArraySubquery(sources.order_by("key").values(listed=listed))


def _parse_sources(listed: Sequence[str] | None) -> Sources | None:
    if listed is None:
        return None
    pairs = [each.split(" ") for each in listed]
    return Sources(ids=tuple(uuid.UUID(id_) for id_, _ in pairs), keys=tuple(key for _, key in pairs))
