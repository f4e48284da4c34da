"""Real files of every kind of text: titles, text, and citations."""

import html
import re

from ingest.parsers.decode import decode, split_lines
from ingest.parsers.registry import parse
from tests.support.paths import FILES
from tests.support.samples import content_of

#: escape of a terminal in JSON
COLOUR = re.compile(r"\\u001b\[[0-9;]*m")
#: file, parser, title, language, a question's words, the lines of the file that show them
EXPECTED = [
    ("rst/backup.rst", "rst", "Backing up the tide gauges", "en", "run the command at low water", (19, 37)),
    ("rst/quickstart.rst", "rst", "Harbour documentation", "en", "add your content using", (1, 16)),
    ("notebook/tides.ipynb", "notebook", "Tides at the north quay", "en", "new moon: *higher*", (43, 140)),
    ("notebook/ebb-v3.ipynb", "notebook", "Old ebb", "und", "lowest water", (22, 30)),
    ("table/gauges.csv", "table", "gauges.csv", "und", "in frost; knock twice", (2, 6)),
    ("table/gauges-semicolon.csv", "table", "gauges-semicolon.csv", "und", "coal pier", (2, 6)),
    ("table/gauges.tsv", "table", "gauges.tsv", "und", "lock, upper gate", (2, 5)),
    ("structured/gauges.json", "structured", "gauges.json", "und", "fish market", (1, 4)),
    ("structured/harbour.yaml", "structured", "harbour.yaml", "und", "quay: coal pier", (1, 48)),
    ("structured/harbour.json", "structured", "harbour.json", "und", '"quay": "coal pier"', (1, 52)),
    ("structured/harbour.toml", "structured", "harbour.toml", "und", "harbour master", (1, 19)),
    ("structured/gauged.log", "log", "gauged.log", "und", "keyerror: '12'", (1, 11)),
    ("html/backup-furo.html", "html", "Backing up the tide gauges", "en", "compare its checksum", (311, 337)),
    ("html/pilots-material.html", "html", "Pilots", "en", "the ship pays by gross tonnage", (406, 433)),
    ("html/visit-chromium.html", "html", "Visiting the lock", "en", "from ten to four", (7, 8)),
    ("svg/tide.svg", "svg", "Tide curve", "en", "hour of the day", (5, 162)),
    ("charset/rules-cp1252.txt", "text", "Hafenordnung", "de", "die prüfung kostet 12 €", (1, 3)),
    ("charset/rules-cp1251.txt", "text", "Правила порта", "ru", "начальник порта", (1, 3)),
    ("charset/rules-gb18030.txt", "text", "港口规则", "zh", "北码头的办公室", (1, 3)),
    ("charset/rules-shift_jis.txt", "text", "港の規則", "ja", "北埠頭の事務所", (1, 3)),
    ("charset/rules-euc_kr.txt", "text", "항구 규칙", "ko", "북쪽 부두의", (1, 3)),
    ("charset/rules-utf16le.txt", "text", "Правила порта", "ru", "начальник порта", (1, 3)),
    ("charset/rules-utf16be.txt", "text", "港口规则", "zh", "北码头的办公室", (1, 3)),
]


def words_of(text: str) -> set[str]:
    return set(re.findall(r"\w+", html.unescape(text).lower()))


def test_real_files_are_read_and_cited_where_their_words_are(chunk_file, subtests):
    for name, parser, title, lang, words, lines in EXPECTED:
        with subtests.test(case=name):
            content = content_of(name)
            original = split_lines(decode(content))
            parsed, chunks = parse(content, name), chunk_file(content, name)
            cited = next(chunk for chunk in chunks if words in chunk.text.lower())

            assert (parsed.parser, parsed.title, parsed.lang) == (parser, title, lang)
            assert parsed.warnings == ()
            assert cited.spans[0] == {"kind": "line", "start": lines[0], "end": lines[1]}
            for chunk in chunks:
                span = chunk.spans[0]
                shown = words_of(COLOUR.sub("", "\n".join(original[span["start"] - 1 : span["end"]])))
                # in JSON a line's end is the letter n behind a backslash
                shown |= {word.removesuffix("n") for word in shown} | {
                    word.removeprefix("n") for word in shown
                }
                assert words_of(chunk.text) <= shown, chunk.text


def test_every_real_file_of_text_is_expected_above():
    kinds = ("rst", "notebook", "table", "structured", "html", "svg", "charset")
    there = {f"{kind}/{path.name}" for kind in kinds for path in (FILES / kind).iterdir()}
    assert there == {name for name, *_ in EXPECTED}
