"""Why nothing is taken from an archive.

IngestError
└── ArchiveRefused          422  archive_refused     of a kind that is not unpacked here
    ├── ArchiveBroken       422  archive_broken      cut off, damaged, or no archive at all
    │   └── MemberBroken                             one member is; the others can be read
    ├── ArchiveEncrypted    422  archive_encrypted
    └── ArchiveOverLimit    422  archive_over_limit  more than is unpacked; the message names the limit
"""

from ingest.errors import IngestError


class ArchiveRefused(IngestError):
    """This archive is not unpacked; the message says what to do."""

    code = "archive_refused"
    status = 422


class ArchiveBroken(ArchiveRefused):
    """It can't be read to its end."""

    code = "archive_broken"


class MemberBroken(ArchiveBroken):
    """This member can't be read, whatever the others can."""


class ArchiveEncrypted(ArchiveRefused):
    """A password would be needed."""

    code = "archive_encrypted"


class ArchiveOverLimit(ArchiveRefused):
    """It holds more than a limit allows."""

    code = "archive_over_limit"
