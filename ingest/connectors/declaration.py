"""Declaration of a kind of source, from which its serializer, forms, encryption and connector follow."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.functional import Promise

from ingest.connectors.errors import ListingFailed
from ingest.connectors.records.source import RecordSource
from ingest.connectors.types import Connector, OpenOptions
from search.models import Source

Words = str | Promise
#: Returns whether the caller may have a folder read.
MayRead = Callable[[Path], bool]
MAX_TEXT_CHARS: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorField:
    """A field of a kind of source, from which the API's serializer and the page's form are made."""

    name: str
    #: on pages; "" for a field that only the API has
    label: Words = ""
    #: on pages, and in the API's document unless `api_help` is another
    help: Words = ""
    api_help: str | None = None
    #: white space around a path or secret is part of it; patterns are globs, with a limit of their own
    type: Literal["text", "path", "token", "secret", "list", "patterns", "number", "flag"] = "text"
    is_required: bool = False
    #: Part of the credentials, which are encrypted and never shown.
    is_credential: bool = False
    #: exactly one of a kind's alternatives is given
    is_alternative: bool = False
    #: of a text, or of each entry of a list
    max_chars: int = MAX_TEXT_CHARS
    #: least and greatest number
    limits: tuple[int, int] = (0, 0)
    #: name of its input on pages, where another input has its name; "" for `name`
    input_name: str = ""

    @property
    def input(self) -> str:
        """Return the name of its input on pages."""
        return self.input_name or self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorKind:
    """A kind of source. Kinds that are read override the methods."""

    kind: str
    label: Words
    icon: str
    #: of the page that adds one
    heading: Words = ""
    summary: Words = ""
    fields: Sequence[ConnectorField] = ()
    #: names of the fields that the page requires and shows at once; by default those that are required, which
    #: it shows with the credentials
    asked: Sequence[str] = ()
    #: name of the setting without which nobody can add one; "" for none
    needed_setting: str = ""
    is_synced: bool = True
    #: whether changes in it can trigger a sync
    is_watchable: bool = False
    #: whether the page offers to test the connection
    is_tested_on_page: bool = True
    #: names and descriptions of its schemas in the API's document, if not made of the kind
    schema_name: str = ""
    config_doc: str = ""
    credentials_doc: str = ""

    @property
    def config_fields(self) -> list[ConnectorField]:
        """Return the fields that are no credentials."""
        return [field for field in self.fields if not field.is_credential]

    @property
    def credential_fields(self) -> list[ConnectorField]:
        """Return the fields of its credentials."""
        return [field for field in self.fields if field.is_credential]

    @property
    def main_inputs(self) -> list[str]:
        """Return the names of the inputs that the page of a new source shows at once."""
        fields = (field for field in self.fields if field.is_required or field.is_credential)
        return list(self.asked) or [field.input for field in fields]

    @property
    def is_offered(self) -> bool:
        """Return whether this server allows to add one."""
        return bool(self.fields) and bool(not self.needed_setting or getattr(settings, self.needed_setting))

    def validate(self, config: Mapping[str, Any]) -> None:
        """Validate fields against each other. Raises ValueError."""

    def check_config(self, given: Mapping[str, Any], may_read: MayRead) -> Mapping[str, Any]:
        """Return the config to store. Raises FolderNotAllowed, AddressNotAllowed."""
        return given

    def seal_credentials(self, given: Mapping[str, str], config: Mapping[str, Any]) -> str:
        """Return the credentials of a source with this config, encrypted; "" for none.

        Raises CredentialsRefused.
        """
        return ""

    def derive_title(self, config: Mapping[str, Any]) -> str:
        """Return a title made of what is read; "" if that says none."""
        words = [str(config.get(name, "")) for name in ("bucket", "prefix")]
        if not any(words):
            split = urlsplit(str(config.get("url", config.get("program", ""))))
            words = [split.hostname or "", split.path.removesuffix("api.php").strip("/")]
        return " ".join(filter(None, words)).strip("/")

    def open(self, options: OpenOptions) -> AbstractContextManager[Connector | RecordSource]:
        """Open the source for one job. Raises ListingFailed, and the errors of `while_waiting`."""
        raise ListingFailed(f"Sources of kind {self.kind} can't be read by this version.")

    def probe(self, source: Source, while_waiting: Callable[[], None]) -> str:
        """Connect as a sync would, and return in words what was found.

        Raises ListingFailed, RequestFailed, and the errors of `while_waiting`.
        """
        raise ListingFailed(f"Sources of kind {self.kind} can't be read by this version.")
