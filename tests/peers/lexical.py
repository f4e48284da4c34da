"""Lexical peers: plain FTS5, and Tantivy."""

import re
from collections.abc import Callable
from pathlib import Path

import apsw
import tantivy

from search.retrieval.stopwords import content_terms
from tests.peers.corpus import Corpus

#: Gives the chunk ids of the best ten.
Search = Callable[[str], list[str]]

_FTS5 = "SELECT chunk_id FROM chunks WHERE chunks MATCH ? ORDER BY bm25(chunks) LIMIT 10"


def fts5(corpus: Corpus, folder: Path) -> Search:
    """Plain FTS5, as its documentation has it: an OR of the terms without stop words, by bm25."""
    connection = apsw.Connection(str(folder / "plain.sqlite3"))
    connection.execute(
        "CREATE VIRTUAL TABLE chunks USING fts5 (chunk_id UNINDEXED, breadcrumb, text,"
        " tokenize = 'porter unicode61')"
    )
    with connection:
        connection.executemany("INSERT INTO chunks VALUES (?, ?, ?)", corpus.rows)
    connection.execute("INSERT INTO chunks (chunks) VALUES ('optimize')")

    def search(query: str) -> list[str]:
        terms = content_terms(query.split())
        expression = " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)
        return [chunk_id for (chunk_id,) in connection.execute(_FTS5, (expression,))]

    return search


def tantivy_search(corpus: Corpus, folder: Path) -> Search:
    """Tantivy with its English stemmer, an OR of the words in both fields."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("chunk_id", stored=True, tokenizer_name="raw")
    for field in ("breadcrumb", "text"):
        builder.add_text_field(field, tokenizer_name="en_stem")
    (folder / "tantivy").mkdir()
    index = tantivy.Index(builder.build(), path=str(folder / "tantivy"))
    writer = index.writer(heap_size=256_000_000, num_threads=2)
    for chunk_id, breadcrumb, text in corpus.rows:
        writer.add_document(tantivy.Document(chunk_id=chunk_id, breadcrumb=breadcrumb, text=text))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def search(query: str) -> list[str]:
        words = " ".join(re.findall(r"\w+", " ".join(content_terms(query.split()))))
        parsed = index.parse_query(words, ["breadcrumb", "text"])
        return [searcher.doc(address)["chunk_id"][0] for _, address in searcher.search(parsed, 10).hits]

    return search
