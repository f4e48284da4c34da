"""Zip archives of office files, checked against limits before any library reads their XML.

Limits: MAX_PARTS parts, MAX_XML_BYTES of XML, and RATIO times the compressed size once a part is
larger than RATIO_FREE_BYTES. A document type declaration is refused anywhere: the format
forbids it (ECMA-376 part 2, section 9.1), and entities that multiply can be declared only there.
"""

import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import nullcontext, suppress
from itertools import chain
from typing import Final, Literal, NamedTuple
from xml.parsers import expat

from ingest.parsers.decode import UNSAFE
from ingest.parsers.errors import ParseRefused
from ingest.parsers.stated_metadata import stated_metadata
from search.documents.charset import REPLACEMENT

OfficeKind = Literal["docx", "pptx", "xlsx", "odt", "ods", "odp"]

ZIP_START: Final = b"PK\x03\x04"
#: the folder of its parts identifies a kind, whatever the file's name
FOLDERS: Final[Mapping[str, OfficeKind]] = {"word": "docx", "ppt": "pptx", "xl": "xlsx"}
PROGRAMS: Final[Mapping[OfficeKind, str]] = {
    "docx": "Word",
    "pptx": "PowerPoint",
    "xlsx": "Excel",
    "odt": "OpenDocument",
    "ods": "OpenDocument",
    "odp": "OpenDocument",
}
#: media types of OpenDocument files begin with this; templates have more behind the kind
OPEN_DOCUMENT: Final = "application/vnd.oasis.opendocument."
OPEN_KINDS: Final[Mapping[str, OfficeKind]] = {
    "text": "odt",
    "spreadsheet": "ods",
    "presentation": "odp",
    "graphics": "odp",
}
DIRECTORY_ENTRY: Final = b"PK\x01\x02"
#: part that every office file has, and no other archive
CONTENT_TYPES: Final = "[Content_Types].xml"
CORE_PROPERTIES: Final = "docProps/core.xml"
XML_SUFFIXES: Final = (".xml", ".rels", ".vml")
#: names that libraries look for, by their lower case; names are equal in any case (part 2, section 6.2.2.3)
_KNOWN_NAMES: Final = {
    name.lower(): name for name in (CONTENT_TYPES, CORE_PROPERTIES, "xl/sharedStrings.xml")
}

MAX_PARTS: Final = 20_000
MAX_XML_BYTES: Final = 256 * 1024**2
#: size of all parts with their pictures, which a library holds in memory
MAX_LIBRARY_BYTES: Final = 320 * 1024**2
#: XML of which a library holds a tree in memory: 60 MB of it took 407 MB with python-docx
MAX_TREE_BYTES: Final = 48 * 1024**2
MAX_TREE_TAGS: Final = 2_500_000
RATIO: Final = 200
RATIO_FREE_BYTES: Final = 32 * 1024**2
PIECE_BYTES: Final = 64 * 1024
#: properties are read from no more than these bytes, and of each no more than these characters
MAX_CORE_BYTES: Final = 1024**2
MAX_PROPERTY_CHARS: Final = 500

Attributes = Mapping[str, str]

#: errors of opening or reading a damaged part; a missing part or an unknown charset raises LookupError,
#: an invalid number or name ValueError
DAMAGE: Final = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    expat.ExpatError,
    EOFError,
    LookupError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
)


def kind_of(content: bytes) -> OfficeKind | None:
    """Return the office format of a zip archive, None when it has none or can't be opened."""
    if not content.startswith(ZIP_START) or content.count(DIRECTORY_ENTRY) > MAX_PARTS:
        return None
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
        names = archive.namelist()
        if "mimetype" in names and archive.getinfo("mimetype").file_size < MAX_PROPERTY_CHARS:
            mime = archive.read("mimetype").decode("ascii", "replace").strip()
            named = (
                mime.removeprefix(OPEN_DOCUMENT).partition("-")[0] if mime.startswith(OPEN_DOCUMENT) else ""
            )
            return OPEN_KINDS.get(named)
        if CONTENT_TYPES not in map(normal_name, names):
            return None
        return next((kind for kind in map(_kind_of_part, names) if kind), None)
    except DAMAGE:
        return None


def _kind_of_part(name: str) -> OfficeKind | None:
    return FOLDERS.get(normal_name(name).partition("/")[0])


def normal_name(name: str) -> str:
    """Return the name of a part without a difference that programs make: `\\` for `/`, and the case."""
    plain = _resolve_target("", name).lower()
    return _KNOWN_NAMES.get(plain, plain)


