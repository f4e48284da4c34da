"""Names of functions, options, errors and the like from documentation and code, chosen by their digest."""

import ast
import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from tests.drills.evaluation.names import Name, Rule

#: A name with more documents is no test of finding one.
_MOST_DOCUMENTS = 4

_HEADING = re.compile(r"^(#{1,6}) +(.+?) *#*$", re.MULTILINE)
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_ANCHOR = re.compile(r"<a [^>]*></a> *")
_CODE = re.compile(r"`([^`\s]+)`")
_ASTRO_ERROR = re.compile(r"^> \*\*(\w+)\*\*:", re.MULTILINE)

#: Yields each name that a text documents, as it is searched for.
Finder = Callable[[str], Iterator[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of names: their files, how they are recognised, and how many are chosen."""

    name: str
    corpus: str
    #: Files below the corpus' folder.
    glob: str
    finder: Finder
    limit: int
    rule: Rule = "heading"


def _headings(text: str, level: int | None = None) -> Iterator[str]:
    for marks, heading in _HEADING.findall(_FENCE.sub("", text)):
        if level is None or len(marks) == level:
            yield _ANCHOR.sub("", heading)


def _code_headings(level: int | None = None) -> Finder:
    def find(text: str) -> Iterator[str]:
        for heading in _headings(text, level):
            yield from _CODE.findall(heading)

    return find


def _in_title(pattern: str) -> Finder:
    compiled = re.compile(pattern)

    def find(text: str) -> Iterator[str]:
        for heading in _headings(text, 1):
            yield from compiled.findall(heading.replace("`", ""))

    return find


def _non_word_names(text: str) -> Iterator[str]:
    """Yield names that differ from plain words: `level` and `args` are properties of many things."""
    yield from (name for name in _code_headings()(text) if re.search("[^a-z]", name))


def _one_word_headings(text: str) -> Iterator[str]:
    yield from (heading for heading in _headings(text) if re.fullmatch(r"[a-z][\w.]+", heading))


def _astro_errors(text: str) -> Iterator[str]:
    yield from _ASTRO_ERROR.findall(text)


def _definitions(text: str, type_: type[ast.FunctionDef] | type[ast.ClassDef]) -> Iterator[str]:
    for node in ast.parse(text).body:
        if isinstance(node, type_) and not node.name.startswith("_"):
            yield node.name


def _methods(text: str) -> Iterator[str]:
    for above in ast.parse(text).body:
        if isinstance(above, ast.ClassDef) and not above.name.startswith("_"):
            functions = (node for node in above.body if isinstance(node, ast.FunctionDef))
            yield from (f"{above.name}.{node.name}" for node in functions if not node.name.startswith("_"))


def _constants(text: str) -> Iterator[str]:
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield from re.findall(r"^[A-Z]+_[A-Z_]+$", node.targets[0].id)


_CPP, _ASTRO, _PYTHON = "cpp-docs", "astro-docs", "python"
_ASTRO_REFERENCE = "src/content/docs/en/reference"

KINDS = (
    Kind(
        name="function",
        corpus=_CPP,
        glob="docs/c-runtime-library/reference/*.md",
        finder=_code_headings(1),
        limit=40,
    ),
    Kind(name="member", corpus=_CPP, glob="docs/standard-library/*.md", finder=_code_headings(2), limit=15),
    Kind(
        name="error",
        corpus=_CPP,
        glob="docs/error-messages/**/*.md",
        finder=_in_title(r"\b[A-Z]{1,4}\d{4}$"),
        limit=25,
    ),
    Kind(
        name="option",
        corpus=_CPP,
        glob="docs/build/reference/*.md",
        finder=_in_title(r"^(/[\w:-]+)"),
        limit=25,
    ),
    Kind(name="directive", corpus=_CPP, glob="docs/preprocessor/*.md", finder=_code_headings(1), limit=10),
    Kind(
        name="function", corpus=_ASTRO, glob=f"{_ASTRO_REFERENCE}/**/*.mdx", finder=_non_word_names, limit=30
    ),
    Kind(
        name="option",
        corpus=_ASTRO,
        glob=f"{_ASTRO_REFERENCE}/configuration-reference.mdx",
        finder=_one_word_headings,
        limit=10,
    ),
    Kind(
        name="error",
        corpus=_ASTRO,
        glob=f"{_ASTRO_REFERENCE}/errors/*.mdx",
        finder=_astro_errors,
        limit=10,
        rule="definition",
    ),
    Kind(
        name="function",
        corpus=_PYTHON,
        glob="*.py",
        finder=partial(_definitions, type_=ast.FunctionDef),
        limit=10,
        rule="definition",
    ),
    Kind(
        name="class",
        corpus=_PYTHON,
        glob="*.py",
        finder=partial(_definitions, type_=ast.ClassDef),
        limit=10,
        rule="definition",
    ),
    Kind(name="method", corpus=_PYTHON, glob="*.py", finder=_methods, limit=10, rule="definition"),
    Kind(name="constant", corpus=_PYTHON, glob="*.py", finder=_constants, limit=5, rule="definition"),
)

# Other headings with names, which document them as well.
_EVERYWHERE = (
    Kind(name="heading", corpus=_CPP, glob="docs/**/*.md", finder=_code_headings(), limit=0),
    Kind(
        name="heading", corpus=_ASTRO, glob="src/content/docs/en/**/*.mdx", finder=_code_headings(), limit=0
    ),
)


def collect(corpora: Mapping[str, Path]) -> list[Name]:
    """Return the names of all kinds, each once; `corpora` has the folder of each corpus."""
    found = {kind: _documents(kind, corpora[kind.corpus]) for kind in (*KINDS, *_EVERYWHERE)}
    names: dict[str, Name] = {}
    for kind in KINDS:
        alike = [documents for other, documents in found.items() if other.corpus == kind.corpus]
        elsewhere = {query for other in found if other.corpus != kind.corpus for query in found[other]}
        queries = sorted(found[kind].keys() - elsewhere, key=_digest)
        of_kind = (_name(query, kind, alike) for query in queries)
        few = (name for name in of_kind if len(name.paths) <= _MOST_DOCUMENTS and name.query not in names)
        names |= {name.query: name for name in islice(few, kind.limit)}
    return list(names.values())


def _documents(kind: Kind, folder: Path) -> dict[str, set[str]]:
    """Return the documents of each name of a kind."""
    paths: defaultdict[str, set[str]] = defaultdict(set)
    for file in folder.glob(kind.glob):
        for query in kind.finder(file.read_text(encoding="utf-8")):
            if not query.rpartition(".")[2].startswith("__"):
                paths[query].add(file.relative_to(folder).as_posix())
    return paths


def _name(query: str, kind: Kind, alike: Iterable[Mapping[str, set[str]]]) -> Name:
    """Return the name with all documents of its corpus that document it, as any kind."""
    paths = {path for documents in alike for path in documents.get(query, ())}
    return Name(query=query, kind=kind.name, corpus=kind.corpus, rule=kind.rule, paths=tuple(sorted(paths)))


def _digest(query: str) -> bytes:
    return hashlib.sha256(query.encode()).digest()
