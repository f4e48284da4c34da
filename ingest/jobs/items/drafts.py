"""Document drafts from digests: fields stated by a person or the source override parsed ones."""

from collections.abc import Mapping
from typing import Any

from ingest.connectors.types import ItemContent
from ingest.digest.types import Digest, Overrides
from search.corpus import DocumentDraft
from search.corpus.trust_levels import trust_level_of
from search.models import Document, Source
from search.models.document import MAX_TITLE_CHARS
from search.retrieval.outdated import STATUS, SUPERSEDED_BY


def merge_stated(document: Document | None, stated: Mapping[str, Any]) -> dict[str, Any]:
    """Return the overrides of the document with the newly stated fields; None removes a field."""
    merged = {**(document.overrides if document is not None else {}), **stated}
    return {name: value for name, value in merged.items() if value is not None}


def parser_overrides(stated: dict[str, Any]) -> Overrides:
    """Return the stated fields that the parser needs: title and language change breadcrumbs and chunks."""
    return Overrides(title=stated.get("title"), lang=stated.get("lang"))


def document_draft(digest: Digest, found: ItemContent, *, content_hash: str, source: Source) -> DocumentDraft:
    """Return the draft of the document that `digest` was parsed from."""
    stated = found.stated
    tags = stated.get("tags")
    marks = {name: stated[name] for name in (STATUS, SUPERSEDED_BY) if name in stated}
    metadata = {**digest.metadata, **stated.get("metadata", {}), **marks}
    return DocumentDraft(
        title=digest.title[:MAX_TITLE_CHARS],
        lang=digest.lang,
        tags=tuple(dict.fromkeys([*digest.tags, *source.default_tags] if tags is None else tags)),
        trust_level=trust_level_of(source, metadata, stated),
        mime=digest.mime,
        media=digest.media,
        size_bytes=len(found.content),
        content_hash=content_hash,
        parser_version=digest.parser_version,
        chunker_version=digest.chunker_version,
        chunks=digest.chunks,
        source_mtime_ns=found.mtime_ns,
        modified_at=found.modified_at,
        source_revision=found.revision,
        requested_at=found.requested_at,
        overrides=stated,
        metadata=metadata,
        omissions=digest.omissions,
    )
