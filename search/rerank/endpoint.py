"""A reranker over HTTP."""

import time
from collections.abc import Callable, Sequence

from kebab.http_client.endpoint import JsonEndpoint
from kebab.http_client.errors import AddressRefused, OutOfTime, RequestFailed, StatusRefused
from search.rerank.options import RerankOptions
from search.rerank.payloads import SHAPES, Shape
from search.rerank.scorer import out_of_time
from search.retrieval.errors import RerankerUnavailable

# Refused for what was asked, not for who asks or how often: the next question may be answered.
_ABOUT_THE_REQUEST = frozenset({400, 413, 422})


def make_endpoint_scorer(options: RerankOptions) -> "EndpointScorer":
    """Return what asks the endpoint that `options`, which have no problems, name."""
    headers = {"Authorization": f"Bearer {options.api_key}"} if options.api_key else {}
    return EndpointScorer(
        JsonEndpoint(options.endpoint_url, headers=headers, private_hosts=options.private_hosts),
        shape=SHAPES[options.kind],
        name=options.kind,
        model=options.model,
    )


class EndpointScorer:
    """Asks an endpoint that speaks one of the shapes."""

    def __init__(
        self,
        endpoint: JsonEndpoint,
        *,
        shape: Shape,
        name: str,
        model: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._endpoint = endpoint
        self._shape = shape
        self._name = name
        self._model = model
        self._clock = clock

    @property
    def name(self) -> str:
        """Return the shape's name."""
        return self._name

    @property
    def gives_logits(self) -> bool:
        """Return whether the shape gives logits."""
        return self._shape.gives_logits

    def score(self, query: str, passages: Sequence[str], *, limit_s: float) -> list[float]:
        """Return the passages' scores, asked in as many requests as the shape needs.

        Raises: RerankerUnavailable.
        """
        ends_at = self._clock() + limit_s
        scores: list[float] = []
        try:
            for at in range(0, len(passages), self._shape.max_passages):
                some = passages[at : at + self._shape.max_passages]
                scores += self._ask(query, some, limit_s=ends_at - self._clock())
        except OutOfTime as error:
            raise out_of_time(limit_s) from error
        except RequestFailed as error:
            raise _unavailable(error) from error
        return scores

    def close(self) -> None:
        """Close the kept connections."""
        self._endpoint.close()

    def _ask(self, query: str, passages: Sequence[str], *, limit_s: float) -> list[float]:
        answer = self._endpoint.post(self._shape.body(query, passages, self._model), limit_s=limit_s)
        return self._shape.scores(answer, len(passages))


def _unavailable(error: RequestFailed) -> RerankerUnavailable:
    was_refused = isinstance(error, StatusRefused) and error.status in _ABOUT_THE_REQUEST
    return RerankerUnavailable(f"the reranker {error}", remedy=_remedy(error), is_fault=not was_refused)


def _remedy(error: RequestFailed) -> str:
    if isinstance(error, AddressRefused):
        return "Name its host in KEBAB_PRIVATE_HOSTS if it is yours."
    if isinstance(error, StatusRefused) and error.status in {401, 403}:
        return "Check KEBAB_RERANK_API_KEY."
    return "Check KEBAB_RERANK_URL and that something answers there."
