"""A mark in blob store and database, which shows that this node's blobs are those of the other nodes.

The first process writes the same mark next to the blobs and into the database. A process that finds another
mark, or none, could not read the other nodes' blobs, nor they its own.
"""

import logging
import uuid

from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import Error, connection, transaction

from kebab.database.connections import close_connections
from kebab.stack.errors import BlobsNotShared, BlobsUnreadable
from kebab.stack.models import BlobStore

logger = logging.getLogger(__name__)

MARK_NAME = "kebab-store"
_MARK_LIMIT_BYTES = 64
# One process at a time creates a mark; the letters of "blobs".
_ADVISORY_LOCK = 0x626C6F6273
_REMEDY = "See KEBAB_BLOBS_URL in docs/configuration.md."


def check_blob_store(*, adopt: bool) -> None:
    """Compare the mark next to the blobs with the database's; create both if there is none yet.

    `adopt`: the blobs here are the right ones from now on, as on a single machine, or after a restore.

    Raises:
        BlobsNotShared: they are another store's.
        BlobsUnreadable: they can't be read or written.
        Error: the database can't be reached.
    """
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_ADVISORY_LOCK])
            _compare_mark(BlobStore.objects.first(), adopt=adopt)
    except OSError as error:
        reason = error.strerror or str(error)
        raise BlobsUnreadable(
            f"The documents' bytes can't be read or written: {reason}. {_REMEDY}"
        ) from error
    finally:
        # A worker forks after this, so it must hold no connection.
        close_connections()


def check_own_blobs(*, starts_without: bool = False) -> None:
    """Check the blobs of a starting process; one machine with an embedded database adopts those it has.

    There an unreachable database or a full disk is logged and does not stop the process, nor does an outage
    of either if `starts_without`. Raises: as check_blob_store.
    """
    is_single = settings.KEBAB_EMBEDDED_POSTGRES
    try:
        check_blob_store(adopt=is_single)
    except (Error, BlobsUnreadable) as error:
        if not (is_single or starts_without):
            raise
        logger.warning("The mark of the documents' bytes is unchecked: %s", error)


def has_known_mark(known: str | None) -> bool:
    """Return whether the blobs here have the mark that the database knows; None: it knows none yet.

    Raises OSError when they can't be read.
    """
    return known is None or settings.KEBAB_EMBEDDED_POSTGRES or _read_mark() == known


def _compare_mark(known: BlobStore | None, *, adopt: bool) -> None:
    mark = _read_mark()
    if known is not None and known.mark == mark:
        return
    if known is not None and not adopt:
        raise BlobsNotShared(
            "The documents' bytes that this node reaches are not those that other nodes keep"
            f" ({_storage_location()} has {'another mark' if mark else 'no mark'}): neither could"
            f" read what the other takes in. Give all nodes one folder or bucket. {_REMEDY} After a restore"
            " to another place: kebab init --adopt-blobs."
        )
    BlobStore.objects.update_or_create(pk=1, defaults={"mark": mark or _write_mark()})


def _read_mark() -> str:
    try:
        with default_storage.open(MARK_NAME, "rb") as mark:
            return str(mark.read(_MARK_LIMIT_BYTES).decode("ascii", "replace"))
    except FileNotFoundError:
        return ""


def _write_mark() -> str:
    mark = uuid.uuid4().hex
    default_storage.delete(MARK_NAME)
    default_storage.save(MARK_NAME, ContentFile(mark.encode()))
    return mark


def _storage_location() -> str:
    options = settings.STORAGES["default"]["OPTIONS"]
    return str(options.get("location") if "bucket_name" not in options else f"s3://{options['bucket_name']}")
