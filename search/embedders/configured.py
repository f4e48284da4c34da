"""The embedders of this process, as the settings name them, and what of a chunk goes into them.

A process may hold several: a workspace's queries are embedded by whatever made the vectors of its live space,
while another space is built beside it.
"""

import logging
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from django.conf import settings

from kebab.people.models import Workspace
from kebab.people.workspace_settings.registry import preference
from kebab.stack.paths import DataDirectory
from search.embedders.base import Embedder
from search.embedders.cache import CachedQueryEmbedder
from search.embedders.null_embedder import AbsentEmbedder
from search.embedders.registry import make_embedder
from search.embedders.spec import DEFAULT, NONE, parse_spec
from search.retrieval.errors import EmbedderUnavailable
from search.vectors.spaces import SpaceFields, is_made_by

if TYPE_CHECKING:
    from search.embedders.endpoint import Endpoints

logger = logging.getLogger(__name__)


def configured_embedder() -> Embedder | None:
    """Return this process's embedder, None when `KEBAB_EMBEDDER` is `none`. Raises EmbedderUnavailable."""
    return _embedder(settings.KEBAB_EMBEDDER)


def query_embedder() -> Embedder | None:
    """Return the configured embedder for queries, which remembers the latest ones."""
    return _query_embedder(settings.KEBAB_EMBEDDER)


def forget_queries() -> None:
    """Have every embedder of this process forget the queries it remembers, as who measures it needs."""
    _query_embedder.cache_clear()


def allowed_embedders() -> Mapping[str, str]:
    """Give, by name, how the embedders are written that a workspace may choose, the operator's own first.

    Raises EmbedderUnavailable for one that is written wrong.
    """
    return _named((settings.KEBAB_EMBEDDER, *settings.KEBAB_EMBEDDERS, NONE))


def wanted_name(workspace: Workspace) -> str:
    """Return the name of the embedder that the workspace is to have: its own choice while that is allowed, or
    the operator's.
    """
    chosen: str | None = preference(workspace, "embedder")
    return chosen if chosen in allowed_embedders() else _name(settings.KEBAB_EMBEDDER)  # type: ignore[return-value]


def wanted_embedder(workspace: Workspace) -> Embedder | None:
    """Return the embedder that the workspace is to have, None for none. Raises EmbedderUnavailable."""
    return embedder_named(wanted_name(workspace))


def embedder_named(name: str) -> Embedder | None:
    """Give one of the allowed embedders, None for `none`. Raises EmbedderUnavailable for any other name."""
    allowed = allowed_embedders()
    if name not in allowed:
        raise EmbedderUnavailable(
            f"The embedder {name!r} is not allowed here; KEBAB_EMBEDDERS allows {', '.join(allowed)}.",
            is_lasting=True,
        )
    return _embedder(allowed[name])


def maker_of(space: SpaceFields) -> tuple[str, Embedder] | None:
    """Return name and embedder of what makes the space's vectors, None when no known embedder does."""
    for name, text in {**allowed_embedders(), DEFAULT: DEFAULT}.items():
        try:
            embedder = _embedder(text)
        except EmbedderUnavailable as error:
            logger.debug("the embedder %s can't be made: %s", name, error)
            continue
        if embedder is not None and is_made_by(space, embedder.space):
            return name, embedder
    return None


def embedder_for_queries(workspace: Workspace, space: SpaceFields | None) -> Embedder | None:
    """Return what embeds queries against `space`: what made its vectors, else what the workspace is to have.

    None when the workspace is to have none. It remembers the latest queries. One that can't be made is
    absent: it says why when it is asked.
    """
    wanted = wanted_name(workspace)
    if wanted == NONE:
        return None
    made = None if space is None else maker_of(space)
    name = wanted if made is None else made[0]
    try:
        return _query_embedder({DEFAULT: DEFAULT, **allowed_embedders()}[name])
    except EmbedderUnavailable as error:
        return AbsentEmbedder(str(error))


def embedded_text(breadcrumb: str, text: str) -> str:
    """Return what is embedded for a chunk: breadcrumb and text."""
    return f"{breadcrumb}\n{text}" if breadcrumb else text


@cache
def _named(written: tuple[str, ...]) -> Mapping[str, str]:
    named: dict[str, str] = {}
    for text in written:
        named.setdefault(_name(text), text)
    return MappingProxyType(named)


@cache
def _name(text: str) -> str:
    try:
        return parse_spec(text).name
    except ValueError as error:
        raise EmbedderUnavailable(f"KEBAB_EMBEDDER: {error}", is_lasting=True) from error


@cache
def _embedder(text: str) -> Embedder | None:
    if text == NONE:
        return None
    return make_embedder(
        text,
        models_dir=DataDirectory(settings.KEBAB_DATA_DIR).models,
        threads=settings.KEBAB_EMBED_THREADS,
        endpoints=_endpoints,
    )


@cache
def _query_embedder(text: str) -> Embedder | None:
    embedder = _embedder(text)
    return None if embedder is None else CachedQueryEmbedder(embedder)


def _endpoints() -> "Endpoints":
    from search.embedders.endpoint import OPENAI_URL, Endpoints

    return Endpoints(
        url=(settings.KEBAB_EMBED_URL or OPENAI_URL).rstrip("/").removesuffix("/embeddings"),
        api_keys=settings.KEBAB_EMBED_API_KEYS,
        private_hosts=settings.KEBAB_PRIVATE_HOSTS,
    )
