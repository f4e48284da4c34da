"""Looks into mirrors as tests need it: rows, bytes, checksums."""

from collections.abc import Iterator
from concurrent.futures import wait
from contextlib import contextmanager

import apsw

from search.mirror.checksum import Checksum, mirror_checksum
from search.mirror.connections import open_reader, open_writer
from search.mirror.files import MirrorFiles
from search.mirror.follow import MirrorFollower


@contextmanager
def reading(files: MirrorFiles) -> Iterator[apsw.Connection]:
    """Open the current generation for reading."""
    connection = open_reader(files.current())
    try:
        yield connection
    finally:
        connection.close()


@contextmanager
def tampering(files: MirrorFiles) -> Iterator[apsw.Connection]:
    """Open the current generation for writing, past the code that writes mirrors."""
    connection = open_writer(files.current())
    try:
        yield connection
    finally:
        connection.close()


def texts(files: MirrorFiles) -> dict[str, list[str]]:
    """Give the texts of each document in the mirror, by path, sorted."""
    with reading(files) as connection:
        rows = connection.execute(
            "SELECT d.path, f.text FROM documents d LEFT JOIN chunks c ON c.doc = d.doc"
            " LEFT JOIN chunks_fts f ON f.rowid = c.chunk ORDER BY d.path, f.text"
        ).fetchall()
    found: dict[str, list[str]] = {}
    for path, text in rows:
        found.setdefault(path, []).extend([] if text is None else [text])
    return found


def checksum(files: MirrorFiles) -> Checksum:
    """Give the mirror's checksum."""
    with reading(files) as connection:
        return mirror_checksum(connection)


def raw_bytes(files: MirrorFiles) -> bytes:
    """Give the bytes of all files of the mirror, in no order, while nothing has them open."""
    return b"".join(path.read_bytes() for path in files.directory.iterdir())


def generations(files: MirrorFiles) -> set[str]:
    """Give the names of the generations that lie there."""
    return {path.name for path in files.directory.glob("*.sqlite3")}


def catch_up_wholly(follower: MirrorFollower) -> None:
    """Have a follower catch up, with what it does beside."""
    follower.catch_up()
    while not follower._long.is_idle:
        wait(list(follower._long._asked.values()), timeout=30)
        follower.catch_up()