def open_office(content: bytes, kind: OfficeKind) -> zipfile.ZipFile:
    """Return the archive of an office file with its directory checked.

    Raises:
        ParseRefused: as `open_archive`, or it is no such office file (`wrong_type`).
    """
    archive = open_archive(content)
    names = archive.namelist()
    if "content.xml" not in names if kind in OPEN_KINDS.values() else kind not in map(_kind_of_part, names):
        raise ParseRefused("wrong_type", f"the file is a zip archive, but not one of {PROGRAMS[kind]}")
    return archive


def open_archive(content: bytes) -> zipfile.ZipFile:
    """Return a zip archive with its directory checked and no part read.

    Raises:
        ParseRefused: it is damaged (`damaged`), locked by a password (`encrypted`), or implausibly large
            (`archive_bomb`, `too_large`).
    """
    # counted first, because zipfile reads the whole directory and each entry takes a kilobyte
    if content.count(DIRECTORY_ENTRY) > MAX_PARTS:
        raise ParseRefused("archive_bomb", f"the file holds more than {MAX_PARTS} parts")
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except DAMAGE as error:
        raise ParseRefused("damaged", f"the file is damaged or was cut off: {error}") from None
    _check_directory(archive)
    return archive


def _check_directory(archive: zipfile.ZipFile) -> None:
    infos = archive.infolist()
    if any(info.flag_bits & 1 for info in infos) or _is_encrypted_open_document(archive):
        raise ParseRefused("encrypted", "the file is locked by a password: remove it and save the file again")
    for info in infos:
        if info.file_size > RATIO_FREE_BYTES and info.file_size > RATIO * max(1, info.compress_size):
            grown = f"{info.compress_size} bytes that unpack to {info.file_size}"
            raise ParseRefused("archive_bomb", f"a part of the file looks like a zip bomb: {grown}")
    xml_bytes = unpacked_bytes(archive, only_xml=True)
    if xml_bytes > MAX_XML_BYTES:
        limit, size = MAX_XML_BYTES // 1024**2, xml_bytes // 1024**2
        raise ParseRefused("too_large", f"the file unpacks to {size} MB of XML, over the limit of {limit} MB")


def _is_encrypted_open_document(archive: zipfile.ZipFile) -> bool:
    """Return whether the list of parts of an OpenDocument file says how they are encrypted."""
    with suppress(*DAMAGE):
        if archive.getinfo("META-INF/manifest.xml").file_size <= RATIO_FREE_BYTES:
            return b"encryption-data" in archive.read("META-INF/manifest.xml")
    return False


def unpacked_bytes(archive: zipfile.ZipFile, *, only_xml: bool = False) -> int:
    """Return the unpacked size of the parts according to the directory."""
    return sum(info.file_size for info in archive.infolist() if is_xml(info.filename) or not only_xml)


def is_xml(part: str) -> bool:
    """Return whether a part is XML by its name."""
    return part.lower().endswith(XML_SUFFIXES)


def check_for_library(
    archive: zipfile.ZipFile, *, as_tree: bool, parts: Collection[str] | None = None
) -> None:
    """Check that a library can safely read the parts whole, their XML as a tree or as a stream.

    Every part, or each of `parts`, is unpacked once, in pieces, because sizes in the directory may be wrong.
    XML under another name is left to the libraries: lxml replaces no entities there, expat since 2.4 stops at
    a hundred times its input.

    Raises:
        ParseRefused: a part declares entities (`xml_entities`).
        ValueError: all parts are over MAX_LIBRARY_BYTES, or the XML of a tree over MAX_TREE_BYTES or
            MAX_TREE_TAGS.
        BadZipFile, zlib.error, ExpatError: a part is damaged.
    """
    xml_bytes, all_bytes = unpacked_bytes(archive, only_xml=True), unpacked_bytes(archive)
    if all_bytes > MAX_LIBRARY_BYTES or (as_tree and xml_bytes > MAX_TREE_BYTES):
        raise ValueError(f"{xml_bytes} bytes of XML in parts of {all_bytes} bytes are too many at once")
    read = [info for info in archive.infolist() if parts is None or info.filename in parts]
    tags = sum(_check_part(archive, info) for info in read)
    if as_tree and tags > MAX_TREE_TAGS:
        raise ValueError(f"{tags} tags are too many for a tree in memory")


