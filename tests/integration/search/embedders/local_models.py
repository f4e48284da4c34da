"""Stand-ins of the local models: the same spaces, hashed words in place of meanings."""

import re
from dataclasses import replace

import numpy as np

from search.embedders import by_language, configured, registry
from search.embedders.bert.model import ENGLISH_MODEL, MULTILINGUAL_MODEL
from search.embedders.bert.models import LOCAL_MODELS
from search.embedders.hash_embedder import HashEmbedder
from search.embedders.spec import DEFAULT, ENGLISH, MULTILINGUAL
from search.models import EmbeddingSpace
from tests.support.corpus import write

MODELS = {ENGLISH: ENGLISH_MODEL, MULTILINGUAL: MULTILINGUAL_MODEL}


class StandIn(HashEmbedder):
    """A stand-in of a local model."""

    def __init__(self, kind):
        super().__init__(384)
        self.space = LOCAL_MODELS[MODELS[kind]].space


class Misled(StandIn):
    """A stand-in that takes the number in a query for another."""

    def embed_query(self, text):
        return super().embed_query(re.sub(r"\d+", lambda number: str(int(number[0]) + 1), text))

    def embed_passages(self, texts):
        return np.stack([super(Misled, self).embed_query(text) for text in texts])


def install(monkeypatch, *kinds):
    """Install the wheels of these local models, and of no other."""
    wheels = {
        kind: replace(wheel, package="json" if kind in kinds else "absent_wheel")
        for kind, wheel in by_language._WHEELS.items()
    }
    monkeypatch.setattr(by_language, "_WHEELS", wheels)


def use(monkeypatch, **stand_ins):
    """Use these classes for the local models, by kind; `StandIn` for others."""
    for kind in (DEFAULT, ENGLISH, MULTILINGUAL):
        made = stand_ins.get(kind, StandIn)(ENGLISH if kind == DEFAULT else kind)
        monkeypatch.setitem(registry._FACTORIES, kind, lambda *_, made=made: made)
    configured._load_embedder.cache_clear()
    configured.clear_query_caches()


def write_in(workspace, lang, number, *, first=0):
    """Write documents of one chunk each in a language."""
    for n in range(first, first + number):
        write(workspace, f"{lang}-{n}.md", f"pear {lang}{n}", lang=lang)


def kinds(workspace):
    """Return the kind of local model of the space in each state."""
    spaces = EmbeddingSpace.objects.in_workspace(workspace).values_list("state", "model")
    return {state: by_language.LOCAL_KINDS.get(model, model) for state, model in spaces}
