"""File types by extension. Content overrules it where the two disagree (see content_type)."""

from collections.abc import Mapping
from typing import Final

from ingest.parsers.office.package import OPEN_DOCUMENT, OfficeKind
from ingest.parsers.types import FileType, Media

MARKDOWN: Final = frozenset({"md", "markdown", "mdx", "mdown", "mkd", "mdc", "qmd", "rmd"})
HTML: Final = frozenset({"html", "htm", "xhtml"})
#: text formats without a parser of their own: extension -> mime
TEXT: Final = {
    "txt": "text/plain",
    "text": "text/plain",
}
#: data formats: extension -> (mime, language)
STRUCTURED: Final = {
    "csv": ("text/csv", "csv"),
    "tsv": ("text/tab-separated-values", "csv"),
    "json": ("application/json", "json"),
    "jsonl": ("application/jsonl", "json"),
    "ndjson": ("application/jsonl", "json"),
    "jsonc": ("application/json", "json"),
    "geojson": ("application/geo+json", "json"),
    "json5": ("application/json5", "json"),
    "yaml": ("application/yaml", "yaml"),
    "yml": ("application/yaml", "yaml"),
    "toml": ("application/toml", "toml"),
    "ini": ("text/plain", "ini"),
    "cfg": ("text/plain", "ini"),
    "conf": ("text/plain", "ini"),
    "properties": ("text/x-java-properties", "ini"),
    "log": ("text/plain", "log"),
    **dict.fromkeys(("po", "pot"), ("text/x-gettext-translation", "gettext")),
}
#: ladders of the data formats that are not read as `structured` first, by language or extension
STRUCTURED_PARSERS: Final = {
    "csv": ("table", "structured", "text"),
    "log": ("log", "text"),
    "gettext": ("gettext", "text"),
    "properties": ("properties", "structured", "text"),
}
#: XML of texts in any vocabulary, by content; configuration and data are code
XML: Final = frozenset(
    {
        *("xml", "dbk", "docbook", "dita", "ditamap", "tei", "fb2", "xlf", "xliff", "tmx", "opml", "enex"),
        *("wxr", "rss", "atom", "nxml", "jats"),
    }
)
#: formats with a parser of their own: extension -> (mime, ladder)
MARKUP: Final = {
    "rst": ("text/x-rst", ("rst", "text")),
    "rest": ("text/x-rst", ("rst", "text")),
    **dict.fromkeys(("adoc", "asciidoc"), ("text/asciidoc", ("asciidoc", "text"))),
    **dict.fromkeys(("wiki", "mediawiki"), ("text/x-wiki", ("mediawiki", "text"))),
    **dict.fromkeys(("tex", "ltx", "latex"), ("application/x-tex", ("tex", "text"))),
    "org": ("text/org", ("org", "text")),
    "ipynb": ("application/x-ipynb+json", ("notebook", "structured", "text")),
    "svg": ("image/svg+xml", ("svg", "text")),
    **dict.fromkeys(("ics", "ical", "ifb"), ("text/calendar", ("calendar", "text"))),
    **dict.fromkeys(("vcf", "vcard"), ("text/vcard", ("contacts", "text"))),
    **dict.fromkeys(("drawio", "dio"), ("application/vnd.jgraph.mxfile", ("drawio", "text"))),
    "excalidraw": ("application/vnd.excalidraw+json", ("excalidraw", "structured", "text")),
}
XML_MIME: Final = "application/xml"
OUTLOOK: Final = "application/vnd.ms-outlook"
#: binary formats, detected by content: mime -> (media, ladder)
BINARY: Final[dict[str, tuple[Media, tuple[str, ...]]]] = {
    "application/pdf": ("pdf", ("pdf",)),
    "application/rtf": ("office", ("rtf",)),
    "image/png": ("image", ("image",)),
    "image/jpeg": ("image", ("image",)),
    "image/webp": ("image", ("image",)),
    "image/gif": ("image", ("image",)),
    "image/tiff": ("image", ("image",)),
    OUTLOOK: ("email", ("outlook",)),
}
#: extensions of the binary formats
BINARY_EXTENSIONS: Final = {
    "pdf": "application/pdf",
    "rtf": "application/rtf",
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "webp": "image/webp",
    "gif": "image/gif",
    "tif": "image/tiff",
    "tiff": "image/tiff",
    "msg": OUTLOOK,
}
#: subtitles and transcripts: extension -> mime
TRANSCRIPTS: Final = {
    "srt": "application/x-subrip",
    "vtt": "text/vtt",
    "sbv": "text/x-subviewer",
    **dict.fromkeys(("ass", "ssa"), "text/x-ssa"),
    **dict.fromkeys(("ttml", "dfxp"), "application/ttml+xml"),
}
#: Office files by extension: kind, and mime type of this variant
OOXML: Final = "application/vnd.openxmlformats-officedocument"
MACROS: Final = "macroEnabled.12"
OFFICE: Final[Mapping[str, tuple[OfficeKind, str]]] = {
    "docx": ("docx", f"{OOXML}.wordprocessingml.document"),
    "docm": ("docx", f"application/vnd.ms-word.document.{MACROS}"),
    "dotx": ("docx", f"{OOXML}.wordprocessingml.template"),
    "dotm": ("docx", f"application/vnd.ms-word.template.{MACROS}"),
    "pptx": ("pptx", f"{OOXML}.presentationml.presentation"),
    "pptm": ("pptx", f"application/vnd.ms-powerpoint.presentation.{MACROS}"),
    "ppsx": ("pptx", f"{OOXML}.presentationml.slideshow"),
    "potx": ("pptx", f"{OOXML}.presentationml.template"),
    "xlsx": ("xlsx", f"{OOXML}.spreadsheetml.sheet"),
    "xlsm": ("xlsx", f"application/vnd.ms-excel.sheet.{MACROS}"),
    "xltx": ("xlsx", f"{OOXML}.spreadsheetml.template"),
    "odt": ("odt", f"{OPEN_DOCUMENT}text"),
    "ott": ("odt", f"{OPEN_DOCUMENT}text-template"),
    "fodt": ("odt", f"{OPEN_DOCUMENT}text-flat-xml"),
    "ods": ("ods", f"{OPEN_DOCUMENT}spreadsheet"),
    "ots": ("ods", f"{OPEN_DOCUMENT}spreadsheet-template"),
    "fods": ("ods", f"{OPEN_DOCUMENT}spreadsheet-flat-xml"),
    "odp": ("odp", f"{OPEN_DOCUMENT}presentation"),
    "otp": ("odp", f"{OPEN_DOCUMENT}presentation-template"),
    "fodp": ("odp", f"{OPEN_DOCUMENT}presentation-flat-xml"),
    "odg": ("odp", f"{OPEN_DOCUMENT}graphics"),
}
#: the name space of OpenDocument files, which a flat one declares at its beginning
FLAT_OFFICE: Final = b"urn:oasis:names:tc:opendocument:xmlns:office"
#: mail and pages saved as mail: extension -> (mime, ladder)
MAIL: Final = {
    **dict.fromkeys(("eml", "emlx"), ("message/rfc822", ("email", "mail_source"))),
    "mbox": ("application/mbox", ("mbox", "mail_source")),
}
#: pages with their pictures in one file, which are mails by form: extension -> mime
WEB_ARCHIVES: Final = dict.fromkeys(("mht", "mhtml"), "multipart/related")
EPUB: Final = "epub"

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
    extension = extension_of(path)
    language = code_language_of(path)
    if language is not None:
        return code_type(path, language)
    if extension in XML:
        return xml_type(path)
    if extension in MARKDOWN:
        mime = "text/mdx" if extension == "mdx" else "text/markdown"
        return FileType(path=path, mime=mime, media="text", parsers=("markdown", "text"))
    if extension in HTML:
        return html_type(path)
    if extension in STRUCTURED:
        return data_type(path, extension)
    if extension in MARKUP:
        return markup_type(path, extension)
    if extension in TEXT:
        return text_type(path, TEXT[extension])
    if extension in OFFICE:
        return office_type(path, OFFICE[extension][0])
    if extension == EPUB:
        return epub_type(path)
    if extension in MAIL:
        return mail_type(path, extension)
    if extension in WEB_ARCHIVES:
        return web_archive_type(path)
    if extension in TRANSCRIPTS:
        mime, parsers = TRANSCRIPTS[extension], ("transcript", "text")
        return FileType(path=path, mime=mime, media="transcript", parsers=parsers)
    if extension in BINARY_EXTENSIONS:
        return binary_type(path, BINARY_EXTENSIONS[extension])
    return None


