"""Tantivy with its English stemmer."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import tantivy

from search.retrieval.query.stopwords import content_terms
from tests.drills.bench.peers.corpus import Corpus
from tests.drills.bench.peers.registry import PeerSearch

_FIELDS = ["breadcrumb", "text"]


@contextmanager
def open_index(corpus: Corpus, folder: Path) -> Iterator[PeerSearch]:
    """Index the corpus on disk and search it in this process."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("chunk_id", stored=True, tokenizer_name="raw")
    for field in _FIELDS:
        builder.add_text_field(field, tokenizer_name="en_stem")
    index = tantivy.Index(builder.build(), path=str(folder))
    writer = index.writer(heap_size=256_000_000, num_threads=2)
    for chunk_id, breadcrumb, text in zip(corpus.chunk_ids, corpus.breadcrumbs, corpus.texts, strict=True):
        writer.add_document(tantivy.Document(chunk_id=chunk_id, breadcrumb=breadcrumb, text=text))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def search(query: str, vector: np.ndarray, k: int) -> list[str]:
        words = " ".join(re.findall(r"\w+", " ".join(content_terms(query.split()))))
        parsed = index.parse_query(words, _FIELDS)
        return [searcher.doc(address)["chunk_id"][0] for _, address in searcher.search(parsed, k).hits]

    yield search
