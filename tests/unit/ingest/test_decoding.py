import codecs
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.parsers.decoding import decode, split_lines
from ingest.parsers.registry import parse
from search.charset import wide_charset


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


LANGUAGES = {
    "cp1252": "Die Größe der Schlüssel wird geprüft, bevor die Änderung übernommen wird: 12 €.",
    "cp1250": "Zażółć gęślą jaźń, a potem sprawdź, czy wszystkie pliki zostały zapisane w katalogu.",
    "cp1251": "Перед запуском сервера проверьте настройки и права доступа к каталогу.",
    "koi8_r": "Перед запуском сервера проверьте настройки и права доступа к каталогу.",
    "gb18030": "启动服务器之前,请检查设置和目录的访问权限。",
    "big5": "啟動伺服器之前,請檢查設定和目錄的存取權限。",
    "cp932": "サーバーを起動する前に、設定とディレクトリの権限を確認してください。",
    "euc_jp": "サーバーを起動する前に、設定とディレクトリの権限を確認してください。",
    "cp949": "서버를 시작하기 전에 설정과 디렉터리의 접근 권한을 확인하십시오.",
    "cp1253": "Πριν ξεκινήσετε τον διακομιστή, ελέγξτε τις ρυθμίσεις και τα δικαιώματα.",
}


@pytest.mark.parametrize(("charset", "text"), LANGUAGES.items())
def test_the_charset_of_a_paragraph_is_found(charset, text):
    assert decode((text * 3).encode(charset)) == text * 3


@pytest.mark.parametrize("charset", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    "text",
    [
        "plain words\r\nof English",
        "Trước khi khởi động máy chủ, hãy kiểm tra các thiết lập và quyền truy cập.",
        "Проверьте\nнастройки и права",
        "请检查设置\n和一个目录。\n一\n",
        "サーバーを起動する前に、\n設定と権限を確認してください。\n",
        "서버를 시작하기 전에\n설정을 확인하십시오.\n",
        "सर्वर शुरू करने से पहले\nसेटिंग्स की जाँच करें।\n",
        "قبل تشغيل الخادم\nتحقق من الإعدادات\n",
        "def run():  # 启动服务器之前请检查设置\n    return 1\n",
    ],
)
def test_utf16_without_a_mark_is_recognised(charset, text):
    assert decode(text.encode(charset)) == text


@pytest.mark.parametrize(
    "content",
    [b"words \x00 and \x00 more words", "Größe\x00 und\x00 mehr".encode(), b"\x00\x00", bytes(range(256))],
)
def test_stray_nuls_are_no_sign_of_utf16(content):
    assert wide_charset(content) is None


@pytest.mark.parametrize(
    "content",
    [
        b"\x00\x01\x02\xff" * 200,  # letters and a sign of no common script, in pairs
        b"\x00\x01\x20\x00\x02\xff" * 200,
        struct.pack("<200H", *range(0x0100, 0x01C8)),
        struct.pack("<200H", *(code for n in range(50) for code in (0x0A, 0x3B1 + n % 20, 0x4E00, 0xAC00))),
    ],
)
def test_numbers_in_pairs_of_bytes_are_no_utf16(content):
    assert wide_charset(content) is None


@pytest.mark.parametrize("encoding", ["utf-32-le", "utf-32-be"])
def test_utf32_is_recognised_by_its_mark(encoding):
    content = "\ufeffGröße 部\n".encode(encoding)
    assert decode(content) == "Größe 部\n"
    assert list(parse(content, "notes.txt").outline.lines) == ["Größe 部"]
