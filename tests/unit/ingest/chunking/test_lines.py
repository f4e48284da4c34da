"""Token counts equal the tokenizer's, or are comparable in other scripts, at bounded cost."""

import base64
import random
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.chunking import lines, types
from ingest.chunking.lines import CACHE_WORDS, LEARNED_TEXTS, TokenCounts
from ingest.chunking.types import MAX_TOKENS
from ingest.parsers.errors import ParseRefused
from search.embedders.bert.tokenizer import TokenCounter

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=200)


@given(texts=st.lists(TEXT, max_size=8))
def test_counts_equal_the_tokenizer(exact_counter, texts):
    counts = TokenCounts(exact_counter)
    assert counts.count_each(texts) == [exact_counter.count(text) for text in texts]
    assert [counts.count(text) for text in texts] == [exact_counter.count(text) for text in texts]


def test_marks_and_removed_characters_count_as_in_the_tokenizer(exact_counter, subtests):
    counts = TokenCounts(exact_counter)
    for text in [
        *("a\x0bb", "a\x1fb c", "[CLS] x[SEP]y", "e\u0301 \u0301", "a\u2028b\u200bc", "한국어 각 部署"),
        *("x" * 300, "[MASK]部[SEP]。[ABC]" + "y" * 99 + ".[\x01SEP]", "中\u0301文、\u0301，é.è"),
    ]:
        with subtests.test(case=ascii(text[:40])):
            assert counts.count_each([text]) == [exact_counter.count(text)]


def test_letters_of_other_scripts_count_about_as_much_as_the_same_text_in_english():
    counts = TokenCounts(TokenCounter())
    english = counts.count("The server answers every request that it receives from the browser.")
    for text in (
        "서버는 브라우저에서 받은 모든 요청에 응답합니다.",
        "Сервер отвечает на каждый запрос, полученный от браузера.",
        "يجيب الخادم على كل طلب يتلقاه من المتصفح.",
        "Ο διακομιστής απαντά σε κάθε αίτημα που λαμβάνει από τον περιηγητή.",
        "เซิร์ฟเวอร์ตอบทุกคำขอที่ได้รับจากเบราว์เซอร์",
        "服务器回答从浏览器收到的每个请求。",
    ):
        assert english <= counts.count(text) <= 3 * english, text
    assert counts.count("한국") == counts.count(unicodedata.normalize("NFD", "한국")) == 2


def test_cache_is_bounded(exact_counter):
    counts = TokenCounts(exact_counter)
    counts.count_each([f"w{number}" for number in range(CACHE_WORDS + 5_000)])
    assert len(counts._seen) <= CACHE_WORDS + LEARNED_TEXTS


class Meter:
    """The tokenizer, with a count of the characters that it encoded."""

    def __init__(self, exact: TokenCounter) -> None:
        self._exact = exact
        self.chars = 0

    def count(self, text: str) -> int:
        self.chars += len(text)
        return self._exact.count(text)

    def offsets(self, text: str):
        self.chars += len(text)
        return self._exact.offsets(text)


def one_line(kind: str, size: int) -> str:
    chance = random.Random(size)
    if kind == "base64":
        return base64.b64encode(chance.randbytes(size * 3 // 4)).decode()
    if kind == "ideographs":
        return "".join(chance.choices([chr(code) for code in range(0x4E00, 0x5E00)], k=size))
    return "".join(f'"k{chance.randrange(10**6)}":{chance.random()},' for _ in range(size // 28))


@pytest.mark.parametrize(("kind", "most"), [("base64", 4), ("ideographs", 1), ("json", 4)])
def test_text_without_spaces_is_encoded_a_few_times_at_most(exact_counter, kind, most):
    line = one_line(kind, 30_000)
    meter = Meter(exact_counter)
    pieces = list(lines.split_line(line, MAX_TOKENS, lines.TokenCounts(meter)))
    assert all(exact_counter.count(piece) <= MAX_TOKENS for piece in pieces)
    assert "".join(pieces) == line
    assert meter.chars <= most * len(line)


def test_document_of_too_many_chunks_is_refused(chunk_file, monkeypatch):
    monkeypatch.setattr(types, "MAX_CHUNKS", 3)
    text = "".join(f"# Part {n}\n\n{'Words. ' * 60}\n\n" for n in range(4))
    with pytest.raises(ParseRefused, match="3") as refusal:
        chunk_file(text, "a.md")
    assert refusal.value.code == "too_many_chunks"
    assert len(chunk_file(text.partition("# Part 3")[0], "a.md")) == 3


def test_counting_ends_as_soon_as_there_are_too_many_tokens(exact_counter, monkeypatch):
    monkeypatch.setattr(lines, "MAX_CHUNKS", 2)
    monkeypatch.setattr(lines, "COUNTED_TOGETHER", 10)
    meter = Meter(exact_counter)
    rows = [f"{number},{number * 7919}" for number in range(100_000, 110_000)]
    with pytest.raises(ParseRefused) as refusal:
        lines.SizedLines(rows, lines.TokenCounts(meter))
    assert refusal.value.code == "too_many_chunks"
    assert meter.chars < sum(map(len, rows)) / 10
