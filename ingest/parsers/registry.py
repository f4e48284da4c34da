"""The parsers by name, and the ladder that falls back from one parser to the next simpler one."""

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import blake2b
from itertools import pairwise
from typing import Final

import pycld2

from ingest.parsers.content_type import identify
from ingest.parsers.data.encoded import leave_out_encoded
from ingest.parsers.data.gettext import parse_gettext
from ingest.parsers.data.notebook import parse_notebook
from ingest.parsers.data.properties import parse_properties
from ingest.parsers.data.structured import parse_log, parse_structured
from ingest.parsers.data.table import parse_table
from ingest.parsers.data.transcript import parse_transcript
from ingest.parsers.decode import check_charset
from ingest.parsers.errors import ParseRefused
from ingest.parsers.file_types import type_by_name
from ingest.parsers.images.diagram import parse_drawio, parse_excalidraw
from ingest.parsers.images.image import parse_image, parse_svg
from ingest.parsers.images.ocr import is_ocr_installed
from ingest.parsers.mail.cards import parse_calendar, parse_contacts
from ingest.parsers.mail.mbox import parse_mbox
from ingest.parsers.mail.outlook import parse_outlook
from ingest.parsers.mail.parse import parse_email, parse_web_archive
from ingest.parsers.mail.text import parse_mail_source
from ingest.parsers.markup.asciidoc import parse_asciidoc
from ingest.parsers.markup.html import parse_html
from ingest.parsers.markup.markdown import parse_markdown
from ingest.parsers.markup.mediawiki import parse_mediawiki
from ingest.parsers.markup.org import parse_org
from ingest.parsers.markup.rst import parse_rst
from ingest.parsers.markup.tex import parse_tex
from ingest.parsers.markup.xml import parse_xml
from ingest.parsers.office.docx import parse_docx
from ingest.parsers.office.epub import parse_epub
from ingest.parsers.office.normal_package import visible_text
from ingest.parsers.office.odf import parse_odf
from ingest.parsers.office.pptx import parse_pptx
from ingest.parsers.office.rtf import parse_rtf
from ingest.parsers.office.text import parse_office_text
from ingest.parsers.office.xlsx import parse_xlsx
from ingest.parsers.omissions import Omission, compare_words
from ingest.parsers.pdf.parse import parse_pdf
from ingest.parsers.syntax.code import parse_code
from ingest.parsers.text import parse_text
from ingest.parsers.text_kinds import TEXT_MEDIA
from ingest.parsers.titles import title_of
from ingest.parsers.types import FileType, Outline, ParsedDocument
from kebab.sandbox.process import failure_location
from kebab.sandbox.program import SandboxUnavailable
from search.analysis.stems import ALIASES
from search.retrieval.query.stopwords import count_function_words
from search.retrieval.text.unicode_scripts import words_of

logger = logging.getLogger(__name__)

Parser = Callable[[bytes, FileType], Outline]

#: parsers by name with their versions, incremented whenever one returns other lines, blocks, titles or
#: languages for the same bytes
_PARSERS: Final[Mapping[str, tuple[Parser, int]]] = {
    "markdown": (parse_markdown, 5),
    "html": (parse_html, 6),
    "rst": (parse_rst, 3),
    "asciidoc": (parse_asciidoc, 1),
    "mediawiki": (parse_mediawiki, 2),
    "org": (parse_org, 1),
    "tex": (parse_tex, 1),
    "notebook": (parse_notebook, 4),
    "xml": (parse_xml, 1),
    "svg": (parse_svg, 2),
    "calendar": (parse_calendar, 1),
    "contacts": (parse_contacts, 1),
    "drawio": (parse_drawio, 1),
    "excalidraw": (parse_excalidraw, 1),
    "docx": (parse_docx, 3),
    "pptx": (parse_pptx, 4),
    "xlsx": (parse_xlsx, 3),
    "odf": (parse_odf, 3),
    "rtf": (parse_rtf, 2),
    "office_text": (parse_office_text, 2),
    "epub": (parse_epub, 2),
    "email": (parse_email, 4),
    "mail_source": (parse_mail_source, 1),
    "web_archive": (parse_web_archive, 2),
    "mbox": (parse_mbox, 2),
    "outlook": (parse_outlook, 2),
    "table": (parse_table, 3),
    "log": (parse_log, 2),
    "pdf": (parse_pdf, 4),
    "image": (parse_image, 1),
    "transcript": (parse_transcript, 2),
    "properties": (parse_properties, 1),
    "gettext": (parse_gettext, 1),
    "structured": (parse_structured, 4),
    "code": (parse_code, 4),
    "text": (parse_text, 4),
}
PARSERS: Final[Mapping[str, Parser]] = {name: parser for name, (parser, _) in _PARSERS.items()}
PARSER_VERSIONS: Final[Mapping[str, int]] = {name: version for name, (_, version) in _PARSERS.items()}
#: text that people see in a file, to compare what a parser has read with
VISIBLE_TEXT: Final = dict.fromkeys(("docx", "pptx", "xlsx", "office_text"), visible_text)
#: parsers that leave out encoded text by themselves
OWN_ENCODED: Final = frozenset({"mail_source"})
#: parsers of formats that have a charset of their own
OWN_CHARSET: Final = frozenset({"properties"})
#: parsers that read more where OCR is installed; versions of documents read with it end in WITH_OCR
READ_BY_OCR: Final = frozenset({"pdf", "image"})
HAS_OCR: Final = is_ocr_installed()
WITH_OCR: Final = ".ocr"
#: characters of a parser version, WITH_OCR aside; the columns that hold it have room for 64
MAX_VERSION_CHARS: Final = 60


