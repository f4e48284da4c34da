"""A source as a library: which one an id means, and what is told of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Exists, OuterRef

from kebab.http.api.errors import NotFound
from kebab.people.models import Workspace
from kebab.people.reader import Reader
from search.access.querysets import sources_of
from search.libraries.ids import Reference, read_references
from search.libraries.version_tags import newest_first
from search.models import Document, Source, SourceVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A version that can be asked for."""

    tag: str
    #: '' where nobody gave it one.
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenLibrary:
    """A library at one of its versions; '' is the default branch."""

    source: Source
    version: str

    @property
    def rules(self) -> tuple[str, ...]:
        """Return what its owner wants heeded."""
        return tuple(self.source.rules)


def choose_library(workspace: Workspace, reader: Reader, text: str, version: str = "") -> ChosenLibrary:
    """Return the library and version that an id means, the version perhaps named beside it. Two queries.

    Raises InvalidLibraryId, and NotFound alike for a library or version that isn't there or isn't readable.
    """
    readings = [
        replace(reading, version=version or reading.version)
        for reading in read_references(text)
        if not version or reading.version in ("", version)
    ]
    found = sources_of(workspace, reader).filter(library_id__in={each.library_id for each in readings})
    sources = {source.library_id: source for source in found}
    tags = _tags(workspace, sources.values(), readings)
    for reading in readings:
        source = sources.get(reading.library_id)
        if source is not None and (not reading.version or (source.pk, reading.version) in tags):
            return ChosenLibrary(source=source, version=reading.version)
    raise NotFound


def versions_of(workspace: Workspace, sources: Sequence[Source]) -> dict[Any, tuple[Version, ...]]:
    """Return each source's versions that hold documents, by the source's key, the newest first. One query."""
    documents = Document.objects.in_workspace(workspace).filter(version=OuterRef("pk"))
    versions = SourceVersion.objects.in_workspace(workspace).filter(Exists(documents), source__in=sources)
    by_source: dict[Any, list[Version]] = {source.pk: [] for source in sources}
    for source_id, tag, title in versions.exclude(tag="").values_list("source_id", "tag", "title"):
        by_source[source_id].append(Version(tag=tag, title=title))
    return {
        source_id: tuple(newest_first(found, tag_of=lambda version: version.tag))
        for source_id, found in by_source.items()
    }


def _tags(workspace: Workspace, sources: Any, readings: Sequence[Reference]) -> set[tuple[Any, str]]:
    wanted = {reading.version for reading in readings} - {""}
    versions = SourceVersion.objects.in_workspace(workspace).filter(source__in=list(sources), tag__in=wanted)
    return set(versions.values_list("source_id", "tag"))
