"""Measures of rankings by judgements, computed by ir-measures.

S. MacAvaney, C. Macdonald, I. Ounis, "Streamlining Evaluation with ir-measures", ECIR 2022.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import ir_measures
from ir_measures.providers import FallbackProvider

from search.retrieval.errors import InvalidMeasure, preview

#: Measures of a run that names none.
DEFAULT_MEASURES: Final = ("nDCG@10", "R@100", "RR@10", "P@5", "P@10", "Success@10")
#: Measures of a judged set in BEIR's layout.
BEIR_MEASURES: Final = ("nDCG@10", "R@10", "R@100", "RR@10")
#: Kebab's own measures, which every run has; see docs/evaluation/measuring.md.
OWN_MEASURES: Final = ("citation_coverage", "empty_rate", "refusal_rate", "refused_right")
LOWER_IS_BETTER: Final = frozenset({"empty_rate", "refusal_rate"})
MAX_MEASURES: Final = 20
MAX_CUTOFF: Final = 1_000

_MAX_NAME_CHARS = 60
_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*(\([\w=,.:{}'\" -]*\))?(@[0-9.]{1,8})?")
# Providers that compute in this process from installed packages; ERR, for one, would start a Perl script.
_PROVIDER = FallbackProvider(
    [ir_measures.pytrec_eval, ir_measures.compat, ir_measures.judged, ir_measures.msmarco]
)


def check_measures(names: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct measures in ir-measures' spelling; Kebab's own stay as they are.

    Raises InvalidMeasure, naming value and remedy.
    """
    checked = dict.fromkeys(name if name in OWN_MEASURES else str(_parse_measure(name)) for name in names)
    if len(checked) > MAX_MEASURES:
        raise InvalidMeasure(f"There are {len(checked)} measures; give {MAX_MEASURES} at most.")
    return tuple(checked)


def measure_each(
    names: Iterable[str],
    qrels: Mapping[str, Mapping[str, int]],
    rankings: Mapping[str, Sequence[str]],
) -> dict[str, dict[str, float]]:
    """Return the value of each measure, except Kebab's own, by query and name.

    `rankings` holds distinct document ids by query, best first; a query without a ranking counts as one
    without hits. Grades below 0 have their trec_eval meaning. Undefined values are omitted.
    """
    measures = [_parse_measure(name) for name in names if name not in OWN_MEASURES]
    values: dict[str, dict[str, float]] = {query_id: {} for query_id in qrels}
    if not measures or not qrels:
        return values
    # trec_eval sorts by score and breaks ties by id, so negative ranks serve as distinct scores.
    run = {
        query_id: {doc_id: -float(rank) for rank, doc_id in enumerate(ranking)}
        for query_id, ranking in rankings.items()
        if ranking and query_id in qrels
    }
    judged = {query_id: dict(grades) for query_id, grades in qrels.items()}
    for found in _PROVIDER.iter_calc(measures, judged, run):
        if math.isfinite(found.value):
            values[found.query_id][str(found.measure)] = float(found.value)
    return values


def means(values: Iterable[Mapping[str, float]], names: Iterable[str]) -> dict[str, float | None]:
    """Return the mean of the present values by name, None without any.

    Counts, like NumRet, are added up, as in trec_eval.
    """
    listed = list(values)
    found = {name: [each[name] for each in listed if name in each] for name in names}
    return {name: _aggregate(name, each) if each else None for name, each in found.items()}


def _aggregate(name: str, values: Sequence[float]) -> float:
    if name in OWN_MEASURES:
        return sum(values) / len(values)
    aggregator = _parse_measure(name).aggregator()
    for value in values:
        aggregator.add(value)
    return float(aggregator.result())


def _parse_measure(name: str) -> Any:
    if not isinstance(name, str) or len(name) > _MAX_NAME_CHARS or _NAME.fullmatch(name) is None:
        raise InvalidMeasure(f"{preview(name)} is not a measure; write it like nDCG@10, R@100 or P(rel=2)@5.")
    try:
        measure = ir_measures.parse_measure(name)
        # Its own check is an assertion, and its parser raises arbitrary errors.
        is_known = _PROVIDER.supports(measure)
    except (ValueError, NameError, AssertionError, TypeError, KeyError, SyntaxError, AttributeError) as error:
        wrong = preview(str(error).strip() or type(error).__name__)
        raise InvalidMeasure(f"{preview(name)} is not a measure of ir-measures: {wrong}.") from error
    if not is_known or not all(_is_in_range(name, value) for name, value in measure.params.items()):
        raise InvalidMeasure(
            f"{preview(name)} can't be computed here; give one like nDCG@10, R@100, RR@10, P@5, AP,"
            f" Success@10, Judged@10 or {', '.join(OWN_MEASURES)}, cut off at {MAX_CUTOFF:,} at most."
        )
    return measure


def _is_in_range(name: str, value: Any) -> bool:
    if isinstance(value, dict):
        return all(_is_in_range("", each) for each in (*value, *value.values()))
    least = 1 if name in ("cutoff", "rel") else 0
    return isinstance(value, str | bool) or (isinstance(value, int | float) and least <= value <= MAX_CUTOFF)
