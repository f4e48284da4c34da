"""What a context pack is asked for."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, NoReturn

from search.retrieval.errors import InvalidQuery, shown
from search.retrieval.expansion import NEIGHBOUR_STEPS
from search.retrieval.query.channels import build_channels, distinct_terms
from search.retrieval.types import SearchQuery

MAX_BUDGET: Final = 1_000_000
MAX_NEIGHBOUR_STEPS: Final = 5


class BudgetUnit(StrEnum):
    """What a budget is counted in: code points, or tokens of the default model."""

    CHARS = "chars"
    TOKENS = "tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How much text a pack may hold, 1 to 1,000,000 units. Raises: InvalidQuery."""

    unit: BudgetUnit
    total: int

    def __post_init__(self) -> None:
        if not 1 <= self.total <= MAX_BUDGET:
            raise InvalidQuery(f"The budget is {self.total} {self.unit}; ask for 1 to {MAX_BUDGET}.")


class ResponseMode(StrEnum):
    """What a pack says: the text of what was found, or which files and names there are, then text."""

    TEXT = "text"
    OVERVIEW = "overview"

    @classmethod
    def _missing_(cls, value: object) -> NoReturn:
        raise InvalidQuery(f"{shown(value)} is not one of {', '.join(cls)}.")


DEFAULT_BUDGET: Final = Budget(unit=BudgetUnit.TOKENS, total=10_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What is added to the hits."""

    #: Steps to each side in the same document; 0: none.
    neighbours: int = NEIGHBOUR_STEPS
    #: What stands under the same breadcrumb parent.
    siblings: bool = True
    #: What a hit in code imports.
    imports: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRequest:
    """A request for a context pack."""

    #: Its text is the information request; `k` are the hits before expansion.
    query: SearchQuery
    technical_terms: tuple[str, ...] = ()
    budget: Budget = DEFAULT_BUDGET
    surroundings: Surroundings = field(default_factory=Surroundings)
    response_mode: ResponseMode = ResponseMode.TEXT
    #: Whether files are ranked by all that was found of them, and many files have something in the pack.
    by_file: bool = False
    #: Whether the budget is for segments as `pack_text` writes them; else for their texts.
    is_framed: bool = False

    @classmethod
    def asking(
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
        """Return the request whose query asks each stage by its channel.

        `channels` are those (`vector`, `lexical`, `rerank`) that the caller gives itself. Blank and
        repeated terms are dropped.
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
