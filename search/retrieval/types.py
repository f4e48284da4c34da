"""Types of a search: the query, its hits and its result."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal, NoReturn, Protocol, runtime_checkable
from uuid import UUID

from search.retrieval import wire_types
from search.retrieval.citation import Citation
from search.retrieval.errors import InvalidQuery, preview
from search.retrieval.query.channels import QueryChannels
from search.retrieval.query.filters import SearchFilters, TrustLevel
from search.retrieval.query.metadata import Value
from search.retrieval.query.rules import PromotedAnswer
from search.retrieval.text.sanitize import cut_text, strip_unstorable
from search.retrieval.wire_types import Count, Degraded, HexId, Keyword, NonEmpty, NonNegative, Rank, Score

DEFAULT_K = 10
MAX_K = 1_000
#: Most passages shown of a document that is a hit.
MAX_SECTIONS = 3
DEFAULT_SNIPPET_CHARS = 220
DEFAULT_TEXT_CHARS = 4_000
MAX_TEXT_CHARS = 20_000
#: Maximum length of a query, and of each of its channels, in compatibility form: a paste of several pages.
MAX_QUERY_CHARS = 10_000
# Of which no character has a longer form than 18.
_NEVER_CUT_CHARS = MAX_QUERY_CHARS // 18

_ID = re.compile("[0-9a-f]{32}")

Tier = Literal["all", "some"]


class QueryValue(StrEnum):
    """One of the values of a query's parameter; InvalidQuery is raised for another."""

    @classmethod
    def _missing_(cls, value: object) -> NoReturn:
        raise InvalidQuery(f"{preview(value)} is not one of {', '.join(cls)}.")


class Mode(QueryValue):
    """The legs that answer a query."""

    LEXICAL = "lexical"
    VECTOR = "vector"
    HYBRID = "hybrid"


class Fusion(QueryValue):
    """The method that merges the lists of the legs into one."""

    RRF = "rrf"
    CONVEX = "convex"


class Group(QueryValue):
    """The kinds of hits."""

    PASSAGE = "passage"
    #: A document, with its best passages.
    DOCUMENT = "document"


class Sort(QueryValue):
    """The order of hits."""

    RELEVANCE = "relevance"
    #: The best hits without related ones, the newest first, the oldest first, or by title. Documents that
    #: only have the date of their indexing are behind all others in both.
    DATE = "date"
    DATE_ASC = "date_asc"
    TITLE = "title"


class Include(QueryValue):
    """Parts of a hit that are None unless they are requested."""

    TEXT = "text"
    METADATA = "metadata"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """A query; `k=0` means the default, k is at most 1,000. Raises: InvalidQuery, naming the parameter.

    Mode, fusion and group may also be given by their names.
    """

    #: As typed; NULs and lone surrogates are dropped, from the channels as well, and what is too long is cut.
    text: str
    #: Whether the text, or a channel, was cut.
    is_cut: bool = False
    #: Whether operators in `text`, like `-word`, are obeyed (`search.retrieval.query.operators`).
    operators: bool = False
    #: `text` with blanks in the place of its operators; None: it has none.
    bare_text: str | None = None
    mode: Mode = Mode.HYBRID
    #: None: the workspace's setting.
    fusion: Fusion | None = None
    #: Whether chunks that have a name of the query as written form a list of their own.
    exact: bool = True
    #: Whether words that no chunk has are corrected.
    typos: bool = True
    #: Whether the last word may be the beginning of a word. One that no chunk has may be in any case.
    prefix: bool = False
    #: `k` counts these.
    group: Group = Group.PASSAGE
    sort: Sort = Sort.RELEVANCE
    #: The share of a hit's score that its age takes, 0 to 1; None: the workspace's setting.
    recency: float | None = None
    k: int = DEFAULT_K
    filters: SearchFilters = field(default_factory=SearchFilters)
    #: None: every stage uses `text`.
    channels: QueryChannels | None = None
    #: Maximum length of a snippet, in code points.
    snippet_chars: int = DEFAULT_SNIPPET_CHARS
    include: tuple[Include, ...] = ()
    #: Maximum length of the text of a hit, in code points.
    max_text_chars: int = DEFAULT_TEXT_CHARS
    cutoff: bool = False
    #: Whether hits that are only related are left out.
    floor: bool = False
    #: Whether hits need the words: all of a short query, most of a longer one (`fusion.floor.least_share`).
    needs_words: bool = False
    #: None, 0 or less: unlimited.
    per_file_cap: int | None = None
    #: Whether hits above that cap follow the others, related ones last.
    fills_up: bool = False
    rerank: bool = False
    explain: bool = False
    #: Id of a chunk or document, 32 hex digits; the explanation says why it is not among the hits.
    why_not: str | None = None

    def __post_init__(self) -> None:
        if self.k < 0:
            raise InvalidQuery(f"k is {self.k}; ask for 1 to {MAX_K} hits, or 0 for {DEFAULT_K}.")
        if self.why_not is not None and _ID.fullmatch(self.why_not) is None:
            raise InvalidQuery(
                f"why_not {preview(self.why_not)} is not 32 hex digits; copy a chunk's or a document's id."
            )
        if self.snippet_chars < 1:
            raise InvalidQuery(f"snippet_chars is {self.snippet_chars}; ask for at least 1 character.")
        if not 1 <= self.max_text_chars <= MAX_TEXT_CHARS:
            raise InvalidQuery(
                f"max_text_chars is {self.max_text_chars}; ask for 1 to {MAX_TEXT_CHARS} characters."
            )
        if self.recency is not None and not 0 <= self.recency <= 1:
            raise InvalidQuery(f"recency is {self.recency}; give a number from 0 to 1.")
        # A frozen dataclass allows no ordinary assignment, not even here.
        object.__setattr__(self, "mode", Mode(self.mode))
        object.__setattr__(self, "fusion", None if self.fusion is None else Fusion(self.fusion))
        object.__setattr__(self, "group", Group(self.group))
        object.__setattr__(self, "sort", Sort(self.sort))
        object.__setattr__(self, "include", tuple(map(Include, self.include)))
        object.__setattr__(self, "text", self._bound(self.text))
        if self.channels is not None:
            object.__setattr__(self, "channels", self.channels.map(self._bound))
        object.__setattr__(self, "k", min(self.k or DEFAULT_K, MAX_K))

    def _bound(self, text: str) -> str:
        storable = strip_unstorable(text)
        if len(storable) <= _NEVER_CUT_CHARS:
            return storable
        bounded = cut_text(storable, MAX_QUERY_CHARS)
        if len(bounded) == len(storable):
            return bounded
        object.__setattr__(self, "is_cut", True)
        # A raw expression stays one, which is refused for its length.
        return f"{bounded[:-1]}'" if storable.rstrip().endswith("'") else bounded

    @property
    def typed_text(self) -> str:
        """Return `text` without its operators."""
        return self.text if self.bare_text is None else self.bare_text

    @property
    def is_unfinished(self) -> bool:
        """Return whether the last word may be the beginning of a word: no blank ends the query."""
        return self.prefix and not self.text[-1:].isspace()

    @property
    def is_listing(self) -> bool:
        """Return whether it lists documents, for want of words to rank them by."""
        return not (self.sort is Sort.RELEVANCE or self.typed_text.strip() or self.channels)

    @property
    def effective_channels(self) -> QueryChannels:
        """Return the channels, `text` for each stage unless the query has channels of its own."""
        text = self.typed_text
        return self.channels or QueryChannels(vector=text, lexical=text, rerank=text)


