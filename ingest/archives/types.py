"""The interface of archives of all formats, and the limits of what is read from them.

Errors of archives:

IngestError
└── ArchiveRefused          422  archive_refused     its format is not supported
    ├── ArchiveBroken       422  archive_broken      cut off, damaged, or not an archive
    │   └── MemberBroken                             one member is broken; the others can be read
    ├── ArchiveEncrypted    422  archive_encrypted
    └── ArchiveOverLimit    422  archive_over_limit  it exceeds a limit, which the message names
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from io import BytesIO
from typing import Final, Protocol

from django.conf import settings

from ingest.connectors.walk_rules import SkipReason
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


#: Bytes read at a time.
PIECE_BYTES: Final = 65_536


class MemberKind(Enum):
    """The kind of a member."""

    FILE = "file"
    DIRECTORY = "directory"
    LINK = "link"
    SPECIAL = "special"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A member as stated by the archive; none of its fields can be trusted."""

    #: Position among the members, from 0.
    index: int
    name: str
    kind: MemberKind
    #: Announced size.
    size_bytes: int = 0
    #: The reason why it can't be read.
    refusal: SkipReason | None = None


class Archive(Protocol):
    """An open archive, read sequentially."""

    def members(self) -> Iterator[Member]:
        """Return the members in their order. Raises ArchiveRefused, OSError."""
        ...

    def read(self, member: Member) -> bytes:
        """Return the content of the member that `members` yielded last. Raises ArchiveRefused, OSError."""
        ...


class Stream(Protocol):
    """A sequential stream of bytes."""

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes, b"" at the end."""
        ...


def read_whole(stream: Stream) -> bytes:
    """Return the rest of a stream, using little more memory than its size."""
    whole = BytesIO()
    while piece := stream.read(PIECE_BYTES):
        whole.write(piece)
    return whole.getvalue()


# Text compresses to a fifth, logs to a fiftieth; zeros deflate to a thousandth.
MAX_RATIO = 200
# Below this unpacked size the ratio is not limited.
RATIO_FROM_BYTES = 20_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveLimits:
    """The most members and unpacked bytes of an archive."""

    max_members: int
    max_unpacked_bytes: int
    #: called for each member and piece that is read; ends the reading by raising
    while_reading: Callable[[], None] = lambda: None

    @classmethod
    def from_settings(cls, while_reading: Callable[[], None] = lambda: None) -> "ArchiveLimits":
        """Return the operator's limits."""
        return cls(
            while_reading=while_reading,
            max_members=settings.KEBAB_ARCHIVE_MEMBER_LIMIT,
            max_unpacked_bytes=settings.KEBAB_ARCHIVE_UNPACKED_LIMIT_BYTES,
        )


class Budget:
    """Counters of one reading of an archive of `packed_bytes` bytes, checked against the limits."""

    def __init__(self, limits: ArchiveLimits, packed_bytes: int) -> None:
        self.limits = limits
        self._packed_bytes = max(1, packed_bytes)
        self._members = 0
        self._folders = 0
        self._unpacked_bytes = 0

    def count_member(self) -> None:
        """Count one more member. Raises ArchiveOverLimit."""
        self._members += 1
        self.check_members(self._members)

    def check_members(self, count: int) -> None:
        """Raise ArchiveOverLimit when `count` members are too many."""
        if count > self.limits.max_members:
            raise ArchiveOverLimit(
                f"The archive has more than {self.limits.max_members:,} members"
                " (KEBAB_ARCHIVE_MEMBER_LIMIT); split it."
            )

    def count_folder(self) -> None:
        """Count one more folder, which may have no member of its own. Raises ArchiveOverLimit."""
        self._folders += 1
        if self._folders > self.limits.max_members:
            raise ArchiveOverLimit(
                f"The archive has more than {self.limits.max_members:,} folders"
                " (KEBAB_ARCHIVE_MEMBER_LIMIT); split it."
            )

    def count_bytes(self, count: int) -> None:
        """Count unpacked or announced bytes. Raises ArchiveOverLimit."""
        self.limits.while_reading()
        self._unpacked_bytes += count
        limit = self.limits.max_unpacked_bytes
        if self._unpacked_bytes > limit:
            raise ArchiveOverLimit(
                f"The archive unpacks to more than {limit:,} bytes (KEBAB_ARCHIVE_UNPACKED_LIMIT_BYTES);"
                " split it."
            )
        is_bomb = self._unpacked_bytes > MAX_RATIO * self._packed_bytes
        if is_bomb and self._unpacked_bytes > RATIO_FROM_BYTES:
            raise ArchiveOverLimit(
                f"The archive unpacks to more than {MAX_RATIO} times its {self._packed_bytes:,} bytes;"
                " archives packed that tightly are not unpacked."
            )
