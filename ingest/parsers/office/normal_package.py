"""Office packages in the one form that libraries read, whatever program wrote them.

Programs write part names with `\\` or in another case than the relations to them, relations to parts that
don't exist, and the names of Strict documents (ISO/IEC 29500-1, annex A). Such a package is rewritten in
memory.
"""

import html
import io
import re
import zipfile
from collections.abc import Iterator, Mapping
from typing import Final
from xml.sax.saxutils import quoteattr

from ingest.parsers.office.package import (
    CONTENT_TYPES,
    DAMAGE,
    MAX_CORE_BYTES,
    MAX_LIBRARY_BYTES,
    PIECE_BYTES,
    OfficeKind,
    Relation,
    elements,
    is_xml,
    normal_name,
    open_office,
    read_relations,
    unpacked_bytes,
)

_STRICT: Final = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w{1,40})/")
_TRANSITIONAL: Final = rb"http://schemas.openxmlformats.org/\1/2006/"
_STRICT_START: Final = "http://purl.oclc.org/ooxml/"
#: more than the start of a Strict name has
_OVERLAP_BYTES: Final = 80
_PACKAGE: Final = "http://schemas.openxmlformats.org/package/2006"
_RELATIONS: Final = ".rels"

Relations = Mapping[str, Mapping[str, Relation]]


def open_package(content: bytes, kind: OfficeKind) -> tuple[bytes, zipfile.ZipFile]:
    """Return an OOXML package and its archive, rewritten if a library would miss parts of it.

    A package with damaged parts, or one that is too large for a library, is returned as it is.

    Raises:
        ParseRefused: as `open_office`, or its relations declare entities (`xml_entities`).
    """
    archive = open_office(content, kind)
    try:
        names = archive.namelist()
        related = {name: read_relations(archive, name) for name in names if name.lower().endswith(_RELATIONS)}
        has_odd_targets = any(b"\\" in archive.read(name) for name in related)
        is_normal = CONTENT_TYPES in names and not (has_odd_targets or any(map(_is_odd, names)))
        found = [each for relations in related.values() for each in relations.values()]
        is_whole = all(each.is_external or each.target in archive.NameToInfo for each in found)
        is_strict = any(each.type.startswith(_STRICT_START) for each in found)
        if (is_normal and is_whole and not is_strict) or unpacked_bytes(archive) > MAX_LIBRARY_BYTES:
            return content, archive
        rewritten = _rewrite(archive, related)
    except DAMAGE:
        return content, archive
    return rewritten, zipfile.ZipFile(io.BytesIO(rewritten))


def _is_odd(name: str) -> bool:
    return "\\" in name or name.startswith(("/", "./"))


def _rewrite(archive: zipfile.ZipFile, related: Relations) -> bytes:
    infos = {normal_name(info.filename): info for info in archive.infolist()}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as rewritten:
        for name, info in infos.items():
            written = zipfile.ZipInfo(name)
            written.compress_type = zipfile.ZIP_DEFLATED if is_xml(name) else zipfile.ZIP_STORED
            with rewritten.open(written, "w") as part:
                if info.filename in related:
                    part.write(_write_relations(related[info.filename], infos))
                elif name == CONTENT_TYPES:
                    part.write(_write_content_types(archive, info))
                else:
                    part.writelines(_pieces(archive, info))
    return file.getvalue()


def _pieces(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield a part, with the Transitional names of namespaces where it is XML."""
    kept = b""
    with archive.open(info) as part:
        while piece := part.read(PIECE_BYTES):
            if is_xml(info.filename):
                piece = _STRICT.sub(_TRANSITIONAL, kept + piece)
                piece, kept = piece[:-_OVERLAP_BYTES], piece[-_OVERLAP_BYTES:]
            yield piece
    yield kept


def _write_relations(relations: Mapping[str, Relation], infos: Mapping[str, zipfile.ZipInfo]) -> bytes:
    """Return the XML of relations, without those to missing parts."""
    rows = [
        f"<Relationship Id={quoteattr(id_)} Type={quoteattr(each.type)} Target="
        + (
            f'{quoteattr(each.target)} TargetMode="External"/>'
            if each.is_external
            else f"{quoteattr('/' + normal_name(each.target))}/>"
        )
        for id_, each in relations.items()
        if each.is_external or normal_name(each.target) in infos
    ]
    written = f'<Relationships xmlns="{_PACKAGE}/relationships">{"".join(rows)}</Relationships>'
    return _STRICT.sub(_TRANSITIONAL, written.encode())


def _write_content_types(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    with archive.open(info) as part:
        stated = list(elements(part.read(MAX_CORE_BYTES)))
    rows = [
        f"<Override PartName={quoteattr('/' + normal_name(attributes.get('PartName', '')))}"
        f" ContentType={quoteattr(attributes.get('ContentType', ''))}/>"
        if name == "Override"
        else f"<Default Extension={quoteattr(attributes.get('Extension', '').lower())}"
        f" ContentType={quoteattr(attributes.get('ContentType', ''))}/>"
        for name, attributes, _ in stated
        if name in ("Override", "Default")
    ]
    return f'<Types xmlns="{_PACKAGE}/content-types">{"".join(rows)}</Types>'.encode()


#: parts with the text that people see
PARTS: Final = re.compile(
    r"word/(?:document|footnotes|endnotes)\d*\.xml|ppt/slides/[^/]+\.xml"
    r"|xl/(?:sharedStrings|worksheets/[^/]+)\.xml",
    re.IGNORECASE,
)
#: text, or where a word ends
NODE: Final = re.compile(
    r"<(?:\w+:)?t(?:\s[^>]*)?>([^<]*)|</(?:\w+:)?(?:p|si|is|rPh)>|<(?:\w+:)?(?:br|tab|cr)[\s/>]"
)
#: sheets with text outside of the shared strings
INLINE: Final = b"inlineStr"
MAX_BYTES: Final = 16 * 1024**2


def visible_text(content: bytes) -> str:
    """Return the text of the document, slides or sheets, of the first MAX_BYTES; '' if damaged."""
    try:
        return " ".join(_texts(zipfile.ZipFile(io.BytesIO(content))))
    except DAMAGE:
        return ""


def _texts(archive: zipfile.ZipFile) -> Iterator[str]:
    left = MAX_BYTES
    for info in archive.infolist():
        if left <= 0 or not PARTS.fullmatch(info.filename.replace("\\", "/")):
            continue
        with archive.open(info) as part:
            xml = part.read(left)
        left -= len(xml)
        if "worksheets" not in info.filename or INLINE in xml:
            nodes = NODE.finditer(xml.decode(errors="replace"))
            yield html.unescape("".join(node[1] or " " for node in nodes))
