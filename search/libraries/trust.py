"""How far a library is to be trusted, from what is known of it: 0 to 10 with one decimal."""

import math
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

_MAX = 10.0
_STARS_MAX = 4.0
_SNIPPETS_MAX = 3.0
_SNIPPETS_A_POINT = 500
_TENTH = Decimal("0.1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What the score is made of."""

    #: None: the host counts none, or there is no host.
    stars: int | None
    total_snippets: int
    is_on_git_host: bool
    #: At least once.
    is_indexed: bool
    is_described: bool


def trust_score(standing: Standing) -> float:
    """Return `min(4, log10(stars + 1)) + min(3, snippets / 500) + host + indexed + described`, at most 10.

    It ranks libraries; it is another thing than a document's trust level, and weighs on no hit's score.
    """
    stars = 0.0 if standing.stars is None else min(_STARS_MAX, math.log10(standing.stars + 1))
    snippets = min(_SNIPPETS_MAX, standing.total_snippets / _SNIPPETS_A_POINT)
    merits = standing.is_on_git_host + standing.is_indexed + standing.is_described
    return one_decimal(min(_MAX, stars + snippets + merits))


def one_decimal(value: float) -> float:
    """Round half up on the binary value, as ECMAScript's `Number.prototype.toFixed(1)` does.

    0.25 lies in the middle and gives 0.3; 0.35 lies a little below the middle in binary and gives 0.3.
    """
    return float(Decimal(value).quantize(_TENTH, rounding=ROUND_HALF_UP))
