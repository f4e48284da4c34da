"""A web site as a source."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ingest.connectors.errors import ListingFailed
from ingest.connectors.project_file import ProjectFile
from ingest.connectors.types import Entry, ItemContent
from ingest.connectors.walk_rules import WalkRules
from ingest.connectors.web.config import WebConfig
from ingest.connectors.web.crawl import Crawl
from ingest.connectors.web.page_memory import PageMemory
from ingest.connectors.web.requests import SiteRequests
from search.models import Source
from search.retrieval.errors import InvalidGlob


@contextmanager
def open_site(
    source: Source, job_id: uuid.UUID, *, while_waiting: Callable[[], None], when_at: Callable[[str], None]
) -> Iterator["WebSource"]:
    """Open the site that a source reads for one job. Raises ListingFailed."""
    try:
        config = WebConfig.read(source.config)
    except (ValueError, InvalidGlob) as error:
        raise ListingFailed(str(error)) from error
    requests = SiteRequests(config.home, while_waiting)
    try:
        yield WebSource(config, requests, PageMemory(source, job_id), when_at)
    finally:
        requests.close()


class WebSource:
    """Lists a site by asking for its pages; what it reads then are the bytes that came with the listing."""

    revision = ""

    def __init__(
        self,
        config: WebConfig,
        requests: SiteRequests,
        memory: PageMemory,
        when_at: Callable[[str], None],
    ) -> None:
        self._config = config
        self._requests = requests
        self._memory = memory
        self._when_at = when_at

    def project_file(self) -> ProjectFile | None:
        """Return nothing: a site says nothing of itself."""
        return None

    def entries(self, rules: WalkRules) -> Iterator[Entry]:
        """Return the pages of the site. Raises ListingFailed, and what whoever waits raises."""
        crawl = Crawl(self._config, rules, self._memory, self._requests, self._when_at)
        return crawl.entries()

    def read(self, path: str) -> ItemContent:
        """Return a page's bytes and its address. Raises FileNotFoundError, OSError with what kept it back."""
        page, content = self._memory.read(path)
        return ItemContent(content=content, revision=page.revision, stated={"metadata": {"url": page.url}})
