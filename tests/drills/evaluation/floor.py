"""Shares of hits, questions and random letters that fall below the floor, on judged sets."""

import random
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from ingest.cli.judged_documents import Loader, embed_all
from ingest.cli.scratch import scratch_workspace
from kebab.identity.models import Workspace
from kebab.identity.reader import OPERATOR
from search.engine.search import search
from search.evaluation.beir import JudgedSet, read_documents
from search.evaluation.metrics import measure_each
from search.models import Chunk
from search.retrieval.types import Mode, SearchQuery, SearchResult

_TOP = 10
_NDCG = "nDCG@10"
# Questions of each other set; those of sets about the same things are left out.
_FOREIGN = 20
_ALIKE = (frozenset({"adi", "cisi"}), frozenset({"xquad-en", "xquad-de", "xquad-zh"}))
_KEYS = ("qwertyuiop", "asdfghjkl", "zxcvbnm", string.ascii_lowercase)
_RANDOM = 150

HEADER = (
    "| set | mode | queries | relevant below | top ten below | nDCG@10 before, after | foreign | letters |\n"
    "|---|---|---|---|---|---|---|---|"
)


@dataclass(slots=True)
class _Figures:
    """Figures of one set in one mode; the lists have an item for each query."""

    set_name: str
    mode: Mode
    #: Whether a relevant document of the top ten is below the floor, and the share of the top ten that is.
    has_fallen: list[bool] = field(default_factory=list)
    below: list[float] = field(default_factory=list)
    #: nDCG in the order of the fusion, and with related hits last.
    before: list[float] = field(default_factory=list)
    after: list[float] = field(default_factory=list)
    #: Whether no hit is relevant, for questions of other sets, and for random letters.
    foreign: list[bool] = field(default_factory=list)
    letters: list[bool] = field(default_factory=list)

    def row(self) -> str:
        """Return the row of the table."""
        shares = [f"{fmean(each):.1%}" for each in (self.has_fallen, self.below)]
        gains = f"{fmean(self.before):.4f}, {fmean(self.after):.4f}"
        refused = [f"{fmean(each):.1%}" if each else "" for each in (self.foreign, self.letters)]
        cells = (self.set_name, self.mode, len(self.has_fallen), *shares, gains, *refused)
        return f"| {' | '.join(map(str, cells))} |"


def measure_floor(judged: JudgedSet, others: Sequence[JudgedSet]) -> Iterator[str]:
    """Load a set, and yield a row of the table for each mode."""
    alike = next((each for each in _ALIKE if judged.name in each), frozenset({judged.name}))
    foreign = [
        text for other in others if other.name not in alike for text in other.sample(_FOREIGN).topics.values()
    ]
    with scratch_workspace("floor") as workspace:
        names = Loader(workspace).load(read_documents(judged.folder), lambda: None).names
        embed_all(workspace, lambda size: None)
        rows = Chunk.objects.in_workspace(workspace).values_list("chunk_id", "document__doc_id")
        documents = {chunk_id.hex: names[doc_id.hex] for chunk_id, doc_id in rows}
        for mode in (Mode.HYBRID, Mode.LEXICAL, Mode.VECTOR):
            figures = _Figures(judged.name, mode)
            for topic_id, text in judged.topics.items():
                result = _ask(workspace, text, mode, explain=True)
                _add_judged(figures, result, judged.qrels[topic_id], documents.__getitem__)
            figures.foreign = [_finds_nothing(_ask(workspace, text, mode)) for text in foreign]
            figures.letters = [_finds_nothing(_ask(workspace, text, mode)) for text in random_letters()]
            yield figures.row()


def random_letters() -> list[str]:
    """Return queries of random letters: of a row of the keyboard or of all, in one word or several."""
    chosen = random.Random(1)

    def word() -> str:
        return "".join(chosen.choices(chosen.choice(_KEYS), k=chosen.randint(5, 14)))

    return [*_KEYS[:3], *(" ".join(word() for _ in range(1 + n % 3)) for n in range(_RANDOM))]


def _ask(workspace: Workspace, text: str, mode: Mode, **options: bool) -> SearchResult:
    query = SearchQuery(text=text, mode=mode, k=_TOP, **options)  # type: ignore[arg-type]  # flags only
    return search(workspace, query, reader=OPERATOR, with_snippets=False)


def _finds_nothing(result: SearchResult) -> bool:
    return all(hit.related for hit in result.hits)


def _add_judged(
    figures: _Figures, result: SearchResult, grades: Mapping[str, int], document_of: Callable[[str], str]
) -> None:
    explained: Mapping[str, object] = result.explain or {}
    fused, below = explained["fused"], explained["below_floor"]
    if not isinstance(fused, list) or not isinstance(below, list):
        raise TypeError("The explanation has no fused list.")
    # As it was fused: related hits are last in the list.
    order = sorted(
        fused,
        key=lambda row: -row["score"] if figures.mode is Mode.HYBRID else row["ranks"][figures.mode],
    )
    top = [row["chunk_id"] for row in order[:_TOP]]
    fallen = set(top) & set(below)
    figures.has_fallen.append(any(grades.get(document_of(id_), 0) > 0 for id_ in fallen))
    figures.below.append(len(fallen) / max(1, len(top)))
    for gains, rows in ((figures.before, order), (figures.after, fused)):
        ranking = list(dict.fromkeys(document_of(row["chunk_id"]) for row in rows))
        gains.append(measure_each([_NDCG], {"": grades}, {"": ranking})[""].get(_NDCG, 0.0))
