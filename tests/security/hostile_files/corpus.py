"""A folder of good files, and of bad ones of every known kind."""

import io
import os
import random
import socket
import stat
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tests.support.archives import LINK, overlapping_zip, special, tar_of, zip_of, zip_with_modes
from tests.support.compound_files import compound_file, outlook_message
from tests.support.pdf_files import Page, pdf_of
from tests.support.samples import content_of as real

#: Outcome of a harmless bad file.
READ: Final = ""
N_EMPTY_FILES: Final = 10_000
SPARSE_BYTES: Final = 2 * 1024**3
MULTIPART: Final = b"From: a@b.example\nContent-Type: multipart/mixed; boundary=x\n\n"
NOISE: Final = random.Random(1).randbytes(4_000)
ENTITIES: Final = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + b"".join(
    b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(9)
)
ENTITY_BOMB: Final = b'<?xml version="1.0"?>' + ENTITIES + b"]><x>&j;</x>"
SVG_BOMB: Final = (
    b'<?xml version="1.0"?>'
    + ENTITIES.replace(b"DOCTYPE x", b"DOCTYPE svg")
    + b']><svg xmlns="http://www.w3.org/2000/svg"><text>&j;</text></svg>'
)

#: Good files: path -> (content, words that no other file has, citation).
GOOD: Final[Mapping[str, tuple[bytes, str, str]]] = {
    "good/harbour.md": (b"# Harbour\n\nThe zanderlock opens at half tide.\n", "zanderlock", "#L3"),
    "zz/last.txt": (b"\n\nWhere the quillwort grows the walk ends.\n", "quillwort", "#L3"),
    "good/pump.py": (b"def bilge_whistle() -> int:\n    return 3\n", "bilge_whistle", "#L1-L2"),
    "good/outlined.pdf": (real("pdf/outlined.pdf"), "lighthouse", "#page="),
    "good/handbook.docx": (real("office/handbook.docx"), "signal", "#L"),
    "good/damaged.html": (b"<h1>Fog</h1>\n<p>Sound the fogthistle twice<p><div", "fogthistle", "#L2"),
}


def nested_zip(depth: int) -> bytes:
    """Return nested zips with a page in the innermost one."""
    packed = zip_of({"deep.md": "# Deep\n"})
    for _ in range(depth):
        packed = zip_of({"inner.zip": packed})
    return packed


def office_with(name: str, part: str, content: bytes) -> bytes:
    """Return a real office file with one part replaced."""
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(real(f"office/{name}"))) as source,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as target,
    ):
        for each in source.namelist():
            if each != part:
                target.writestr(each, source.read(each))
        target.writestr(part, content)
    return stream.getvalue()


def broken_xref() -> bytes:
    """Return a PDF with an invalid cross-reference table and offset."""
    whole = real("pdf/outlined.pdf")
    start = whole.rindex(b"xref", 0, whole.rindex(b"startxref"))
    return whole[:start] + b"xref\n0 3\n" + b"9999999999 00000 n \n" * 3 + b"startxref\n99999999\n%%EOF\n"


def circular_form() -> bytes:
    """Return a PDF whose form fields are their own parents and children, with 20,000 notes."""
    fields = {
        10: "<</T(a)/FT/Tx/Kids[11 0 R]/Parent 11 0 R/Rect[0 0 9 9]/Subtype/Widget>>",
        11: "<</T(b)/Kids[10 0 R]/Parent 10 0 R>>",
    }
    notes = ["<</Subtype/Text/Rect[0 0 9 9]/Contents(note)>>"] * 20_000
    page = Page(lines=[(50, 780, "The ringfern grows here.")], annotations=["10 0 R", *notes])
    return pdf_of(page, catalogue="/AcroForm<</Fields[10 0 R]>>", objects=fields)


def nested_mail(depth: int) -> bytes:
    """Return a mail whose alternatives have alternatives."""
    text = b"the innermost text"
    for number in range(depth):
        head = b"From: a@b.example\nContent-Type: multipart/alternative; boundary=b%d\n\n" % number
        text = head + b"--b%d\n" % number + text + b"\n--b%d--\n" % number
    return text


