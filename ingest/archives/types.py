"""The interface of archives of all formats."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from io import BytesIO
from typing import Final, Protocol

from ingest.connectors.walk_rules import SkipReason

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
