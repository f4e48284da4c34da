"""Context packs and their parts."""

from dataclasses import dataclass
from typing import Literal

from search.context.request import BudgetUnit, ResponseMode
from search.retrieval.citation import Citation
from search.retrieval.expansion import ReachedBy, ReachedChunk
from search.retrieval.query.filters import TrustLevel
from search.retrieval.types import Mode, RerankOutcome

#: `estimate`: tokens when the default model's tokenizer is not installed, on the high side.
CountedBy = Literal["code points", "model", "estimate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedText:
    """A segment of a pack: its text, its citation and how it was reached."""

    text: str
    #: Whether the text is exactly the cited lines of the file, joined by line feeds.
    verbatim: bool
    #: The programming language of its first chunk, None for prose.
    code_lang: str | None
    citation: Citation
    #: The best of its chunks' scores, in [0, 1].
    score: float
    #: How its best chunk was reached.
    reached_by: ReachedBy
    #: In the budget's unit, with citation and fence if the budget includes these.
    size: int
    #: In the document's order.
    chunks: tuple[ReachedChunk, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedDocument:
    """A document with its segments, three at most, in file order."""

    doc_id: str
    doc_path: str
    title: str
    source: str
    version: str | None
    lang: str
    tags: tuple[str, ...]
    trust_level: TrustLevel
    #: The best of its segments' scores.
    score: float
    segments: tuple[PackedText, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbol:
    """A definition or heading in a file."""

    #: Outermost first, its own last: ("class Cart", "method total").
    heading_path: tuple[str, ...]
    citation: Citation
    #: Whether it contains a hit.
    has_hit: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlinedFile:
    """A file with hits and its symbols."""

    doc_id: str
    doc_path: str
    source: str
    version: str | None
    #: The programming language of most chunks, None for prose.
    code_lang: str | None
    score: float
    #: In file order; a selection for a long file.
    symbols: tuple[Symbol, ...]
    symbols_left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The files with hits and their symbols, best file first."""

    files: tuple[OutlinedFile, ...]
    #: Number of files with hits that didn't fit.
    left_out: int
    #: Size of its text, in the budget's unit.
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetUse:
    """The budget, and the amount that overview and segments take."""

    unit: BudgetUnit
    total: int
    used: int
    counted_by: CountedBy


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPack:
    """The pack for a request, best file first; `degraded` and `warnings` name missing parts."""

    information_request: str
    technical_terms: tuple[str, ...]
    response_mode: ResponseMode
    mode: Mode
    index_version: str
    #: Sequence number of the last change in the index that was searched, and its lag in changes.
    seq: int
    lag: int
    took_ms: float
    degraded: tuple[str, ...]
    warnings: tuple[str, ...]
    rerank: RerankOutcome | None
    budget: BudgetUse
    #: Number of chunks that were reached and didn't fit.
    left_out: int
    #: None unless requested.
    overview: Overview | None
    files: tuple[PackedDocument, ...]

    @property
    def is_empty(self) -> bool:
        """Return whether the pack has no text and lists no file."""
        return not self.files and (self.overview is None or not self.overview.files)