def hostile_tar() -> bytes:
    """Return a tar of names and members that lead elsewhere, and one good page."""
    files = {
        "../outside.md": "x",
        "/etc/absolute.md": "x",
        "docs/../../up.md": "x",
        "C:\\windows.md": "x",
        "line\nbreak.md": "x",
        "n" * 300 + ".md": "# Long\n\nThe name of this page is long.\n",
        "p/" * 600 + "deep.md": "x",
        os.fsdecode(b"latin-\x81.md"): "x",
        "good.md": "# Good\n\nThe tarbramble is kept dry.\n",
    }
    return tar_of(
        files,
        "w",
        special("link.md", tarfile.SYMTYPE),
        special("loop-a", tarfile.SYMTYPE, "loop-b"),
        special("loop-b", tarfile.SYMTYPE, "loop-a"),
        special("hard.md", tarfile.LNKTYPE, "good.md"),
        special("device", tarfile.CHRTYPE),
        special("pipe", tarfile.FIFOTYPE),
    )


def hostile_zip() -> bytes:
    """Return a zip of names that lead elsewhere and nested archives, and one good page."""
    packed = zip_of(
        {
            "../outside.md": "x",
            "/etc/absolute.md": "x",
            "a\\b.md": "x",
            "nul?.md": "x",
            "tab\t.md": "x",
            "n" * 300 + ".md": "# Long\n\nThe name of this page is long.\n",
            "nested.zip": nested_zip(3),
            "empty.md": b"",
            "picture.md": NOISE,
            "good.md": "# Good\n\nThe zipbramble is kept dry.\n",
        }
    )
    return packed.replace(b"nul?.md", b"nul\0.md")


#: Archives by name, with the outcome of each as an upload: the code of a rejection, or the state of its job.
ARCHIVES: Final[Mapping[str, tuple[Callable[[], bytes], str]]] = {
    "hostile.zip": (hostile_zip, "succeeded"),
    "hostile.tar": (hostile_tar, "succeeded"),
    "links.zip": (
        lambda: zip_with_modes({"out.md": LINK, "loop": LINK, "pipe": stat.S_IFIFO | 0o600}),
        "succeeded",
    ),
    "nested.zip": (lambda: nested_zip(40), "succeeded"),
    "bomb.zip": (lambda: zip_of({"zeros.md": bytes(64_000_000)}), "archive_over_limit"),
    "bomb.tar.gz": (lambda: tar_of({"zeros.md": bytes(64_000_000)}, "w:gz"), "failed"),
    "overlapping.zip": (lambda: overlapping_zip(50), "archive_refused"),
    "encrypted.zip": (lambda: real("archives/encrypted.zip"), "archive_encrypted"),
    "cut.zip": (lambda: hostile_zip()[:-40], "archive_broken"),
    "cut.tar": (lambda: hostile_tar()[:3_000], "failed"),
    "text.zip": (lambda: b"no archive at all\n", "archive_broken"),
    "picture.tar.gz": (lambda: real("image/notice.png"), "archive_broken"),
}
#: Outcomes of the archives in the folder, where they are not unpacked: files that are no archives are read.
_AS_FILES: Final = {"text.zip": READ, "picture.tar.gz": READ}

