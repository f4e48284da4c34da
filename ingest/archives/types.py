"""What an archive looks like from outside, whatever its format is."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from io import BytesIO
from typing import Final, Protocol

from ingest.connectors.walk_rules import SkipReason

#: Read at a time.
PIECE_BYTES: Final = 65_536


class MemberKind(Enum):
    """What a member is."""

    FILE = "file"
    DIRECTORY = "directory"
    LINK = "link"
    SPECIAL = "special"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A member as the archive has it; nothing of it is to be trusted."""

    #: Its place among the members, from 0.
    index: int
    name: str
    kind: MemberKind
    #: As announced.
    size_bytes: int = 0
    #: Why it can't be read.
    refusal: SkipReason | None = None


class Archive(Protocol):
    """An open archive, read from front to back."""

    def members(self) -> Iterator[Member]:
        """Return the members in their order. Raises ArchiveRefused, OSError."""
        ...

    def read(self, member: Member) -> bytes:
        """Return the content of the member that `members` gave last. Raises ArchiveRefused, OSError."""
        ...


class Stream(Protocol):
    """Bytes in their order."""

    def read(self, size: int, /) -> bytes:
        """Give up to `size` bytes, b"" at the end."""
        ...


def read_whole(stream: Stream) -> bytes:
    """Return all that is left of a stream, in little more memory than that takes."""
    whole = BytesIO()
    while piece := stream.read(PIECE_BYTES):
        whole.write(piece)
    return whole.getvalue()
