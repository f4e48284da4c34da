"""The kind of source that reads a web site."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Final
from urllib.parse import urlsplit

from django.utils.translation import gettext_lazy as _

from ingest.connectors.declaration import ConnectorField, ConnectorKind, MayRead
from ingest.connectors.types import Connector, OpenOptions
from ingest.connectors.web.config import DEFAULT_MAX_DEPTH, DEFAULT_MAX_PAGES, WebConfig, site_config
from ingest.connectors.web.source import open_site, open_start_page
from search.models import Source, SourceKind


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