#: Bad files: path -> (content, reason why they are skipped, or READ).
BAD: Final[Mapping[str, tuple[Callable[[], bytes], str]]] = {
    **{f"archives/{name}": (make, _AS_FILES.get(name, "no_parser")) for name, (make, _) in ARCHIVES.items()},
    "archives/nothing.zip": (bytes, "empty"),
    "archives/nothing.tar": (bytes, "empty"),
    "office/bomb.docx": (
        lambda: office_with("handbook.docx", "word/media/a.png", bytes(64 * 1024**2)),
        "archive_bomb",
    ),
    "office/bomb.xlsx": (
        lambda: office_with("tides.xlsx", "xl/worksheets/sheet1.xml", b" " * 64 * 1024**2),
        "archive_bomb",
    ),
    "office/overlapping.docx": (lambda: overlapping_zip(50), "wrong_type"),
    "office/locked.docx": (lambda: real("office/locked.docx"), "encrypted"),
    "office/entities.docx": (
        lambda: office_with("handbook.docx", "word/document.xml", ENTITY_BOMB),
        "xml_entities",
    ),
    "office/entities.xlsx": (
        lambda: office_with("tides.xlsx", "xl/worksheets/sheet1.xml", ENTITY_BOMB),
        "xml_entities",
    ),
    "office/cut.docx": (lambda: real("office/handbook.docx")[:3_000], "damaged"),
    "office/nothing.docx": (bytes, "empty"),
    "office/plain.docx": (lambda: zip_of({"a.md": "# A\n"}), "wrong_type"),
    "office/bomb.odt": (
        lambda: office_with("handbook.odt", "content.xml", b" " * 64 * 1024**2),
        "archive_bomb",
    ),
    "office/entities.odt": (lambda: office_with("handbook.odt", "content.xml", ENTITY_BOMB), "xml_entities"),
    "office/cut.ods": (lambda: real("office/tides.ods")[:3_000], "damaged"),
    "office/deep.rtf": (lambda: rb"{\rtf1 " + b"{" * 200_000 + b"deep", "damaged"),
    "office/pictures.rtf": (lambda: rb"{\rtf1 {\pict " + b"ff" * 5_000_000 + b"} seen}", READ),
    "office/book.epub": (
        lambda: zip_of({"META-INF/container.xml": ENTITY_BOMB, "a.xhtml": "<p>x</p>"}),
        "xml_entities",
    ),
    "entities.svg": (lambda: SVG_BOMB, "xml_entities"),
    "entities.xml": (lambda: ENTITY_BOMB, READ),
    "pdf/broken-xref.pdf": (broken_xref, READ),
    "pdf/locked.pdf": (lambda: real("pdf/encrypted.pdf"), "encrypted"),
    "pdf/noise.pdf": (lambda: b"%PDF-1.7\n" + NOISE, "damaged"),
    "pdf/nothing.pdf": (bytes, "empty"),
    "pdf/fields-in-a-circle.pdf": (circular_form, READ),
    "mail/parts.eml": (lambda: MULTIPART + b"--x\n\ntext\n" * 10_000, READ),
    "mail/nested.eml": (lambda: nested_mail(500), READ),
    "mail/from-lines.mbox": (lambda: b"From a@b.example Mon Mar  4 10:00:00 2024\n" * 50_000, READ),
    "mail/headers.mbox": (lambda: b"From a@b.example Mon Mar  4 10:00:00 2024\nTo: x\n\n" * 20_000, READ),
    "mail/cut.msg": (
        lambda: compound_file(outlook_message(texts={"1000": "words " * 2_000}))[:4_000],
        "no_parser",
    ),
    "names/picture.md": (lambda: real("image/notice.png"), READ),
    "names/portable.txt": (lambda: real("pdf/outlined.pdf"), READ),
    "names/archive.html": (lambda: zip_of({"a.md": "# A\n"}), "no_parser"),
    "names/program.py": (
        lambda: b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\x00\x3e\x00" + NOISE,
        "no_parser",
    ),
    "names/page.pdf": (lambda: b"<!doctype html><title>Sign in</title><p>Sign in first.</p>", READ),
    "bytes/invalid-utf8.md": (lambda: b"# Words \xff\xfe\x80\n\nbetween \xc3\x28 broken bytes\n", READ),
    "bytes/nuls.md": (lambda: b"# Nuls\x00\n\nstand\x00 between words\x00\n", READ),
    "bytes/all-nuls.md": (lambda: bytes(5_000_000), "no_parser"),
    "bytes/noise.md": (lambda: NOISE, "no_parser"),
    "bytes/nothing.md": (bytes, "empty"),
    "bytes/one-line.md": (lambda: b"word " * 100_000, READ),
    "bytes/brackets.md": (lambda: b"[" * 200_000, READ),
    "bytes/quotes.md": (lambda: b"> " * 100_000, READ),
    "bytes/brackets.json": (lambda: b"[" * 500_000, READ),
    "bytes/one-line.json": (lambda: b'{"k": "' + b"v" * 3_000_000 + b'"}', "minified"),
    "spells/hang.md": (lambda: b"hang in every parser\n", "quarantined"),
    "spells/devour.md": (lambda: b"devour in every parser\n", "quarantined"),
    "spells/crash.md": (lambda: b"crash in every parser\n", "quarantined"),
    "spells/hang-once.md": (lambda: b"hang in markdown\n\nThe simpler parser reads the slowmarrow.\n", READ),
    "spells/devour-once.md": (lambda: b"devour in markdown\n\nThe simpler parser reads it.\n", READ),
    "spells/crash-once.md": (lambda: b"crash in markdown\n\nThe simpler parser reads it.\n", READ),
    "hash#tag.md": (lambda: b"x", READ),
    "new\nline.md": (lambda: b"x", "control_character_in_name"),
    "escape\x1b[31m.md": (lambda: b"x", "control_character_in_name"),
    os.fsdecode(b"latin-\x81.md"): (lambda: b"x", "undecodable_name"),
    "n" * 240 + ".md": (lambda: b"# Long\n\nThe name of this page is long.\n", READ),
}
#: Further entries that `fill` creates.
DEEP: Final = "links/" + "/".join(["d" * 60] * 30) + "/a.md"
ODD: Final[Mapping[str, str]] = {
    "large/sparse.md": "too_large",
    "large/line.json": "too_large",
    "large/nuls.json": "no_parser",
    "large/line-within.json": "minified",
    **dict.fromkeys(("links/out.md", "links/memory.md", "links/zeros.md"), "link_outside"),
    **dict.fromkeys(("links/up.md", "links/broken.md", "links/loop-a", "links/loop-b"), "broken_link"),
    **dict.fromkeys(("links/self", "links/whole"), "directory_link"),
    **dict.fromkeys(("links/pipe.md", "links/.gitignore", "links/socket.md"), "special_file"),
    "links/inside.md": READ,
    "links/closed.md": READ if os.geteuid() == 0 else "unreadable",
    DEEP: "path_too_long",
}


