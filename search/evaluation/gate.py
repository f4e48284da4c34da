"""Quality gate for changes of search: a workspace's golden queries are run before and after a change.

A change fails when the mean of MEASURE over the golden queries falls by more than TOLERANCE. A workspace
without judged golden queries has no gate: every change passes, and no query is run.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from kebab.identity.caller import Access, operator_access
from kebab.identity.models import Workspace
from kebab.identity.reader import OPERATOR, Reader
from kebab.people.workspace_settings.registry import preferences, ranking_preferences
from search.engine.search import resolve_scope_at_seq, search, search_in_scope
from search.errors import GateOutOfTime
from search.evaluation.comparison import MeasureComparison, compare
from search.evaluation.judged import JudgedTopic
from search.evaluation.run_topics import SearchFunction
from search.evaluation.runs import end_run, execute_run, measure_values, open_run
from search.evaluation.settings import RunSettings
from search.evaluation.topic_sets import judged_topics
from search.mirror import local_mirrors
from search.models import EmbeddingSpace, Run, RunState
from search.models.evaluation import GOLDEN
from search.retrieval.types import SearchQuery, SearchResult
from search.vectors.spaces import to_live_space

#: Name of the compared measure in ir-measures.
MEASURE: Final = "nDCG@10"
#: Largest fall of the mean that passes: one query of two hundred may lose its first hit.
TOLERANCE: Final = 0.005
#: Most golden queries that are run, evenly spread over the set.
MAX_TOPICS: Final = 200
#: Time limit, in seconds, of a request for both runs together.
LIMIT_S: Final = 20.0
_DEPTH = 10
_MIRROR_LIMIT_S = 600.0
#: Creator of the runs: no account, so that only callers who read everything see them.
ACTOR = "quality gate"

#: Called after each step of a long operation; may raise to end it.
Advance = Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchVariant:
    """One way of searching the workspace, before or after a change."""

    #: Name of its run.
    name: str
    ask: SearchFunction
    settings: RunSettings = field(default_factory=lambda: RunSettings(k=_DEPTH))


@dataclass(frozen=True, slots=True, kw_only=True)
class GateVerdict:
    """The gate's verdict on a change."""

    #: None: there are no golden queries, so none was run.
    compared: MeasureComparison | None = None
    #: The ids of both runs.
    runs: tuple[str, ...] = ()
    #: The texts of the queries, by topic id.
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def passes(self) -> bool:
        """Return whether the measure falls by no more than the tolerance."""
        return self.compared is None or self.compared.difference >= -TOLERANCE

    @property
    def figures(self) -> dict[str, Any]:
        """Return the JSON-ready figures for the audit log and the command line; {} when no query was run."""
        found = self.compared
        if found is None:
            return {}
        return {
            "measure": MEASURE,
            "before": round(found.first, 5),
            "after": round(found.second, 5),
            "tolerance": TOLERANCE,
            "topics": found.topics,
            "better": found.wins,
            "worse": found.losses,
            "p_value": round(found.p_value, 5),
            "passes": self.passes,
            "runs": list(self.runs),
        }

    @property
    def sentence(self) -> str:
        """Return the verdict as a sentence for people."""
        found = self.compared
        if found is None:
            return "There are no judged golden queries, so nothing was asked."
        trend = "stay as good" if self.passes else "get worse"
        return (
            f"The golden queries {trend}: {MEASURE} {found.first:.4f} before, {found.second:.4f} after, over"
            f" {found.topics} ({found.losses} worse, {found.wins} better; {TOLERANCE} less is let pass)."
        )

    def differences(self, most: int) -> list[tuple[str, str, float]]:
        """Return topic id, text and difference of up to `most` changed queries, worst first."""
        if self.compared is None:
            return []
        changed = sorted((gain, topic) for topic, gain in self.compared.per_topic.items() if gain)
        return [(topic, self.texts.get(topic, ""), gain) for gain, topic in changed[:most]]


