"""The judged set of this folder: documents through the ordinary pipeline, topics through the search."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import ir_measures
import yaml
from ir_measures import nDCG

from kebab.identity.models import Workspace
from kebab.identity.reader import Reader
from search.corpus import ensure_source
from search.engine.search import search
from search.mirror import local_mirrors
from search.mirror.sync.sync import sync_mirror
from search.retrieval.types import Fusion, Mode, SearchQuery
from tests.support.jobs import embed, fill, sync

_FOLDER = Path(__file__).parent / "judged"
_DEPTH = 30
#: Ways of searching: the mode, and its fusion when it isn't the workspace's.
WAYS: Mapping[str, tuple[Mode, Fusion | None]] = {
    "lexical": (Mode.LEXICAL, None),
    "vector": (Mode.VECTOR, None),
    "hybrid": (Mode.HYBRID, None),
    "hybrid by rrf": (Mode.HYBRID, Fusion.RRF),
    "hybrid by convex": (Mode.HYBRID, Fusion.CONVEX),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A query, and the grades of the documents that answer it."""

    topic_id: str
    group: str
    query: str
    qrels: Mapping[str, int]


def read_documents() -> dict[str, str]:
    """Return the texts by path."""
    documents: dict[str, str] = yaml.safe_load((_FOLDER / "documents.yaml").read_text(encoding="utf-8"))
    return documents


@cache
def read_topics() -> tuple[Topic, ...]:
    """Return the topics in the order of the file."""
    rows = yaml.safe_load((_FOLDER / "topics.yaml").read_text(encoding="utf-8"))
    return tuple(
        Topic(topic_id=row["id"], group=row["group"], query=row["query"], qrels=row["relevant"])
        for row in rows
    )


def load(workspace: Workspace, folder: Path) -> None:
    """Write the documents into `folder`, sync, embed and mirror the workspace."""
    fill(folder, read_documents())
    source = ensure_source(workspace, "set", kind="folder", config={"path": str(folder)})
    report = sync(source)
    assert report["new"] == len(read_documents()), report
    assert embed(workspace).state == "succeeded"
    workspace.refresh_from_db()
    sync_mirror(local_mirrors.mirror_files(workspace.pk), workspace.pk)


def rankings(workspace: Workspace, way: str) -> dict[str, list[str]]:
    """Return the paths that each topic finds in one of WAYS, best first, each once."""
    mode, fusion = WAYS[way]
    found = {}
    for topic in read_topics():
        query = SearchQuery(text=topic.query, mode=mode, fusion=fusion, k=_DEPTH)
        hits = search(workspace, query, reader=Reader()).hits
        found[topic.topic_id] = list(dict.fromkeys(hit.doc_path for hit in hits))
    return found


def quality(ranked: Mapping[str, Sequence[str]], group: str | None = None) -> float:
    """Return the mean nDCG@10 of the rankings, of all topics or of one group."""
    topics = [topic for topic in read_topics() if group in (None, topic.group)]
    qrels = {topic.topic_id: dict(topic.qrels) for topic in topics}
    run = {
        topic.topic_id: {path: -float(place) for place, path in enumerate(ranked[topic.topic_id])}
        for topic in topics
    }
    return float(ir_measures.calc_aggregate([nDCG @ 10], qrels, run)[nDCG @ 10])
