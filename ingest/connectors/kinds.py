"""All kinds of sources, in the order in which pages offer them."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Final

from django.utils.translation import gettext_lazy as _

from ingest.connectors.declaration import ConnectorKind
from ingest.connectors.folder_kind import FOLDER
from ingest.connectors.git.kind import GIT
from ingest.connectors.records.kinds import RECORD_KINDS
from ingest.connectors.records.source import RecordSource
from ingest.connectors.types import Connector, OpenOptions
from ingest.connectors.web.kind import WEB
from search.models import SourceKind

_UPLOAD: Final = ConnectorKind(kind=SourceKind.UPLOAD, label=_("Uploads"), icon="upload", is_synced=False)
KINDS: Final[Mapping[str, ConnectorKind]] = {
    kind.kind: kind for kind in (_UPLOAD, WEB, GIT, *RECORD_KINDS.values(), FOLDER)
}


def kind_of(kind: str) -> ConnectorKind:
    """Return the declaration of a kind; that of a later version can't be read."""
    return KINDS.get(kind) or ConnectorKind(kind=kind, label=kind, icon="database")


def connect(options: OpenOptions) -> AbstractContextManager[Connector | RecordSource]:
    """Open the source for one job. Raises ListingFailed, and the errors of `while_waiting`."""
    return kind_of(options.source.kind).open(options)
