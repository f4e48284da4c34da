"""Decoding of bytes: declared, guessed and damaged charsets, and line ends."""

import codecs
import struct
from io import BytesIO
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.parsers.decode import decode, split_lines
from ingest.parsers.errors import ParseRefused
from ingest.parsers.registry import parse
from search.documents.charset import charset_for_label, wide_charset
from search.documents.line_window import read_lines

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
    stated = '<meta charset="utf-8"><p>Größe, Tür, Öl'.encode()  # a page made of parts in two charsets
    assert decode(stated + "<p>Grün".encode("latin-1")).endswith("Öl<p>Gr\ufffdn")
    assert decode(b"a\x00b") == "a\ufffdb"


def test_charset_of_a_paragraph_is_found(subtests):
    for charset, text in LANGUAGES.items():
        with subtests.test(case=charset):
            assert decode((text * 3).encode(charset)) == text * 3
    for text in WIDE:
        for charset in ("utf-16-le", "utf-16-be"):
            with subtests.test(case=text, charset=charset):
                assert decode(text.encode(charset)) == text


def test_stray_nuls_and_numbers_are_not_decoded_as_utf16(subtests):
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


POLISH = "Regulamin przystani: łodzie cumują przy północnym nabrzeżu, a opłatę wnosi się u bosmana."
RUSSIAN = "Лодки стоят у северного причала, сбор платят смотрителю."
STATED = [
    ("a.html", '<!-- <meta charset="big5"> --><META CHARSET=iso-8859-2><p>{}', "iso8859_2", POLISH),
    (
        "a.html",
        '<html><head><meta content="text/html;charset=windows-1250" http-equiv=content-type><p>{}',
        "cp1250",
        POLISH,
    ),
    ("a.xml", "<?xml version='1.0' encoding='x-mac-cyrillic'?>\n<a>{}</a>", "mac_cyrillic", RUSSIAN),
    ("a.html", '<?xml version="1.0" encoding="GB2312"?><html><p>{}', "gbk", "镕"),
    ("a.css", '@charset "Shift_JIS";\n/* {} */', "cp932", "表"),
    (
        "a.po",
        'msgid ""\nmsgstr ""\n"Language: ru\\n"\n"Content-Type: text/plain; charset=KOI8-R\\n"\n\n# {}\n',
        "koi8_r",
        "Да",
    ),
    ("a.py", "#!/usr/bin/python\n# -*- coding: euc-jp -*-\nx = '{}'\n", "euc_jp", "桟橋"),
    ("a.el", ";; -*- mode: lisp; coding: iso-8859-15-unix -*-\n; {}\n", "iso8859_15", "50 € für Œuvre"),
    ("a.tex", "\\documentclass{{article}}\n\\usepackage[latin2]{{inputenc}}\n{}\n", "iso8859_2", POLISH),
]


def test_charset_that_a_file_states_decides(subtests):
    for path, form, codec, text in STATED:
        with subtests.test(case=(path, codec)):
            content = form.format(text).encode(codec)
            assert text in decode(content)
            assert text in "\n".join(
                line.text for line in read_lines(BytesIO(content), first=1, count=99).lines
            )


def test_charset_that_a_file_states_wrongly_does_not_count(subtests):
    for form, codec in [
        ('<meta charset="iso-8859-1"><p>{}', "utf-8"),  # converted, and the statement forgotten
        ('<meta charset="utf-8"><p>{}', "koi8_r"),
        ('<meta charset="utf-16"><p>{}', "utf-8"),
        ('<meta charset="nonsense"><p>{}', "cp1251"),
        ('<meta charset="euc-jp"><p>{}', "cp1251"),
        ("# coding: cp037\n# {}", "cp1251"),
        ('msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=CHARSET\\n"\n# {}', "cp1251"),
        ("How a page states it: <meta charset=koi8-r>.\n\n{}", "cp1251"),
    ]:
        with subtests.test(case=form):
            assert RUSSIAN in decode(form.format(RUSSIAN).encode(codec))


#: charset, and a sentence that neither states it nor has many words
UNSTATED = [
    *[(charset, RUSSIAN) for charset in ("cp1251", "koi8_r", "cp866", "mac_cyrillic", "iso8859_5")],
    *[(charset, POLISH) for charset in ("cp1250", "iso8859_2", "cp852")],
    *[(charset, "In der Prüfung zählt die Größe der Flöße.") for charset in ("cp1252", "mac_roman", "cp850")],
    *[(charset, "北桟橋の船は毎朝六時に出ます。") for charset in ("euc_jp", "cp932", "iso2022_jp")],
    *[
        ("big5", "北碼頭的船每天早上六點開。"),
        ("gbk", "北码头的船每天早上六点开。"),
        ("euc_kr", "배는 매일 아침 여섯 시에 떠납니다."),
    ],
    *[
        ("cp1253", "Τα πλοία φεύγουν κάθε πρωί."),
        ("cp1254", "Gemiler her sabah iskeleden ayrılır, ücreti görevli alır."),
    ],
    *[("cp1255", "הספינות יוצאות כל בוקר מהרציף"), ("cp1256", "تغادر السفن كل صباح من الرصيف الشمالي")],
    *[("cp1252", "naïve"), ("cp1252", "“Tides” — it’s 10 €"), ("cp1252", "Les employés à temps partiel")],
]


def test_charset_of_a_sentence_is_found(subtests):
    for charset, text in UNSTATED:
        with subtests.test(case=charset, text=text):
            content = f"# Quay 7\n\n{text}\n".encode(charset)
            assert text in "\n".join(parse(content, "a.txt").outline.lines)


def test_text_of_an_unknown_charset_is_refused(subtests):
    numbers = Random(1).choices(range(0x20, 0x100), k=2_000)
    for content in (bytes(numbers), POLISH.encode("cp500", "replace")):
        with subtests.test(case=content[:20]):
            with pytest.raises(ParseRefused) as refusal:
                parse(content, "a.txt")
            assert refusal.value.code == "unknown_charset"


def test_stray_bytes_in_code_are_not_refused():
    content = b"x = 1  # \xff\xfe\x81 \xb7\n" + b"def run():\n    return 1\n" * 200
    assert parse(content, "a.py").outline.lines[-1] == "    return 1"
