"""An embedder that knows a few words of English, German and Chinese, and gives the same vector in each."""

from dataclasses import replace

import numpy as np
import pytest

from search.embedders import configured
from search.embedders.bert.model import MULTILINGUAL_MODEL
from search.embedders.hash_embedder import HashEmbedder

_ENGLISH = {
    "urlaubstage": "holidays", "urlaub": "holidays", "mitarbeiter": "employees", "tage": "days",
    "ware": "goods", "zurückgeben": "return", "lange": "long", "wie": "how", "viele": "many",
    "gateway": "gateway", "wählen": "choose", "kantine": "canteen", "öffnet": "opens", "mittags": "noon",
}  # fmt: skip


class TranslatingEmbedder(HashEmbedder):
    """Has the identity of the multilingual model."""

    def __init__(self) -> None:
        super().__init__(256)
        self.space = replace(self.space, model=MULTILINGUAL_MODEL)
        #: Texts whose words were compared.
        self.compared = 0

    def embed_query(self, text):
        words = (word.strip(".,:;?!()") for word in text.casefold().split())
        return super().embed_query(" ".join(_ENGLISH.get(word, word) for word in words))

    def word_vectors(self, text):
        self.compared += 1
        return np.stack([self.embed_query(word) for word in text.split()])


def use_translating_embedder(monkeypatch: pytest.MonkeyPatch) -> TranslatingEmbedder:
    """Make it the embedder of every workspace for one test."""
    embedder = TranslatingEmbedder()
    monkeypatch.setattr(configured, "_load_embedder", lambda text: embedder)
    configured.clear_query_caches()
    return embedder
