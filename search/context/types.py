"""The parameters and the result of a context pack."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Final, Literal

from search.retrieval.citation import Citation
from search.retrieval.errors import InvalidQuery
from search.retrieval.expansion import NEIGHBOUR_STEPS, ReachedBy, ReachedChunk
from search.retrieval.query.channels import build_channels, distinct_terms
from search.retrieval.query.filters import TrustLevel
from search.retrieval.types import Mode, QueryValue, RerankOutcome, SearchQuery
from search.retrieval.wire_types import Count, Degraded, HexId, Keyword, NonEmpty, NonNegative, Rank, Score

MAX_BUDGET: Final = 1_000_000
MAX_NEIGHBOUR_STEPS: Final = 5


class BudgetUnit(StrEnum):
    """Unit of a budget: code points, or tokens of the default model."""

    CHARS = "chars"
    TOKENS = "tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Maximum amount of text in a pack, 1 to 1,000,000 units. Raises: InvalidQuery."""

    unit: BudgetUnit
    total: int

    def __post_init__(self) -> None:
        if not 1 <= self.total <= MAX_BUDGET:
            raise InvalidQuery(f"The budget is {self.total} {self.unit}; ask for 1 to {MAX_BUDGET}.")


class ResponseMode(QueryValue):
    """Content of a pack: text only, or an overview of files and symbols followed by text."""

    TEXT = "text"
    OVERVIEW = "overview"


DEFAULT_BUDGET: Final = Budget(unit=BudgetUnit.TOKENS, total=10_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Chunks that are added to the hits."""

    #: Steps to each side in the same document; 0: none.
    neighbours: int = NEIGHBOUR_STEPS
    #: Chunks under the same breadcrumb parent.
    siblings: bool = True
    #: Chunks of the files that a hit in code imports.
    imports: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRequest:
    """A request for a context pack."""

    #: Its text is the information request; `k` is the number of hits before expansion.
    query: SearchQuery
    technical_terms: tuple[str, ...] = ()
    budget: Budget = DEFAULT_BUDGET
    surroundings: Surroundings = field(default_factory=Surroundings)
    response_mode: ResponseMode = ResponseMode.TEXT
    #: Whether whole files are ranked by all their passages, so that the pack covers many files.
    by_file: bool = False
    #: Whether the budget includes each segment's citation and fence, as `pack_text` writes them.
    is_framed: bool = False

    @classmethod
    def with_channels(
        cls,
        query: SearchQuery,
        technical_terms: Iterable[str] = (),
        *,
        budget: Budget = DEFAULT_BUDGET,
        surroundings: Surroundings | None = None,
        response_mode: ResponseMode = ResponseMode.TEXT,
        by_file: bool = False,
        is_framed: bool = False,
        **channels: str,
    ) -> "ContextRequest":
        """Return a request whose query has a text for each channel of the search.

        `channels` are the texts of channels (`vector`, `lexical`, `rerank`) that the caller sets itself.
        Blank and repeated terms are dropped.
        """
        terms = distinct_terms(technical_terms)
        return cls(
            query=replace(query, channels=build_channels(query.text, terms, **channels)),
            technical_terms=terms,
            budget=budget,
            surroundings=surroundings or Surroundings(),
            response_mode=response_mode,
            by_file=by_file,
            is_framed=is_framed,
        )


CountedBy = Literal["code points", "model", "estimate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedText:
    """A segment of a pack: its text, its citation and how it was reached."""

    text: str
    #: Whether the text is exactly the cited lines of the file, joined by line feeds; else it is what was read
    #: there.
    verbatim: bool
    #: The programming language of its first chunk, None for prose.
    code_lang: str | None
    citation: Citation
    #: The best of its chunks' scores.
    score: Score
    #: How its best chunk was reached.
    reached_by: ReachedBy
    #: In the budget's unit, with citation and fence if the budget includes these.
    size: Count
    #: In the document's order.
    chunks: Annotated[tuple[ReachedChunk, ...], Keyword("minItems", 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedDocument:
    """A document with its segments, three at most, in file order."""

    doc_id: HexId
    doc_path: NonEmpty
    title: str
    source: str
    version: str | None
    lang: str
    tags: tuple[str, ...]
    trust_level: TrustLevel
    #: The best of its segments' scores.
    score: Score
    #: In file order, apart from each other.
    segments: Annotated[tuple[PackedText, ...], Keyword("minItems", 1), Keyword("maxItems", 3)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbol:
    """A definition or heading in a file."""

    #: Outermost first, its own last: ("class Cart", "method total").
    heading_path: Annotated[tuple[str, ...], Keyword("minItems", 1)]
    citation: Citation
    #: Whether it contains a hit.
    has_hit: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlinedFile:
    """A file with hits and its symbols."""

    doc_id: HexId
    doc_path: NonEmpty
    source: str
    version: str | None
    #: The programming language of most chunks, None for prose.
    code_lang: str | None
    score: Score
    #: In file order; a selection for a long file.
    symbols: tuple[Symbol, ...]
    symbols_left_out: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The files with hits and their symbols, best file first."""

    files: tuple[OutlinedFile, ...]
    #: Number of files with hits that didn't fit.
    left_out: Count
    #: Size of its text, in the budget's unit.
    size: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetUse:
    """The budget, and the amount that overview and segments take."""

    unit: BudgetUnit
    total: Rank
    used: Count
    #: Tokens are the default model's, or estimated on the high side where its tokenizer is not installed.
    counted_by: CountedBy


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPack:
    """The pack for a request, best file first; `degraded` and `warnings` name missing parts."""

    information_request: str
    technical_terms: tuple[str, ...]
    response_mode: ResponseMode
    mode: Mode
    index_version: str
    #: Sequence number of the last change in the index that was searched.
    seq: Count
    #: Number of changes that it lacked.
    lag: Count
    took_ms: NonNegative
    #: Legs that took no part or were stopped.
    degraded: Degraded
    warnings: tuple[str, ...]
    rerank: RerankOutcome | None
    budget: BudgetUse
    #: Number of chunks that were reached and didn't fit.
    left_out: Count
    #: The files that were found and what is in them; None unless requested.
    overview: Overview | None
    files: tuple[PackedDocument, ...]

    @property
    def is_empty(self) -> bool:
        """Return whether the pack has no text and lists no file."""
        return not self.files and (self.overview is None or not self.overview.files)
