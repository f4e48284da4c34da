"""Concurrent opening and closing of a mirror; the last to close checkpoints the write-ahead log."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import apsw
import pytest

from search.mirror import connections
from search.mirror.connections import ReaderPool

_TIMES = 60


def test_opening_a_mirror_waits_for_the_last_connection_to_close(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(connections, "_BUSY_TIMEOUT_MS", 60_000)
    path = tmp_path / "mirror.sqlite3"
    connections.create_file(path).close()

    def write_and_close() -> None:
        for number in range(_TIMES):
            writer = connections.open_writer(path)
            writer.execute("REPLACE INTO meta (key, value) VALUES ('turn', ?)", (number,))
            writer.close()

    def read_and_close() -> None:
        for _ in range(_TIMES):
            reader = connections.open_reader(path)
            reader.execute("SELECT count(*) FROM meta").fetchall()
            reader.close()

    with ThreadPoolExecutor(3) as threads:
        for done in [threads.submit(turn) for turn in (write_and_close, read_and_close, read_and_close)]:
            done.result()


@pytest.fixture
def clock(monkeypatch):
    """Return the pool's clock, set by hand."""
    clock = SimpleNamespace(now=1_000.0)
    monkeypatch.setattr(connections, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


@pytest.fixture
def pool(clock):
    pool = ReaderPool()
    yield pool
    pool.close()


def mirror(folder: Path, name: str) -> Path:
    path = folder / name / "mirror.sqlite3"
    path.parent.mkdir()
    connections.create_file(path).close()
    return path


def read(pool, path):
    with pool.reader(path) as reader:
        reader.execute("SELECT count(*) FROM chunks").fetchall()
    return reader


def opened_below(folder: Path) -> list[str]:
    """Return the files below a folder that this process has open, according to the system."""
    links = []
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            links.append(str(descriptor.readlink()))
        except FileNotFoundError:  # that of this very listing
            continue
    return [link for link in links if link.startswith(str(folder))]


def test_deleted_file_is_closed_within_a_minute(tmp_path, pool, clock):
    gone, other = mirror(tmp_path, "gone"), mirror(tmp_path, "other")
    read(pool, gone)
    for path in gone.parent.iterdir():
        path.unlink()
    read(pool, other)
    assert opened_below(gone.parent)  # nobody looked since
    clock.now += 61
    read(pool, other)
    assert not opened_below(gone.parent)
    assert opened_below(other.parent)


def test_file_that_nobody_reads_is_closed(tmp_path, pool, clock):
    idle, used = mirror(tmp_path, "idle"), mirror(tmp_path, "used")
    read(pool, idle)
    first = read(pool, used)
    for _ in range(11):
        clock.now += 60
        assert read(pool, used) is first
    assert not opened_below(idle.parent)


def read_whole(pool, path):
    with pool.reader(path) as reader:
        reader.execute("PRAGMA integrity_check").fetchall()
    return reader


def pages_kept(reader: apsw.Connection) -> int:
    """Return the bytes of the file that a reader keeps in memory."""
    return reader.status(apsw.SQLITE_DBSTATUS_CACHE_USED)[0]


def test_only_the_latest_readers_keep_their_pages_in_memory(tmp_path, pool, monkeypatch):
    monkeypatch.setattr(connections, "_WARM_READERS", 3)
    paths = [mirror(tmp_path, f"mirror-{number}") for number in range(6)]
    readers = [read_whole(pool, path) for path in paths]
    cold, warm = readers[:3], readers[3:]
    assert max(map(pages_kept, cold)) < min(map(pages_kept, warm)) / 4
    assert read_whole(pool, paths[0]) is cold[0]  # it is open still, and one of the latest now
    assert pages_kept(warm[0]) < pages_kept(cold[0]) / 4


def test_reader_that_is_lent_again_and_again_keeps_its_pages(tmp_path, pool):
    path = mirror(tmp_path, "mirror")
    kept = pages_kept(read_whole(pool, path))
    for _ in range(connections._WARM_READERS + 1):
        assert pages_kept(read_whole(pool, path)) == kept > 0
