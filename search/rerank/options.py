"""What the settings say about the reranker, and what is wrong in it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings

from search.endpoints.options import Problem, literal_hosts, wrong_endpoint
from search.rerank.payloads import SHAPES

NONE: Final = "none"
LOCAL: Final = "local"
KINDS: Final = (NONE, LOCAL, *SHAPES)

_MAX_LIMIT_MS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankOptions:
    """The settings of the reranker as they were given."""

    kind: str
    url: str
    #: The model's name for an endpoint; its folder for a local one.
    model: str
    api_key: str = field(repr=False)
    limit_ms: int
    #: Names whose addresses may be private; in the URL, an address as such and `localhost` are among them.
    private_hosts: frozenset[str]

    @classmethod
    def from_settings(cls) -> "RerankOptions":
        """Return what the settings say, right or wrong."""
        return cls(
            kind=settings.KEBAB_RERANKER,
            url=settings.KEBAB_RERANK_URL,
            model=settings.KEBAB_RERANK_MODEL,
            api_key=settings.KEBAB_RERANK_API_KEY,
            limit_ms=settings.KEBAB_RERANK_LIMIT_MS,
            private_hosts=settings.KEBAB_PRIVATE_HOSTS | literal_hosts(settings.KEBAB_RERANK_URL),
        )

    @property
    def endpoint_url(self) -> str:
        """Return the URL with `/rerank` at its end: it may be given with or without."""
        parts = urlsplit(self.url)
        path = parts.path.rstrip("/")
        return parts._replace(path=path if path.endswith("/rerank") else f"{path}/rerank").geturl()


def problems(options: RerankOptions) -> list[Problem]:
    """Return what is wrong with the settings, as far as that can be said without a model or a network."""
    if options.kind not in KINDS:
        return [
            Problem(
                setting="KEBAB_RERANKER",
                message=f"KEBAB_RERANKER is {options.kind!r}",
                remedy=f"Give one of {', '.join(KINDS)}.",
            )
        ]
    if options.kind == NONE:
        return []
    return [*_wrong_limit(options), *_wrong_model(options), *_wrong_endpoint(options)]


def _wrong_limit(options: RerankOptions) -> Iterator[Problem]:
    if not 1 <= options.limit_ms <= _MAX_LIMIT_MS:
        yield Problem(
            setting="KEBAB_RERANK_LIMIT_MS",
            message=f"KEBAB_RERANK_LIMIT_MS is {options.limit_ms}",
            remedy=f"Give 1 to {_MAX_LIMIT_MS} milliseconds.",
        )


def _wrong_model(options: RerankOptions) -> Iterator[Problem]:
    if not options.model and (options.kind == LOCAL or SHAPES[options.kind].needs_model):
        what = "the folder of a cross-encoder" if options.kind == LOCAL else "the model to ask for"
        yield Problem(
            setting="KEBAB_RERANK_MODEL",
            message=f"KEBAB_RERANK_MODEL is not set, and KEBAB_RERANKER is {options.kind}",
            remedy=f"Set it to {what}.",
        )


def _wrong_endpoint(options: RerankOptions) -> Iterator[Problem]:
    if options.kind == LOCAL:
        return iter(())
    examples = "http://127.0.0.1:8080/rerank or https://api.jina.ai/v1/rerank"
    return wrong_endpoint("KEBAB_RERANK", options.url, options.api_key, examples=examples)
