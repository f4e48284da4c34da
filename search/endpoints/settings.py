"""The endpoints that the settings name: of the chat model, the reranker and the embedders."""

from typing import Final

from django.conf import settings

from search.endpoints.configured_endpoint import ConfiguredEndpoint, EndpointSettings, literal_hosts

_ANSWER: Final = EndpointSettings(
    prefix="KEBAB_ANSWER",
    limit="LIMIT_S",
    max_limit_s=55,  # an attempt under an Idempotency-Key counts as dead after a minute
    url_examples="http://127.0.0.1:8080/v1 or https://api.openai.com/v1",
)
_RERANK: Final = EndpointSettings(
    prefix="KEBAB_RERANK",
    limit="LIMIT_MS",
    max_limit_s=60,
    url_examples="http://127.0.0.1:8080/rerank or https://api.jina.ai/v1/rerank",
)
_EMBED: Final = EndpointSettings(
    prefix="KEBAB_EMBED",
    limit="LIMIT_S",
    max_limit_s=600,
    url_examples="http://127.0.0.1:11434/v1",
)
_OPENAI_URL: Final = "https://api.openai.com/v1"


def answer_endpoint() -> ConfiguredEndpoint:
    """Return the endpoint of the chat model; its URL ends with the version, as other clients take it."""
    return ConfiguredEndpoint(
        settings=_ANSWER,
        url=settings.KEBAB_ANSWER_URL.rstrip("/").removesuffix("/chat/completions"),
        model=settings.KEBAB_ANSWER_MODEL,
        api_key=settings.KEBAB_ANSWER_API_KEY,
        limit_s=settings.KEBAB_ANSWER_LIMIT_S,
        private_hosts=_private_hosts(settings.KEBAB_ANSWER_URL),
    )


def rerank_endpoint(*, needs_model: bool) -> ConfiguredEndpoint:
    """Return the endpoint of the reranker."""
    return ConfiguredEndpoint(
        settings=_RERANK,
        url=settings.KEBAB_RERANK_URL,
        model=settings.KEBAB_RERANK_MODEL,
        api_key=settings.KEBAB_RERANK_API_KEY,
        limit_s=settings.KEBAB_RERANK_LIMIT_MS / 1000,
        private_hosts=_private_hosts(settings.KEBAB_RERANK_URL),
        needs_model=needs_model,
    )


def embed_endpoint(*, model: str, url: str | None, key: str | None, limit_s: float) -> ConfiguredEndpoint:
    """Return the endpoint of an embedder; without a `url` it is the default one.

    `key` is the suffix of the key's setting. The default endpoint's key is never sent to another URL.
    """
    address = url or settings.KEBAB_EMBED_URL or _OPENAI_URL
    name = "" if key is None else key.lower()
    has_key = key is not None or url is None
    return ConfiguredEndpoint(
        settings=_EMBED,
        url=address,
        model=model,
        api_key=settings.KEBAB_EMBED_API_KEYS.get(name, "") if has_key else "",
        limit_s=limit_s,
        private_hosts=_private_hosts(address),
        key_suffix=f"_{name.upper()}" if name else "",
    )


def _private_hosts(url: str) -> frozenset[str]:
    private_hosts: frozenset[str] = settings.KEBAB_PRIVATE_HOSTS
    return private_hosts | literal_hosts(url)
