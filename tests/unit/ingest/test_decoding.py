import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.parsers.decoding import decode, split_lines


def test_utf8_with_and_without_mark_reads_the_same():
    assert decode(codecs.BOM_UTF8 + "naïve 部署".encode()) == decode("naïve 部署".encode()) == "naïve 部署"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_is_recognised_by_its_mark(encoding):
    mark = codecs.BOM_UTF16_LE if encoding.endswith("le") else codecs.BOM_UTF16_BE
    assert decode(mark + "Größe 部".encode(encoding)) == "Größe 部"


def test_legacy_charset_is_guessed():
    text = "Die Größe der Schlüssel überprüfen, bevor die Änderung übernommen wird. " * 20
    assert "Größe" in decode(text.encode("cp1252"))
    japanese = "設定ファイルを開いて、次の行を追加します。" * 20
    assert "設定ファイル" in decode(japanese.encode("shift_jis"))


def test_a_few_bad_bytes_do_not_turn_utf8_into_another_charset():
    content = "部署指南 " * 50
    assert decode(content.encode() + b"\xff\xfe bad").startswith("部署指南")


def test_nul_is_replaced_one_for_one():
    assert decode(b"a\x00b") == "a\ufffdb"


@given(st.binary(max_size=300))
def test_any_bytes_decode_to_storable_text(content):
    text = decode(content)
    assert "\x00" not in text
    text.encode("utf-8")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_each_line_end_counts_once(end):
    assert split_lines(end.join(["a", "", "b"]) + end) == ["a", "", "b"]


def test_mixed_line_ends_are_numbered_as_in_an_editor():
    assert split_lines("a\r\nb\rc\nd") == ["a", "b", "c", "d"]


def test_form_feed_and_unicode_separators_end_no_line():
    assert split_lines("a\x0cb\u2028c\x85d") == ["a\x0cb\u2028c\x85d"]


def test_empty_file_has_no_line():
    assert split_lines("") == []
