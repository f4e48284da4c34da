"""The connector of web sites."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from http import HTTPStatus
from typing import Any
from urllib.parse import urljoin

from ingest.connectors.errors import ListingFailed
from ingest.connectors.project_file import ProjectFile
from ingest.connectors.types import Entry, ItemContent, OpenOptions
from ingest.connectors.walk_rules import WalkRules
from ingest.connectors.web.addresses import Address, parse_address
from ingest.connectors.web.config import WebConfig
from ingest.connectors.web.crawl import Crawl
from ingest.connectors.web.discovery import RobotsFile
from ingest.connectors.web.page_memory import PageMemory
from ingest.connectors.web.pages import MAX_LOCATION_CHARS, REDIRECTS
from ingest.connectors.web.requests import SiteAnswer, SiteRequests
from kebab.http_client.connections import RequestFailed, mask_address
from search.retrieval.document_date import parse_http_date
from search.retrieval.errors import InvalidGlob


@contextmanager
def open_site(options: OpenOptions) -> Iterator["WebSource"]:
    """Open the site that a source reads for one job. Raises ListingFailed."""
    try:
        config = WebConfig.parse(options.source.config)
    except (ValueError, InvalidGlob) as error:
        raise ListingFailed(str(error)) from error
    memory = PageMemory(options.source, options.job_id)
    requests = SiteRequests(
        config.home, options.while_waiting, max_bytes=config.max_bytes, received_bytes=memory.size_bytes()
    )
    with closing(requests):
        yield WebSource(config, requests, memory, options.on_position)


def open_start_page(config: Mapping[str, Any], while_waiting: Callable[[], None]) -> str:
    """Request the start page, else the sitemap, and return its address; robots.txt is obeyed.

    Raises ListingFailed when it can't be read, RequestFailed, and the errors of `while_waiting`.
    """
    parsed = WebConfig.parse(config)
    page = parsed.start or parsed.home
    with closing(SiteRequests(parsed.home, while_waiting, max_bytes=parsed.max_bytes)) as requests:
        if not RobotsFile.fetch(requests, parsed.home).allows(page.url):
            raise ListingFailed(f"robots.txt of {page.host} does not allow {page.url}.")
        try:
            with requests.get(page, {}) as answer:
                _check_answer(page, answer)
        except RequestFailed as error:
            raise ListingFailed(f"{page.url} {error}.") from error
    return page.url


def _check_answer(page: Address, answer: SiteAnswer) -> None:
    if answer.status in REDIRECTS:
        location = urljoin(page.url, answer.header("location")[:MAX_LOCATION_CHARS])
        target = parse_address(location)
        if target is None or target.site != page.site:
            shown = mask_address(location, keeps_path=True)[:200]
            raise ListingFailed(f"{page.url} leads to {shown}; give that address.")
    elif answer.status != HTTPStatus.OK:
        raise ListingFailed(f"{page.url} answers {answer.status}.")


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
