"""What a name finds doesn't depend on the order in which documents came into the mirror."""

import uuid

import pytest

from search.mirror import connections, schema
from search.mirror.apply import Applier
from search.mirror.connections import ReaderPool
from search.mirror.exact import ExactLeg
from search.mirror.lexical import LexicalLeg
from search.mirror.reading import MirrorReading
from search.mirror.snapshot import ChunkState, DocumentState
from search.retrieval.filters import SearchFilters
from search.scope import Scope

# More than any leg reads of one name.
DOCUMENTS = 400
SCOPE = Scope(
    workspace_id=uuid.UUID(int=1),
    filters=SearchFilters(),
    head_seq=1,
    space=None,
    sources=None,
    readable=None,
    version_tags=(),
)
TEXTS = (
    "def find_harbour(depth): return {n}",
    "class Pier{n}: find_harbour = None, mooring",
    "call find_harbour and `Dock.find_harbour` {n} times",
    "class Dock: pass {n}",
)


class OneFile:
    def __init__(self, path):
        self._path = path

    def current(self):
        return self._path

    def withdraw(self, generation):
        raise AssertionError(generation)


def state(nth):
    id_ = uuid.uuid5(uuid.NAMESPACE_URL, str(nth)).hex
    chunks = tuple(
        ChunkState(
            chunk_id=uuid.uuid5(uuid.NAMESPACE_URL, f"{nth} {place}").hex,
            kind="code",
            code_lang="python",
            row_version=1,
            breadcrumb=f"pier{nth}.py",
            text=text.format(n=nth),
        )
        for place, text in enumerate(TEXTS)
    )
    return DocumentState(
        doc_id=id_,
        path=f"pier{nth}.py",
        lang="en",
        trust_level="unknown",
        media="code",
        source_key="code",
        version_tag="",
        indexed_at=0.0,
        tags=(),
        chunks=chunks,
    )


@pytest.fixture
def pool():
    readers = ReaderPool()
    yield readers
    readers.close()


def mirror(path, order):
    connection = connections.create_file(path)
    with connection:
        applier = Applier(connection)
        for nth in order:
            applier.upsert(state(nth))
        applier.finish()
        connection.execute(schema.WRITE_META, ("applied_seq", 1))
    connection.close()
    return OneFile(path)


@pytest.mark.parametrize(
    "text", ["`find_harbour`", "find_harbour()", "Dock.find_harbour", '"class Dock"', "Dock", "`Dock`"]
)
def test_two_orders_of_documents_give_one_list(tmp_path, pool, text):
    there = mirror(tmp_path / "there.sqlite3", range(DOCUMENTS))
    back = mirror(tmp_path / "back.sqlite3", reversed(range(DOCUMENTS)))

    for leg in (ExactLeg, LexicalLeg):
        found = [
            leg(MirrorReading(files, pool, SCOPE, limit_s=60.0), text).search(100) for files in (there, back)
        ]
        assert found[0] == found[1]
        assert len({each.chunk_id for each in found[0]}) == len(found[0])
