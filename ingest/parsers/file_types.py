"""Which extension means what. Content overrules it where the two disagree (see content_type)."""

from typing import Final

from ingest.parsers.types import FileType

MARKDOWN: Final = frozenset({"md", "markdown", "mdx", "mdown", "mkd", "mdc"})
HTML: Final = frozenset({"html", "htm", "xhtml"})
#: text formats without a parser of their own: extension -> mime
TEXT: Final = {
    "txt": "text/plain",
    "text": "text/plain",
    "log": "text/plain",
    "rst": "text/x-rst",
    "adoc": "text/asciidoc",
    "org": "text/org",
    "tex": "application/x-tex",
    "srt": "application/x-subrip",
    "vtt": "text/vtt",
}
#: data formats: extension -> (mime, language)
STRUCTURED: Final = {
    "csv": ("text/csv", "csv"),
    "tsv": ("text/tab-separated-values", "csv"),
    "json": ("application/json", "json"),
    "jsonl": ("application/jsonl", "json"),
    "json5": ("application/json5", "json"),
    "yaml": ("application/yaml", "yaml"),
    "yml": ("application/yaml", "yaml"),
    "toml": ("application/toml", "toml"),
    "ini": ("text/plain", "ini"),
    "cfg": ("text/plain", "ini"),
    "conf": ("text/plain", "ini"),
    "properties": ("text/plain", "ini"),
}
#: text that only a later parser can read well, so that it is refused rather than indexed as noise
UNREAD: Final = {"ipynb": "application/x-ipynb+json", "svg": "image/svg+xml"}

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
    "xml": "xml xsd xsl xslt",
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
    """Last extension of the file's name, lower case, without the dot; empty when it has none."""
    stem, _, extension = path.rpartition("/")[2].rpartition(".")
    return extension.lower() if stem else ""


def code_language_of(path: str) -> str | None:
    """Programming language that the name says, or None when the name is not one of code."""
    name = path.rpartition("/")[2].lower()
    return NAMED_CODE.get(name) or CODE.get(extension_of(path))


def type_by_name(path: str) -> FileType | None:
    """The type that the name claims, or None when it says nothing."""
    extension = extension_of(path)
    language = code_language_of(path)
    if language is not None:
        return code_type(path, language)
    if extension in MARKDOWN:
        mime = "text/mdx" if extension == "mdx" else "text/markdown"
        return FileType(path=path, mime=mime, media="text", parsers=("markdown", "text"))
    if extension in HTML:
        return html_type(path)
    if extension in STRUCTURED:
        mime, language = STRUCTURED[extension]
        parsers = ("structured", "text")
        return FileType(path=path, mime=mime, media="text", parsers=parsers, language=language)
    if extension in TEXT:
        return text_type(path, TEXT[extension])
    return None


def code_type(path: str, language: str) -> FileType:
    """Type of a source file in `language`."""
    mime = f"text/x-{language}"
    return FileType(path=path, mime=mime, media="code", parsers=("code", "text"), language=language)


def html_type(path: str) -> FileType:
    """Type of an HTML page."""
    return FileType(path=path, mime="text/html", media="text", parsers=("html", "text"))


def text_type(path: str, mime: str = "text/plain") -> FileType:
    """Type of plain text."""
    return FileType(path=path, mime=mime, media="text", parsers=("text",))
