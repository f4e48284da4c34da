"""Text of pictures: what OCR finds, line by line, with the region of each line, and the text of SVG."""

import re
import warnings
from html.parser import HTMLParser
from io import BytesIO
from typing import TYPE_CHECKING

from ingest.parsers.decode import decode, split_lines
from ingest.parsers.errors import ParseRefused
from ingest.parsers.images.ocr import PictureLine, gaps, is_ocr_installed, paragraph_starts, recognise
from ingest.parsers.markup.html_reader import prepare_page
from ingest.parsers.omissions import Omission
from ingest.parsers.types import Block, FileType, LineSpan, Outline, OutlineDraft, RegionSpan

if TYPE_CHECKING:
    from PIL.Image import Image


FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "TIFF", "BMP")
#: this many pixels take 150 MB when decoded to RGB
MAX_PIXELS = 50_000_000
#: gap, in line heights, above which text gets a chunk of its own, so that regions stay small
OTHER_PLACE_GAP = 3.0


def parse_image(content: bytes, file: FileType) -> Outline:
    """Return the lines of text in a picture, of the first frame only; regions are in pixels as displayed.

    Without OCR the picture isn't opened. Raises:
        ParseRefused: the picture is damaged (`damaged`), or has too many pixels (`too_large`).
    """
    if not is_ocr_installed():
        return Outline(lines=(), blocks=(), omissions=(Omission(kind="pictures", amount=1),))
    picture, further = _open_picture(content)
    layout = _Layout()
    layout.omitted("beyond_limit", further, "pictures")
    metadata = {"width": picture.width, "height": picture.height}
    found = recognise(picture)
    if not found:
        layout.origins.append(RegionSpan(0, 0, picture.width, picture.height))
        return layout.outline(metadata=metadata, warnings=("no text was recognised in the picture",))
    spaces = gaps(found)
    starts = paragraph_starts(found)
    for start, end in zip(starts, [*starts[1:], len(found)], strict=True):
        layout.add(found[start:end], is_apart=start > 0 and spaces[start - 1] > OTHER_PLACE_GAP)
    return layout.outline(metadata=metadata)


def _open_picture(content: bytes) -> tuple["Image", int]:
    """Return the picture in RGB, rotated by its EXIF orientation, and the number of further ones."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # MAX_PIXELS is lower
            picture = Image.open(BytesIO(content), formats=FORMATS)
        if picture.width * picture.height > MAX_PIXELS:
            raise _too_large(f"{picture.width} by {picture.height} pixels")
        frames = getattr(picture, "n_frames", 1)
        turned = ImageOps.exif_transpose(picture)
        return _flatten_on_white(turned), frames - 1
    except Image.DecompressionBombError:
        raise _too_large("far too many pixels") from None
    except UnidentifiedImageError:
        raise ParseRefused("damaged", "the picture is damaged: its beginning can't be read") from None
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        raise ParseRefused("damaged", f"the picture is damaged: {str(error)[:100]}") from None


def _too_large(size: str) -> ParseRefused:
    return ParseRefused(
        "too_large", f"the picture has {size}, at most {MAX_PIXELS} are read; make it smaller"
    )


def _flatten_on_white(picture: "Image") -> "Image":
    from PIL import Image

    if not picture.has_transparency_data:
        return picture.convert("RGB")
    layered = picture.convert("RGBA")
    paper = Image.new("RGB", picture.size, "white")
    paper.paste(layered, mask=layered.getchannel("A"))
    return paper


class _Layout(OutlineDraft):
    """The paragraphs added so far."""

    def add(self, paragraph: list[PictureLine], *, is_apart: bool) -> None:
        """Add a paragraph and a blank line; one that is apart shares no chunk with those before."""
        start = len(self.lines) + 1
        if is_apart:
            self.walls.append(start)
        self.blocks.append(Block(kind="paragraph", span=LineSpan(start, start + len(paragraph) - 1)))
        self.lines += [*(line.text for line in paragraph), ""]
        regions = [RegionSpan(line.x, line.y, line.w, line.h) for line in paragraph]
        self.origins += [*regions, regions[-1]]


#: elements whose text a person sees or hears read out; the last two occur in a `foreignObject`
WORDS = frozenset({"text", "title", "desc", "p", "div"})
#: an entity made of entities, which expands exponentially; drawing programs declare only plain ones
NESTED_ENTITY = re.compile(rb"<!ENTITY\s+(?:%\s+)?\S{1,200}\s+(?:\"[^\"&]*&[^#\"]|'[^'&]*&[^#'])")
SKIPPED = frozenset({"style", "script", "metadata", "defs"})


def parse_svg(content: bytes, file: FileType) -> Outline:
    """Return title, description and labels of a drawing, one line each.

    An HTML parser reads it, which expands no entities declared in the file and loads nothing from outside.

    Raises:
        ParseRefused: the drawing declares an entity bomb (`xml_entities`).
    """
    if NESTED_ENTITY.search(content):
        raise ParseRefused("xml_entities", "the drawing declares entities made of entities, as bombs do")
    reader = _WordReader()
    reader.feed(prepare_page("\n".join(split_lines(decode(content)))))
    reader.close()
    reader.end_line()
    blocks = [Block(kind="paragraph", span=LineSpan(1, len(reader.lines)))] if reader.lines else []
    return Outline(lines=reader.lines, blocks=blocks, origins=reader.origins, title=reader.title)


class _WordReader(HTMLParser):
    """Parser that collects the words of a drawing."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[str] = []
        self.origins: list[LineSpan] = []
        self.title: str | None = None
        self._tag = ""
        self._word_depth = 0
        self._skip_depth = 0
        self._text: list[str] = []
        self._read_from: list[int] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in SKIPPED:
            self._skip_depth += 1
        elif tag in WORDS:
            self.end_line()
            self._word_depth += 1
            self._tag = tag
        elif tag == "tspan" and {"x", "y", "dy"} & dict(attrs).keys():
            self._text.append(" ")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Ignore the element: `<text/>` holds no words."""

    def handle_endtag(self, tag: str) -> None:
        if tag in SKIPPED:
            self._skip_depth = max(0, self._skip_depth - 1)
        elif tag in WORDS:
            self.end_line()
            self._word_depth = max(0, self._word_depth - 1)

    def handle_data(self, data: str) -> None:
        if not self._word_depth or self._skip_depth or not data.strip():
            return
        self._text.append(data)
        start = self.getpos()[0] + data[: len(data) - len(data.lstrip())].count("\n")
        self._read_from += [start, start + data.strip().count("\n")]

    def end_line(self) -> None:
        """Add the text read since the last line as a line."""
        text, read_from = " ".join("".join(self._text).split()), self._read_from
        self._text, self._read_from = [], []
        if not text:
            return
        if self._tag == "title" and self.title is None:
            self.title = text
        self.lines.append(text)
        self.origins.append(LineSpan(min(read_from), max(read_from)))
