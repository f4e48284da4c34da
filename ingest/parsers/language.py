"""Detection of the language of a document's prose."""

import re

import pycld2

from ingest.parsers.types import Outline

UNDETERMINED = "und"
SAMPLE_CHARS = 4_000
#: letters needed before a guess is worth anything
MIN_LETTERS = 24
MIN_CJK_LETTERS = 6
#: share of the sample (per cent) that the first language needs when the detector itself is unsure
MIN_SHARE = 60
#: share that suffices when no other language has a quarter of it: the detector assigns much of a Russian text
#: to no language. Of 704 paragraphs of 200 characters in fourteen languages this leaves 17 instead of 34
#: undetermined, and as many (16) wrong
MIN_LONE_SHARE = 30
PROSE = frozenset({"heading", "paragraph", "list", "quote", "table"})
NOISE = re.compile(
    r"`[^`]*`|<[^>]*>|\]\([^)]*\)|https?://\S+|^\s*(?:import|export)\s.*$|(?<!\w)[^\W\d_]*[\d_./\\:]+[\w./\\:-]*"
    r"|[^\w\s.,;!?'’-]",
    re.MULTILINE,
)
LETTERS = re.compile(r"[^\W\d_]")
CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
KANA = re.compile(r"[\u3040-\u30ff]")
HANGUL = re.compile(r"[\uac00-\ud7af]")
UNKNOWN = "un"
CODES = {"zh-Hant": "zh-Hant", "iw": "he", "jw": "jv", "in": "id", "no": "nb"}


def language_of(outline: Outline) -> str:
    """Return the BCP 47 code of the language of most of the prose, `und` when unsure.

    The sample is SAMPLE_CHARS characters of prose; code, markup, links and identifiers do not count.
    """
    text = NOISE.sub(" ", _sample(outline)[:SAMPLE_CHARS])
    letters = len(LETTERS.findall(text))
    cjk = len(CJK.findall(text))
    if cjk >= MIN_CJK_LETTERS and 2 * cjk >= letters:
        return _cjk_language(text)
    if letters < MIN_LETTERS:
        return UNDETERMINED
    return _detect(text)


def _detect(text: str) -> str:
    try:
        is_reliable, _, guesses = pycld2.detect(text, bestEffort=True)
    except pycld2.error:  # raised for control characters and unassigned code points
        return UNDETERMINED
    named = [(str(code), int(share)) for _, code, share, _ in guesses if code != UNKNOWN]
    if not named or (is_reliable and guesses[0][1] == UNKNOWN):
        return UNDETERMINED
    code, share = named[0]
    is_lone = share >= MIN_LONE_SHARE and all(share >= 4 * other for _, other in named[1:])
    return CODES.get(code, code) if is_reliable or share >= MIN_SHARE or is_lone else UNDETERMINED


def _cjk_language(text: str) -> str:
    """Return the CJK language by its script, which is surer than statistics, also in very short text."""
    if KANA.search(text):
        return "ja"
    if HANGUL.search(text):
        return "ko"
    return "zh-Hant" if _detect(text) == "zh-Hant" else "zh"


def _sample(outline: Outline) -> str:
    taken: list[str] = []
    size = 0
    for block in outline.blocks:
        if block.kind not in PROSE:
            continue
        for line in outline.lines[block.span.start - 1 : block.span.end]:
            taken.append(line[: SAMPLE_CHARS - size])
            size += len(taken[-1]) + 1
            if size >= SAMPLE_CHARS:
                return "\n".join(taken)
    return "\n".join(taken)
