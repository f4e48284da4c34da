"""Documents in the form that mirrors store, and a mirror that works without Postgres."""

import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from search.access.scope import SearchScope
from search.mirror import connections, schema
from search.mirror.connections import ReaderPool
from search.mirror.files import MirrorFiles
from search.mirror.query.lexical import LexicalLeg
from search.mirror.query.view import MirrorSource, MirrorView
from search.mirror.sync.apply import Applier
from search.mirror.sync.snapshot import ChunkState, DocumentState
from search.retrieval.fusion.legs import unpack_ids
from search.retrieval.query.filters import SearchFilters


def doc_id(path: str) -> str:
    """Return the id of the document at `path`."""
    return uuid.uuid5(uuid.NAMESPACE_URL, path).hex


def chunk_id(path: str, ordinal: int = 0) -> str:
    """Return the id of a chunk of the document at `path`."""
    return uuid.uuid5(uuid.NAMESPACE_URL, f"{path}#{ordinal}").hex


def document_state(
    path: str,
    texts: Iterable[str],
    *,
    breadcrumb: str = "Fruit",
    kind: str = "info",
    code_lang: str = "",
    trust: str = "unknown",
) -> DocumentState:
    """Return a document with one chunk a text."""
    chunks = (
        ChunkState(
            chunk_id=chunk_id(path, ordinal),
            kind=kind,
            code_lang=code_lang,
            row_version=1,
            breadcrumb=breadcrumb,
            text=text,
        )
        for ordinal, text in enumerate(texts)
    )
    return DocumentState(
        doc_id=doc_id(path),
        path=path,
        title=breadcrumb,
        lang="en",
        trust_level=trust,
        media="text",
        source_key="s",
        version_tag="",
        indexed_at=0.0,
        dated_at=0.0,
        is_dated=1,
        author="",
        tags=(),
        chunks=tuple(chunks),
    )


def apply(connection: apsw.Connection, *states: DocumentState, gone: Iterable[str] = ()) -> None:
    """Write documents, and delete those at the paths `gone`, in one transaction."""
    with connection:
        applier = Applier(connection)
        for state in states:
            applier.upsert(state)
        for path in gone:
            applier.delete(doc_id(path))
        applier.finish()


class StandaloneMirror:
    """A mirror that is written and asked without Postgres."""

    def __init__(self, root: Path) -> None:
        self.files = MirrorFiles.of(root, uuid.uuid4())
        self.pool = ReaderPool()
        self._seq = 0
        with self.files.write_lock():
            path = self.files.new_generation_path()
            connections.create_file(path).close()
            self.files.publish(path)

    def write(self, path: str, *texts: str, **fields: Any) -> None:
        """Write one document."""
        self.write_all([document_state(path, texts, **fields)])

    def write_all(self, states: Iterable[DocumentState]) -> None:
        """Write documents in this order."""
        self._change(lambda connection: apply(connection, *states))

    def delete(self, path: str) -> None:
        """Delete the document at `path`."""
        self._change(lambda connection: apply(connection, gone=[path]))

    def _change(self, write: Callable[[apsw.Connection], None]) -> None:
        connection = connections.open_writer(self.files.current())
        with connection:
            write(connection)
            self._seq += 1
            connection.execute(schema.WRITE_META, ("applied_seq", self._seq))
        connection.close()

    def damage(self, sql: str) -> None:
        """Change the file, bypassing the code that writes mirrors."""
        connection = connections.open_writer(self.files.current())
        connection.execute(sql)
        connection.close()

    def source(self, limit_s: float = 60.0, **filters: Any) -> MirrorSource:
        """Return the mirror under filters."""
        scope = SearchScope(
            workspace_id=uuid.uuid4(),
            filters=SearchFilters(**filters),
            head_seq=0,
            space=None,
            sources=None,
            readable=None,
            version_tags=(),
        )
        return MirrorSource(self.files, self.pool, scope, limit_s=limit_s)

    @contextmanager
    def leg(self, text: str, **filters: Any) -> Iterator[LexicalLeg]:
        """Provide the lexical leg of a query."""
        with self.source(**filters).open() as view:
            yield LexicalLeg(view, text)

    def paths(self, text: str, limit: int = 100, **filters: Any) -> list[str]:
        """Return the documents of what the leg finds, in order."""
        with self.source(**filters).open() as view:
            found = LexicalLeg(view, text).search(limit)
            return paths_of(view, found.ids)


def paths_of(view: MirrorView, ids: np.ndarray) -> list[str]:
    """Return the documents of chunks, (n,) ID."""
    rows = view.connection.execute("SELECT c.chunk_id, d.path FROM chunks c JOIN documents d USING (doc)")
    path_of = dict(rows.fetchall())
    return [path_of[id_] for id_ in unpack_ids(ids)]