def parser_version_for(path: str) -> str:
    """Return the version of the parsers of a file of this name; it changes when one of its ladder does.

    A file with an unknown name may be of any type: it is read again when any parser changes. A file whose
    content overrules its name is read again when the parsers of the name change. A file refused without
    OCR is read again once OCR is installed.
    """
    named = type_by_name(path)
    names = tuple(PARSERS) if named is None else named.parsers
    version = "+".join(f"{name}/{PARSER_VERSIONS[name]}" for name in names)
    if len(version) > MAX_VERSION_CHARS:
        kind = "any" if named is None else names[0]
        version = f"{kind}/{blake2b(version.encode(), digest_size=8).hexdigest()}"
    return version + (WITH_OCR if HAS_OCR and not READ_BY_OCR.isdisjoint(names) else "")


def is_current(version: str, path: str) -> bool:
    """Return whether a file of this name, read or refused by parsers of `version`, needn't be read again.

    Text read with OCR stays valid where OCR isn't installed, so that workers with and without it don't
    undo each other's results.
    """
    return parser_version_for(path) in (version, version.removesuffix(WITH_OCR))


def parse(content: bytes, path: str, *, first_rung: int = 0) -> ParsedDocument:
    """Return the parsed document; when a parser fails, the next simpler one reads it, with a warning.

    Args:
        content: the file's bytes.
        path: its POSIX path in the source.
        first_rung: number of parsers of the ladder to skip, because they died on this content.

    Raises:
        ParseRefused: no parser reads such content (`no_parser`, `generated`, `minified`), its
            charset can't be told (`unknown_charset`), or the ladder has no such rung (`no_rung`).
        SandboxUnavailable: a process that a parser needs can't be started.
    """
    file = identify(content, path)
    ladder = file.parsers[first_rung:]
    if not ladder:
        raise ParseRefused("no_rung", f"{path} has {len(file.parsers)} parsers, none left to try")
    if file.media in TEXT_MEDIA and file.parsers[0] not in OWN_CHARSET:
        check_charset(content)
    warnings: list[str] = []
    for name, simpler in pairwise(ladder):
        try:
            return _document(_read(name, content, file), file, name, warnings)
        except (ParseRefused, SandboxUnavailable, MemoryError):
            raise  # without memory the next parser would fail too; it is tried in a fresh process
        except Exception as error:  # noqa: BLE001  a simpler parser may read the file
            logger.warning("parser %s failed: %s", name, failure_location(error))
            warnings.append(
                f"the {name} parser failed ({type(error).__name__}); the {simpler} parser read it"
            )
    return _document(_read(ladder[-1], content, file), file, ladder[-1], warnings)


def _read(parser: str, content: bytes, file: FileType) -> Outline:
    """Return the outline by one parser, marked as read in part if much of the visible text is missing."""
    outline = PARSERS[parser](content, file)
    lines, left_out = leave_out_encoded(outline.lines, is_code=file.media == "code")
    if left_out and parser not in OWN_ENCODED:
        omission = Omission(kind="encoded_data", amount=left_out)
        outline = replace(outline, lines=lines, omissions=(*outline.omissions, omission))
    if parser not in VISIBLE_TEXT:
        return outline
    missing = compare_words(VISIBLE_TEXT[parser](content), outline.lines)
    return replace(outline, omissions=(*outline.omissions, *missing))


def _document(outline: Outline, file: FileType, parser: str, warnings: list[str]) -> ParsedDocument:
    # the language decides the stemming and embedding of prose; code and data have none
    is_prose = file.media != "code" and file.language is None
    return ParsedDocument(
        title=title_of(outline, file),
        lang=language_of(outline) if is_prose else UNDETERMINED,
        outline=outline,
        mime=file.mime,
        media=file.media,
        language=file.language,
        parser=parser,
        metadata=outline.metadata,
        tags=outline.tags,
        omissions=outline.omissions,
        warnings=(*warnings, *outline.warnings),
    )


UNDETERMINED = "und"
SAMPLE_CHARS = 4_000
#: letters needed before a guess is worth anything
MIN_LETTERS = 24
#: letters below which function words confirm a guess: the detector took one title in 300 for another language
SHORT_LETTERS = 100
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
LATIN = re.compile(r"[A-Za-z]")
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
    guess = _detect(text)
    return guess if letters >= SHORT_LETTERS or _is_confirmed(guess, text) else UNDETERMINED


def _is_confirmed(guess: str, text: str) -> bool:
    """Return whether no language has more function words in a text; one in Latin letters needs some."""
    counts = count_function_words(words_of(text))
    code = guess.partition("-")[0]
    least = 0 if len(LATIN.findall(text)) < len(LETTERS.findall(text)) / 2 else 1
    return counts[ALIASES.get(code, code)] >= max([least, *counts.values()])


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
