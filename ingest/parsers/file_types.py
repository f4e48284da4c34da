"""File types by extension. Content overrules it where the two disagree (see content_type)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, cast

from ingest.parsers.office.package import OPEN_DOCUMENT, OfficeKind
from ingest.parsers.types import FileType, Media

XML_MIME: Final = "application/xml"
OUTLOOK: Final = "application/vnd.ms-outlook"
_OOXML: Final = "application/vnd.openxmlformats-officedocument"
#: extensions, media type, medium, ladder of parsers, and language of data formats; `xml` is read by its
#: content, and configuration and data in it are code
_TABLE: Final = f"""
txt text | text/plain | text | text
md markdown mdown mkd mdc qmd rmd | text/markdown | text | markdown text
mdx | text/mdx | text | markdown text
html htm xhtml | text/html | text | html text
xml dbk docbook dita ditamap tei fb2 xlf xliff tmx | {XML_MIME} | text | xml code text
opml enex wxr rss atom nxml jats | {XML_MIME} | text | xml code text
csv | text/csv | text | table structured text | csv
tsv | text/tab-separated-values | text | table structured text | csv
json jsonc | application/json | text | structured text | json
jsonl ndjson | application/jsonl | text | structured text | json
geojson | application/geo+json | text | structured text | json
json5 | application/json5 | text | structured text | json
yaml yml | application/yaml | text | structured text | yaml
toml | application/toml | text | structured text | toml
ini cfg conf | text/plain | text | structured text | ini
properties | text/x-java-properties | text | properties structured text | ini
log | text/plain | text | log text | log
po pot | text/x-gettext-translation | text | gettext text | gettext
rst rest | text/x-rst | text | rst text
adoc asciidoc | text/asciidoc | text | asciidoc text
wiki mediawiki | text/x-wiki | text | mediawiki text
tex ltx latex | application/x-tex | text | tex text
org | text/org | text | org text
ipynb | application/x-ipynb+json | text | notebook structured text
svg | image/svg+xml | text | svg text
ics ical ifb | text/calendar | text | calendar text
vcf vcard | text/vcard | text | contacts text
drawio dio | application/vnd.jgraph.mxfile | text | drawio text
excalidraw | application/vnd.excalidraw+json | text | excalidraw structured text
mht mhtml | multipart/related | text | web_archive mail_source
eml emlx | message/rfc822 | email | email mail_source
mbox | application/mbox | email | mbox mail_source
msg | {OUTLOOK} | email | outlook
srt | application/x-subrip | transcript | transcript text
vtt | text/vtt | transcript | transcript text
sbv | text/x-subviewer | transcript | transcript text
ass ssa | text/x-ssa | transcript | transcript text
ttml dfxp | application/ttml+xml | transcript | transcript text
pdf | application/pdf | pdf | pdf
png | image/png | image | image
jpg jpeg | image/jpeg | image | image
webp | image/webp | image | image
gif | image/gif | image | image
tif tiff | image/tiff | image | image
rtf | application/rtf | office | rtf
epub | application/epub+zip | office | epub
docx | {_OOXML}.wordprocessingml.document | office | docx office_text
docm | application/vnd.ms-word.document.macroEnabled.12 | office | docx office_text
dotx | {_OOXML}.wordprocessingml.template | office | docx office_text
dotm | application/vnd.ms-word.template.macroEnabled.12 | office | docx office_text
pptx | {_OOXML}.presentationml.presentation | office | pptx office_text
pptm | application/vnd.ms-powerpoint.presentation.macroEnabled.12 | office | pptx office_text
ppsx | {_OOXML}.presentationml.slideshow | office | pptx office_text
potx | {_OOXML}.presentationml.template | office | pptx office_text
xlsx | {_OOXML}.spreadsheetml.sheet | office | xlsx office_text
xlsm | application/vnd.ms-excel.sheet.macroEnabled.12 | office | xlsx office_text
xltx | {_OOXML}.spreadsheetml.template | office | xlsx office_text
odt | {OPEN_DOCUMENT}text | office | odf
ott | {OPEN_DOCUMENT}text-template | office | odf
fodt | {OPEN_DOCUMENT}text-flat-xml | office | odf
ods | {OPEN_DOCUMENT}spreadsheet | office | odf
ots | {OPEN_DOCUMENT}spreadsheet-template | office | odf
fods | {OPEN_DOCUMENT}spreadsheet-flat-xml | office | odf
odp | {OPEN_DOCUMENT}presentation | office | odf
otp | {OPEN_DOCUMENT}presentation-template | office | odf
fodp | {OPEN_DOCUMENT}presentation-flat-xml | office | odf
odg | {OPEN_DOCUMENT}graphics | office | odf
"""


def _parse_row(row: str) -> FileType:
    _, mime, media, parsers, *language = row.split(" | ")
    ladder = tuple(parsers.split())
    return FileType(
        path="", mime=mime, media=cast(Media, media), parsers=ladder, language=next(iter(language), None)
    )


#: types by extension, of no path
TYPES: Final[Mapping[str, FileType]] = {
    extension: _parse_row(row)
    for row in _TABLE.strip().split("\n")
    for extension in row.partition(" | ")[0].split()
}
MARKDOWN: Final = frozenset(name for name, each in TYPES.items() if each.parsers[0] == "markdown")
#: extensions of the variants of each kind of office file
VARIANTS: Final[Mapping[OfficeKind, str]] = {
    "docx": "docx docm dotx dotm",
    "pptx": "pptx pptm ppsx potx",
    "xlsx": "xlsx xlsm xltx",
    "odt": "odt ott fodt",
    "ods": "ods ots fods",
    "odp": "odp otp fodp odg",
}
#: the name space of OpenDocument files, which a flat one declares at its beginning
FLAT_OFFICE: Final = b"urn:oasis:names:tc:opendocument:xmlns:office"
#: formats that are detected by content: media type -> one of the extensions
BINARY: Final = {TYPES[each].mime: each for each in ("pdf", "rtf", "png", "jpg", "webp", "gif", "tif", "msg")}

LANGUAGES: Final = {
    "bash": "sh bash zsh ksh",
    "batch": "bat cmd",
    "c": "c h",
    "clojure": "clj cljs cljc edn",
    "cmake": "cmake",
    "cpp": "cc cpp cxx c++ hh hpp hxx h++ ipp inl ixx",
    "csharp": "cs csx",
    "css": "css scss sass less",
    "cuda": "cu cuh",
    "dart": "dart",
    "elixir": "ex exs",
    "elm": "elm",
    "erlang": "erl hrl",
    "fsharp": "fs fsi fsx",
    "go": "go",
    "graphql": "graphql gql",
    "groovy": "groovy gradle",
    "haskell": "hs lhs",
    "hcl": "hcl tf tfvars",
    "java": "java",
    "javascript": "js mjs cjs jsx",
    "julia": "jl",
    "kotlin": "kt kts",
    "lisp": "lisp el scm rkt",
    "lua": "lua",
    "nim": "nim",
    "nix": "nix",
    "objectivec": "m mm",
    "ocaml": "ml mli",
    "pascal": "pas pp",
    "perl": "pl pm",
    "php": "php",
    "powershell": "ps1 psm1 psd1",
    "protobuf": "proto",
    "python": "py pyi pyw",
    "r": "r",
    "ruby": "rb rake gemspec",
    "rust": "rs",
    "scala": "scala sc",
    "solidity": "sol",
    "sql": "sql",
    "svelte": "svelte",
    "swift": "swift",
    "terraform": "tofu",
    "typescript": "ts tsx mts cts",
    "vb": "vb",
    "verilog": "v sv svh",
    "vhdl": "vhd vhdl",
    "vue": "vue",
    "astro": "astro",
    "xml": "xsd xsl xslt",
    "zig": "zig",
}
CODE: Final = {extension: name for name, listed in LANGUAGES.items() for extension in listed.split()}
#: files known by their whole name, lower case
NAMED_CODE: Final = {
    "makefile": "make",
    "gnumakefile": "make",
    "dockerfile": "dockerfile",
    "containerfile": "dockerfile",
    "jenkinsfile": "groovy",
    "rakefile": "ruby",
    "gemfile": "ruby",
    "cmakelists.txt": "cmake",
}


def extension_of(path: str) -> str:
    """Return the last extension of the file's name, lower case, without the dot; empty when it has none."""
    stem, _, extension = path.rpartition("/")[2].rpartition(".")
    return extension.lower() if stem else ""


