"""The configured embedders of this process, and the text of a chunk that is embedded.

A process may use several: a workspace's queries are embedded by the embedder that made the vectors of its
live space, while another space is being built.
"""

import logging
from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType

from django.conf import settings

from kebab.identity.models import Workspace
from kebab.people.workspace_settings.registry import preference
from kebab.stack.paths import DataDirectory
from search.embedders.base import Embedder
from search.embedders.by_language import LOCAL_KINDS, model_for
from search.embedders.cache import CachedQueryEmbedder
from search.embedders.null_embedder import NullEmbedder
from search.embedders.registry import create_embedder
from search.embedders.spec import DEFAULT, NONE, parse_spec
from search.retrieval.errors import EmbedderUnavailable
from search.vectors.spaces import SpaceFields, is_made_by

logger = logging.getLogger(__name__)


def configured_embedder() -> Embedder | None:
    """Return this process's embedder, None when `KEBAB_EMBEDDER` is `none`. Raises EmbedderUnavailable."""
    return _load_embedder(settings.KEBAB_EMBEDDER)


def clear_query_caches() -> None:
    """Clear the query caches of all embedders of this process, for measurements."""
    _load_query_embedder.cache_clear()


def allowed_embedders() -> Mapping[str, str]:
    """Return the specs of the embedders that a workspace may choose, by name, the operator's default first.

    Where `default` may be chosen, so may each local model.
    Raises EmbedderUnavailable for an invalid spec.
    """
    return _by_name((settings.KEBAB_EMBEDDER, *settings.KEBAB_EMBEDDERS, NONE))


def known_embedders() -> Mapping[str, str]:
    """Return the allowed embedders and the local models, which may have made vectors before."""
    return _by_name((settings.KEBAB_EMBEDDER, *settings.KEBAB_EMBEDDERS, NONE, DEFAULT))


def workspace_embedder_name(workspace: Workspace) -> str:
    """Return the name of the workspace's embedder: its own choice if allowed, else the operator's default."""
    chosen: str | None = preference(workspace, "embedder")
    allowed = allowed_embedders()
    return chosen if chosen is not None and chosen in allowed else next(iter(allowed))


def workspace_embedder(workspace: Workspace, searches: Iterable[str] | None = None) -> Embedder | None:
    """Return the workspace's embedder, None for `none`; `default` is resolved. Raises EmbedderUnavailable.

    `searches` are the latest of the workspace, None for those of its log.
    """
    return get_embedder(resolve_default(workspace, workspace_embedder_name(workspace), searches))


def resolve_default(workspace: Workspace, name: str, searches: Iterable[str] | None = None) -> str:
    """Return `name`, for `default` the name of the local model that suits the workspace's languages."""
    return model_for(workspace, searches) if name == DEFAULT else name


def get_embedder(name: str) -> Embedder | None:
    """Return an allowed embedder by name, None for `none`. Raises EmbedderUnavailable for any other name."""
    allowed = allowed_embedders()
    if name not in allowed:
        raise EmbedderUnavailable(
            f"The embedder {name!r} is not allowed here; KEBAB_EMBEDDERS allows {', '.join(allowed)}.",
            is_lasting=True,
        )
    return _load_embedder(allowed[name])


def find_maker(space: SpaceFields) -> tuple[str, Embedder] | None:
    """Return name and embedder that make the space's vectors, None if no known embedder does."""
    for name, text in known_embedders().items():
        if name == DEFAULT:  # one of the next two
            continue
        try:
            embedder = _load_embedder(text)
        except EmbedderUnavailable as error:
            logger.debug("the embedder %s can't be made: %s", name, error)
            continue
        if embedder is not None and is_made_by(space, embedder.space):
            return name, embedder
    return None


def embedder_for_queries(workspace: Workspace, space: SpaceFields | None) -> Embedder | None:
    """Return the cached embedder for queries against `space`: its maker, else the workspace's embedder.

    None if the workspace's embedder is `none`. One that can't be created is replaced by a `NullEmbedder`,
    which raises the reason.
    """
    default_name = workspace_embedder_name(workspace)
    if default_name == NONE:
        return None
    maker = None if space is None else find_maker(space)
    name = default_name if maker is None else maker[0]
    try:
        return _load_query_embedder(known_embedders()[name])
    except EmbedderUnavailable as error:
        return NullEmbedder(str(error))


def embedded_text(breadcrumb: str, text: str) -> str:
    """Return the text that is embedded for a chunk: breadcrumb and text."""
    return f"{breadcrumb}\n{text}" if breadcrumb else text


@cache
def _by_name(specs: tuple[str, ...]) -> Mapping[str, str]:
    by_name: dict[str, str] = {}
    try:
        for text in specs:
            by_name.setdefault(parse_spec(text).name, text)
            if text == DEFAULT:
                by_name |= {kind: kind for kind in LOCAL_KINDS.values()}
    except ValueError as error:
        raise EmbedderUnavailable(f"KEBAB_EMBEDDER: {error}", is_lasting=True) from error
    return MappingProxyType(by_name)


@cache
def _load_embedder(text: str) -> Embedder | None:
    if text == NONE:
        return None
    return create_embedder(
        text,
        models_dir=DataDirectory(settings.KEBAB_DATA_DIR).models,
        threads=settings.KEBAB_EMBED_THREADS,
    )


@cache
def _load_query_embedder(text: str) -> Embedder | None:
    embedder = _load_embedder(text)
    return None if embedder is None else CachedQueryEmbedder(embedder)
