"""How `/rerank` is spoken: what is sent, and where the scores lie in the answer.

TEI: Hugging Face Text Embeddings Inference, `docs/openapi.json`; its router takes 32 texts a request
(`--max-client-batch-size`) and refuses longer ones than the model reads unless told to cut them. Jina,
Cohere (v2) and SiliconFlow: their API references; the shape is also that of vLLM, Infinity and Xinference.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from search.retrieval.errors import RerankerUnavailable


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One way of speaking `/rerank`."""

    #: Gives the body for query, passages and model.
    body: Callable[[str, Sequence[str], str], dict[str, object]]
    #: The key of the list of scores in the answer; None: the answer is that list.
    list_key: str | None
    score_key: str
    gives_logits: bool
    needs_model: bool
    #: Passages a request.
    max_passages: int

    def scores(self, answer: Any, n_passages: int) -> list[float]:
        """Return the scores in the order of the passages. Raises: RerankerUnavailable unless each has one."""
        items = answer
        if self.list_key is not None:
            items = answer.get(self.list_key) if isinstance(answer, dict) else None
        if not isinstance(items, list):
            raise RerankerUnavailable("the reranker's answer has no list of scores")
        if len(items) != n_passages:
            raise RerankerUnavailable(f"the reranker gave {len(items)} scores for {n_passages} passages")
        by_index = dict(_indexed(item, self.score_key) for item in items)
        if by_index.keys() != set(range(n_passages)):
            raise RerankerUnavailable("the reranker's answer does not have each index once")
        return [by_index[index] for index in range(n_passages)]


def _indexed(item: Any, score_key: str) -> tuple[int, float]:
    index, score = (item.get("index"), item.get(score_key)) if isinstance(item, dict) else (None, None)
    if not isinstance(index, int) or isinstance(index, bool):
        raise RerankerUnavailable("the reranker's answer has an item without an index")
    if not isinstance(score, int | float) or isinstance(score, bool):
        raise RerankerUnavailable(f"the reranker's answer has an item without a {score_key}")
    try:
        return index, float(score)
    except OverflowError as error:
        raise RerankerUnavailable("the reranker gave a score that is not a finite number") from error


def _tei(query: str, passages: Sequence[str], model: str) -> dict[str, object]:
    return {"query": query, "texts": list(passages), "raw_scores": True, "truncate": True}


def _cohere(query: str, passages: Sequence[str], model: str) -> dict[str, object]:
    return {"model": model, "query": query, "documents": list(passages), "top_n": len(passages)}


def _jina(query: str, passages: Sequence[str], model: str) -> dict[str, object]:
    return {**_cohere(query, passages, model), "return_documents": False}


def _relevance(body: Callable[[str, Sequence[str], str], dict[str, object]]) -> Shape:
    return Shape(
        body=body,
        list_key="results",
        score_key="relevance_score",
        gives_logits=False,
        needs_model=True,
        max_passages=1_000,
    )


SHAPES: Final[Mapping[str, Shape]] = {
    "tei": Shape(
        body=_tei,
        list_key=None,
        score_key="score",
        gives_logits=True,
        needs_model=False,
        max_passages=32,
    ),
    "jina": _relevance(_jina),
    "cohere": _relevance(_cohere),
    "siliconflow": _relevance(_jina),
}
