"""Web sites as targets of `kebab ingest URL`."""

from argparse import ArgumentTypeError
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ingest.connectors.git.address import is_git_address
from ingest.connectors.web.config import WebConfig, site_config
from ingest.errors import AddressNotAllowed


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteTarget:
    """A site to be ingested."""

    #: Configuration of a web source.
    config: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Return host and path as one name: `docs-example-org-guide` for `docs.example.org/guide/`."""
        home = WebConfig.parse(self.config).home
        path = home.key.partition("?")[0]
        return "-".join([*home.host.split("."), *(part for part in path.split("/") if part)])


def is_site_address(text: str) -> bool:
    """Return whether `text` is an HTTP address and not that of a repository."""
    return text.lower().startswith(("http://", "https://")) and not is_git_address(text)


def site_target(text: str) -> SiteTarget:
    """Return the site at the address `text`: a sitemap if it ends in `.xml`, else a page to crawl from.

    Raises ArgumentTypeError.
    """
    path = text.partition("?")[0].lower()
    name = "sitemap" if path.endswith((".xml", ".xml.gz")) else "url"
    try:
        return SiteTarget(config=site_config({name: text}))
    except (AddressNotAllowed, ValueError) as error:
        raise ArgumentTypeError(str(error)) from error
