"""What Django's system checks, the start of the stack and `kebab doctor` say about embedders."""

import logging
import time
from collections.abc import Iterator
from typing import Any

from django.core import checks

from kebab.observability.health.checks import CheckResult, CheckStatus
from search.embedders.base import Embedder
from search.embedders.configured import allowed_embedders, embedder_named
from search.embedders.spec import NONE, OPENAI
from search.retrieval.errors import EmbedderUnavailable

logger = logging.getLogger(__name__)

# A chunk is cut for the default model, which reads 256 tokens; a model that reads fewer leaves its end out.
_CHUNK_TOKENS = 256


def check_settings(**_: Any) -> list[checks.CheckMessage]:
    """Return an error for each embedder of the settings that is written wrong."""
    try:
        allowed_embedders()
    except EmbedderUnavailable as error:
        return [checks.Error(str(error), obj="KEBAB_EMBEDDER, KEBAB_EMBEDDERS", id="search.E002")]
    return []


def prepare_models() -> None:
    """Make or fetch the operator's model before the stack serves. Raises EmbedderUnavailable.

    An endpoint that does not answer now may answer later: search has its words meanwhile.
    """
    name = next(iter(allowed_embedders()))
    embedder = embedder_named(name)
    if embedder is None:
        return
    try:
        embedder.embed_query("ready")
    except EmbedderUnavailable as error:
        if not name.startswith(f"{OPENAI}:"):
            raise
        logger.warning("%s", error)


def check_embedders(repair: bool) -> Iterator[CheckResult]:
    """Have every embedder of the settings embed one text."""
    for name in allowed_embedders():
        if name != NONE:
            yield _embedded(name)


def _embedded(name: str) -> CheckResult:
    started = time.perf_counter()
    try:
        embedder = embedder_named(name)
        if embedder is not None:
            embedder.embed_passages(["ready"])
    except EmbedderUnavailable as error:
        return CheckResult(
            name=f"embedder {name}",
            status=CheckStatus.FAILED if error.is_lasting else CheckStatus.WARNING,
            detail=str(error),
            remedy="Searches go on with words; see docs/embedding.md.",
        )
    elapsed_ms = (time.perf_counter() - started) * 1000
    return _sound(name, embedder, elapsed_ms)


def _sound(name: str, embedder: Embedder | None, elapsed_ms: float) -> CheckResult:
    detail = f"embedded a text in {elapsed_ms:.0f} ms"
    if embedder is not None and embedder.max_tokens < _CHUNK_TOKENS:
        return CheckResult(
            name=f"embedder {name}",
            status=CheckStatus.WARNING,
            detail=f"{detail}, but reads {embedder.max_tokens} tokens of a chunk's {_CHUNK_TOKENS}",
            remedy="Choose a model that reads more; the end of long chunks is not in their vectors.",
        )
    return CheckResult(name=f"embedder {name}", status=CheckStatus.OK, detail=detail)
