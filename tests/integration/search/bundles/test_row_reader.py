"""Files that are not bundles of this release are refused when opened."""

import sqlite3

import apsw
import pytest

from search.analysis import register_tokenizer
from search.bundles.errors import (
    BundleDamaged,
    BundleRefused,
    BundleTooNew,
    BundleUnreadable,
    NotABundle,
)
from search.bundles.format.open_bundle import seal
from search.bundles.format.row_reader import BundleReader
from tests.integration.search.bundles.forgeries import forge

_SEAL_BYTES = 48

OTHER_FILES = [b"", b"words", b"PK\3\4" * 100, b"SQLite format 3\0" + bytes(500)]
OTHER_TABLES = [
    "CREATE VIEW more AS SELECT 1",
    "CREATE TRIGGER t AFTER INSERT ON bundle_groups BEGIN DELETE FROM bundle_groups; END",
    "ALTER TABLE bundle_groups ADD COLUMN more TEXT",
    "DROP TABLE bundle_runs; CREATE VIEW bundle_runs AS SELECT 1 AS number, x'7b7d' AS body",
    "ALTER TABLE bundle_topics RENAME TO topics",
]
WRONG_MANIFESTS = [
    {"format": 7},
    {"documents": -1},
    {"slug": 5},
    {"more": 1},
    {"sections": {}},
    {"seq": 2**60},
]


def test_folders_and_files_of_other_kinds_are_refused(tmp_path, subtests):
    for path in (tmp_path / "none.kebab", tmp_path):
        with subtests.test(path=path), pytest.raises(BundleUnreadable):
            BundleReader(path)
    for number, content in enumerate(OTHER_FILES):
        path = tmp_path / str(number)
        path.write_bytes(content)
        with subtests.test(content=content[:20]), pytest.raises((NotABundle, BundleDamaged)):
            BundleReader(path)
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE notes (words TEXT)")
    other.close()
    seal(tmp_path / "other.db")
    with subtests.test("another database"), pytest.raises(NotABundle):
        BundleReader(tmp_path / "other.db")


def test_format_of_a_later_release_is_refused(file):
    forged = forge(file, lambda connection: connection.execute("PRAGMA user_version = 2"))
    with pytest.raises(BundleTooNew, match="format 2"):
        BundleReader(forged)


def test_tables_that_no_export_writes_are_refused(file, subtests):
    original = file.read_bytes()[:-_SEAL_BYTES]
    for sql in OTHER_TABLES:
        file.write_bytes(original)
        connection = apsw.Connection(str(file))
        register_tokenizer(connection)
        connection.execute(sql)
        connection.close()
        seal(file)

        with subtests.test(sql=sql), pytest.raises(BundleRefused, match=r"tables|views"):
            BundleReader(file)


def test_manifest_that_no_export_writes_is_refused(file, subtests):
    original = file.read_bytes()
    for manifest in WRONG_MANIFESTS:
        file.write_bytes(original)
        forged = forge(file, lambda connection: None, **manifest)
        with subtests.test(manifest=manifest), pytest.raises(BundleRefused, match=r"manifest|seq"):
            BundleReader(forged)
