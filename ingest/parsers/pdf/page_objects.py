"""Objects of a page that decide about its text: pictures, invisible text, layers that are switched off."""

import ctypes
import re
import zlib
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from typing import Any, Final

from ingest.parsers.pdf.types import Box

#: depth of groups within groups, objects of one page, and pictures among which a text's place is sought
MAX_DEPTH, MAX_OBJECTS, MAX_PICTURES = 3, 50_000, 200
#: pixels of a page's longer side by which layers are judged; objects that are drawn for that in one document,
#: and as how many a page counts at least
TEST_SIDE, MAX_DRAWN, LEAST_DRAWN = 700, 300_000, 5_000
#: entry of a document that has layers, streams of objects that it may be in, and bytes of these that are read
LAYERS, ENCRYPTED = b"/OCProperties", b"/Encrypt"
OBJECT_STREAM: Final = re.compile(rb"/ObjStm\b[^\0]{0,400}?stream\r?\n")
MAX_STREAM_BYTES, MAX_UNPACKED_BYTES = 2**20, 2**26
#: beginning of the key of a named layer, and bytes of its name
LAYER, NAME_BYTES = "layer ", 512

#: an object of pdfium, with the outermost group (form object) that holds it, or itself
_Placed = tuple[Any, Any]


class PageObjects:
    """Texts and pictures of a page of pypdfium2, in groups (form objects) too."""

    def __init__(self, page: Any) -> None:
        from pypdfium2.raw import FPDFPage_CountObjects, FPDFPage_GetObject

        self.texts: list[_Placed] = []
        #: texts that are not drawn (render mode 3)
        self.invisible: list[_Placed] = []
        self.pictures: list[Box] = []
        self._left = MAX_OBJECTS
        self._add(page.raw, FPDFPage_CountObjects, FPDFPage_GetObject)

    def _add(
        self,
        parent: Any,
        count: Callable[..., int],
        get: Callable[..., Any],
        outer: Any = None,
        depth: int = 1,
    ) -> None:
        from pypdfium2 import raw

        for index in range(min(count(parent), self._left)):
            each = get(parent, index)
            self._left -= 1
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

        hidden = layers.switched_off(page, self.texts, MAX_OBJECTS - self._left) if layers else []
        if self.texts:
            hidden += [each for each, outer in self.invisible if not self._is_over_picture(_box(outer))]
        shown = []
        for is_active in (True, False) if hidden else ():
            for each in hidden:
                FPDFPageObj_SetIsActive(each, is_active)
            with closing(page.get_textpage()) as text_page:
                shown.append(len("".join(text_page.get_text_range().split())))
        return max(0, shown[0] - shown[1]) if shown else 0

    def _is_over_picture(self, box: Box) -> bool:
        x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
        return len(self.pictures) == MAX_PICTURES or any(
            left <= x <= right and bottom <= y <= top for left, bottom, right, top in self.pictures
        )

    def picture_share(self, page: Any) -> float:
        """Return the share of the page that its pictures cover, over 1 where they cover each other."""
        left, bottom, right, top = map(float, page.get_bbox())
        covered = 0.0
        for box in self.pictures:
            width, height = min(right, box[2]) - max(left, box[0]), min(top, box[3]) - max(bottom, box[1])
            covered += max(0.0, width) * max(0.0, height)
        return covered / max(1.0, (right - left) * (top - bottom))


class LayerTests:
    """Layers of a document that are switched off: its pages look the same without them."""

    def __init__(self) -> None:
        self._known: dict[str, bool] = {}
        self._left = MAX_DRAWN

    def switched_off(self, page: Any, texts: Sequence[_Placed], count: int) -> list[Any]:
        """Return the texts of a page of `count` objects that are not drawn, or the groups that hold them."""
        off: list[Any] = []
        for name, members in _sections(texts).items():
            if name in self._known:
                is_off = self._known[name]
            else:
                self._left -= LEAST_DRAWN + count
                is_off = self._left >= 0 and _is_off(page, members)
                self._known |= {name: is_off} if name.startswith(LAYER) else {}
            off += members if is_off else []
        return off


def _is_off(page: Any, members: Sequence[Any]) -> bool:
    from pypdfium2.raw import FPDFPageObj_SetIsActive

    scale = TEST_SIDE / max(1.0, *page.get_size())
    pictures = set()
    for is_active in (False, True):
        for each in members:
            FPDFPageObj_SetIsActive(each, is_active)
        pictures.add(bytes(page.render(scale=scale, grayscale=True, draw_annots=False).buffer))
    return len(pictures) == 1


def _sections(texts: Sequence[_Placed]) -> dict[str, list[Any]]:
    """Return the texts of each named layer, those in layers without a name, and groups with text."""
    from pypdfium2 import raw

    sections: dict[str, list[Any]] = {}
    for number, (each, outer) in enumerate(texts):
        marks = [raw.FPDFPageObj_GetMark(each, index) for index in range(raw.FPDFPageObj_CountMarks(each))]
        layers = [mark for mark in marks if _string_of(raw.FPDFPageObjMark_GetName, mark) == "OC"]
        names = [_string_of(raw.FPDFPageObjMark_GetParamStringValue, mark, b"Name") for mark in layers]
        if layers:
            name = f"{LAYER}{'/'.join(names)}" if all(names) else f"text {number}"
            sections.setdefault(name, []).append(each)
        elif outer is not each:
            sections[f"group {ctypes.addressof(outer.contents)}"] = [outer]
    return sections


def _string_of(function: Callable[..., int], *arguments: Any) -> str:
    from pypdfium2.raw import FPDF_WCHAR

    buffer, size = ctypes.create_string_buffer(NAME_BYTES), ctypes.c_ulong()
    is_found = function(*arguments, ctypes.cast(buffer, ctypes.POINTER(FPDF_WCHAR)), NAME_BYTES, size)
    return buffer.raw[: max(0, size.value - 2)].decode("utf-16-le", errors="replace") if is_found else ""


def _box(each: Any) -> Box:
    from pypdfium2.raw import FPDFPageObj_GetBounds

    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    FPDFPageObj_GetBounds(each, left, bottom, right, top)
    return left.value, bottom.value, right.value, top.value


def has_layers(content: bytes) -> bool:
    """Return whether a PDF may have layers: it declares some, or what it declares is encrypted."""
    if LAYERS in content or ENCRYPTED in content:
        return True
    left = MAX_UNPACKED_BYTES
    for stream in OBJECT_STREAM.finditer(content):
        end = content.find(b"endstream", stream.end(), stream.end() + MAX_STREAM_BYTES)
        with suppress(zlib.error):
            objects = zlib.decompressobj().decompress(content[stream.end() : end], MAX_STREAM_BYTES)
            left -= len(objects)
            if LAYERS in objects or left < 0:
                return True
    return False
