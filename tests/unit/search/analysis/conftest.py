"""A text index with the columns of a mirror's."""

import apsw
import pytest

from search.analysis import TOKENIZER, register_tokenizer


@pytest.fixture(scope="session")
def table():
    """Return an empty text index with the columns of a mirror's."""
    connection = apsw.Connection(":memory:")
    register_tokenizer(connection)
    connection.execute(f"CREATE VIRTUAL TABLE f USING fts5 (text, tokenize = '{TOKENIZER}')")
    yield connection
    connection.close()
