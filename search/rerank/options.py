"""Settings of the reranker and their validation."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings

from search.endpoints.options import SettingProblem, endpoint_problems, literal_hosts
from search.rerank.payloads import FORMATS

NONE: Final = "none"
LOCAL: Final = "local"
KINDS: Final = (NONE, LOCAL, *FORMATS)

_MAX_LIMIT_MS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankOptions:
    """The settings of the reranker, unvalidated."""

    kind: str
    url: str
    #: The model's name for an endpoint; its folder for a local one.
    model: str
    api_key: str = field(repr=False)
    limit_ms: int
    #: Host names whose addresses may be private, including an IP address or `localhost` in the URL.
    private_hosts: frozenset[str]

    @classmethod
    def from_settings(cls) -> "RerankOptions":
        """Return the settings, valid or not."""
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
        """Return the URL with `/rerank` at its end, which the setting may omit."""
        parts = urlsplit(self.url)
        path = parts.path.rstrip("/")
        return parts._replace(path=path if path.endswith("/rerank") else f"{path}/rerank").geturl()


def find_problems(options: RerankOptions) -> list[SettingProblem]:
    """Return the problems of the settings that can be detected without a model or a network."""
    if options.kind not in KINDS:
        return [
            SettingProblem(
                setting="KEBAB_RERANKER",
                message=f"KEBAB_RERANKER is {options.kind!r}",
                remedy=f"Give one of {', '.join(KINDS)}.",
            )
        ]
    if options.kind == NONE:
        return []
    return [*_limit_problems(options), *_model_problems(options), *_endpoint_problems(options)]


def _limit_problems(options: RerankOptions) -> Iterator[SettingProblem]:
    if not 1 <= options.limit_ms <= _MAX_LIMIT_MS:
        yield SettingProblem(
            setting="KEBAB_RERANK_LIMIT_MS",
            message=f"KEBAB_RERANK_LIMIT_MS is {options.limit_ms}",
            remedy=f"Give 1 to {_MAX_LIMIT_MS} milliseconds.",
        )


def _model_problems(options: RerankOptions) -> Iterator[SettingProblem]:
    if not options.model and (options.kind == LOCAL or FORMATS[options.kind].needs_model):
        what = "the folder of a cross-encoder" if options.kind == LOCAL else "the model to ask for"
        yield SettingProblem(
            setting="KEBAB_RERANK_MODEL",
            message=f"KEBAB_RERANK_MODEL is not set, and KEBAB_RERANKER is {options.kind}",
            remedy=f"Set it to {what}.",
        )


def _endpoint_problems(options: RerankOptions) -> Iterator[SettingProblem]:
    if options.kind == LOCAL:
        return iter(())
    examples = "http://127.0.0.1:8080/rerank or https://api.jina.ai/v1/rerank"
    return endpoint_problems("KEBAB_RERANK", options.url, options.api_key, examples=examples)
