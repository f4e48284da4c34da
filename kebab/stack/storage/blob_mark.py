"""Whether this node's blobs are the ones that the database's other nodes write: by a mark in both.

The first worker writes a mark beside the blobs and its number into the database; a worker that finds another
number, or none, would miss what the others keep, and keep what they miss.
"""

import logging
import uuid

from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import Error, connection, transaction

from kebab.stack.errors import BlobsNotShared
from kebab.stack.models import BlobStore

logger = logging.getLogger(__name__)

MARK_NAME = "kebab-store"
_MARK_LIMIT_BYTES = 64
# One process at a time makes a mark; the letters of "blobs".
_ADVISORY_LOCK = 0x626C6F6273
_REMEDY = "See KEBAB_BLOBS_URL in docs/configuration.md."


def check_blob_store(*, adopt: bool) -> None:
    """Compare the mark beside the blobs with the database's; make both where there is none yet.

    `adopt`: whatever lies here is right from now on, as on a machine that is alone, or after a restore.

    Raises:
        BlobsNotShared: they are another store's, or can't be read or written.
        Error: the database is away.
    """
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_ADVISORY_LOCK])
            _compare(BlobStore.objects.first(), adopt=adopt)
    except OSError as error:
        told = error.strerror or str(error)
        raise BlobsNotShared(f"The documents' bytes can't be read or written: {told}. {_REMEDY}") from error
    finally:
        # A worker forks after this.
        connection.close()
        connection.close_pool()


def adopt_blobs_if_possible() -> None:
    """Adopt what lies here; a database that is away or a disk that is full is no reason not to work."""
    try:
        check_blob_store(adopt=True)
    except (Error, BlobsNotShared) as error:
        logger.warning("The documents' bytes bear no mark yet: %s", error)


def _compare(known: BlobStore | None, *, adopt: bool) -> None:
    mark = _read()
    if known is not None and known.mark == mark:
        return
    if known is not None and not adopt:
        raise BlobsNotShared(
            "The documents' bytes that this node reaches are not those that other nodes keep"
            f" ({_place()} has {'another mark' if mark else 'no mark'}): a worker here could not read what"
            f" they take in. Give all nodes one folder or bucket. {_REMEDY} After a restore to another place:"
            " kebab init --adopt-blobs."
        )
    BlobStore.objects.update_or_create(pk=1, defaults={"mark": mark or _write()})


def _read() -> str:
    try:
        with default_storage.open(MARK_NAME, "rb") as mark:
            return str(mark.read(_MARK_LIMIT_BYTES).decode("ascii", "replace"))
    except FileNotFoundError:
        return ""


def _write() -> str:
    mark = uuid.uuid4().hex
    default_storage.delete(MARK_NAME)
    default_storage.save(MARK_NAME, ContentFile(mark.encode()))
    return mark


def _place() -> str:
    options = settings.STORAGES["default"]["OPTIONS"]
    return str(options.get("location") if "bucket_name" not in options else f"s3://{options['bucket_name']}")
