"""A reranker over HTTP."""

import time
from collections.abc import Callable, Sequence

from kebab.http_client.connections import AddressRefused, RequestFailed, StatusRefused, TimedOut
from kebab.http_client.endpoint import JsonEndpoint
from search.rerank.options import FORMATS, PayloadFormat, RerankOptions
from search.rerank.scorer import time_limit_error
from search.retrieval.errors import RerankerUnavailable

# Statuses about the content of a request, not about the caller or rate; the next request may succeed.
_ABOUT_THE_REQUEST = frozenset({400, 413, 422})


def make_endpoint_scorer(options: RerankOptions) -> "EndpointScorer":
    """Return the scorer for the endpoint of valid `options`."""
    endpoint = options.endpoint
    return EndpointScorer(
        JsonEndpoint(
            endpoint.url_of("/rerank"), headers=endpoint.headers, private_hosts=endpoint.private_hosts
        ),
        payload_format=FORMATS[options.kind],
        name=options.kind,
        model=endpoint.model,
    )


class EndpointScorer:
    """A scorer that calls an endpoint with one of the payload formats."""

    def __init__(
        self,
        endpoint: JsonEndpoint,
        *,
        payload_format: PayloadFormat,
        name: str,
        model: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._endpoint = endpoint
        self._payload_format = payload_format
        self._name = name
        self._model = model
        self._clock = clock

    @property
    def name(self) -> str:
        """Return the name of the payload format."""
        return self._name

    @property
    def gives_logits(self) -> bool:
        """Return whether the endpoint returns logits."""
        return self._payload_format.gives_logits

    def score(self, query: str, passages: Sequence[str], *, limit_s: float) -> list[float]:
        """Return the passages' scores, with as many requests as the payload format needs.

        Raises: RerankerUnavailable.
        """
        ends_at = self._clock() + limit_s
        scores: list[float] = []
        try:
            for at in range(0, len(passages), self._payload_format.max_passages):
                batch = passages[at : at + self._payload_format.max_passages]
                scores += self._request_scores(query, batch, limit_s=ends_at - self._clock())
        except TimedOut as error:
            raise time_limit_error(limit_s) from error
        except RequestFailed as error:
            raise _unavailable(error) from error
        return scores

    def close(self) -> None:
        """Close the pooled connections."""
        self._endpoint.close()

    def _request_scores(self, query: str, passages: Sequence[str], *, limit_s: float) -> list[float]:
        answer = self._endpoint.post(self._payload_format.body(query, passages, self._model), limit_s=limit_s)
        return self._payload_format.scores(answer, len(passages))


def _unavailable(error: RequestFailed) -> RerankerUnavailable:
    was_refused = isinstance(error, StatusRefused) and error.status in _ABOUT_THE_REQUEST
    return RerankerUnavailable(f"the reranker {error}", remedy=_remedy(error), is_fault=not was_refused)


def _remedy(error: RequestFailed) -> str:
    if isinstance(error, AddressRefused):
        return "Name its host in KEBAB_PRIVATE_HOSTS if it is yours."
    if isinstance(error, StatusRefused) and error.status in {401, 403}:
        return "Check KEBAB_RERANK_API_KEY."
    return "Check KEBAB_RERANK_URL and that something answers there."
