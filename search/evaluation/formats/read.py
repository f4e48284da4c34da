"""Reading of topics from a file or folder in any supported format."""

from pathlib import Path

from search.evaluation.beir import QRELS, QUERIES
from search.evaluation.formats.golden import parse_golden, read_text
from search.evaluation.formats.trec import join_qrels, parse_beir, parse_qrels, parse_topics
from search.evaluation.judged import TopicCollection
from search.retrieval.errors import InvalidJudgedSet


def read_topics(path: Path, qrels: Path | None = None) -> TopicCollection:
    """Read the topics of a folder in BEIR's layout, a golden file (`.yaml`, `.yml`), or a TREC topics file.

    `qrels` is the file of judgements for TREC topics; without it they are unjudged. Raises InvalidJudgedSet.
    """
    if path.is_dir() or path.suffix.lower() in (".yaml", ".yml"):
        if qrels is not None:
            raise InvalidJudgedSet(f"{path} has its judgements itself; leave {qrels} out.")
        if path.is_dir():
            return _read_beir(path)
        return parse_golden(read_text(path), str(path))
    topics = parse_topics(read_text(path), str(path))
    judged = {} if qrels is None else parse_qrels(read_text(qrels), str(qrels))
    return join_qrels(topics, judged, str(qrels))


def _read_beir(folder: Path) -> TopicCollection:
    queries, qrels = folder / QUERIES, folder / QRELS
    return parse_beir(read_text(queries), read_text(qrels), where=(str(queries), str(qrels)))
