"""Errors of archives.

IngestError
└── ArchiveRefused          422  archive_refused     its format is not supported
    ├── ArchiveBroken       422  archive_broken      cut off, damaged, or not an archive
    │   └── MemberBroken                             one member is broken; the others can be read
    ├── ArchiveEncrypted    422  archive_encrypted
    └── ArchiveOverLimit    422  archive_over_limit  it exceeds a limit, which the message names
"""

from ingest.errors import IngestError


class ArchiveRefused(IngestError):
    """The archive is not unpacked; the message says what to do."""

    code = "archive_refused"
    status = 422


class ArchiveBroken(ArchiveRefused):
    """The archive can't be read to its end."""

    code = "archive_broken"


class MemberBroken(ArchiveBroken):
    """This member can't be read; the others may be readable."""


class ArchiveEncrypted(ArchiveRefused):
    """The archive needs a password."""

    code = "archive_encrypted"


class ArchiveOverLimit(ArchiveRefused):
    """The archive holds more than a limit allows."""

    code = "archive_over_limit"
