"""A small bundle, and forged changes to one."""

import json
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from kebab.identity.models import Workspace
from search.bundles.export import compress_body, export_bundle
from search.bundles.format.layout import MAX_ROW_BYTES, SECTIONS, select_statement
from search.bundles.format.open_bundle import RowDigest, check_ends, seal
from search.bundles.format.values import canonical_json
from search.corpus.blobs import store_blob
from tests.support.corpus import write
from tests.support.search import embed

DOCUMENTS, CHUNKS_OF_EACH = 6, 3


def write_small(workspace: Workspace, path: Path) -> None:
    """Write a few documents of the same bytes into the workspace, and a bundle of it."""
    kept = store_blob(workspace.pk, b"what the documents were made from")
    for nth in range(DOCUMENTS):
        texts = [f"The harbour {nth} lies behind lighthouse {place}." for place in range(CHUNKS_OF_EACH)]
        write(workspace, f"guides/{nth}.md", *texts, title=f"Guide {nth}", content_hash=kept)
    embed(workspace)
    export_bundle(workspace, path)


def forge(path: Path, change: Callable[[apsw.Connection], object], **manifest: Any) -> Path:
    """Alter a bundle by `change`, and correct all its digests and its seal, as a forger would.

    `manifest` are values that its manifest gets, `index` that of its index. Returns the path.
    """
    length = check_ends(path)
    with path.open("r+b") as file:
        file.truncate(length)
    connection = apsw.Connection(str(path))
    change(connection)
    _restate(connection, manifest)
    connection.close()
    seal(path)
    return path


def _restate(connection: apsw.Connection, values: dict[str, Any]) -> None:
    from blake3 import blake3

    (body,) = connection.execute("SELECT value FROM bundle_manifest WHERE name = 'manifest'").fetchone()
    manifest = json.loads(body)
    for section in SECTIONS:
        digest = RowDigest()
        for row in connection.execute(select_statement(section), (-(2**40),)):
            digest.add(row)
        manifest["sections"][section] = {"rows": digest.rows, "digest": digest.hexdigest()}
    manifest["sections"]["index"] = values.pop("index", manifest["sections"]["index"])
    body = canonical_json({**manifest, **values})
    put = "UPDATE bundle_manifest SET value = ? WHERE name = ?"
    connection.execute(put, (body, "manifest"))
    connection.execute(put, (blake3(body).hexdigest().encode(), "digest"))


def put_body(section: str, body: bytes, number: int = 1) -> Callable[[apsw.Connection], object]:
    """Return the change that replaces the body of a row."""

    def change(connection: apsw.Connection) -> object:
        sql = f"UPDATE bundle_{section} SET body = ? WHERE number = ?"  # noqa: S608 - our own names
        return connection.execute(sql, (body, number))

    return change


def put_chunk_fields(**fields: Any) -> Callable[[apsw.Connection], object]:
    """Return the change that sets fields of the first chunk of the first document."""

    def change(connection: apsw.Connection) -> object:
        (body,) = connection.execute("SELECT body FROM bundle_chunks WHERE number = 1").fetchone()
        first, *others = json.loads(zlib.decompress(body))
        return put_body("chunks", compress_body(canonical_json([{**first, **fields}, *others])))(connection)

    return change


def put_fields(section: str, **fields: Any) -> Callable[[apsw.Connection], object]:
    """Return the change that sets fields in the JSON of a section's first row."""

    def change(connection: apsw.Connection) -> object:
        sql = f"SELECT body FROM bundle_{section} WHERE number = 1"  # noqa: S608 - our own names
        (body,) = connection.execute(sql).fetchone()
        return put_body(section, json.dumps({**json.loads(body), **fields}).encode())(connection)

    return change


def execute(sql: str, *values: Any) -> Callable[[apsw.Connection], object]:
    """Return the change that executes a statement."""
    return lambda connection: connection.execute(sql, values)


@cache
def bomb() -> bytes:
    """Return a body of a few bytes that decompresses to more than a row may hold."""
    return zlib.compress(b"[" + b" " * (2 * MAX_ROW_BYTES) + b"]")


def vectors_with(value: float) -> bytes:
    """Return the body of all vectors, zero except for one component."""
    halves = np.zeros((DOCUMENTS * CHUNKS_OF_EACH, 64), "<f2")
    halves[3, 5] = value
    return halves.tobytes()
