"""OCR by rapidocr where it is installed; its wheel contains the models, none is downloaded."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kebab.sandbox.program import report_progress

if TYPE_CHECKING:
    from PIL.Image import Image

#: a wider picture is scaled down; a taller one is read in horizontal bands, as lines of text are horizontal
MAX_WIDTH = 4_000
#: longer side and pixels of the picture in which lines are detected; a million pixels take 320 MB of memory
DETECTION_SIDE, DETECTION_PIXELS = 1_280, 700_000
#: pixels by which bands overlap, so that a line of up to half that height is complete in one band
BAND_OVERLAP = 128
#: gap between two lines, in line heights, that begins a paragraph
PARAGRAPH_GAP = 0.8
#: files in the wheel; named explicitly, because rapidocr looks for others on the network
MODELS = {
    "Det": "PP-OCRv6_det_small.onnx",
    "Cls": "ch_ppocr_mobile_v2.0_cls_mobile.onnx",
    "Rec": "PP-OCRv6_rec_small.onnx",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureLine:
    """A line of text in a picture: pixels from its left and top, width and height of 1 or more."""

    text: str
    x: int
    y: int
    w: int
    h: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Band:
    """A horizontal band of a picture, and the part of it whose lines belong to this band."""

    start: int
    end: int
    own_start: float
    own_end: float


def is_ocr_installed() -> bool:
    """Return whether OCR is installed."""
    return find_spec("rapidocr") is not None


def recognise(picture: "Image") -> list[PictureLine]:
    """Return the lines of text in an RGB picture, from top to bottom, within a row from left to right."""
    scale = min(1.0, MAX_WIDTH / picture.width)
    if scale < 1.0:
        picture = picture.resize((MAX_WIDTH, max(1, round(picture.height * scale))))
    found: list[PictureLine] = []
    for band in _bands(*picture.size):
        found += _lines_of(picture, band, scale)
        report_progress()
    return found


def _bands(width: int, height: int) -> list[_Band]:
    """Return bands of about equal height that cover the picture."""
    detection_width = min(width, DETECTION_SIDE)
    longest = min(DETECTION_SIDE, DETECTION_PIXELS // detection_width) * width // detection_width
    overlap = BAND_OVERLAP if height > longest else 0
    count = max(1, -(-(height - overlap) // (longest - overlap)))
    starts = [round(number * (height - overlap) / count) for number in range(count)]
    ends = [*(start + overlap for start in starts[1:]), height]
    return [
        _Band(
            start=start,
            end=end,
            own_start=start + overlap / 2 if start else 0.0,
            own_end=end - overlap / 2 if end < height else float(height),
        )
        for start, end in zip(starts, ends, strict=True)
    ]


def _lines_of(picture: "Image", band: _Band, scale: float) -> Iterator[PictureLine]:
    import numpy as np

    part = np.asarray(picture.crop((0, band.start, picture.width, band.end)))
    found = _run_ocr(np.ascontiguousarray(part[:, :, ::-1]))  # rapidocr expects BGR
    if found.txts is None or found.boxes is None:
        return
    for text, corners in zip(found.txts, found.boxes, strict=True):
        left, top = (float(corners[:, axis].min()) for axis in (0, 1))
        right, bottom = (float(corners[:, axis].max()) for axis in (0, 1))
        top, bottom = top + band.start, bottom + band.start
        if text.strip() and band.own_start <= (top + bottom) / 2 < band.own_end:
            yield PictureLine(
                text=" ".join(text.split()),
                x=int(left / scale),
                y=int(top / scale),
                w=max(1, round((right - left) / scale)),
                h=max(1, round((bottom - top) / scale)),
            )


def _run_ocr(pixels: Any) -> Any:
    from rapidocr.inference_engine.onnxruntime.main import ONNXRuntimeError

    try:
        return _engine()(pixels)
    except ONNXRuntimeError as error:
        if "bad_alloc" in str(error):
            raise MemoryError("OCR ran out of memory") from error
        raise


@cache
def _engine() -> Any:
    """Return the OCR engine, loaded once per process: loading takes longer than reading a small picture."""
    import cv2
    import rapidocr
    from rapidocr import RapidOCR

    cv2.setNumThreads(1)
    folder = Path(rapidocr.__file__).parent / "models"
    models = {f"{part}.model_path": str(folder / name) for part, name in MODELS.items()}
    others = {
        "Global.log_level": "error",
        "Global.max_side_len": MAX_WIDTH,
        "Det.limit_type": "max",
        "Det.limit_side_len": DETECTION_SIDE,
        "Rec.rec_batch_num": 1,  # six long lines together took 700 MB and no less time
    }
    # one thread each: a worker runs one process per core
    threads = {f"EngineConfig.onnxruntime.{kind}_op_num_threads": 1 for kind in ("intra", "inter")}
    return RapidOCR(params={**models, **others, **threads})


def gaps(lines: Sequence[PictureLine]) -> list[float]:
    """Return the gap above each line but the first, in heights of the smaller line.

    A line in another column has an infinite gap.
    """
    return [_gap(before, line) for before, line in pairwise(lines)]


def _gap(before: PictureLine, line: PictureLine) -> float:
    if line.y + line.h < before.y:
        return inf
    return (line.y - (before.y + before.h)) / min(before.h, line.h)


def paragraph_starts(lines: Sequence[PictureLine]) -> list[int]:
    """Return the indexes of the lines that begin a paragraph."""
    apart = [index for index, gap in enumerate(gaps(lines), start=1) if gap > PARAGRAPH_GAP]
    return [0, *apart] if lines else []
