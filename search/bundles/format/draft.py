"""Writing a bundle: a draft beside the file, rows as they come, and the file all at once at the end."""

import contextlib
import fcntl
import glob
import os
import uuid
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from search.analysis import ANALYSES, Analysis, register_tokenizer
from search.bundles.errors import BundleExists, BundleUnreadable
from search.bundles.format.layout import APPLICATION_ID, CREATE, FORMAT, SECTIONS, insert_of
from search.bundles.format.seal import RowDigest, Value, seal
from search.mirror import schema

# 1 takes half the time of 6 and a sixth more room.
_LEVEL = 6
_PRIVATE = 0o600


class BundleWriter:
    """Adds rows to the sections of one bundle, each numbered from 1."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self.digests = {section: RowDigest() for section in SECTIONS}

    def add(self, section: str, body: bytes, *more: Value) -> int:
        """Add a row and give its number; `more` are the section's other columns."""
        digest = self.digests[section]
        row = (digest.rows + 1, body, *more)
        self.connection.execute(insert_of(section), row)
        digest.add(row)
        return digest.rows


def compressed(body: bytes) -> bytes:
    """Return what a row of several holds."""
    return zlib.compress(body, _LEVEL)


@contextmanager
def draft_of(target: Path, *, replaces: bool) -> Iterator[Path]:
    """Return a path to write to; what is there becomes `target` when the block ends well, else it goes.

    Only who runs this may read the file. Raises BundleExists, BundleUnreadable.
    """
    if target.exists() and not replaces:
        raise BundleExists(f"{target} is there already; choose another name, or replace it with --force.")
    draft = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    try:
        _clear(target)
        draft.touch(mode=_PRIVATE)
        with _in_hand(draft):
            yield draft
        _bring_to_disk(draft)
        draft.replace(target)
        _bring_to_disk(target.parent)
    except OSError as error:
        raise BundleUnreadable(f"{target} can't be written: {error.strerror or error}.") from error
    except (apsw.FullError, apsw.IOError, apsw.CantOpenError) as error:
        raise BundleUnreadable(f"{target} can't be written: {error}.") from error
    finally:
        for leftover in (draft, draft.with_name(f"{draft.name}-journal")):
            with contextlib.suppress(OSError):
                leftover.unlink()


@contextmanager
def _in_hand(draft: Path) -> Iterator[None]:
    """Show other processes that somebody writes the draft. Raises BlockingIOError where another does."""
    with draft.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


def _clear(target: Path) -> None:
    """Remove the drafts of `target` that killed exports left."""
    for left in target.parent.glob(f".{glob.escape(target.name)}.*.tmp"):
        with contextlib.suppress(OSError), _in_hand(left):
            left.unlink()


@contextmanager
def new_bundle(path: Path, analysis: Analysis) -> Iterator[BundleWriter]:
    """Return the writer of an empty bundle whose text is indexed by `analysis`; it is sealed at the end."""
    connection = apsw.Connection(str(path))
    try:
        register_tokenizer(connection)
        # A draft that a crash leaves is of no use: nothing need be taken back, or be on the disk, before it
        # is complete. The file itself then needs no other beside it, on whatever medium it is read.
        connection.pragma("journal_mode", "off")
        connection.pragma("synchronous", "off")
        connection.pragma("cache_size", -64_000)
        connection.execute(schema.create(analysis))
        connection.execute(CREATE)
        connection.pragma("application_id", APPLICATION_ID | ANALYSES.index(analysis))
        connection.pragma("user_version", FORMAT)
        with connection:
            yield BundleWriter(connection)
    finally:
        connection.close()
    seal(path)


def _bring_to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
