"""Source code as lines, with its definitions where its language has a grammar.

Syntax is read in a separate process, which may crash or be killed without harm: tree-sitter may need
gigabytes for a single step (ten kilobytes of `a=>` in Java: 3 GB at the file's end), reports no progress
meanwhile, and crashes where it gets no more memory.
"""

import atexit
import logging
import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from math import inf
from pathlib import Path
from pkgutil import resolve_name
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from ingest.parsers.data.escapes import decode_escapes
from ingest.parsers.decode import decode, split_lines
from ingest.parsers.errors import ParseRefused
from ingest.parsers.file_types import extension_of
from ingest.parsers.syntax.units import leading_lines, line_range, read_units
from ingest.parsers.types import Block, CodeUnit, FileType, LineSpan, Outline, Syntax
from kebab.sandbox.child import serve
from kebab.sandbox.process import Deadline, Request
from kebab.sandbox.program import ChildDied, Header, Limits, Program
from kebab.sandbox.worker import SandboxWorker

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Query, Tree


_QUERIES: Final = Path(__file__).parent / "queries"


@dataclass(frozen=True, slots=True)
class Grammar:
    """A tree-sitter grammar and the nodes that chunks are made of.

    The query captures definitions under the language's term for them (`@class`, `@method`), and
    `@wrapper`   a node around one definition that belongs to it: decorators, template parameters
    `@leading`   a node that belongs to the definition or statement below it: comments, attributes
    `@statement` a statement at which a definition that is too long may be cut, inner ones too
    """

    #: `module:function` of the grammar's wheel that returns its language
    language: str
    #: names of the files in `queries` that make up the query
    queries: tuple[str, ...]


_TYPESCRIPT: Final = ("ecmascript", "typescript")
_TSX: Final = Grammar("tree_sitter_typescript:language_tsx", (*_TYPESCRIPT, "jsx"))
_CPP: Final = Grammar("tree_sitter_cpp:language", ("c", "cpp"))
#: by language, the likeliest first; the next is tried where the one before finds errors
GRAMMARS: Final = MappingProxyType(
    {
        "python": (Grammar("tree_sitter_python:language", ("python",)),),
        "javascript": (Grammar("tree_sitter_javascript:language", ("ecmascript", "javascript", "jsx")),),
        "typescript": (Grammar("tree_sitter_typescript:language_typescript", _TYPESCRIPT),),
        "go": (Grammar("tree_sitter_go:language", ("go",)),),
        "java": (Grammar("tree_sitter_java:language", ("java",)),),
        "rust": (Grammar("tree_sitter_rust:language", ("rust",)),),
        "c": (Grammar("tree_sitter_c:language", ("c",)), _CPP),
        "cpp": (_CPP,),
        "csharp": (Grammar("tree_sitter_c_sharp:language", ("csharp",)),),
        "ruby": (Grammar("tree_sitter_ruby:language", ("ruby",)),),
        "php": (Grammar("tree_sitter_php:language_php", ("php",)),),
        "bash": (Grammar("tree_sitter_bash:language", ("bash",)),),
    }
)


def grammars_for(language: str | None, path: str) -> tuple[Grammar, ...]:
    """Return the grammars for a file, the likeliest first; empty for a language without one."""
    if extension_of(path) == "tsx":
        return (_TSX,)
    return GRAMMARS.get(language or "", ())


@cache
def load_grammar(grammar: Grammar) -> "tuple[Parser, Query]":
    """Return the parser and the compiled query of a grammar, built once per process."""
    from tree_sitter import Language, Parser, Query

    language = Language(resolve_name(grammar.language)())
    query = "\n".join((_QUERIES / f"{name}.scm").read_text(encoding="utf-8") for name in grammar.queries)
    return Parser(language), Query(language, query)


#: UTF-8 bytes of the longest file that is parsed
MAX_BYTES: Final = 600_000
#: share of a file's non-blank lines that errors of the tree may cover
MAX_ERROR_SHARE: Final = 0.1
#: children of one error above which the tree is useless: a query's time is quadratic in them
MAX_ERROR_CHILDREN: Final = 5_000

#: depth of nodes that the query visits: it keeps a state for each of a node's ancestors
MAX_NODE_DEPTH: Final = 400

Captures = Mapping[str, Sequence["Node"]]


def read_syntax(lines: Sequence[str], file: FileType) -> Syntax | None:
    """Return the definitions and statements of a source file, None where every grammar finds many errors.

    Hostile text may take any amount of time and memory, and may crash the process.
    """
    grammars = grammars_for(file.language, file.path)
    content = "\n".join(lines).encode() if grammars else b""
    if not content or len(content) > MAX_BYTES:
        return None
    filled = sum(1 for line in lines if line.strip())
    for grammar in grammars:
        tree = load_grammar(grammar)[0].parse(content)
        if count_error_lines(tree.root_node) <= MAX_ERROR_SHARE * filled:
            captures = _run_query(tree, grammar)
            leading = leading_lines(lines, captures.get("leading", ()))
            return Syntax(
                units=read_units(captures, content, leading),
                statements=_statement_depths(captures.get("statement", ()), leading),
            )
    return None


def _run_query(tree: "Tree", grammar: Grammar) -> Captures:
    from tree_sitter import QueryCursor

    cursor = QueryCursor(load_grammar(grammar)[1])
    cursor.set_max_start_depth(MAX_NODE_DEPTH)
    return cursor.captures(tree.root_node)