def code_type(path: str, language: str) -> FileType:
    """Return the type of a source file in `language`."""
    mime = f"text/x-{language}"
    return FileType(path=path, mime=mime, media="code", parsers=("code", "text"), language=language)


def xml_type(path: str) -> FileType:
    """Return the type of a text in XML."""
    return FileType(path=path, mime=XML_MIME, media="text", parsers=("xml", "code", "text"))


def binary_type(path: str, mime: str) -> FileType | None:
    """Return the type of a binary format, None when no parser reads it."""
    if mime not in BINARY:
        return None
    media, parsers = BINARY[mime]
    return FileType(path=path, mime=mime, media=media, parsers=parsers)


def office_type(path: str, kind: OfficeKind) -> FileType:
    """Return the type of an office file that holds `kind`, whatever its name."""
    named, mime = OFFICE.get(extension_of(path), ("", ""))
    mime = mime if named == kind else OFFICE[kind][1]
    parsers = ("odf",) if mime.startswith(OPEN_DOCUMENT) else (kind, "office_text")
    return FileType(path=path, mime=mime, media="office", parsers=parsers)


def epub_type(path: str) -> FileType:
    """Return the type of a book in EPUB."""
    return FileType(path=path, mime="application/epub+zip", media="office", parsers=("epub",))


def data_type(path: str, extension: str) -> FileType:
    """Return the type of data files with `extension`, one of STRUCTURED."""
    mime, language = STRUCTURED[extension]
    by_language = STRUCTURED_PARSERS.get(language, ("structured", "text"))
    parsers = STRUCTURED_PARSERS.get(extension, by_language)
    return FileType(path=path, mime=mime, media="text", parsers=parsers, language=language)


def markup_type(path: str, extension: str) -> FileType:
    """Return the type of files with `extension`, one of MARKUP."""
    mime, parsers = MARKUP[extension]
    return FileType(path=path, mime=mime, media="text", parsers=parsers)


def mail_type(path: str, extension: str = "eml") -> FileType:
    """Return the type of an e-mail, or of a mailbox (`mbox`)."""
    mime, parsers = MAIL[extension]
    return FileType(path=path, mime=mime, media="email", parsers=parsers)


def web_archive_type(path: str) -> FileType:
    """Return the type of a page with its pictures in one file."""
    parsers = ("web_archive", "mail_source")
    return FileType(path=path, mime="multipart/related", media="text", parsers=parsers)


def html_type(path: str) -> FileType:
    """Return the type of an HTML page."""
    return FileType(path=path, mime="text/html", media="text", parsers=("html", "text"))


def text_type(path: str, mime: str = "text/plain") -> FileType:
    """Return the type of plain text."""
    return FileType(path=path, mime=mime, media="text", parsers=("text",))
