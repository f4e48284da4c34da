"""Opening a mirror while others open and close it: whoever closes last folds the write-ahead log in."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from search.mirror import connections

_TIMES = 300


def test_opening_waits_for_whoever_closes_last(tmp_path: Path, monkeypatch):
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
