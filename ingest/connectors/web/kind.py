"""The kind of source that reads a web site."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

from django.utils.translation import gettext_lazy as _

from ingest.connectors.declaration import ConnectorField, ConnectorKind, MayRead
from ingest.connectors.errors import ListingFailed
from ingest.connectors.project_file import ProjectFile
from ingest.connectors.types import Connector, Entry, ItemContent, OpenOptions
from ingest.connectors.walk_rules import WalkRules
from ingest.connectors.web.addresses import parse_address
from ingest.connectors.web.config import DEFAULT_MAX_DEPTH, DEFAULT_MAX_PAGES, WebConfig, site_config
from ingest.connectors.web.crawl import Crawl
from ingest.connectors.web.discovery import RobotsFile
from ingest.connectors.web.page_memory import PageMemory
from ingest.connectors.web.pages import MAX_LOCATION_CHARS, REDIRECTS
from ingest.connectors.web.requests import SiteRequests
from kebab.http_client.connections import RequestFailed, mask_address
from search.models import Source, SourceKind
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
                if answer.status in REDIRECTS:
                    location = urljoin(page.url, answer.header("location")[:MAX_LOCATION_CHARS])
                    target = parse_address(location)
                    if target is None or target.site != page.site:
                        shown = mask_address(location, keeps_path=True)[:200]
                        raise ListingFailed(f"{page.url} leads to {shown}; give that address.")
                elif answer.status != HTTPStatus.OK:
                    raise ListingFailed(f"{page.url} answers {answer.status}.")
        except RequestFailed as error:
            raise ListingFailed(f"{page.url} {error}.") from error
    return page.url


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


class _SiteKind(ConnectorKind):
    def validate(self, config: Mapping[str, Any]) -> None:
        """Validate the addresses. Raises ValueError."""
        WebConfig.parse(config)

    def check_config(self, given: Mapping[str, Any], may_read: MayRead) -> Mapping[str, Any]:
        """Return the config with its addresses in normal form. Raises AddressNotAllowed."""
        return site_config(given)

    def derive_title(self, config: Mapping[str, Any]) -> str:
        """Return the host and the path of the start page."""
        split = urlsplit(config["url"])
        return f"{split.hostname or ''}{split.path}".rstrip("/")

    def open(self, options: OpenOptions) -> AbstractContextManager[Connector]:
        """Open the site; see `open_site`."""
        return open_site(options)

    def probe(self, source: Source, while_waiting: Callable[[], None]) -> str:
        """Request the start page; see `open_start_page`."""
        return str(_("Connected: %(url)s answers.")) % {"url": open_start_page(source.config, while_waiting)}


WEB: Final = _SiteKind(
    kind=SourceKind.WEB,
    label=_("Website"),
    heading=_("Add a website"),
    summary=_("The pages below an address. Respects robots.txt."),
    icon="globe",
    fields=(
        ConnectorField(
            name="url",
            label=_("URL"),
            help=_("The start page. Pages below it are read; robots.txt is respected."),
            api_help="http or https; what lies below it is read.",
        ),
        ConnectorField(name="sitemap", help="XML, an index of such, or one address a line."),
        ConnectorField(
            name="whole_host", help="Also what lies not below `url`; false by default.", type="flag"
        ),
        ConnectorField(
            name="include",
            label=_("Include only"),
            help=_("Comma-separated path patterns, such as docs/**"),
            api_help="Patterns of paths such as docs/**; without any, all pages are read.",
            type="patterns",
        ),
        ConnectorField(
            name="exclude",
            label=_("Exclude"),
            help=_("Comma-separated path patterns, such as blog/**"),
            api_help="",
            type="patterns",
        ),
        ConnectorField(
            name="max_pages",
            label=_("Page limit"),
            api_help=f"{DEFAULT_MAX_PAGES:,} by default.",
            type="number",
            limits=(1, 20_000),
        ),
        ConnectorField(
            name="max_depth",
            help=f"Links from the start page on; {DEFAULT_MAX_DEPTH} by default.",
            type="number",
            limits=(0, 1_000),
        ),
        ConnectorField(
            name="query_parameters",
            help="Names that tell pages apart, by default learned; the rest of every query is dropped.",
            type="list",
            max_chars=100,
        ),
    ),
    asked=("url",),
    schema_name="Site",
    config_doc=(
        "The configuration of a web source: `url`, whose links are followed, `sitemap`, or both, of one host."
    ),
)
