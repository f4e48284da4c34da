"""Upload jobs: one document is ingested from its blob; several come in a pack of all their texts."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any
from uuid import UUID

from ingest.connectors.types import ItemContent
from ingest.jobs.items.worker import ItemWorker
from ingest.jobs.queue.context import Ending, JobContext
from ingest.models import JobItem
from search.corpus import ensure_version
from search.corpus.blobs import read_blob, store_blobs
from search.retrieval.outdated import STATUS, SUPERSEDED_BY

#: Fields that a person may state about a document; the payload carries them. They remain until they are
#: stated again, or null.
STATED = ("title", "lang", "tags", "trust_level", "metadata", STATUS, SUPERSEDED_BY)


def stated_fields(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that an upload's payload states about its documents."""
    return {name: payload[name] for name in STATED if name in payload}


def pack(contents: Mapping[str, bytes]) -> bytes:
    """Return texts by their hashes as one content, which is stored faster than each by itself."""
    return json.dumps({hash_: content.decode() for hash_, content in contents.items()}).encode()


def unpack(workspace_id: UUID, blob: str) -> None:
    """Store the texts of a pack as blobs of their own. Raises FileNotFoundError if it is gone."""
    texts = json.loads(read_blob(workspace_id, blob))
    store_blobs(workspace_id, {hash_: text.encode() for hash_, text in texts.items()})


def read_upload(context: JobContext, blob: str, stated: Mapping[str, Any]) -> ItemContent:
    """Return the bytes of a blob with the fields their upload states, for all documents or in `stated`.

    Raises OSError when they are gone.
    """
    try:
        content = read_blob(context.workspace.pk, blob)
    except FileNotFoundError as error:  # a FileNotFoundError would skip the item as vanished
        raise OSError("The bytes of this upload are gone; upload it again.") from error
    job = context.job
    fields = {**stated_fields(job.payload), **stated}
    return ItemContent(content=content, requested_at=job.created_at, stated=fields)


def run(context: JobContext) -> Ending:
    """Ingest the job's document. Raises JobFailed when its source is gone."""
    source = context.source
    version = ensure_version(source, context.job.payload.get("version", ""))
    return ItemWorker(context, source, version, partial(_read_item, context)).run()


def _read_item(context: JobContext, item: JobItem) -> ItemContent:
    return read_upload(context, context.job.payload["blob"], {})
