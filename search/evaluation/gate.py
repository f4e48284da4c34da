"""Whether a workspace may be searched another way: its golden queries are asked before and after.

Worse means that the mean of MEASURE over the golden queries falls by more than TOLERANCE. A workspace without
judged golden queries has no gate: everything passes, and nothing is asked.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from kebab.people.access.caller import Access, operator_access
from kebab.people.models import Workspace
from kebab.people.reader import OPERATOR, Reader
from kebab.people.workspace_settings.registry import preference, ranking_preferences
from kebab.tenancy.current_workspace import acting_in
from search.engine.search import scope_from, search, search_in
from search.errors import GateOutOfTime
from search.evaluation.comparison import MeasureComparison, compare
from search.evaluation.judged import JudgedTopic
from search.evaluation.runs import carry_out, end_run, open_run, values_of
from search.evaluation.settings import RunSettings
from search.evaluation.topic_sets import judged_topics
from search.mirror import local_mirrors
from search.models import EmbeddingSpace, Run, RunState
from search.models.evaluation import GOLDEN
from search.retrieval.types import SearchQuery, SearchResult
from search.vectors.spaces import live_form

#: What is compared, as ir-measures prints it.
MEASURE: Final = "nDCG@10"
#: How far the mean may fall: one query of two hundred that loses its first hit is no reason to refuse.
TOLERANCE: Final = 0.005
#: Golden queries that are asked, evenly spread over the set.
MAX_TOPICS: Final = 200
#: Seconds that a request waits for both runs together.
LIMIT_S: Final = 20.0
_DEPTH = 10
_MIRROR_LIMIT_S = 600.0
#: As whom the runs are kept: nobody who signs in, so that who reads everything alone sees them.
ACTOR = "quality gate"

#: As `search.engine.search.search` is called.
Ask = Callable[..., SearchResult]
#: Called after each step of something that takes long; may raise to end it.
Advance = Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A way in which the workspace's queries may be answered."""

    #: What its run is called.
    name: str
    ask: Ask
    settings: RunSettings = field(default_factory=lambda: RunSettings(k=_DEPTH))


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the golden queries say of a change."""

    #: None: there are no golden queries, so nothing was asked.
    compared: MeasureComparison | None = None
    #: The ids of both runs.
    runs: tuple[str, ...] = ()
    #: The texts of the queries, by topic id.
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def passes(self) -> bool:
        """Return whether the golden queries don't get worse."""
        return self.compared is None or self.compared.difference >= -TOLERANCE

    @property
    def figures(self) -> dict[str, Any]:
        """Return what the audit log and the command line have of it, JSON-ready; {} where nothing
        was asked.
        """
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
        """Return what people are told of it."""
        found = self.compared
        if found is None:
            return "There are no judged golden queries, so nothing was asked."
        way = "stay as good" if self.passes else "get worse"
        return (
            f"The golden queries {way}: {MEASURE} {found.first:.4f} before, {found.second:.4f} after, over"
            f" {found.topics} ({found.losses} worse, {found.wins} better; {TOLERANCE} less is let pass)."
        )

    def differences(self, most: int) -> list[tuple[str, str, float]]:
        """Return topic id, text and difference of up to `most` queries that changed, the worst first."""
        if self.compared is None:
            return []
        changed = sorted((gain, topic) for topic, gain in self.compared.per_topic.items() if gain)
        return [(topic, self.texts.get(topic, ""), gain) for gain, topic in changed[:most]]


def golden_topics(workspace: Workspace) -> list[JudgedTopic]:
    """Return the golden queries that the gate asks: those with a relevant document, MAX_TOPICS at most."""
    asked = judged_topics(_access(workspace), GOLDEN)
    judged = [topic for topic in asked if any(qrel.grade > 0 for qrel in topic.qrels)]
    if len(judged) <= MAX_TOPICS:
        return judged
    return [judged[place * len(judged) // MAX_TOPICS] for place in range(MAX_TOPICS)]


def judge(
    workspace: Workspace,
    topics: Sequence[JudgedTopic],
    before: State,
    after: State,
    *,
    advance: Advance | None = None,
) -> Verdict:
    """Ask `topics` in both states and compare; both runs are kept. Without topics nothing is asked.

    `advance` is called after each query, and what it raises passes. Without one a request waits for the
    answer: raises GateOutOfTime after LIMIT_S seconds. Raises SearchError.
    """
    if not topics:
        return Verdict()
    _await_mirror(workspace)
    advance = _within_limit(len(topics)) if advance is None else advance
    first, second = (_asked(workspace, topics, state, advance) for state in (before, after))
    found = compare(values_of(first), values_of(second), [MEASURE]).measures[MEASURE]
    texts = {topic.topic_id: topic.text for topic in topics}
    return Verdict(compared=found, runs=(str(first.pk), str(second.pk)), texts=texts)


def _within_limit(topics: int) -> Advance:
    until = time.monotonic() + LIMIT_S

    def advance() -> None:
        if time.monotonic() > until:
            raise GateOutOfTime(
                f"{topics} golden queries can't be asked twice within {LIMIT_S:g} s, so nothing was changed."
                " Have a job ask them: POST …/eval/gate with switch, or the command line."
            )

    return advance


def settings_state(workspace: Workspace, name: str, *, rerank: bool = False) -> State:
    """Return the state in which this workspace, or a copy with other settings, answers, reranked if asked."""

    def ask(_: Workspace, query: SearchQuery, *, reader: Reader = OPERATOR) -> SearchResult:
        with acting_in(workspace.pk):  # which may be a copy of another than whose run it is
            return search(workspace, query, reader=reader)

    return State(name=name, ask=ask, settings=_run_settings(workspace, rerank=rerank))


def space_state(workspace: Workspace, space: EmbeddingSpace, name: str) -> State:
    """Return the state in which the vectors of `space`, whether it is live or not, are searched."""

    def ask(_: Workspace, query: SearchQuery, *, reader: Reader = OPERATOR) -> SearchResult:
        scope = scope_from(workspace, query.filters, reader, None)
        return search_in(workspace, replace(scope, space=live_form(space)), query)

    return State(name=name, ask=ask, settings=_run_settings(workspace))


def _run_settings(workspace: Workspace, *, rerank: bool = False) -> RunSettings:
    values = {name: preference(workspace, name) for name in sorted(ranking_preferences())}
    return RunSettings(k=_DEPTH, rerank=rerank, preferences=values)


def _await_mirror(workspace: Workspace) -> None:
    """Have this node, which may have no mirror of it yet, find all of the workspace by its words."""
    head_seq = Workspace.objects.values_list("head_seq", flat=True).get(pk=workspace.pk)
    local_mirrors.wait_for_seq(workspace.pk, head_seq, limit_s=_MIRROR_LIMIT_S)


def _asked(workspace: Workspace, topics: Sequence[JudgedTopic], state: State, advance: Advance) -> Run:
    run = open_run(
        _access(workspace),
        topics,
        state.settings,
        topic_set=GOLDEN,
        measures=(MEASURE,),
        name=state.name[:100],
    )
    try:
        return carry_out(run, reader=OPERATOR, advance=advance, ask=state.ask)
    except GateOutOfTime as error:
        end_run(run, RunState.FAILED, str(error))
        raise
    except BaseException:
        end_run(run, RunState.CANCELLED, "The change that it was asked for was given up.")
        raise


def _access(workspace: Workspace) -> Access:
    return operator_access(workspace, ACTOR)
