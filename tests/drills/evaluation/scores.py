"""Shares of right documents and of other hits that thresholds of `score` keep."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ingest.cli.judged_documents import Loader, embed_all
from ingest.cli.scratch import scratch_workspace
from kebab.identity.models import Workspace
from kebab.identity.reader import OPERATOR
from search.engine.search import search
from search.evaluation.beir import JudgedSet, read_documents
from search.retrieval.types import Fusion, Mode, SearchQuery
from tests.drills.evaluation import handbook
from tests.drills.evaluation.floor import random_letters

_TOP = 10
_THRESHOLDS = (0.2, 0.5)
_LETTERS = 60
HEADER = (
    "| set | mode | least score | right kept | kept are right | kept | foreign | letters |\n"
    "|---|---|---|---|---|---|---|---|"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredHit:
    """The document of a hit, its score, and whether it is right."""

    document: str
    score: float
    is_right: bool


def measure_handbook(others: Sequence[JudgedSet]) -> Iterator[str]:
    """Load the made-up handbook, and yield a row of the table for each mode and threshold."""
    with scratch_workspace("scores") as workspace:
        handbook.load(workspace)
        right = {query.text: frozenset(query.paths) for query in handbook.read_queries()}
        foreign = [text for other in others for text in other.topics.values()]
        yield from _rows("handbook", workspace, right, foreign, {})


def measure_set(judged: JudgedSet, others: Sequence[JudgedSet]) -> Iterator[str]:
    """Load a judged set, and yield a row of the table for each mode and threshold."""
    with scratch_workspace("scores") as workspace:
        names = Loader(workspace).load(read_documents(judged.folder), lambda: None).names
        embed_all(workspace, lambda size: None)
        right = {
            text: frozenset(name for name, grade in judged.qrels[topic_id].items() if grade > 0)
            for topic_id, text in judged.topics.items()
        }
        foreign = [text for other in others if other.name != judged.name for text in other.topics.values()]
        yield from _rows(judged.name, workspace, right, foreign, names)


def _rows(
    name: str,
    workspace: Workspace,
    right: Mapping[str, frozenset[str]],
    foreign: Sequence[str],
    names: Mapping[str, str],
) -> Iterator[str]:
    """Yield the rows of a set; `names` has its ids of documents by the workspace's, paths if it is empty."""
    for mode in Mode:
        lists = {
            text: _ask(workspace, text, mode, right.get(text, frozenset()), names)
            for text in (*right, *foreign, *random_letters()[:_LETTERS])
        }
        of_right = [lists[text] for text in right]
        letters = [lists[text] for text in random_letters()[:_LETTERS]]
        for threshold in _THRESHOLDS:
            kept = [[hit for hit in hits if hit.score >= threshold] for hits in of_right]
            are_right = [hit.is_right for hits in kept for hit in hits]
            cells = (
                f"{_count_right(kept) / _count_right(of_right):.0%}",
                f"{sum(are_right) / max(1, len(are_right)):.0%}",
                f"{len(are_right) / len(kept):.1f}",
                _share_empty([lists[text] for text in foreign], threshold),
                _share_empty(letters, threshold),
            )
            yield f"| {' | '.join((name, mode, str(threshold), *cells))} |"


def _ask(
    workspace: Workspace,
    text: str,
    mode: Mode,
    right: frozenset[str],
    names: Mapping[str, str],
) -> list[ScoredHit]:
    query = SearchQuery(text=text, mode=mode, fusion=Fusion.CONVEX, k=_TOP, operators=False)
    hits = search(workspace, query, reader=OPERATOR, with_snippets=False).hits
    found = [(names.get(hit.doc_id, hit.doc_path), hit.score) for hit in hits]
    return [ScoredHit(document=name, score=score, is_right=name in right) for name, score in found]


def _count_right(lists: Sequence[Sequence[ScoredHit]]) -> int:
    """Return the number of right documents in the lists."""
    return sum(len({hit.document for hit in hits if hit.is_right}) for hits in lists)


def _share_empty(lists: Sequence[Sequence[ScoredHit]], threshold: float) -> str:
    empty = [all(hit.score < threshold for hit in hits) for hits in lists]
    return f"{sum(empty) / len(empty):.0%}" if empty else ""
