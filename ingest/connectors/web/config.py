"""The configuration of a web source."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from django.conf import settings
from django.utils.translation import gettext as _

from ingest.connectors.web.addresses import Address, UrlScope, parse_address
from ingest.errors import AddressNotAllowed
from kebab.http_client.connections import (
    AddressRefused,
    RequestFailed,
    is_explicit_address,
    resolve_permitted,
)
from search.retrieval.query.glob import Glob, compile_glob

DEFAULT_MAX_PAGES: Final = 1_000
DEFAULT_MAX_DEPTH: Final = 20
#: Bytes of all answers of a crawl: a page of the web has 30 to 100 kB, a manual as PDF some megabytes.
_BYTES_PER_PAGE: Final = 2_000_000
_LEAST_MAX_BYTES: Final = 500_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WebConfig:
    """A start page whose links are followed, a sitemap whose pages are read, or both."""

    #: An address of the site: the start page, else the sitemap.
    home: Address
    start: Address | None
    sitemap: Address | None
    scope: UrlScope
    include: Sequence[Glob]
    exclude: Sequence[Glob]
    max_pages: int
    max_depth: int
    #: Names of query parameters to keep in addresses; None: those that tell pages apart by their contents.
    parameters: frozenset[str] | None

    @classmethod
    def parse(cls, config: Mapping[str, Any]) -> Self:
        """Parse the configuration of a source. Raises ValueError, InvalidGlob."""
        named = config.get("query_parameters")
        parameters = None if named is None else frozenset(named)
        start = _parse_config_address(config, "url", parameters)
        sitemap = _parse_config_address(config, "sitemap", parameters, keeps_query=True)
        home = start or sitemap
        if home is None:
            raise ValueError("Give url, a page whose links are followed, or sitemap, or both.")
        if sitemap is not None and sitemap.site != home.site:
            raise ValueError("Give a sitemap of the same host as url: a web source reads one host.")
        is_whole = start is None or config.get("whole_host", False)
        return cls(
            home=home,
            start=start,
            sitemap=sitemap,
            scope=UrlScope.whole_site(home) if is_whole else UrlScope.below(home),
            include=[compile_glob(pattern) for pattern in config.get("include", ())],
            exclude=[compile_glob(pattern) for pattern in config.get("exclude", ())],
            max_pages=config.get("max_pages", DEFAULT_MAX_PAGES),
            max_depth=config.get("max_depth", DEFAULT_MAX_DEPTH),
            parameters=parameters,
        )

    @property
    def max_bytes(self) -> int:
        """Return the most that the site may send in one crawl."""
        return _LEAST_MAX_BYTES + _BYTES_PER_PAGE * self.max_pages

    def is_chosen(self, path: str) -> bool:
        """Return whether the patterns include a document path."""
        is_included = not self.include or any(pattern.matches(path) for pattern in self.include)
        return is_included and not any(pattern.matches(path) for pattern in self.exclude)


def site_config(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration to store, with addresses in normal form.

    Raises AddressNotAllowed for a host that by its text alone may not be reached, ValueError, InvalidGlob.
    """
    config = WebConfig.parse(given)
    check_site(config.home)
    addresses = {"url": config.start, "sitemap": config.sitemap}
    written = {name: address.url for name, address in addresses.items() if address is not None}
    return {**given, **written}


def check_site(address: Address) -> None:
    """Check a host that is given as an IP address. Raises AddressNotAllowed if it may not be reached.

    Host names are resolved and checked at every connection.
    """
    if not is_explicit_address(address.host):
        return
    try:
        resolve_permitted(address.host, address.port, settings.KEBAB_PRIVATE_HOSTS)
    except AddressRefused as error:
        raise AddressNotAllowed(f"The site's host {error}.") from error
    except RequestFailed as error:
        raise AddressNotAllowed(f"The site's host {error}; check it.") from error


def _parse_config_address(
    config: Mapping[str, Any], name: str, parameters: frozenset[str] | None, *, keeps_query: bool = False
) -> Address | None:
    text = config.get(name)
    if text is None:
        return None
    address = parse_address(str(text), parameters=None if keeps_query else parameters)
    if address is None:
        # The message does not repeat the address, which may contain a password.
        raise ValueError(
            _(
                "%(name)s: enter an address that starts with http:// or https://, without user name and"
                " password."
            )
            % {"name": name}
        )
    return address
