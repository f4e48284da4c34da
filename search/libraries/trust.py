"""Trust score of a library: 0 to 10 with one decimal."""

import math
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

_MAX = 10.0
_STARS_MAX = 4.0
_SNIPPETS_MAX = 3.0
_SNIPPETS_PER_POINT = 500
_TENTH = Decimal("0.1")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustFactors:
    """The factors of a trust score."""

    #: None: the host has no stars, or the source has no host.
    stars: int | None
    total_snippets: int
    is_on_git_host: bool
    #: Whether it has been indexed at least once.
    is_indexed: bool
    is_described: bool


def trust_score(factors: TrustFactors) -> float:
    """Return `min(4, log10(stars + 1)) + min(3, snippets / 500) + host + indexed + described`, at most 10.

    It ranks libraries. It is independent of a document's trust level and doesn't affect scores of hits.
    """
    stars = 0.0 if factors.stars is None else min(_STARS_MAX, math.log10(factors.stars + 1))
    snippets = min(_SNIPPETS_MAX, factors.total_snippets / _SNIPPETS_PER_POINT)
    merits = factors.is_on_git_host + factors.is_indexed + factors.is_described
    return one_decimal(min(_MAX, stars + snippets + merits))


def one_decimal(value: float) -> float:
    """Round half up on the binary value, as ECMAScript's `Number.prototype.toFixed(1)` does.

    0.25 is exactly in the middle and gives 0.3; 0.35 is a little below the middle in binary and gives 0.3.
    """
    return float(Decimal(value).quantize(_TENTH, rounding=ROUND_HALF_UP))
