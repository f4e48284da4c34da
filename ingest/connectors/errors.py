"""Why a source could not be listed.

ConnectorError
└── ListingFailed    part of the source could not be listed, so nothing may be deleted by this listing
"""


class ConnectorError(Exception):
    """A source could not be read."""


class ListingFailed(ConnectorError):
    """A directory or an ignore file could not be read; what is missing from this listing may still exist."""
