"""Sources as libraries: resolution of library ids, versions and rules."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeVar

from django.db.models import Exists, OuterRef

from kebab.errors import NotFound
from kebab.identity.models import Workspace
from kebab.identity.reader import Reader
from search.access.restrictions import visible_sources
from search.libraries.ids import Reference, parse_references
from search.models import Document, Source, SourceVersion
from search.retrieval.wire_types import Keyword, NonEmpty

#: `/owner/repo`, or `/local/<slug>`.
LibraryId = Annotated[str, Keyword("pattern", "^/[^/@]+/[^/@]+$")]
T = TypeVar("T")

_PART = re.compile(r"[0-9]+|[^\W\d_]+")
# v1.0-rc1 < v1.0 < v1.0.1: letters come before the end, the end before numbers.
_LETTERS, _END, _NUMBER = 0, 1, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A version of a library."""

    tag: NonEmpty
    title: NonEmpty | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedLibrary:
    """A library at one of its versions, as named in results."""

    #: `/owner/repo`, or `/local/<slug>`.
    id: LibraryId
    #: None: the default branch.
    version: NonEmpty | None
    title: str
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenLibrary:
    """A library at one of its versions; '' is the default branch."""

    source: Source
    version: str

    @property
    def rules(self) -> tuple[str, ...]:
        """Return the rules that its owner has set for readers."""
        return tuple(self.source.rules)

    def identify(self) -> NamedLibrary:
        """Return it as named in results."""
        return NamedLibrary(
            id=str(self.source.library_id),
            version=self.version or None,
            title=self.source.title,
            description=self.source.description,
        )


def choose_library(workspace: Workspace, reader: Reader, text: str, version: str = "") -> ChosenLibrary:
    """Return the library and version of an id; `version` may be given separately. Two queries.

    Raises InvalidLibraryId, and NotFound both for libraries and versions that don't exist and for those that
    the reader may not read.
    """
    interpretations = [
        replace(interpretation, version=version or interpretation.version)
        for interpretation in parse_references(text)
        if not version or interpretation.version in ("", version)
    ]
    found = visible_sources(workspace, reader).filter(
        library_id__in={each.library_id for each in interpretations}
    )
    sources = {source.library_id: source for source in found}
    tags = _tags(workspace, sources.values(), interpretations)
    for interpretation in interpretations:
        source = sources.get(interpretation.library_id)
        if source is not None and (not interpretation.version or (source.pk, interpretation.version) in tags):
            return ChosenLibrary(source=source, version=interpretation.version)
    raise NotFound


def versions_of(workspace: Workspace, sources: Sequence[Source]) -> dict[Any, tuple[Version, ...]]:
    """Return the versions with documents, newest first, by the source's primary key. One query."""
    documents = Document.objects.in_workspace(workspace).filter(version=OuterRef("pk"))
    versions = SourceVersion.objects.in_workspace(workspace).filter(Exists(documents), source__in=sources)
    by_source: dict[Any, list[Version]] = {source.pk: [] for source in sources}
    for source_id, tag, title in versions.exclude(tag="").values_list("source_id", "tag", "title"):
        by_source[source_id].append(Version(tag=tag, title=title or None))
    return {
        source_id: tuple(newest_first(found, tag_of=lambda version: version.tag))
        for source_id, found in by_source.items()
    }


def newest_first(items: Iterable[T], *, tag_of: Callable[[T], str]) -> list[T]:
    """Sort the items by their tags' version numbers, highest first: v18, v17.2, v17, v17-beta, v9."""
    return sorted(items, key=lambda item: (_parts(tag_of(item)), tag_of(item)), reverse=True)


def _parts(tag: str) -> list[tuple[int, int, str]]:
    parts = [
        (_NUMBER, int(part), "") if part.isascii() and part.isdigit() else (_LETTERS, 0, part.lower())
        for part in _PART.findall(tag)
    ]
    return [*parts, (_END, 0, "")]


def _tags(workspace: Workspace, sources: Any, interpretations: Sequence[Reference]) -> set[tuple[Any, str]]:
    wanted = {interpretation.version for interpretation in interpretations} - {""}
    versions = SourceVersion.objects.in_workspace(workspace).filter(source__in=list(sources), tag__in=wanted)
    return set(versions.values_list("source_id", "tag"))