@dataclass(slots=True, kw_only=True)
class RetrievalDetail:
    """The scores and ranks behind a hit; None where a leg did not find it."""

    method: Annotated[Mode, wire_types.AsText()]
    #: In a single mode, the score of that leg; of a pinned document that was not found, the best of the list.
    fusion_score: Score
    #: How much of the query the hit has, on one scale for all modes (`fusion.floor`); None with RRF.
    relevance: Score | None = None
    lexical_score: Score | None = None
    lexical_rank: Rank | None = None
    vector_score: Score | None = None
    vector_rank: Rank | None = None
    exact_rank: Rank | None = None
    #: Whether all of the query's terms were found or some.
    tier: Tier | None = None
    rerank_score: Score | None = None
    rerank_rank: Rank | None = None
    #: Whether the hit is below the floor: too little of the query is in it.
    related: bool = False
    #: Whether its page is outdated.
    outdated: bool = False
    #: Whether the hit is first because the team has pinned its document for this query.
    pinned: bool = False

    @property
    def score(self) -> float:
        """Return the rerank score where rerank ran, else relevance, else the fusion score, as with RRF."""
        scores = (self.rerank_score, self.relevance, self.fusion_score)
        return next(score for score in scores if score is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class HitSection:
    """A passage of a document that is a hit."""

    chunk_id: HexId
    heading_path: tuple[str, ...]
    section_label: str
    #: Plain text.
    snippet: str
    #: Code-point offsets into the snippet, in order, without overlap.
    highlights: tuple[tuple[Count, Count], ...]
    citation: Citation


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLink:
    """A page that replaces an outdated one, or an older version of a page."""

    doc_id: HexId
    title: str
    path: NonEmpty
    #: The year or version in its name; '' for none.
    edition: str

    @property
    def uuid(self) -> UUID:
        """Return its id as addresses of pages have it."""
        return UUID(hex=self.doc_id)


# Not frozen, as are RetrievalDetail and SearchResult: a frozen dataclass takes five times as long to make.
@dataclass(slots=True, kw_only=True)
class SearchHit:
    """A chunk found by a search, as the caller sees it."""

    rank: Rank
    #: How much of the query it has, on one scale for all modes: from 0.5 clearly, below 0.2 hardly; with RRF
    #: the fusion score. In a list
    #: by relevance no hit has a higher one than a hit before it; lists by date or title aren't in its order.
    score: Score
    chunk_id: HexId
    doc_id: HexId
    doc_path: NonEmpty
    title: str
    heading_path: tuple[str, ...]
    section_label: str
    #: Plain text without markup; line breaks are those of code.
    snippet: str
    #: Code-point offsets into the snippet, in order, without overlap.
    highlights: tuple[tuple[Count, Count], ...]
    citation: Citation
    retrieval: RetrievalDetail
    index_version: str
    chunker_version: str
    embedding_model: str | None
    indexed_at: datetime
    #: Indexed longer ago than the workspace's `stale_after_days`.
    stale: bool
    source: str
    #: None: the default version.
    version: str | None
    lang: str
    tags: tuple[str, ...]
    trust_level: Annotated[TrustLevel, wire_types.AsText()]
    code_lang: str | None
    #: The document's date: as stated, else of its file's last change or of indexing.
    date: datetime
    #: As stated in the document; None: none is.
    author: str | None
    #: Whether it is below the floor: too little of the query is in it. Such hits stand behind all others.
    related: bool = False
    #: Whether it was found by its meaning, in another language than the query's (`lang`).
    other_language: bool = False
    #: Whether its page is outdated, by what it says or by a newer edition of it, and what replaces it.
    outdated: bool = False
    replaced_by: PageLink | None = None
    #: Older versions of the page that were found as well, which are no hits of their own.
    older: tuple[PageLink, ...] = ()
    #: Paths of other documents with the same text, which are no hits of their own.
    also_in: tuple[str, ...] = ()
    #: Of a document (`group=document`): its best passages, the hit's own first; else None.
    sections: Annotated[tuple[HitSection, ...], Keyword("maxItems", MAX_SECTIONS)] | None = None
    #: Of a document: the number of its passages that were found; else None.
    section_count: Rank | None = None
    #: The passage, at most `max_text_chars` of it, with `include=text`.
    text: str | None = None
    #: The document's metadata, with `include=metadata`.
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LexicalTotal:
    """The number of chunks that have every term, or of documents with such chunks if the hits are documents.

    It is exact (`eq`), or a lower bound of the matches (`gte`): other chunks have some of the terms, or the
    leg was stopped.
    """

    value: Count
    relation: Literal["eq", "gte"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorWindow:
    """The window of nearest candidates: the vector leg has no total."""

    #: Candidates requested from the vector leg.
    asked: Rank
    #: Candidates that it returned and the caller may see.
    found: Count
    #: The score of a middling one of them, which that of a good one clearly exceeds; None of too few.
    middling_score: Score | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankOutcome:
    """The outcome of a rerank: `ok`, or `fallback` to the fused order with the reason."""

    status: Literal["ok", "fallback"]
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetValue:
    """A value of a filter and the number of documents it would match."""

    value: Value
    documents: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class Facets:
    """The counts of each filter, the most frequent values first."""

    #: Whether documents are counted that a search shows by some of the words, or by meaning above the floor;
    #: else those with a passage that has all words.
    is_relaxed: bool
    #: Whether the counts are what the filters show (`eq`), or a lower bound of it (`gte`).
    relation: Literal["eq", "gte"]
    #: Number of documents that pass all filters.
    total: Count
    #: A filter doesn't narrow its own counts.
    by_filter: Mapping[str, tuple[FacetValue, ...]]


@dataclass(slots=True, kw_only=True)
class SearchResult:
    """The result of a query; `degraded` and `warnings` name the parts that were missing."""

    query: str
    mode: Mode
    index_version: str
    #: The last change that the mirror had applied when it answered.
    seq: Count
    #: Number of changes that it lacked.
    lag: Count
    took_ms: NonNegative
    #: Legs that took no part or were stopped; `primary_unreachable` if a standby was read.
    degraded: Degraded = ()
    warnings: tuple[str, ...] = ()
    rerank: RerankOutcome | None = None
    lexical_total: LexicalTotal | None = None
    #: None when the vector leg took no part.
    vector_window: VectorWindow | None = None
    hits: Annotated[tuple[SearchHit, ...], Keyword("maxItems", MAX_K)] = ()
    #: Number of hits in the whole list that are only related: labelled, or left out with `floor`.
    related_total: Count = 0
    next_cursor: str | None = None
    #: The query that was searched, with words corrected that no passage has; None: it was searched as asked.
    corrected_query: str | None = None
    did_you_mean: str | None = None
    #: JSON-ready.
    explain: Mapping[str, object] | None = None
    #: Documents by the values of the requested `facets`; None without any, or if they can't be counted now.
    facets: Facets | None = None
    #: Answers that the team has written for this query, best shown above the hits.
    promoted: tuple[PromotedAnswer, ...] = ()

    @property
    def relevant_hits(self) -> int:
        """Return the number of hits that answer the query; a search without any was unsuccessful."""
        return sum([not hit.related for hit in self.hits])


@runtime_checkable
class Retriever(Protocol):
    """A searcher of the one workspace it was created for."""

    def search(self, query: SearchQuery) -> list[SearchHit]:
        """Return up to `query.k` hits, best first, ranks 1, 2, 3, …"""
        ...

    def index_version(self, mode: Mode) -> str:
        """Return the version of the index, or of both indexes, that answers in `mode`."""
        ...
