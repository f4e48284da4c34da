"""Declaration of a kind of source whose connector yields records: its fields, its reader, its limits."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from django.utils.functional import Promise

from kebab.sandbox.program import Limits
from search.models import SourceKind

Words = str | Promise
MAX_TEXT_CHARS: Final = 2_000
#: Of a process that reads from a server: a mail or file of 100 MB fits into its memory three times over.
SERVER_LIMITS: Final = Limits(extra_data_bytes=512 * 1024**2, request_cpu_seconds=900)


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
class ConnectorKind:
    """A kind of source whose connector yields records."""

    kind: SourceKind
    label: Words
    #: of the page that adds one
    heading: Words
    summary: Words
    icon: str
    fields: Sequence[ConnectorField]
    #: Returns the config to store. Raises AddressNotAllowed.
    check: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    #: `module:class` of its RecordReader, which is imported in the limited process alone
    reader: str
    limits: Limits = SERVER_LIMITS
    #: Returns the config that the reader gets. Raises AddressNotAllowed.
    resolve: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict

    @property
    def credential_fields(self) -> list[ConnectorField]:
        """Return the fields of its credentials."""
        return [field for field in self.fields if field.is_credential]

    def secrets_among(self, credentials: Mapping[str, str]) -> list[str]:
        """Return the values that are secret."""
        secret = {field.name for field in self.fields if field.type == "secret"}
        return [value for name, value in credentials.items() if name in secret]

    @property
    def config_fields(self) -> list[ConnectorField]:
        """Return the fields that are no credentials."""
        return [field for field in self.fields if not field.is_credential]