def _statement_depths(nodes: Sequence["Node"], leading: frozenset[int]) -> dict[int, int]:
    """Return the depth of each statement by the line on which it, or the comments above it, begin."""
    depths: dict[int, int] = {}
    open_ends: list[int] = []
    last_line = 0
    for start, end, line in sorted(
        (node.start_byte, -node.end_byte, node.start_point.row + 1) for node in nodes
    ):
        while open_ends and open_ends[-1] <= start:
            open_ends.pop()
        if line != last_line and line not in leading:
            last_line = line
            while line - 1 in leading:
                line -= 1
            depths.setdefault(line, len(open_ends))
        open_ends.append(-end)
    return depths


def count_error_lines(root: "Node") -> float:
    """Return the number of lines that the errors of a tree cover, one for a missing token.

    Infinite where an error has more than MAX_ERROR_CHILDREN children.
    """
    count = last = 0
    for node in _errors(root):
        if node.child_count > MAX_ERROR_CHILDREN:
            return inf
        start, end = line_range(node)
        count += max(0, end - max(start - 1, last))
        last = max(last, end)
    return count


def _errors(root: "Node") -> Iterator["Node"]:
    """Yield the outermost errors and the missing tokens, in order."""
    pending = [root] if root.has_error else []
    while pending:
        node = pending.pop()
        if node.is_error or node.is_missing:
            yield node
        else:
            pending.extend(child for child in reversed(node.children) if child.has_error)


logger = logging.getLogger(__name__)

#: half a megabyte of code takes up to 2 CPU seconds and 150 MB
PROGRAM: Final = Program(
    module="ingest.parsers.syntax.code",
    limits=Limits(extra_address_space_bytes=400_000_000, request_cpu_seconds=3),
)
#: wall-clock limit, for a process that hangs without using the CPU
MAX_SECONDS: Final = 1_800.0


def read_syntax_in_subprocess(lines: Sequence[str], file: FileType) -> Syntax | None:
    """Return the result of `read_syntax`, None also where it dies or reaches a limit of this module.

    Any thread may call it.

    Raises:
        SandboxUnavailable: the separate process can't be started.
    """
    if not grammars_for(file.language, file.path):
        return None
    request = Request(
        header={"lines": lines, "path": file.path, "language": file.language},
        start_deadline=partial(Deadline, MAX_SECONDS),
        log_stderr=partial(logger.warning, "the process that reads syntax: %s"),
    )
    lock, worker = _worker_of(os.getpid())
    try:
        with lock:
            return worker.ask(request, _read_reply)
    except ChildDied as death:
        logger.warning("the process that reads syntax died: %s", death.reason)
        return None


@cache
def _worker_of(pid: int) -> tuple[threading.Lock, SandboxWorker]:
    """Return the worker of process `pid` with its lock; each fork has its own."""
    worker = SandboxWorker(PROGRAM)
    atexit.register(worker.close)
    return threading.Lock(), worker


def _read_reply(replies: Iterator[Header]) -> Syntax | None:
    syntax = next(replies)["syntax"]
    if syntax is None:
        return None
    statements = {int(line): depth for line, depth in syntax["statements"].items()}
    return Syntax(units=_read_units(syntax["units"]), statements=statements)


def _read_units(units: Sequence[Mapping[str, Any]]) -> tuple[CodeUnit, ...]:
    return tuple(
        CodeUnit(**{**unit, "span": LineSpan(**unit["span"]), "members": _read_units(unit["members"])})
        for unit in units
    )


def _handle(header: Header, _: bytes) -> Iterator[Header]:
    file = FileType(path=header["path"], mime="", media="code", parsers=(), language=header["language"])
    syntax = read_syntax(header["lines"], file)
    yield {"syntax": None if syntax is None else asdict(syntax)}


if __name__ == "__main__":
    serve(_handle)


GENERATED = re.compile(r"@generated\b|\bcode generated\b.*\bdo not edit\b|<auto-?generated", re.IGNORECASE)
GENERATED_LINES = 5
#: mean length of non-blank lines above which a file counts as minified
MINIFIED_LINE_CHARS = 400
MINIFIED_MIN_CHARS = 2_000


def parse_code(content: bytes, file: FileType) -> Outline:
    """Return the lines of a source file as one block of code.

    Raises:
        ParseRefused: a tool wrote the file (`generated`, `minified`).
    """
    lines = split_lines(decode(content))
    if file.language == "xml" and (decoded := decode_escapes(lines, "xml")) is not None:
        lines = [line for (line,) in decoded]  # references are no line ends
    _refuse_machine_output(lines)
    if not any(line.strip() for line in lines):
        return Outline(lines=lines, blocks=())
    block = Block(
        kind="code",
        span=LineSpan(1, len(lines)),
        language=file.language,
        syntax=read_syntax_in_subprocess(lines, file),
    )
    return Outline(lines=lines, blocks=(block,))


def _refuse_machine_output(lines: list[str]) -> None:
    if any(GENERATED.search(line[:400]) for line in lines[:GENERATED_LINES]):
        raise ParseRefused("generated", "the file says that a tool generated it")
    filled = [len(line) for line in lines if line.strip()]
    size = sum(filled)
    if size > MINIFIED_MIN_CHARS and size / len(filled) > MINIFIED_LINE_CHARS:
        raise ParseRefused("minified", f"its lines have {size // len(filled)} characters on average")
