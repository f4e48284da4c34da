"""Decoding of bytes: declared, guessed and damaged charsets, and line ends."""

import codecs
import struct

from hypothesis import given
from hypothesis import strategies as st

from ingest.parsers.decode import decode, split_lines
from ingest.parsers.registry import parse
from search.documents.charset import charset_for_label, wide_charset

LANGUAGES = {
    "cp1252": "Die Größe der Schlüssel wird geprüft, bevor die Änderung übernommen wird: 12 €.",
    "cp1250": "Zażółć gęślą jaźń, a potem sprawdź, czy wszystkie pliki zostały zapisane w katalogu.",
    "cp1251": "Перед запуском сервера проверьте настройки и права доступа к каталогу.",
    "koi8_r": "Перед запуском сервера проверьте настройки и права доступа к каталогу.",
    "gb18030": "启动服务器之前,请检查设置和目录的访问权限。",
    "big5": "啟動伺服器之前,請檢查設定和目錄的存取權限。",
    "cp932": "サーバーを起動する前に、設定とディレクトリの権限を確認してください。",
    "shift_jis": "設定ファイルを開いて、次の行を追加します。",
    "euc_jp": "サーバーを起動する前に、設定とディレクトリの権限を確認してください。",
    "cp949": "서버를 시작하기 전에 설정과 디렉터리의 접근 권한을 확인하십시오.",
    "cp1253": "Πριν ξεκινήσετε τον διακομιστή, ελέγξτε τις ρυθμίσεις και τα δικαιώματα.",
}
WIDE = [
    "plain words\r\nof English",
    "Trước khi khởi động máy chủ, hãy kiểm tra các thiết lập và quyền truy cập.",
    "Проверьте\nнастройки и права",
    "请检查设置\n和一个目录。\n一\n",
    "サーバーを起動する前に、\n設定と権限を確認してください。\n",
    "서버를 시작하기 전에\n설정을 확인하십시오.\n",
    "सर्वर शुरू करने से पहले\nसेटिंग्स की जाँच करें।\n",
    "قبل تشغيل الخادم\nتحقق من الإعدادات\n",
    "def run():  # 启动服务器之前请检查设置\n    return 1\n",
]


def test_marked_and_damaged_charsets_are_recognised():
    assert decode(codecs.BOM_UTF8 + "naïve 部署".encode()) == decode("naïve 部署".encode()) == "naïve 部署"
    for encoding in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"):
        content = "\ufeffGröße 部\n".encode(encoding)
        assert decode(content) == "Größe 部\n"
        assert list(parse(content, "notes.txt").outline.lines) == ["Größe 部"]
    damaged = ("部署指南 " * 50).encode() + b"\xff\xfe bad"  # UTF-8 all the same
    assert decode(damaged).startswith("部署指南")
    assert decode(b"a\x00b") == "a\ufffdb"


def test_charset_of_a_paragraph_is_found(subtests):
    for charset, text in LANGUAGES.items():
        with subtests.test(case=charset):
            assert decode((text * 3).encode(charset)) == text * 3
    for text in WIDE:
        for charset in ("utf-16-le", "utf-16-be"):
            with subtests.test(case=text, charset=charset):
                assert decode(text.encode(charset)) == text


def test_stray_nuls_and_numbers_are_no_utf16(subtests):
    for content in [
        *(
            b"words \x00 and \x00 more words",
            "Größe\x00 und\x00 mehr".encode(),
            b"\x00\x00",
            bytes(range(256)),
        ),
        b"\x00\x01\x02\xff" * 200,  # letters and a sign of no common script, in pairs
        b"\x00\x01\x20\x00\x02\xff" * 200,
        struct.pack("<200H", *range(0x0100, 0x01C8)),
        struct.pack("<200H", *(code for n in range(50) for code in (0x0A, 0x3B1 + n % 20, 0x4E00, 0xAC00))),
    ]:
        with subtests.test(case=content[:20]):
            assert wide_charset(content) is None


@given(st.binary(max_size=300))
def test_any_bytes_decode_to_storable_text(content):
    text = decode(content)
    assert "\x00" not in text
    text.encode("utf-8")


def test_lines_are_counted_as_in_an_editor():
    for end in ("\n", "\r\n", "\r"):
        assert split_lines(end.join(["a", "", "b"]) + end) == ["a", "", "b"]
    assert split_lines("a\r\nb\rc\nd") == ["a", "b", "c", "d"]
    assert split_lines("a\x0cb\u2028c\x85d") == ["a\x0cb\u2028c\x85d"]
    assert split_lines("") == []


def test_labels_mean_what_browsers_and_mail_readers_take_them_for(subtests):
    for label, codec in [
        *(("gb2312", "gb18030"), ("GBK", "gb18030"), ("latin1", "cp1252"), ("us-ascii", "cp1252")),
        *(("x-sjis", "cp932"), ("ms932", "cp932"), ("ks_c_5601-1987", "cp949"), ("x-windows-949", "cp949")),
        *(
            ("iso-8859-8-i", "iso8859-8"),
            ("iso_8859-9", "cp1254"),
            ("Big5", "big5hkscs"),
            ("x-big5", "big5hkscs"),
        ),
        *(("cp-850", "cp850"), ("IBM437", "cp437"), ("x-cp1250", "cp1250"), ("windows-936", "gb18030")),
        *(
            (" 'KOI8-U' ", "koi8-u"),
            ("macintosh", "mac-roman"),
            ("x-mac-ce", "mac-latin2"),
            ("tis-620", "cp874"),
        ),
        *(("iso-2022-jp", "iso2022_jp_ext"), ("hz-gb-2312", "hz"), ("utf-7", "utf-7"), ("utf-16", "utf-16")),
        *(("base64", None), ("rot13", None), ("unknown-8bit", None), ("x-user-defined", None), ("", None)),
        *(("größe", None), ("\0", None), ("unicode_escape", None)),
    ]:
        with subtests.test(case=label):
            assert charset_for_label(label) == codec
