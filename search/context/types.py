"""What a context pack is."""

from dataclasses import dataclass
from typing import Literal

from search.context.request import BudgetUnit, ResponseMode
from search.retrieval.citation import Citation
from search.retrieval.expansion import Reached, ReachedBy
from search.retrieval.query.filters import TrustLevel
from search.retrieval.types import Mode, RerankOutcome

#: `estimate`: tokens where the default model's tokenizer is not installed, on the high side.
CountedBy = Literal["code points", "model", "estimate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedText:
    """A segment as it is read: text, where it lies and how it came."""

    text: str
    #: Whether the text is exactly the cited lines of the file, joined by line feeds.
    verbatim: bool
    #: The programming language of its first chunk, None for prose.
    code_lang: str | None
    citation: Citation
    #: The best of its chunks' scores, in [0, 1].
    score: float
    #: How its best chunk came.
    reached_by: ReachedBy
    #: In the budget's unit, with citation and fence where the budget is for these too.
    size: int
    #: In the document's order.
    chunks: tuple[Reached, ...]


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
    """A definition of a file, or a heading."""

    #: Outermost first, its own last: ("class Cart", "method total").
    heading_path: tuple[str, ...]
    citation: Citation
    #: Whether something that was found lies in it.
    has_hit: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlinedFile:
    """A file that was found, by what is in it."""

    doc_id: str
    doc_path: str
    source: str
    version: str | None
    #: The programming language of most of it, None for prose.
    code_lang: str | None
    score: float
    #: In file order, not all of a long file.
    symbols: tuple[Symbol, ...]
    symbols_left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """Which files were found and what is in them, best file first."""

    files: tuple[OutlinedFile, ...]
    #: Files that were found and for which there was no room.
    left_out: int
    #: Of its text, in the budget's unit.
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetUse:
    """What the budget was, and how much of it overview and segments take."""

    unit: BudgetUnit
    total: int
    used: int
    counted_by: CountedBy


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPack:
    """The answer to a request, best file first; what was missing is named in `degraded` and `warnings`."""

    information_request: str
    technical_terms: tuple[str, ...]
    response_mode: ResponseMode
    mode: Mode
    index_version: str
    #: The change up to which the index that answered had come, and how many it was behind.
    seq: int
    lag: int
    took_ms: float
    degraded: tuple[str, ...]
    warnings: tuple[str, ...]
    rerank: RerankOutcome | None
    budget: BudgetUse
    #: Chunks that were found or reached and for which there was no room.
    left_out: int
    #: None unless it was asked for.
    overview: Overview | None
    files: tuple[PackedDocument, ...]

    @property
    def is_empty(self) -> bool:
        """Return whether it has no text and lists no file."""
        return not self.files and (self.overview is None or not self.overview.files)
