"""Sites as what `kebab ingest URL` names."""

from argparse import ArgumentTypeError
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ingest.connectors.git.address import is_git_address
from ingest.connectors.web.config import WebConfig, site_config
from ingest.errors import AddressNotAllowed


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteTarget:
    """A site that is to be read."""

    #: As a web source has it.
    config: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Host and path as one name: `docs.example.org/guide/` gives `docs-example-org-guide`."""
        home = WebConfig.read(self.config).home
        path = home.key.partition("?")[0]
        return "-".join([*home.host.split("."), *(part for part in path.split("/") if part)])


def is_site_address(text: str) -> bool:
    """Return whether `text` is an address of the web, and none that can only be a repository's."""
    return text.lower().startswith(("http://", "https://")) and not is_git_address(text)


def site_target(text: str) -> SiteTarget:
    """Return the site that `text` names: a sitemap by its `.xml`, else a page whose links are followed.

    Raises ArgumentTypeError.
    """
    path = text.partition("?")[0].lower()
    name = "sitemap" if path.endswith((".xml", ".xml.gz")) else "url"
    try:
        return SiteTarget(config=site_config({name: text}))
    except (AddressNotAllowed, ValueError) as error:
        raise ArgumentTypeError(str(error)) from error
