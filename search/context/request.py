"""The parameters of a context pack."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from search.retrieval.errors import InvalidQuery
from search.retrieval.expansion import NEIGHBOUR_STEPS
from search.retrieval.query.channels import build_channels, distinct_terms
from search.retrieval.types import QueryValue, SearchQuery

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
