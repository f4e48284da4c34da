"""Two runs over the same topics: who wins where, and whether that could be chance."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from search.evaluation.metrics import LOWER_IS_BETTER
from search.retrieval.errors import InvalidComparison

#: A difference that is no larger is a draw.
DRAW: Final = 1e-6
#: With so many topics that differ, or fewer, all ways of exchanging the runs are looked at.
EXACT_TOPICS: Final = 16
EXCHANGES: Final = 10_000
RESAMPLES: Final = 2_000

_SEED = 20_260_101
_AT_ONCE = 2_000_000

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureComparison:
    """Two runs by one measure, over the topics that both have it for. Differences: second minus first."""

    topics: int
    #: Means.
    first: float
    second: float
    difference: float
    #: Topics for which the second run is better, worse, and within 0.000001 the same.
    wins: int
    losses: int
    draws: int
    #: How often chance alone makes a mean difference at least as large, in (0, 1].
    p_value: float
    #: In which the mean difference of 95 of 100 such sets of topics lies.
    interval: tuple[float, float]
    #: Differences, largest loss first.
    per_topic: Mapping[str, float]

    def as_json(self) -> dict[str, Any]:
        """Give it JSON-ready."""
        return {
            "topics": self.topics,
            "first": self.first,
            "second": self.second,
            "difference": self.difference,
            "wins": self.wins,
            "losses": self.losses,
            "draws": self.draws,
            "p_value": self.p_value,
            "interval": list(self.interval),
            "per_topic": dict(self.per_topic),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs, measure by measure."""

    measures: Mapping[str, MeasureComparison]
    #: Topics that one run has and the other hasn't.
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    #: Topics that both have, asked or judged otherwise; they are not compared.
    unlike: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Give it JSON-ready."""
        return {
            "measures": {name: each.as_json() for name, each in self.measures.items()},
            "only_first": list(self.only_first),
            "only_second": list(self.only_second),
            "unlike": list(self.unlike),
        }


def compare(
    first: Mapping[str, Mapping[str, float]],
    second: Mapping[str, Mapping[str, float]],
    measures: Iterable[str] | None = None,
    *,
    unlike: Iterable[str] = (),
) -> Comparison:
    """Compare values by topic and measure; None: by every measure that both have.

    `unlike` names topics that were left out because the runs asked or judged them otherwise.
    The same values give the same figures. Raises InvalidComparison where no topic has one in both.
    """
    common = [topic_id for topic_id in first if topic_id in second]
    names = dict.fromkeys(name for topic_id in common for name in first[topic_id])
    found = {}
    for name in names if measures is None else dict.fromkeys(measures):
        asked = [each for each in common if name in first[each] and name in second[each]]
        if asked:
            pairs = {each: (first[each][name], second[each][name]) for each in asked}
            found[name] = compare_values(pairs, lower_is_better=name in LOWER_IS_BETTER)
    if not found:
        raise InvalidComparison(
            "The two runs have no topic and measure in common; run the same set with the same measures."
        )
    return Comparison(
        measures=found,
        only_first=tuple(each for each in first if each not in second),
        only_second=tuple(each for each in second if each not in first),
        unlike=tuple(unlike),
    )


def compare_values(
    pairs: Mapping[str, tuple[float, float]], *, lower_is_better: bool = False
) -> MeasureComparison:
    """Compare the values (first, second) of at least one topic."""
    differences = {topic_id: second - first for topic_id, (first, second) in pairs.items()}
    values = np.array(list(differences.values()), dtype=np.float64)
    gains = -values if lower_is_better else values
    n = len(values)
    return MeasureComparison(
        topics=n,
        first=sum(first for first, _ in pairs.values()) / n,
        second=sum(second for _, second in pairs.values()) / n,
        difference=float(values.mean()),
        wins=int((gains > DRAW).sum()),
        losses=int((gains < -DRAW).sum()),
        draws=int((abs(gains) <= DRAW).sum()),
        p_value=randomisation_test(values),
        interval=bootstrap_interval(values),
        per_topic={each: differences[each] for each in sorted(differences, key=differences.__getitem__)},
    )


def randomisation_test(differences: _Floats) -> float:
    """Return the two-sided p-value of Fisher's paired randomisation test of a mean difference of 0.

    If the runs were equally good, each topic's two values could as well be exchanged: the p-value is the
    share of the 2ⁿ ways to choose signs whose |Σ ±dᵢ| reaches |Σ dᵢ|; above 16 topics that differ that of
    B = 10,000 drawn with a fixed seed, (1 + reached) / (1 + B). (M. D. Smucker, J. Allan, B. Carterette,
    "A Comparison of Statistical Significance Tests for Information Retrieval Evaluation", CIKM 2007.)
    """
    differing = differences[abs(differences) > DRAW]
    observed = abs(differing.sum()) - 1e-12  # another order of adding may differ by the last bits
    if not len(differing):
        return 1.0
    if len(differing) <= EXACT_TOPICS:
        sums = np.zeros(1)
        for each in differing:
            sums = np.concatenate((sums + each, sums - each))
        return float((abs(sums) >= observed).mean())
    random = np.random.default_rng(_SEED)
    reached, left = 0, EXCHANGES
    while left:
        now = min(left, max(1, _AT_ONCE // len(differing)))
        signs = random.integers(0, 2, size=(now, len(differing)), dtype=np.int8) * 2 - 1
        reached += int((abs(signs @ differing) >= observed).sum())
        left -= now
    return (1 + reached) / (1 + EXCHANGES)


def bootstrap_interval(differences: _Floats) -> tuple[float, float]:
    """Return the 95 % percentile interval of the mean over 2,000 resamples of topics, drawn with a fixed
    seed.

    (B. Efron, R. J. Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13; T. Sakai, "Evaluating
    Evaluation Metrics Based on the Bootstrap", SIGIR 2006.)
    """
    random = np.random.default_rng(_SEED)
    n, means, left = len(differences), [], RESAMPLES
    while left:
        now = min(left, max(1, _AT_ONCE // n))
        means.append(differences[random.integers(0, n, size=(now, n))].mean(axis=1))
        left -= now
    low, high = np.percentile(np.concatenate(means), (2.5, 97.5))
    return float(low), float(high)
