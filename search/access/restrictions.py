"""Restriction of sources to groups of readers, and querysets of what a reader may see."""

import re
import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db import transaction
from django.db.models import Count, OuterRef, Q, QuerySet

from kebab.errors import NotFound
from kebab.identity.models import Workspace
from kebab.identity.reader import OPERATOR, Reader
from kebab.people.groups import lock_groups
from search.models import Document, Source, SourceReader, is_readable

_DOCUMENT_ID = re.compile(
    r"(?<![\w-])[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}(?![\w-])", re.IGNORECASE | re.ASCII
)
# Documents that are compared with names.
_MATCHES = 1_000

#: Ids of groups in order; None: every member of the workspace reads the source.
Groups = list[uuid.UUID] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Restriction:
    """The readers of a source before and after a change."""

    before: Groups
    after: Groups

    @property
    def facts(self) -> dict[str, list[str] | None]:
        """Return `before` and `after` for the audit log."""
        return {"before": _texts(self.before), "after": _texts(self.after)}


def restrict(source: Source, groups: Collection[uuid.UUID] | None) -> Restriction:
    """Restrict the source to the members of `groups`; none: only owners and admins; None: every member.

    It takes effect from the next request on. Raises NotFound if the source is deleted, Unprocessable for an
    id that no group of the workspace has.
    """
    with transaction.atomic():
        sources = Source.objects.in_workspace(source.workspace_id).filter(pk=source.pk)
        if sources.select_for_update(no_key=True).first() is None:
            raise NotFound
        before = readers_of(
            annotate_readers(sources).get()
        )  # after the lock, so that nobody else changes them
        after = None if groups is None else sorted(set(groups))
        lock_groups(source.workspace_id, after or [], field="readers")
        rows = SourceReader.objects.in_workspace(source.workspace_id).filter(source=source.pk)
        rows.exclude(group__in=after or []).delete()
        sources.update(is_restricted=after is not None)
        added = [
            SourceReader(workspace_id=source.workspace_id, source_id=source.pk, group_id=group)
            for group in after or []
        ]
        SourceReader.objects.bulk_create(added, ignore_conflicts=True)
    return Restriction(before=before, after=after)


def annotate_readers(sources: "QuerySet[Source]", shown_to: Reader = OPERATOR) -> "QuerySet[Any]":
    """Return the sources with the groups for `readers_of`, of a restricted reader only their own groups."""
    groups = SourceReader.objects.filter(source=OuterRef("pk"), workspace=OuterRef("workspace"))
    if not shown_to.reads_all:
        groups = groups.filter(group__in=shown_to.groups)
    return sources.annotate(reader_groups=ArraySubquery(groups.order_by("group_id").values("group_id")))


def readers_of(source: Any) -> Groups:
    """Return the groups that a source from `annotate_readers` is restricted to."""
    return sorted(source.reader_groups) if source.is_restricted else None


def hidden_sources(workspace: Workspace, reader: Reader) -> "QuerySet[Source]":
    """Return the sources that are hidden from `reader`, which counts of the whole workspace include."""
    restricted = Source.objects.in_workspace(workspace).filter(is_restricted=True)
    if reader.reads_all:
        return restricted.none()
    return restricted.exclude(is_readable(list(reader.groups)))


def count_restricted(workspace: Workspace, groups: Collection[uuid.UUID]) -> Mapping[uuid.UUID, int]:
    """Return the number of restricted sources of each group, without groups that have none."""
    rows = SourceReader.objects.in_workspace(workspace).filter(group__in=groups).order_by()
    return dict(rows.values("group_id").annotate(count=Count("*")).values_list("group_id", "count"))


def _texts(groups: Groups) -> list[str] | None:
    return None if groups is None else [str(group) for group in groups]


def visible_sources(workspace: Workspace, reader: Reader) -> "QuerySet[Source]":
    """Return the sources that `reader` may see."""
    sources: QuerySet[Source] = Source.objects.in_workspace(workspace).readable_by(reader)
    return sources


def visible_documents(workspace: Workspace, reader: Reader) -> "QuerySet[Document]":
    """Return the documents that `reader` may see."""
    documents: QuerySet[Document] = Document.objects.in_workspace(workspace)
    if reader.reads_all:
        return documents
    return documents.filter(source__in=visible_sources(workspace, reader).order_by().values("pk"))


def find_by_name(
    documents: "QuerySet[Document]", names: Collection[str]
) -> Mapping[str, Collection[Document]]:
    """Return the documents that each name means: a title in any case, a path, an id, a page's address.

    '' is ignored.
    """
    keys = {
        name: (*map(uuid.UUID, _DOCUMENT_ID.findall(name)), name, name.lower())
        for name in filter(None, names)
    }
    ids = [key for each in keys.values() for key in each[:-2]]
    meant = Q(doc_id__in=ids) | Q(path__in=keys) | Q(title_folded__in=[each[-1] for each in keys.values()])
    rows = documents.filter(meant).order_by("path", "id")[:_MATCHES] if keys else ()
    found: dict[object, list[Document]] = {}
    for row in rows:
        for key in {row.doc_id, row.path, row.title_folded}:
            found.setdefault(key, []).append(row)
    return {
        name: dict.fromkeys(chain.from_iterable(found.get(key, ()) for key in each))
        for name, each in keys.items()
    }
