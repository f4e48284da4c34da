"""Kinds of sources whose connector yields records, read in a limited process."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Final, Self

from django.utils.translation import gettext as _

from ingest.connectors.declaration import ConnectorKind, MayRead
from ingest.connectors.errors import ListingFailed
from ingest.connectors.records.limited_reader import LimitedReader, Opening
from ingest.connectors.records.source import RecordSource
from ingest.connectors.types import OpenOptions
from ingest.errors import AddressNotAllowed, CredentialsRefused
from kebab.encryption import EncryptionError, decrypt, encrypt
from kebab.identity.models import Group
from kebab.sandbox.program import Limits
from search.models import Source, SourceReader


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCursor:
    """A cursor with the readers it was made under: others may read other documents, so it starts anew."""

    state: str = ""
    readers: Sequence[str] | None = None

    @classmethod
    def parse(cls, stored: str) -> Self:
        """Parse a stored cursor; "" is that of a source that was never read."""
        return cls(**json.loads(stored)) if stored else cls()

    def dump(self) -> str:
        """Return the text to store."""
        return json.dumps(asdict(self))

    def state_for(self, readers: Sequence[str] | None) -> str:
        """Return the state to go on from; "" if the readers have changed."""
        return self.state if readers == self.readers else ""


def reader_names(source: Source) -> list[str] | None:
    """Return the names of the groups that the source is restricted to; None if every member reads it."""
    sources = Source.objects.in_workspace(source.workspace_id).filter(pk=source.pk, is_restricted=True)
    if not sources.exists():
        return None
    rows = SourceReader.objects.in_workspace(source.workspace_id).filter(source=source.pk)
    groups = Group.objects.filter(workspace=source.workspace_id, pk__in=rows.values("group_id"))
    return sorted(groups.values_list("name", flat=True))


#: Of a process that reads from a server: a mail or file of 100 MB fits into its memory three times over.
SERVER_LIMITS: Final = Limits(extra_data_bytes=512 * 1024**2, request_cpu_seconds=900)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordKind(ConnectorKind):
    """A kind of source whose connector yields records."""

    #: Returns the config to store. Raises AddressNotAllowed.
    check: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    #: `module:class` of its RecordReader, which is imported in the limited process alone
    reader: str
    limits: Limits = SERVER_LIMITS
    #: Returns the config that the reader gets. Raises AddressNotAllowed.
    resolve: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict

    def check_config(self, given: Mapping[str, Any], may_read: MayRead) -> Mapping[str, Any]:
        """Return the config to store. Raises AddressNotAllowed."""
        return self.check(given)

    def seal_credentials(self, given: Mapping[str, str], config: Mapping[str, Any]) -> str:
        """Return the credentials, all or none, encrypted; "" for none. Raises CredentialsRefused."""
        missing = [field.name for field in self.credential_fields if not given.get(field.name)]
        is_required = any(field.is_required for field in self.credential_fields)
        if missing and (given or is_required):
            raise CredentialsRefused(f"The credentials lack {', '.join(missing)}.")
        try:
            return encrypt(json.dumps(given)) if given else ""
        except EncryptionError as error:
            raise CredentialsRefused(str(error)) from error

    def open_reader(self, source: Source, while_waiting: Callable[[], None]) -> LimitedReader:
        """Start to read a source of this kind. Raises ListingFailed."""
        sealed = source.sealed_credentials
        try:
            credentials = json.loads(decrypt(sealed)) if sealed else {}
            secret = {field.name for field in self.fields if field.type == "secret"}
            opening = Opening(
                reader=self.reader,
                limits=self.limits,
                config=self.resolve(source.config),
                credentials=credentials,
                secrets=(
                    *[value for name, value in credentials.items() if name in secret],
                    *source.hidden_parts,
                ),
            )
        except (EncryptionError, AddressNotAllowed) as error:
            raise ListingFailed(str(error)) from error
        return LimitedReader(opening, while_waiting)

    @contextmanager
    def open(self, options: OpenOptions) -> Iterator[RecordSource]:
        """Open the source for one job, at its cursor. Raises ListingFailed."""
        source, readers = options.source, reader_names(options.source)
        with closing(self.open_reader(source, options.while_waiting)) as reader:
            stored = "" if options.is_partial else options.version.cursor
            cursor = StoredCursor.parse(stored).state_for(readers)
            yield RecordSource(source, reader, cursor=cursor, readers=readers)

    def probe(self, source: Source, while_waiting: Callable[[], None]) -> str:
        """Read the first document's path. Raises ListingFailed."""
        with closing(self.open_reader(source, while_waiting)) as reader:
            first = reader.probe()
        if first is None:
            return _("Connected. There are no documents yet.")
        return _("Connected. The first document is %(path)s.") % {"path": first}