def _check_part(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> int:
    """Unpack a part, and parse XML up to its first element, which a document type would precede.

    Return the number of tags of XML, 0 for other parts. VML isn't always well formed.
    """
    elements: list[str] = []
    tags = 0
    parser = safe_parser()
    parser.StartElementHandler = lambda name, _: elements.append(name)
    with archive.open(info) as part:
        while piece := part.read(PIECE_BYTES):
            if is_xml(info.filename):
                tags += piece.count(b"<")
                if not elements:
                    with suppress(expat.ExpatError) if info.filename.endswith(".vml") else nullcontext():
                        parser.Parse(piece)
    return tags


def safe_parser() -> expat.XMLParserType:
    """Return a streaming XML parser that refuses a document type; names come as `namespace name`."""
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse_doctype
    return parser


def _refuse_doctype(_name: str, _system: str | None, _public: str | None, has_declarations: bool) -> None:
    # Old OpenDocument files name a document type, which is not read.
    if has_declarations:
        raise ParseRefused(
            "xml_entities",
            "its XML declares entities, which no office program writes and which can hide a bomb",
        )


def read_part(archive: zipfile.ZipFile, name: str, feed: Callable[[bytes], object]) -> None:
    """Pass a part to `feed` piece by piece.

    Raises:
        DAMAGE: the part is missing or can't be read.
    """
    with archive.open(name) as part:
        while piece := part.read(PIECE_BYTES):
            feed(piece)


def core_properties(archive: zipfile.ZipFile) -> tuple[str | None, Mapping[str, str]]:
    """Return the title, and author and dates; missing and damaged ones are left out.

    Raises:
        ParseRefused: the part declares a document type (`xml_entities`).
    """
    stated: dict[str, str] = {}
    with suppress(*DAMAGE), archive.open(CORE_PROPERTIES) as part:
        for name, _, text in elements(part.read(MAX_CORE_BYTES)):
            stated.setdefault(name, text)
    return stated.get("title") or None, stated_metadata(stated)


def elements(content: bytes) -> Iterator[tuple[str, Attributes, str]]:
    """Return the local names of XML's elements with their attributes and text, in order of their ends.

    Raises:
        DAMAGE: it can't be read to its end.
    """
    found: list[tuple[str, Attributes, str]] = []
    opened: list[tuple[str, Attributes, list[str]]] = []
    parser = safe_parser()
    parser.StartElementHandler = lambda name, attributes: opened.append(
        (name.rpartition(" ")[2], attributes, [])
    )
    parser.CharacterDataHandler = lambda text: opened[-1][2].append(text)

    def end(_: str) -> None:
        name, attributes, texts = opened.pop()
        cleaned = UNSAFE.sub(REPLACEMENT, " ".join("".join(texts).split()))
        found.append((name, attributes, cleaned[:MAX_PROPERTY_CHARS]))

    parser.EndElementHandler = end
    parser.Parse(content, True)
    return iter(found)


class Relation(NamedTuple):
    """A relation of a part; the target is a part's name, or an address if it is outside of the file."""

    type: str
    target: str
    is_external: bool


def relations(archive: zipfile.ZipFile, part: str) -> Mapping[str, Relation]:
    """Return the relations of `part` by id.

    Raises:
        DAMAGE: they are missing or can't be read.
    """
    folder, _, name = part.rpartition("/")
    return read_relations(archive, "/".join(filter(None, (folder, "_rels", f"{name}.rels"))))


def read_relations(archive: zipfile.ZipFile, name: str) -> Mapping[str, Relation]:
    """Return the relations in the part `name` by id."""
    folder = "/".join(name.replace("\\", "/").split("/")[:-2])
    found: dict[str, Relation] = {}

    def start(element: str, attributes: dict[str, str]) -> None:
        if element.endswith("Relationship"):
            is_external = attributes.get("TargetMode") == "External"
            target = attributes.get("Target", "")
            target = target if is_external else _resolve_target(folder, target)
            found[attributes.get("Id", "")] = Relation(attributes.get("Type", ""), target, is_external)

    parser = safe_parser()
    parser.StartElementHandler = start
    read_part(archive, name, parser.Parse)
    return found


def _resolve_target(folder: str, target: str) -> str:
    target = target.replace("\\", "/")
    steps: list[str] = []
    for step in chain(() if target.startswith("/") else folder.split("/"), target.split("/")):
        if step == "..":
            del steps[-1:]
        elif step not in ("", "."):
            steps.append(step)
    return "/".join(steps)
