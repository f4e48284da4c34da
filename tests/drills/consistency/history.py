"""History of operations. Times come from one clock, in seconds; numbers from the change log."""

from dataclasses import dataclass, field

#: A document at a path, with one word that no other write has, or absent.
Register = str
Word = str


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A document written at a path, or deleted."""

    register: Register
    #: None: a deletion.
    word: Word | None
    node: str
    began_s: float
    #: When it was known to be done or to never happen; infinite when it may still happen.
    ended_s: float
    #: Whether it was acknowledged; otherwise it may or may not have been done.
    is_certain: bool = True
    #: The acknowledged number; its own is this or a lower one, and higher than any known before.
    seq: int | None = None
    #: Whether it waited until searches on its node find it.
    is_searchable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A read of a register: of its document, by a list, or by a hit."""

    register: Register
    #: None: it was absent.
    word: Word | None
    node: str
    began_s: float
    ended_s: float
    by: str = "document"


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A search for a register, by the word of one write or by the name common to all its writes."""

    node: str
    began_s: float
    ended_s: float
    register: Register
    #: The word searched for; None: the register's name.
    word: Word | None
    #: The registers and words of the hits.
    seen: tuple[tuple[Register, Word], ...]
    seq: int
    lag: int
    min_seq: int | None = None
    #: Whether all candidates come from the mirror; vectors are read from Postgres, which may be newer.
    is_lexical: bool = True
    #: Whether the answer reported nothing missing.
    is_whole: bool = True

    @property
    def reads(self) -> list[Read]:
        """Return the reads that its hits amount to."""
        return [
            Read(
                register=register,
                word=word,
                node=self.node,
                began_s=self.began_s,
                ended_s=self.ended_s,
                by="search",
            )
            for register, word in self.seen
        ]


@dataclass(slots=True, kw_only=True)
class History:
    """All operations. Rejections are only counted, as they say nothing about the data."""

    writes: list[Write] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    searches: list[Search] = field(default_factory=list)
    #: Number of rejections with Retry-After, by code.
    refusals: dict[str, int] = field(default_factory=dict)
    #: Other failures.
    errors: list[str] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Return the number of operations."""
        found = len(self.writes) + len(self.reads) + len(self.searches)
        return found + sum(self.refusals.values()) + len(self.errors)
