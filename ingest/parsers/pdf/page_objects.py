"""Objects of a page that decide about its text: pictures, invisible text, layers that are switched off."""

import ctypes
import re
import zlib
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Final

from ingest.parsers.pdf.types import Box

#: depth of groups within groups, objects of one page, and pictures among which a text's place is sought
MAX_DEPTH, MAX_OBJECTS, MAX_PICTURES = 3, 50_000, 200
#: pixels of a page's longer side by which layers are judged, and renderings of one document
TEST_SIDE, MAX_TESTS = 700, 60
#: entry of a document that has layers, streams of objects that it may be in, and bytes of these that are read
LAYERS, ENCRYPTED = b"/OCProperties", b"/Encrypt"
OBJECT_STREAM: Final = re.compile(rb"/ObjStm\b[^\0]{0,400}?stream\r?\n")
MAX_STREAM_BYTES, MAX_UNPACKED_BYTES = 2**20, 2**26
#: beginning of the key of a named layer, and bytes of its name
LAYER, NAME_BYTES = "layer ", 512


@dataclass(slots=True)
class PageObjects:
    """Objects of a page of pypdfium2, each with the outermost group (form object) that holds it, or itself."""

    texts: list[tuple[Any, Any]] = field(default_factory=list)
    #: texts that are not drawn (render mode 3)
    invisible: list[tuple[Any, Any]] = field(default_factory=list)
    pictures: list[Box] = field(default_factory=list)
    count: int = 0

    @classmethod
    def of(cls, page: Any) -> "PageObjects":
        """Return the objects of a page."""
        from pypdfium2.raw import FPDFPage_CountObjects, FPDFPage_GetObject

        found = cls()
        found._add(page.raw, FPDFPage_CountObjects, FPDFPage_GetObject)
        return found

    def _add(
        self,
        parent: Any,
        count: Callable[..., int],
        get: Callable[..., Any],
        outer: Any = None,
        depth: int = 0,
    ) -> None:
        from pypdfium2 import raw

        for index in range(min(count(parent), MAX_OBJECTS - self.count)):
            each = get(parent, index)
            self.count += 1
            kind = raw.FPDFPageObj_GetType(each)
            if kind == raw.FPDF_PAGEOBJ_TEXT:
                is_drawn = raw.FPDFTextObj_GetTextRenderMode(each) != raw.FPDF_TEXTRENDERMODE_INVISIBLE
                (self.texts if is_drawn else self.invisible).append((each, outer or each))
            elif kind == raw.FPDF_PAGEOBJ_IMAGE and len(self.pictures) < MAX_PICTURES:
                self.pictures.append(_box(outer or each))
            elif kind == raw.FPDF_PAGEOBJ_FORM and depth < MAX_DEPTH:
                inside = (raw.FPDFFormObj_CountObjects, raw.FPDFFormObj_GetObject)
                self._add(each, *inside, outer or each, depth + 1)

    def hide(self, page: Any, layers: "LayerTests | None") -> int:
        """Take the text out of the page that isn't shown, and return its number of characters.

        Invisible text stays over a picture, of which it is the text, and where a page has no other.
        """
        from pypdfium2.raw import FPDFPageObj_SetIsActive

        hidden = layers.switched_off(page, self.texts) if layers else []
        if self.texts:
            hidden += [each for each, outer in self.invisible if not self._is_over_picture(_box(outer))]
        if not hidden:
            return 0
        shown = []
        for is_active in (True, False):
            for each in hidden:
                FPDFPageObj_SetIsActive(each, is_active)
            with closing(page.get_textpage()) as text_page:
                shown.append(sum(map(len, text_page.get_text_range().split())))
        return max(0, shown[0] - shown[1])

    def _is_over_picture(self, box: Box) -> bool:
        across, up = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
        return any(
            left <= across <= right and bottom <= up <= top for left, bottom, right, top in self.pictures
        )

    def picture_share(self, page_box: Box) -> float:
        """Return the share of the page that its pictures cover, up to 1."""
        left, bottom, right, top = page_box
        covered = sum(
            max(0.0, min(right, box[2]) - max(left, box[0]))
            * max(0.0, min(top, box[3]) - max(bottom, box[1]))
            for box in self.pictures
        )
        return min(1.0, covered / max(1.0, (right - left) * (top - bottom)))


