"""Writer of bundles: rows are written to a draft next to the target, which it replaces at the end."""

import contextlib
import glob
import uuid
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from kebab.runtime.durable_files import hold_existing, sync_to_disk
from search.bundles.errors import BundleExists, BundleUnreadable
from search.bundles.format.layout import APPLICATION_ID, CREATE, FORMAT, SECTIONS, insert_statement
from search.bundles.format.open_bundle import RowDigest, Value, seal

# Level 1 takes half the time of 6 and a sixth more space.
_LEVEL = 6
_PRIVATE = 0o600


class BundleWriter:
    """Writer of the sections of one bundle; the rows of each section are numbered from 1."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self.digests = {section: RowDigest() for section in SECTIONS}

    def add(self, section: str, body: bytes, *more: Value) -> int:
        """Add a row and return its number; `more` are the values of the section's further columns."""
        digest = self.digests[section]
        row = (digest.rows + 1, body, *more)
        self.connection.execute(insert_statement(section), row)
        digest.add(row)
        return digest.rows


def compress_body(body: bytes) -> bytes:
    """Compress the body of a row of chunks or of a blob."""
    return zlib.compress(body, _LEVEL)


@contextmanager
def open_draft(target: Path, *, replaces: bool) -> Iterator[Path]:
    """Yield the path of a draft, which becomes `target` if the block succeeds and is deleted otherwise.

    Only the current OS user may read the file. Raises BundleExists, BundleUnreadable.
    """
    if target.exists() and not replaces:
        raise BundleExists(f"{target} is there already; choose another name, or replace it with --force.")
    draft = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    try:
        _delete_stale_drafts(target)
        draft.touch(mode=_PRIVATE)
        with hold_existing(draft):
            yield draft
        sync_to_disk(draft)
        draft.replace(target)
        sync_to_disk(target.parent)
    except OSError as error:
        raise BundleUnreadable(f"{target} can't be written: {error.strerror or error}.") from error
    except (apsw.FullError, apsw.IOError, apsw.CantOpenError) as error:
        raise BundleUnreadable(f"{target} can't be written: {error}.") from error
    finally:
        for leftover in (draft, draft.with_name(f"{draft.name}-journal")):
            with contextlib.suppress(OSError):
                leftover.unlink()


def _delete_stale_drafts(target: Path) -> None:
    """Delete the drafts of `target` that killed exports have left."""
    for stale in target.parent.glob(f".{glob.escape(target.name)}.*.tmp"):
        with contextlib.suppress(OSError), hold_existing(stale):
            stale.unlink()


@contextmanager
def create_bundle(path: Path) -> Iterator[BundleWriter]:
    """Yield the writer of an empty bundle, and seal it at the end."""
    connection = apsw.Connection(str(path))
    try:
        # A draft is useless after a crash, so it needs neither rollback nor durability before it is complete.
        # Without a journal the finished file can also be read from read-only media.
        connection.pragma("journal_mode", "off")
        connection.pragma("synchronous", "off")
        connection.pragma("cache_size", -64_000)
        connection.execute(CREATE)
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", FORMAT)
        with connection:
            yield BundleWriter(connection)
    finally:
        connection.close()
    seal(path)
