"""The drill over real files takes what tests hold, and tells which words are lost."""

import io
import tarfile
import zipfile

import pytest

from ingest.digest.types import Digest
from ingest.parsers.errors import ParseRefused, Quarantined
from tests.drills.files.collect import Collection, files_of_tests, safe_name
from tests.drills.files.recall import Recall, compare, figures, worst
from tests.drills.files.report import describe, format_of
from tests.drills.files.visible_text import visible_words, words

MAIL = b"From: ada@example.org\nDate: Thu, 2 May 2024 10:00:00 +0000\nSubject: Tides\n\nHigh water.\n"


def packed(parts):
    """Return a zip archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return file.getvalue()


def write_tar(path, files):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def test_files_of_known_formats_are_taken_from_test_folders(tmp_path):
    held = {
        "pkg-1/tests/a.docx": b"word",
        "pkg-1/tests/page.HTM": b"<p>a",
        "pkg-1/tests/empty.pdf": b"",
        "pkg-1/tests/module.py": b"pass",
        "pkg-1/src/b.docx": b"word 2",
        "pkg-1/t/mails/1": MAIL,
        "pkg-1/t/mails/README": b"How to write mails",
    }
    write_tar(tmp_path / "pkg-1.tar.gz", held)
    taken = [(format_, path) for format_, path, _ in files_of_tests(tmp_path / "pkg-1.tar.gz")]
    assert taken == [
        ("docx", "pkg-1/tests/a.docx"),
        ("html", "pkg-1/tests/page.HTM"),
        ("eml", "pkg-1/t/mails/1"),
    ]
    assert safe_name("pkg-1/../tests/a file\n.docx") == "a_file_.docx"


def test_no_file_is_taken_twice_and_of_a_package_no_more_than_may_be(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.drills.files.collect.MOST_OF_A_PACKAGE", 2)
    write_tar(tmp_path / "a.tar.gz", {f"a/test/{number}.md": b"%d" % number for number in range(4)})
    write_tar(tmp_path / "b.tar.gz", {"b/test/0.md": b"0", "b/test/../../4.md": b"4"})
    collection = Collection(tmp_path / "out")
    collection.add("pypi-a", tmp_path / "a.tar.gz")
    collection.add("pypi-b", tmp_path / "b.tar.gz")
    written = [path.name for path in (tmp_path / "out/files/md").iterdir()]
    assert sorted(name.rpartition("-")[0][:-7] for name in written) == ["pypi-a", "pypi-a", "pypi-b"]


WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
SLIDE = "http://schemas.openxmlformats.org/drawingml/2006/main"
ODF = "urn:oasis:names:tc:opendocument:xmlns"


@pytest.mark.parametrize(
    ("format_", "content", "expected"),
    [
        (
            "docx",
            packed(
                {
                    "word/document.xml": f'<d xmlns="{WORD}"><p><r><t>High </t></r><r><t>wa</t><t>ter</t>'
                    "<tab/><t>Ebb</t><delText>gone</delText></r></p></d>",
                    "word/footer1.xml": f'<f xmlns="{WORD}"><p><t>Foot</t></p></f>',
                    "word/styles.xml": f'<s xmlns="{WORD}"><p><t>style</t></p></s>',
                }
            ),
            {"high", "water", "ebb", "foot"},
        ),
        (
            "pptx",
            packed(
                {"ppt/slides/slide1.xml": f'<s xmlns="{SLIDE}"><p><r><t>Tide</t></r></p><p><t>s</t></p></s>'}
            ),
            {"tide", "s"},
        ),
        (
            "xlsx",
            packed(
                {
                    "xl/sharedStrings.xml": f'<s xmlns="{SHEET}"><si><t>Ship</t><rPh><t>x</t></rPh></si></s>',
                    "xl/worksheets/sheet1.xml": f'<s xmlns="{SHEET}"><sheetData><row><c t="s"><v>0</v></c>'
                    '<c><v>12</v></c><c s="3"><v>45000</v></c><c t="inlineStr"><is><t>Buoy</t></is></c>'
                    "</row></sheetData></s>",
                }
            ),
            {"ship", "12", "buoy"},
        ),
        (
            "odt",
            packed(
                {
                    "content.xml": f'<o:d xmlns:o="{ODF}:office:1.0" xmlns="{ODF}:text:1.0"><o:body><p>Hi<s/>'
                    "<span>g</span>h</p></o:body></o:d>"
                }
            ),
            {"hi", "gh"},
        ),
        ("eml", MAIL, {"tides", "high", "water"}),
        (
            "html",
            b"<title>No</title><nav>Menu</nav><p>H<b>igh</b><br>water<script>x</script>",
            {"high", "water"},
        ),
        ("docx", b"no archive", None),
        ("md", b"# Title", None),
    ],
)
def test_words_that_a_file_shows_are_read_without_the_product(format_, content, expected):
    assert visible_words(format_, content) == expected


def digest_of(**changed):
    fields = dict.fromkeys(Digest.__dataclass_fields__, ())
    return Digest(**{**fields, "title": "High water", "omissions": {}, **changed})


def test_recall_is_the_share_of_distinct_words_that_are_found():
    recall = compare("a.md", words("HIGH water and ﬁsh"), digest_of(omissions={"hidden_text": {"amount": 1}}))
    assert (recall.share, recall.lost, recall.omissions) == (0.5, ("and", "fish"), ("hidden_text",))
    whole = Recall(path="b.md", n_words=3, lost=())
    assert worst([whole, recall]) == [recall]
    assert list(figures([whole, recall, whole]).values()) == [3, 1.0, 0.75, 0.6, 2 / 3]


def test_outcomes_are_counted_by_column_and_format():
    assert [
        describe(outcome)[0]
        for outcome in (
            digest_of(),
            ParseRefused("encrypted", "locked"),
            Quarantined("it took over 30 s"),
        )
    ] == ["without text", "refused", "quarantined"]
    assert (format_of("eml/msg_1.txt"), format_of("report.PDF")) == ("eml", "pdf")
