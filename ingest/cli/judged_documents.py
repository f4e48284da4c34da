"""Loader of a judged set's documents into a workspace, through the ordinary parsing and embedding."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction

from ingest.connectors.types import ItemContent
from ingest.digest.pool import DigesterPool
from ingest.digest.types import Digest, Submission
from ingest.jobs.items.drafts import document_draft, parser_overrides
from ingest.jobs.kinds.embed import embed_batches
from ingest.parsers.errors import IngestParseError, ParseRefused, Quarantined
from kebab.identity.models import Workspace
from search.corpus import DocumentLocation, ensure_source, ensure_version, replace_document
from search.corpus.content_ids import content_hash
from search.embedders.configured import workspace_embedder
from search.evaluation.beir import JudgedDocument
from search.mirror import local_mirrors
from search.models import Source, SourceKind, SourceVersion
from search.vectors.backfill import store_vectors
from search.vectors.index import ensure_index
from search.vectors.quantised_index import prepare_codes
from search.vectors.spaces import ensure_live_space, update_known_share

_SOURCE = "judged"
_SEARCHABLE_LIMIT_S = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadResult:
    """Result of loading a set's documents."""

    #: The set's id of each document, by the workspace's id, 32 hex digits.
    names: dict[str, str]
    #: The reason for each refused document, by the set's id.
    refused: dict[str, str]


class Loader:
    """Loader of a set into one workspace as documents of one source, each as a text file of its own."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._source: Source = ensure_source(workspace, _SOURCE, kind=SourceKind.UPLOAD)
        self._version: SourceVersion = ensure_version(self._source)

    def load(self, documents: Iterable[JudgedDocument], advance: Callable[[], None]) -> LoadResult:
        """Write `documents`, and wait until lexical search finds them on this node. Raises NotSearchableYet.

        `advance` is called after each. An empty title stays empty: it is not taken from the text.
        """
        loaded = LoadResult(names={}, refused={})
        with DigesterPool(settings.KEBAB_PARSERS) as pool:
            for group in pool.digest_groups(self._submissions(documents)):
                with transaction.atomic():
                    for submitted, outcome in group:
                        self._write(submitted, outcome, loaded)
                        advance()
        self._workspace.refresh_from_db()
        local_mirrors.wait_for_seq(self._workspace.pk, self._workspace.head_seq, limit_s=_SEARCHABLE_LIMIT_S)
        return loaded

    def _submissions(self, documents: Iterable[JudgedDocument]) -> Iterator[Submission]:
        for number, document in enumerate(documents):
            found = ItemContent(
                content=document.text.encode("utf-8", "replace"), stated={"title": document.title}
            )
            place = DocumentLocation(
                workspace=self._workspace, source=self._source, version=self._version, path=f"{number}.txt"
            )
            yield Submission(
                key=(document.doc_id, place, found),
                content=found.content,
                path=place.path,
                overrides=parser_overrides(found.stated),
            )

    def _write(
        self,
        submitted: tuple[str, DocumentLocation, ItemContent],
        outcome: Digest | IngestParseError,
        loaded: LoadResult,
    ) -> None:
        name, place, found = submitted
        if isinstance(outcome, ParseRefused | Quarantined):
            loaded.refused[name] = str(outcome)
            return
        if isinstance(outcome, IngestParseError):
            raise outcome
        hash_ = content_hash(found.content)
        draft = document_draft(outcome, found, content_hash=hash_, source=self._source)
        loaded.names[replace_document(place, draft).doc_id.hex] = name


def embed_all(
    workspace: Workspace, advance: Callable[[int], None], searches: Iterable[str] | None = None
) -> None:
    """Embed the workspace's chunks, and build the vector index that so many need. Raises EmbedderUnavailable.

    The languages of `searches` choose a model as those of documents do. `advance` is called with the size of
    each batch. Without an embedder nothing is done.
    """
    embedder = workspace_embedder(workspace, searches)
    if embedder is None:
        return
    space = ensure_live_space(workspace, embedder.space)
    update_known_share(space, embedder.space)
    for batch in embed_batches(space, embedder):
        with transaction.atomic():
            store_vectors(space, batch.chunks, batch.vectors())
        advance(len(batch.chunks))
    ensure_index(space)
    prepare_codes(space)
