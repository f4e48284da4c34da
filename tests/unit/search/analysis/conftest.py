"""Property tests are judged by what they find, not by how long a busy machine takes over one example."""

import apsw
import pytest
from hypothesis import settings

from search.analysis import TOKENIZER, register_tokenizer

settings.register_profile("no_deadline", deadline=None)
settings.load_profile("no_deadline")


@pytest.fixture(scope="session")
def table():
    """An empty text index of the shape that mirrors have."""
    connection = apsw.Connection(":memory:")
    register_tokenizer(connection)
    connection.execute(f"CREATE VIRTUAL TABLE f USING fts5 (text, tokenize = '{TOKENIZER}')")
    yield connection
    connection.close()