def fill(root: Path) -> None:
    """Create everything below `root`."""
    for path, (content, *_) in GOOD.items():
        _write(root / path, content)
    for path, (make, _) in BAD.items():
        _write(root / path, make())
    _write_large(root / "large")
    _link(root / "links")
    (root / "empty").mkdir()
    for number in range(N_EMPTY_FILES):
        (root / "empty" / f"{number}.md").touch()


def _write(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


def _write_large(folder: Path) -> None:
    """Write files that take little space on disk and much in memory."""
    folder.mkdir()
    _sparse(folder / "sparse.md", b"# Sparse\n", SPARSE_BYTES)
    _sparse(folder / "line.json", b'{"k": "', 200_000_000)
    _sparse(folder / "nuls.json", b'{"k": "', 90_000_000)
    with (folder / "line-within.json").open("wb") as file:
        file.write(b'{"k": "')
        for _ in range(90):
            file.write(b"v" * 1_000_000)
        file.write(b'"}')


def _sparse(file: Path, start: bytes, size_bytes: int) -> None:
    with file.open("wb") as opened:
        opened.write(start)
        opened.truncate(size_bytes)


def _link(folder: Path) -> None:
    """Create links to all kinds of places, and entries that are neither file nor folder."""
    folder.mkdir()
    for name, target in {
        "out.md": "/etc/passwd",
        "up.md": "../../outside.md",
        "memory.md": "/proc/self/mem",
        "zeros.md": "/dev/zero",
        "broken.md": "nowhere",
        "loop-a": "loop-b",
        "loop-b": "loop-a",
        "self": ".",
        "whole": "..",
        "inside.md": "../good/harbour.md",
    }.items():
        (folder / name).symlink_to(target)
    os.mkfifo(folder / "pipe.md")
    os.mkfifo(folder / ".gitignore")
    _write(folder.parent / DEEP, b"# Deep\n")
    with socket.socket(socket.AF_UNIX) as listener:
        _bind(listener, folder / "socket.md")
    closed = folder / "closed.md"
    closed.write_text("# Closed\n")
    closed.chmod(0)


def _bind(listener: socket.socket, path: Path) -> None:
    """Bind a socket to a path of any length."""
    here = os.open(path.parent, os.O_RDONLY)
    try:
        listener.bind(f"/proc/self/fd/{here}/{path.name}")
    finally:
        os.close(here)
