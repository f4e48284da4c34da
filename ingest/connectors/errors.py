"""Why a source could not be listed.

ConnectorError
├── ListingFailed            part of the source could not be listed, so nothing may be deleted by this listing
│   └── RepositoryTooLarge   its copy takes more bytes than it may
└── RepositoryBusy           another worker of this node has the repository; the job is tried again later
"""


class ConnectorError(Exception):
    """A source could not be read."""


class ListingFailed(ConnectorError):
    """A directory or an ignore file could not be read; what is missing from this listing may still exist."""


class RepositoryTooLarge(ListingFailed):
    """The copy of the repository takes more bytes than it may."""


class RepositoryBusy(ConnectorError):
    """Another worker of this node still uses its copy of the repository."""
