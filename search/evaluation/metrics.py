"""What rankings are worth by judgements; ir-measures (S. MacAvaney, C. Macdonald, I. Ounis, "Streamlining
Evaluation with ir-measures", ECIR 2022) computes.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import ir_measures
from ir_measures.providers import FallbackProvider

from search.retrieval.errors import InvalidMeasure, shown

#: Of a run that names none.
DEFAULT_MEASURES: Final = ("nDCG@10", "R@100", "RR@10", "P@5", "P@10", "Success@10")
#: Of a judged set in BEIR's layout.
BEIR_MEASURES: Final = ("nDCG@10", "R@10", "R@100", "RR@10")
#: Kebab's own, which every run has; see docs/evaluation/measuring.md.
OWN_MEASURES: Final = ("citation_coverage", "empty_rate", "refusal_rate", "refused_right")
LOWER_IS_BETTER: Final = frozenset({"empty_rate", "refusal_rate"})
MAX_MEASURES: Final = 20
MAX_CUTOFF: Final = 1_000

_MAX_NAME_CHARS = 60
_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*(\([\w=,.:{}'\" -]*\))?(@[0-9.]{1,8})?")
# Those that compute in this process and from what is installed: ERR, for one, would start a Perl script.
_PROVIDER = FallbackProvider(
    [ir_measures.pytrec_eval, ir_measures.compat, ir_measures.judged, ir_measures.msmarco]
)


def check_measures(names: Iterable[str]) -> tuple[str, ...]:
    """Return the measures as ir-measures prints them, each once, Kebab's own left as they are.

    Raises InvalidMeasure, naming value and remedy.
    """
    checked = dict.fromkeys(name if name in OWN_MEASURES else str(_parsed(name)) for name in names)
    if len(checked) > MAX_MEASURES:
        raise InvalidMeasure(f"There are {len(checked)} measures; give {MAX_MEASURES} at most.")
    return tuple(checked)


def measure_each(
    names: Iterable[str],
    qrels: Mapping[str, Mapping[str, int]],
    rankings: Mapping[str, Sequence[str]],
) -> dict[str, dict[str, float]]:
    """Return the value of each measure by query and name; Kebab's own are not among them.

    `rankings` holds document ids by query, best first, each once; a query without one counts as nothing
    found. A grade below 0 is what trec_eval takes it for. A value that isn't defined is left out.
    """
    measures = [_parsed(name) for name in names if name not in OWN_MEASURES]
    values: dict[str, dict[str, float]] = {query_id: {} for query_id in qrels}
    if not measures or not qrels:
        return values
    # trec_eval sorts by score, and ties by id: the places are the scores.
    run = {
        query_id: {doc_id: -float(place) for place, doc_id in enumerate(ranking)}
        for query_id, ranking in rankings.items()
        if ranking and query_id in qrels
    }
    judged = {query_id: dict(grades) for query_id, grades in qrels.items()}
    for found in _PROVIDER.iter_calc(measures, judged, run):
        if math.isfinite(found.value):
            values[found.query_id][str(found.measure)] = float(found.value)
    return values


def means(values: Iterable[Mapping[str, float]], names: Iterable[str]) -> dict[str, float | None]:
    """Return for each name the mean of the values that there are, None without one.

    Counts, like NumRet, are added up, as trec_eval does it.
    """
    listed = list(values)
    found = {name: [each[name] for each in listed if name in each] for name in names}
    return {name: _summary(name, each) if each else None for name, each in found.items()}


def _summary(name: str, values: Sequence[float]) -> float:
    if name in OWN_MEASURES:
        return sum(values) / len(values)
    aggregator = _parsed(name).aggregator()
    for value in values:
        aggregator.add(value)
    return float(aggregator.result())


def _parsed(name: str) -> Any:
    if not isinstance(name, str) or len(name) > _MAX_NAME_CHARS or _NAME.fullmatch(name) is None:
        raise InvalidMeasure(f"{shown(name)} is no measure; write it like nDCG@10, R@100 or P(rel=2)@5.")
    try:
        measure = ir_measures.parse_measure(name)
        # Its own check is an assertion, and its parser raises whatever comes out of it.
        is_known = _PROVIDER.supports(measure)
    except (ValueError, NameError, AssertionError, TypeError, KeyError, SyntaxError, AttributeError) as error:
        raise InvalidMeasure(
            f"{shown(name)} is no measure that ir-measures knows: {_short(error)}."
        ) from error
    if not is_known or not all(_is_in_range(name, value) for name, value in measure.params.items()):
        raise InvalidMeasure(
            f"{shown(name)} can't be computed here; give one like nDCG@10, R@100, RR@10, P@5, AP, Success@10,"
            f" Judged@10 or {', '.join(OWN_MEASURES)}, cut off at {MAX_CUTOFF:,} at most."
        )
    return measure


def _is_in_range(name: str, value: Any) -> bool:
    if isinstance(value, dict):
        return all(_is_in_range("", each) for each in (*value, *value.values()))
    least = 1 if name in ("cutoff", "rel") else 0
    return isinstance(value, str | bool) or (isinstance(value, int | float) and least <= value <= MAX_CUTOFF)


def _short(error: Exception) -> str:
    return shown(str(error).strip() or type(error).__name__)