def golden_topics(workspace: Workspace) -> list[JudgedTopic]:
    """Return the gate's golden queries: those with a relevant document, MAX_TOPICS at most."""
    topics = judged_topics(_access(workspace), GOLDEN)
    judged = [topic for topic in topics if any(qrel.grade > 0 for qrel in topic.qrels)]
    if len(judged) <= MAX_TOPICS:
        return judged
    return [judged[index * len(judged) // MAX_TOPICS] for index in range(MAX_TOPICS)]


def judge(
    workspace: Workspace,
    topics: Sequence[JudgedTopic],
    before: SearchVariant,
    after: SearchVariant,
    *,
    advance: Advance | None = None,
) -> GateVerdict:
    """Run `topics` in both variants, store both runs and compare them. Without topics nothing is run.

    `advance` is called after each query, and its exceptions propagate. Without it, a request is waiting:
    raises GateOutOfTime after LIMIT_S seconds. Raises SearchError.
    """
    if not topics:
        return GateVerdict()
    _await_mirror(workspace)
    advance = _limit_time(len(topics)) if advance is None else advance
    first, second = (_run_variant(workspace, topics, variant, advance) for variant in (before, after))
    found = compare(measure_values(first), measure_values(second), [MEASURE]).measures[MEASURE]
    texts = {topic.topic_id: topic.text for topic in topics}
    return GateVerdict(compared=found, runs=(str(first.pk), str(second.pk)), texts=texts)


def _limit_time(topics: int) -> Advance:
    until = time.monotonic() + LIMIT_S

    def advance() -> None:
        if time.monotonic() > until:
            raise GateOutOfTime(
                f"{topics} golden queries can't be asked twice within {LIMIT_S:g} s, so nothing was changed."
                " Have a job ask them: POST …/eval/gate with switch, or the command line."
            )

    return advance


def settings_variant(workspace: Workspace, name: str, *, rerank: bool = False) -> SearchVariant:
    """Return the variant that searches with the settings of `workspace`, stored or not."""

    def ask(_: Workspace, query: SearchQuery, *, reader: Reader = OPERATOR) -> SearchResult:
        return search(workspace, query, reader=reader)

    return SearchVariant(name=name, ask=ask, settings=_run_settings(workspace, rerank=rerank))


def space_variant(workspace: Workspace, space: EmbeddingSpace, name: str) -> SearchVariant:
    """Return the variant that searches the vectors of `space`, live or not."""

    def ask(_: Workspace, query: SearchQuery, *, reader: Reader = OPERATOR) -> SearchResult:
        scope = resolve_scope_at_seq(workspace, query.filters, reader, None)
        return search_in_scope(workspace, replace(scope, space=to_live_space(space)), query)

    return SearchVariant(name=name, ask=ask, settings=_run_settings(workspace))


def _run_settings(workspace: Workspace, *, rerank: bool = False) -> RunSettings:
    listed = preferences(workspace)
    values = {name: listed[name] for name in sorted(ranking_preferences()) if name in listed}
    return RunSettings(k=_DEPTH, rerank=rerank, preferences=values)


def _await_mirror(workspace: Workspace) -> None:
    """Wait until this node's mirror, which may not exist yet, has all changes of the workspace."""
    head_seq = Workspace.objects.values_list("head_seq", flat=True).get(pk=workspace.pk)
    local_mirrors.wait_for_seq(workspace.pk, head_seq, limit_s=_MIRROR_LIMIT_S)


def _run_variant(
    workspace: Workspace, topics: Sequence[JudgedTopic], variant: SearchVariant, advance: Advance
) -> Run:
    run = open_run(
        _access(workspace),
        topics,
        variant.settings,
        topic_set=GOLDEN,
        measures=(MEASURE,),
        name=variant.name[:100],
    )
    try:
        return execute_run(run, reader=OPERATOR, advance=advance, ask=variant.ask)
    except GateOutOfTime as error:
        end_run(run, RunState.FAILED, str(error))
        raise
    except BaseException:
        end_run(run, RunState.CANCELLED, "The change that it was asked for was given up.")
        raise


def _access(workspace: Workspace) -> Access:
    return operator_access(workspace, ACTOR)
