"""Comparison of two runs over the same topics: wins, losses and statistical significance."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from search.evaluation.metrics import LOWER_IS_BETTER
from search.retrieval.errors import InvalidComparison

#: A difference up to this size is a draw.
DRAW: Final = 1e-6
#: With up to this many differing topics, all exchanges of the runs' values are enumerated.
EXACT_TOPICS: Final = 16
EXCHANGES: Final = 10_000
RESAMPLES: Final = 2_000

_SEED = 20_260_101
_MAX_CELLS = 2_000_000

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureComparison:
    """Two runs by one measure, over the topics for which both have it. Differences: second minus first."""

    #: Number of those topics.
    topics: int
    #: The first run's mean.
    first: float
    #: The second run's mean.
    second: float
    #: The second's mean minus the first's.
    difference: float
    #: Number of topics for which the second run is better.
    wins: int
    #: Number of those for which it is worse.
    losses: int
    #: Number of those for which they are equal within 0.000001.
    draws: int
    #: Probability of a mean difference at least as large by chance alone, in (0, 1].
    p_value: float
    #: 95 % confidence interval of the mean difference over such sets of topics.
    interval: tuple[float, float]
    #: Difference by topic id, smallest first.
    per_topic: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs, measure by measure."""

    measures: Mapping[str, MeasureComparison]
    #: Topics of the first run alone.
    only_first: tuple[str, ...]
    #: Topics of the second run alone.
    only_second: tuple[str, ...]
    #: Topics of both runs with different queries or judgements; they are not compared.
    unlike: tuple[str, ...]


def compare(
    first: Mapping[str, Mapping[str, float]],
    second: Mapping[str, Mapping[str, float]],
    measures: Iterable[str] | None = None,
    *,
    unlike: Iterable[str] = (),
) -> Comparison:
    """Compare values by topic and measure; None: by every measure that both have.

    `unlike` names topics that were excluded because their queries or judgements differ between the runs. The
    result is deterministic. Raises InvalidComparison when the runs share no topic and measure.
    """
    common = [topic_id for topic_id in first if topic_id in second]
    names = dict.fromkeys(name for topic_id in common for name in first[topic_id])
    found = {}
    for name in names if measures is None else dict.fromkeys(measures):
        shared = [each for each in common if name in first[each] and name in second[each]]
        if shared:
            pairs = {each: (first[each][name], second[each][name]) for each in shared}
            found[name] = compare_values(pairs, lower_is_better=name in LOWER_IS_BETTER)
    if not found:
        raise InvalidComparison(
            "The two runs share no topic and measure; run the same set with the same measures."
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

    If the runs were equally good, each topic's two values could be exchanged: the p-value is the share of the
    2ⁿ choices of signs whose |Σ ±dᵢ| reaches |Σ dᵢ|. With more than 16 differing topics it is estimated from
    B = 10,000 choices drawn with a fixed seed, as (1 + reached) / (1 + B). (M. D. Smucker, J. Allan,
    B. Carterette, "A Comparison of Statistical Significance Tests for Information Retrieval Evaluation",
    CIKM 2007.)
    """
    differing = differences[abs(differences) > DRAW]
    observed = abs(differing.sum()) - 1e-12  # the order of addition may change the last bits
    if not len(differing):
        return 1.0
    if len(differing) <= EXACT_TOPICS:
        sums = np.zeros(1)
        for each in differing:
            sums = np.concatenate((sums + each, sums - each))
        return float((abs(sums) >= observed).mean())
    random = np.random.default_rng(_SEED)
    reached, remaining = 0, EXCHANGES
    while remaining:
        batch = min(remaining, max(1, _MAX_CELLS // len(differing)))
        signs = random.integers(0, 2, size=(batch, len(differing)), dtype=np.int8) * 2 - 1
        reached += int((abs(signs @ differing) >= observed).sum())
        remaining -= batch
    return (1 + reached) / (1 + EXCHANGES)


def bootstrap_interval(differences: _Floats) -> tuple[float, float]:
    """Return the 95 % percentile interval of the mean over 2,000 resamples of topics with a fixed seed.

    (B. Efron, R. J. Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13; T. Sakai, "Evaluating
    Evaluation Metrics Based on the Bootstrap", SIGIR 2006.)
    """
    random = np.random.default_rng(_SEED)
    n, means, remaining = len(differences), [], RESAMPLES
    while remaining:
        batch = min(remaining, max(1, _MAX_CELLS // n))
        means.append(differences[random.integers(0, n, size=(batch, n))].mean(axis=1))
        remaining -= batch
    low, high = np.percentile(np.concatenate(means), (2.5, 97.5))
    return float(low), float(high)
