"""Errors of connectors.

ConnectorError
├── ListingFailed            part of the source could not be listed, so nothing may be deleted
│   ├── RepositoryTooLarge   its copy exceeds the size limit
│   └── SourceAway           its server does not answer any more; the next sync goes on
└── RepositoryBusy           another worker of this node uses the repository; the job is retried later

OSError
└── ContentArchived          a document must be restored from an archive before it can be read
"""


class ConnectorError(Exception):
    """A source could not be read."""


class ListingFailed(ConnectorError):
    """A part of the source could not be read; files missing from the listing may still exist."""


class RepositoryTooLarge(ListingFailed):
    """The copy of the repository exceeds the size limit."""


class SourceAway(ListingFailed):
    """The source's server can't be reached, or refuses everything; the message names it and the reason."""


class ContentArchived(OSError):
    """The content of a document is in an archive; the message says what to do."""


class RepositoryBusy(ConnectorError):
    """Another worker of this node still uses its copy of the repository."""