def code_language_of(path: str) -> str | None:
    """Return the programming language of a file of this name, None when it is not a name of code."""
    name = path.rpartition("/")[2].lower()
    return NAMED_CODE.get(name) or CODE.get(extension_of(path))


def type_by_name(path: str) -> FileType | None:
    """Return the type that the name claims, None for an unknown name."""
    language, extension = code_language_of(path), extension_of(path)
    if language is not None:
        return code_type(path, language)
    return type_as(path, extension) if extension in TYPES else None


def type_as(path: str, extension: str) -> FileType:
    """Return the type of files with `extension`, one of TYPES, whatever the file's own is."""
    return replace(TYPES[extension], path=path)


def code_type(path: str, language: str) -> FileType:
    """Return the type of a source file in `language`."""
    mime = f"text/x-{language}"
    return FileType(path=path, mime=mime, media="code", parsers=("code", "text"), language=language)


def binary_type(path: str, mime: str) -> FileType | None:
    """Return the type of a binary format, None when no parser reads it."""
    return type_as(path, BINARY[mime]) if mime in BINARY else None


def office_type(path: str, kind: OfficeKind) -> FileType:
    """Return the type of an office file that holds `kind`, whatever its name."""
    extension = extension_of(path)
    return type_as(path, extension if extension in VARIANTS[kind].split() else kind)
