"""Related data of sources for their pages: readers, versions, jobs and document counts."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from ingest.api.querysets import readable_jobs
from ingest.models import Job
from kebab.people.access.caller import Access
from kebab.people.models import Group
from search.access.restrictions import readers_of
from search.models import Document, Source, SourceVersion

#: Rows shown on a source's page.
LAST_JOBS = 5
SHOWN_VERSIONS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFacts:
    """Related data of one source."""

    #: Names of the groups that it is restricted to, of those that the visitor may see; None if unrestricted.
    readers: list[str] | None
    #: By tag, the default version first, SHOWN_VERSIONS at most.
    versions: list[SourceVersion]
    has_more_versions: bool
    #: Newest first.
    jobs: list[Job]


def with_document_counts(sources: "QuerySet[Any]") -> "QuerySet[Any]":
    """Return the sources, each with its `document_count`."""
    documents = Document.objects.filter(source=OuterRef("pk"), workspace=OuterRef("workspace")).order_by()
    count = documents.values("source").annotate(count=Count("*")).values("count")
    counted: QuerySet[Any] = sources.annotate(document_count=Coalesce(Subquery(count), 0))
    return counted


def source_facts(access: Access, source: Any) -> SourceFacts:
    """Return the related data of `source`, which is one of `readable_sources`."""
    versions = SourceVersion.objects.in_workspace(access.workspace).filter(source=source)
    shown = list(versions.order_by("tag")[: SHOWN_VERSIONS + 1])
    jobs = readable_jobs(access).filter(source=source.pk).order_by("-created_at", "id")
    return SourceFacts(
        readers=_names(access, source),
        versions=shown[:SHOWN_VERSIONS],
        has_more_versions=len(shown) > SHOWN_VERSIONS,
        jobs=list(jobs[:LAST_JOBS]),
    )


def _names(access: Access, source: Source) -> list[str] | None:
    groups = readers_of(source)
    if groups is None:
        return None
    rows = Group.objects.filter(workspace=access.workspace, pk__in=groups)
    return list(rows.order_by("name").values_list("name", flat=True))