@dataclass(slots=True)
class LayerTests:
    """Layers of a document that are switched off: pages look the same without them."""

    known: dict[str, bool] = field(default_factory=dict)
    count: int = 0

    def switched_off(self, page: Any, texts: Sequence[tuple[Any, Any]]) -> list[Any]:
        """Return the texts of a page that are not drawn, or the groups that hold them."""
        from pypdfium2.raw import FPDFPageObj_SetIsActive

        off: list[Any] = []
        shown: bytes | None = None
        for name, members in _sections(texts).items():
            if name not in self.known and self.count < MAX_TESTS:
                self.count += 1
                shown = shown or _picture_of(page)
                for each in members:
                    FPDFPageObj_SetIsActive(each, False)
                is_off = _picture_of(page) == shown
                for each in members:
                    FPDFPageObj_SetIsActive(each, not is_off)
                if name.startswith(LAYER):
                    self.known[name] = is_off
                off += members if is_off else []
            elif self.known.get(name):
                off += members
        return off


def _sections(texts: Sequence[tuple[Any, Any]]) -> dict[str, list[Any]]:
    """Return the texts of each named layer, of each part in a layer without a name, and groups with text."""
    sections: dict[str, list[Any]] = {}
    part = 0
    for each, outer in texts:
        layer = _layer_of(each)
        part += not layer
        if layer is not None:
            sections.setdefault(f"{LAYER}{layer}" if layer else f"part {part}", []).append(each)
        elif outer is not each:
            sections[f"group {ctypes.addressof(outer.contents)}"] = [outer]
    return sections


def _layer_of(text: Any) -> str | None:
    """Return the names of the layers that hold a text, '' for a combination of layers, None outside of any."""
    from pypdfium2 import raw

    marks = [raw.FPDFPageObj_GetMark(text, index) for index in range(raw.FPDFPageObj_CountMarks(text))]
    layers = [
        _string_of(raw.FPDFPageObjMark_GetParamStringValue, mark, b"Name")
        for mark in marks
        if _string_of(raw.FPDFPageObjMark_GetName, mark) == "OC"
    ]
    return "/".join(layers) if layers else None


def _string_of(function: Callable[..., int], *arguments: Any) -> str:
    from pypdfium2.raw import FPDF_WCHAR

    buffer, size = ctypes.create_string_buffer(NAME_BYTES), ctypes.c_ulong()
    text = ctypes.cast(buffer, ctypes.POINTER(FPDF_WCHAR))
    is_found = function(*arguments, text, NAME_BYTES, size)
    return buffer.raw[: max(0, size.value - 2)].decode("utf-16-le", errors="replace") if is_found else ""


def _picture_of(page: Any) -> bytes:
    scale = TEST_SIDE / max(1.0, *page.get_size())
    return bytes(page.render(scale=scale, grayscale=True, draw_annots=False).buffer)


def _box(each: Any) -> Box:
    from pypdfium2.raw import FPDFPageObj_GetBounds

    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    FPDFPageObj_GetBounds(each, left, bottom, right, top)
    return left.value, bottom.value, right.value, top.value


def has_layers(content: bytes) -> bool:
    """Return whether a PDF may have layers: it declares some, or what it declares is encrypted."""
    if LAYERS in content or ENCRYPTED in content:
        return True
    unpacked = 0
    for stream in OBJECT_STREAM.finditer(content):
        try:
            end = content.find(b"endstream", stream.end(), stream.end() + MAX_STREAM_BYTES)
            objects = zlib.decompressobj().decompress(content[stream.end() : end], MAX_STREAM_BYTES)
        except zlib.error:
            continue
        unpacked += len(objects)
        if LAYERS in objects or unpacked > MAX_UNPACKED_BYTES:
            return True
    return False
