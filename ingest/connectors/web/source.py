"""The connector of web sites."""

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
from search.retrieval.document_date import parse_http_date
from search.retrieval.errors import InvalidGlob


@contextmanager
def open_site(
    source: Source,
    job_id: uuid.UUID,
    *,
    while_waiting: Callable[[], None],
    on_position: Callable[[str], None],
) -> Iterator["WebSource"]:
    """Open the site that a source reads for one job. Raises ListingFailed."""
    try:
        config = WebConfig.parse(source.config)
    except (ValueError, InvalidGlob) as error:
        raise ListingFailed(str(error)) from error
    requests = SiteRequests(config.home, while_waiting)
    try:
        yield WebSource(config, requests, PageMemory(source, job_id), on_position)
    finally:
        requests.close()


class WebSource:
    """A connector that requests a site's pages when it lists them, and reads the stored bytes later."""

    revision = ""

    def __init__(
        self,
        config: WebConfig,
        requests: SiteRequests,
        memory: PageMemory,
        on_position: Callable[[str], None],
    ) -> None:
        self._config = config
        self._requests = requests
        self._memory = memory
        self._on_position = on_position

    def project_file(self) -> ProjectFile | None:
        """Return None: sites have no project file."""
        return None

    def entries(self, rules: WalkRules) -> Iterator[Entry]:
        """Yield the pages of the site. Raises ListingFailed, and the errors of the callbacks."""
        crawl = Crawl(self._config, rules, self._memory, self._requests, self._on_position)
        return crawl.entries()

    def read(self, path: str) -> ItemContent:
        """Return a page's bytes and its address. Raises FileNotFoundError, OSError with the site's error."""
        page, content = self._memory.read(path)
        return ItemContent(
            content=content,
            modified_at=parse_http_date(page.last_modified),
            revision=page.revision,
            stated={"metadata": {"url": page.url}},
        )
