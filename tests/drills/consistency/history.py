"""What clients did and were told. Times are those of one clock, in seconds; numbers are of the change log."""

from dataclasses import dataclass, field

#: A document at a path, which holds one word that no other write has, or is not there.
Register = str
Word = str


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A document was put at a path, or deleted."""

    register: Register
    #: None: it was deleted.
    word: Word | None
    node: str
    began_s: float
    #: When it was known to be done or not to come any more; infinite: it may come at any time.
    ended_s: float
    #: Whether it was acknowledged; else it may have been done, or not.
    is_certain: bool = True
    #: The number it was acknowledged with; its own is this or a lower one, and higher than any known before.
    seq: int | None = None
    #: Whether it waited until searches on its node find it.
    is_searchable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A register was looked at: by its document, by a list, or by a search's hit."""

    register: Register
    #: None: it was not there.
    word: Word | None
    node: str
    began_s: float
    ended_s: float
    by: str = "document"


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A register was searched for, by the word of one write or by what all its writes have."""

    node: str
    began_s: float
    ended_s: float
    register: Register
    #: The word searched for; None: the name that all writes of the register have.
    word: Word | None
    #: What the hits showed.
    seen: tuple[tuple[Register, Word], ...]
    seq: int
    lag: int
    min_seq: int | None = None
    #: Whether all candidates are the mirror's; vectors are read in Postgres, which may be ahead.
    is_lexical: bool = True
    #: Whether the answer named nothing that is missing from it.
    is_whole: bool = True

    @property
    def reads(self) -> list[Read]:
        """What it showed, as reads."""
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
    """All of it. What was refused is only counted: it tells nothing of the data."""

    writes: list[Write] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    searches: list[Search] = field(default_factory=list)
    #: By code, what was refused and said when to come again.
    refusals: dict[str, int] = field(default_factory=dict)
    #: What was neither answered nor refused so.
    errors: list[str] = field(default_factory=list)

    @property
    def size(self) -> int:
        """How many operations there were."""
        found = len(self.writes) + len(self.reads) + len(self.searches)
        return found + sum(self.refusals.values()) + len(self.errors)
