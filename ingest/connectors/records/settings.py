"""Settings of a record reader, as its process gets them, and checks of the servers that they name."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from ingest.connectors.records.budget import ByteBudget
from ingest.connectors.web.addresses import Address, parse_address
from ingest.errors import AddressNotAllowed
from kebab.http_client.addresses import is_explicit_address, resolve_permitted
from kebab.http_client.errors import AddressRefused, RequestFailed


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderLimits:
    """Limits of what a reader takes from its server, and of its patience."""

    #: of one HTTP request; a command of IMAP has five times as long
    request_s: float = 60.0
    #: pauses before a request is repeated, longer if the server asks for it
    pauses_s: Sequence[float] = (1.0, 4.0, 16.0)
    #: after so many documents in a row that the server fails at, it is away
    broken_in_a_row: int = 20
    #: a program that prints nothing for this long is ended
    silence_s: float = 600.0
    #: of one answer of a listing
    answer_bytes: int = 32 * 1024**2
    #: of a listing beside those that each listed document adds, and of a document beside its own
    spare_bytes: int = 256 * 1024**2
    bytes_per_document: int = 64 * 1024
    #: that each request counts beside its answer
    bytes_per_request: int = 4 * 1024
    #: of a listing until its first document
    probe_bytes: int = 40 * 1024**2
    #: of one listing
    documents: int = 5_000_000
    #: issues of a page; the most that GitHub and GitLab return
    page_items: int = 100
    #: sources that list what has changed, but not all that is deleted, are listed whole this often
    relist_after_s: float = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderSettings:
    """The settings of a source, for one job."""

    config: Mapping[str, Any]
    credentials: Mapping[str, str]
    private_hosts: Collection[str]
    user_agent: str
    limits: ReaderLimits
    budget: ByteBudget

    @property
    def server(self) -> Address:
        """Return the server at `url`. Raises AddressNotAllowed."""
        return parse_server(self.config["url"])


def parse_server(url: str, *, keeps_query: bool = False) -> Address:
    """Parse the address of an HTTP server. Raises AddressNotAllowed."""
    address = parse_address(url, parameters=None if keeps_query else ())
    if address is None:
        # The message does not repeat the address, which may contain a password.
        raise AddressNotAllowed("The address can't be read; give http or https, without name and password.")
    return address


def check_server(config: Mapping[str, Any], *, keeps_query: bool = False) -> dict[str, Any]:
    """Return the config with its `url` in normal form. Raises AddressNotAllowed."""
    address = parse_server(config["url"], keeps_query=keeps_query)
    check_host(address.host, address.port)
    return {**config, "url": address.url}


def check_host(host: str, port: int) -> None:
    """Check a host that is given as an IP address. Raises AddressNotAllowed if it may not be reached.

    Host names are resolved and checked at every connection.
    """
    if not is_explicit_address(host):
        return
    try:
        resolve_permitted(host, port, settings.KEBAB_PRIVATE_HOSTS)
    except (AddressRefused, RequestFailed) as error:
        raise AddressNotAllowed(f"The server {error}.") from error
