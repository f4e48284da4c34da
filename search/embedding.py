"""The embedder of this process, as the settings name it, and what of a chunk goes into it."""

from functools import cache

from django.conf import settings

from kebab.stack.paths import DataDirectory
from search.embedders.base import Embedder
from search.embedders.cache import CachedQueryEmbedder
from search.embedders.registry import make_embedder


@cache
def configured_embedder() -> Embedder | None:
    """Give this process's embedder, None when `KEBAB_EMBEDDER` is `none`. Raises EmbedderUnavailable."""
    if settings.KEBAB_EMBEDDER == "none":
        return None
    return make_embedder(
        settings.KEBAB_EMBEDDER,
        models_dir=DataDirectory(settings.KEBAB_DATA_DIR).models,
        threads=settings.KEBAB_EMBED_THREADS,
    )


@cache
def query_embedder() -> Embedder | None:
    """Give the embedder for queries, which remembers the latest ones."""
    embedder = configured_embedder()
    return None if embedder is None else CachedQueryEmbedder(embedder)


def embedded_text(breadcrumb: str, text: str) -> str:
    """Give what is embedded for a chunk: breadcrumb and text."""
    return f"{breadcrumb}\n{text}" if breadcrumb else text
