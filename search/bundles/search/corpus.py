"""The small sections of a bundle for searches: workspace, sources, versions and live space."""

import uuid
from dataclasses import dataclass

from kebab.people.models import Workspace
from kebab.people.workspace_settings.registry import clean_preferences
from search.access.scope import SearchScope, Sources
from search.bundles.errors import BundleRefused
from search.bundles.format.row_reader import BundleReader, Row
from search.models import SpaceState
from search.retrieval.query.filters import SearchFilters
from search.settings.search_settings import rules_of
from search.vectors.spaces import LiveSpace


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    id: uuid.UUID
    key: str


class BundleCorpus:
    """The small sections of an open bundle that searches need."""

    def __init__(self, reader: BundleReader) -> None:
        """Read the sections. Raises BundleRefused."""
        self._reader = reader
        self._sources = {
            number: _Source(id=row["id"], key=row["key"]) for number, row in self._small_section("sources")
        }
        #: Source key and tag of each version, by its number.
        self.versions = {
            number: (self._sources[row["source_number"]].key, row["tag"])
            for number, row in self._small_section("versions")
            if row["source_number"] in self._sources
        }
        #: An unsaved instance without a row in Postgres.
        self.workspace = self._read_workspace()
        #: None when the bundle has no vectors to search.
        self.space = self._read_live_space()

    def _small_section(self, section: str) -> list[tuple[int, Row]]:
        return list(self._reader.small_rows(section))

    def _read_workspace(self) -> Workspace:
        rows = self._small_section("workspace")
        if len(rows) != 1:
            raise BundleRefused(f"{self._reader.path} is refused: it is not of one workspace.")
        row = rows[0][1]
        settings, _ = clean_preferences(row["settings"])
        return Workspace(slug=row["slug"], name=row["name"], corpus_id=row["corpus_id"], settings=settings)

    def _read_live_space(self) -> LiveSpace | None:
        for number, row in self._small_section("spaces"):
            if row["state"] == SpaceState.LIVE:
                names = ("model", "revision", "dim", "query_prefix", "passage_prefix", "epoch", "known_share")
                return LiveSpace(space_id=number, is_indexed=False, **{name: row[name] for name in names})
        return None

    def scope(self, filters: SearchFilters) -> SearchScope:
        """Return the scope of a search with these filters by a reader of everything."""
        wanted = frozenset(filters.source)
        sources = [
            source
            for source in self._sources.values()
            if not wanted or {source.key, str(source.id), source.id.hex} & wanted
        ]
        sources.sort(key=lambda source: source.key)
        listed = Sources(ids=tuple(each.id for each in sources), keys=tuple(each.key for each in sources))
        is_tagged = any(tag for _, tag in self.versions.values())
        return SearchScope(
            workspace_id=self.workspace.pk,
            filters=filters,
            head_seq=self._reader.manifest.seq,
            space=self.space,
            sources=listed if filters.source else None,
            readable=None,
            version_tags=filters.version or (("",) if is_tagged else ()),
            rules=rules_of(self.workspace),
        )
