"""Settings of the reranker, and what is sent to and read from its endpoint.

TEI: Hugging Face Text Embeddings Inference, `docs/openapi.json`; its router takes 32 texts a request
(`--max-client-batch-size`) and refuses texts too long for the model unless `truncate` is set. Jina, Cohere
(v2) and SiliconFlow: their API references; vLLM, Infinity and Xinference use the same format.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings

from search.endpoints.configured_endpoint import ConfiguredEndpoint, SettingProblem
from search.endpoints.settings import rerank_endpoint
from search.retrieval.errors import RerankerUnavailable


@dataclass(frozen=True, slots=True, kw_only=True)
class PayloadFormat:
    """One payload format of `/rerank`."""

    #: Returns the request body for query, passages and model.
    body: Callable[[str, Sequence[str], str], dict[str, object]]
    #: The key of the list of scores in the response; None: the response is that list.
    list_key: str | None
    score_key: str
    gives_logits: bool
    needs_model: bool
    #: Maximum number of passages per request.
    max_passages: int

    def scores(self, answer: Any, n_passages: int) -> list[float]:
        """Return the scores in the order of the passages. Raises: RerankerUnavailable unless all have one."""
        items = answer
        if self.list_key is not None:
            items = answer.get(self.list_key) if isinstance(answer, dict) else None
        if not isinstance(items, list):
            raise RerankerUnavailable("the reranker's answer lacks a list of scores")
        if len(items) != n_passages:
            raise RerankerUnavailable(f"the reranker gave {len(items)} scores for {n_passages} passages")
        by_index = dict(_parse_item(item, self.score_key) for item in items)
        if by_index.keys() != set(range(n_passages)):
            raise RerankerUnavailable("the reranker's answer does not have each index once")
        return [by_index[index] for index in range(n_passages)]


def _parse_item(item: Any, score_key: str) -> tuple[int, float]:
    index, score = (item.get("index"), item.get(score_key)) if isinstance(item, dict) else (None, None)
    if not isinstance(index, int) or isinstance(index, bool):
        raise RerankerUnavailable("the reranker's answer has an item without an index")
    if not isinstance(score, int | float) or isinstance(score, bool):
        raise RerankerUnavailable(f"the reranker's answer has an item without a {score_key}")
    try:
        return index, float(score)
    except OverflowError as error:
        raise RerankerUnavailable("the reranker gave a score that is not a finite number") from error


def _tei_body(query: str, passages: Sequence[str], model: str) -> dict[str, object]:
    return {"query": query, "texts": list(passages), "raw_scores": True, "truncate": True}


def _cohere_body(query: str, passages: Sequence[str], model: str) -> dict[str, object]:
    return {"model": model, "query": query, "documents": list(passages), "top_n": len(passages)}


def _jina_body(query: str, passages: Sequence[str], model: str) -> dict[str, object]:
    return {**_cohere_body(query, passages, model), "return_documents": False}


def _relevance_format(body: Callable[[str, Sequence[str], str], dict[str, object]]) -> PayloadFormat:
    return PayloadFormat(
        body=body,
        list_key="results",
        score_key="relevance_score",
        gives_logits=False,
        needs_model=True,
        max_passages=1_000,
    )


FORMATS: Final[Mapping[str, PayloadFormat]] = {
    "tei": PayloadFormat(
        body=_tei_body,
        list_key=None,
        score_key="score",
        gives_logits=True,
        needs_model=False,
        max_passages=32,
    ),
    "jina": _relevance_format(_jina_body),
    "cohere": _relevance_format(_cohere_body),
    "siliconflow": _relevance_format(_jina_body),
}


NONE: Final = "none"
LOCAL: Final = "local"
KINDS: Final = (NONE, LOCAL, *FORMATS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankOptions:
    """The settings of the reranker, unvalidated."""

    kind: str
    #: The endpoint; of a local model only the time limit counts, and its folder as the model.
    endpoint: ConfiguredEndpoint

    @classmethod
    def from_settings(cls) -> "RerankOptions":
        """Return the settings, valid or not."""
        kind = settings.KEBAB_RERANKER
        needs_model = kind in FORMATS and FORMATS[kind].needs_model
        return cls(kind=kind, endpoint=rerank_endpoint(needs_model=needs_model))

    def problems(self) -> list[SettingProblem]:
        """Return the problems of the settings that can be detected without a model or a network."""
        if self.kind not in KINDS:
            remedy = f"Give one of {', '.join(KINDS)}."
            return [SettingProblem("KEBAB_RERANKER", f"is {self.kind!r}", remedy)]
        if self.kind == NONE:
            return []
        return self._local_problems() if self.kind == LOCAL else self.endpoint.problems()

    def _local_problems(self) -> list[SettingProblem]:
        limit_problem = self.endpoint.limit_problem()
        problems = [] if limit_problem is None else [limit_problem]
        if not self.endpoint.model:
            remedy = "Set it to the folder of a cross-encoder."
            fault = "is not set, and KEBAB_RERANKER is local"
            problems.append(SettingProblem("KEBAB_RERANK_MODEL", fault, remedy))
        return problems
