"""Settings of a record connector, and the declaration of its fields."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from django.conf import settings
from django.utils.functional import Promise

from ingest.connectors.records.protocol import RecordReader
from ingest.connectors.web.addresses import Address, parse_address
from ingest.errors import AddressNotAllowed
from kebab.http_client.addresses import is_explicit_address, resolve_permitted
from kebab.http_client.errors import AddressRefused, RequestFailed
from search.models import SourceKind

Words = str | Promise
MAX_TEXT_CHARS: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorField:
    """A field of a connector, from which the API's serializer and the page's form are made."""

    name: str
    label: Words
    help: Words = ""
    type: Literal["text", "list", "secret", "flag"] = "text"
    is_required: bool = False
    #: Part of the credentials, which are encrypted and never shown.
    is_credential: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderSettings:
    """The settings of a source, for one job."""

    config: Mapping[str, Any]
    credentials: Mapping[str, str]
    #: called a few times a second during a wait; ends the wait by raising
    while_waiting: Callable[[], None]

    @property
    def server(self) -> Address:
        """Return the server at `url`. Raises AddressNotAllowed."""
        return parse_server(self.config["url"])


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorKind:
    """A kind of source whose connector yields records."""

    kind: SourceKind
    label: Words
    #: of the page that adds one
    heading: Words
    summary: Words
    icon: str
    fields: Sequence[ConnectorField]
    open: Callable[[ReaderSettings], RecordReader]
    #: Returns the config to store. Raises AddressNotAllowed.
    check: Callable[[Mapping[str, Any]], Mapping[str, Any]]

    @property
    def credential_fields(self) -> list[ConnectorField]:
        """Return the fields of its credentials."""
        return [field for field in self.fields if field.is_credential]

    @property
    def config_fields(self) -> list[ConnectorField]:
        """Return the fields that everybody may see."""
        return [field for field in self.fields if not field.is_credential]


def parse_server(url: str, *, keeps_query: bool = False) -> Address:
    """Parse the address of an HTTP server. Raises AddressNotAllowed."""
    query = url.partition("#")[0].partition("?")[2] if keeps_query else ""
    address = parse_address(url, parameters={pair.partition("=")[0] for pair in query.split("&")})
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
