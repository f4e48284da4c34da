"""LaTeX: title, headings, text, lists and tables by their lines; formulas as they are typed.

A reader of our own: pylatexenc gives no lines, and version 2.11 failed on `\\href`.
"""

import re
import unicodedata
from collections.abc import Mapping
from typing import Final

from ingest.parsers.decode import decode, split_lines
from ingest.parsers.markup.inline_html import EndFinder
from ingest.parsers.markup.line_outline import LineOutline, PlacedLine
from ingest.parsers.stated_metadata import stated_metadata
from ingest.parsers.types import FileType, Outline

LEVELS: Final = {
    "part": 1,
    "chapter": 1,
    "section": 2,
    "subsection": 3,
    "subsubsection": 4,
    "paragraph": 5,
    "subparagraph": 6,
}
CODE = re.compile(
    r"\\begin\{(verbatim\*?|Verbatim|lstlisting|minted|alltt|comment)\}((?:\[[^\]\n]*\])?)((?:\{[^}\n]*\})?)"
    r"((?:.|\n)*?)(?:\\end\{\1\}|\Z)"
)
AUTHOR_BORDER = re.compile(r"(?:(?<!\s)\s+)?(?:\\and\b|\\\\)\s*")
LANGUAGE = re.compile(r"language=\{?([\w+#.-]+)")
COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%.*")
TOKEN = re.compile(
    r"\$\$[^$]+\$\$|\$[^$]+\$"
    r"|\\verb\*?(?P<bar>[^\w\s*])(?P<verbatim>.{0,500}?)(?P=bar)"
    r"|\\(?:begin|end)\s*\{(?P<environment>[\w*-]+)\}"
    r"|\\(?P<accent>[\"'`^~=.]|[uvHckrbd](?![a-zA-Z]))\s*(?:\{\s*(?P<letter>\\?[a-zA-Z])\s*\}|(?P<bare>\\?[a-zA-Z]))"
    r"|\\(?P<name>[a-zA-Z@]+)\*?|\\(?P<sign>(?:.|\n))|[{}~&]|``|''|---?"
)
#: commands whose arguments are for the program, with the number of braces that are left out; -1 all
LEFT_OUT_NAMES: Final = """
label ref eqref pageref autoref cref Cref vref nameref cite citep citet parencite textcite autocite footcite
nocite vspace hspace input include includegraphics bibliography bibliographystyle addbibresource index
pagestyle thispagestyle setlength setcounter addtocounter newcommand cline renewcommand providecommand
newenvironment hypersetup usepackage cmidrule documentclass graphicspath pagenumbering linespread fontsize
definecolor title author date thanks phantomsection addcontentsline enlargethispage
"""
LEFT_OUT: Final = {
    **dict.fromkeys(LEFT_OUT_NAMES.split(), -1),
    **dict.fromkeys(("href", "textcolor", "colorbox", "hyperref", "raisebox", "parbox", "scalebox"), 1),
    **dict.fromkeys(("multicolumn", "multirow", "resizebox"), 2),
}
FORMULAS: Final = frozenset(
    {"equation", "align", "gather", "multline", "displaymath", "math", "eqnarray", "alignat", "flalign"}
)
TABLES: Final = frozenset({"tabular", "tabular*", "tabularx", "tabulary", "longtable", "supertabular"})
#: environments whose first arguments describe columns and widths
WITH_ARGUMENTS: Final = TABLES | {
    *("array", "minipage", "multicols", "thebibliography", "adjustbox", "wrapfigure", "list")
}
NAMED: Final = frozenset(
    ["abstract", "theorem", "lemma", "corollary", "proposition", "definition", "remark", "example", "proof"]
)
SYMBOL_NAMES: Final = """
ss ae AE oe OE o O aa AA l L i j dots ldots textellipsis S P copyright pounds euro texteuro textdegree
textendash textemdash
"""
SYMBOLS: Final[Mapping[str, str]] = {
    **dict(zip(SYMBOL_NAMES.split(), "ßæÆœŒøØåÅłŁıȷ………§¶©£€€°–—", strict=True)),
    **dict.fromkeys(("quad", "qquad", "newline"), " "),
    "LaTeX": "LaTeX",
    "TeX": "TeX",
    "textbackslash": "\\",
    "textbar": "|",
    "bibitem": "- ",
    "tabularnewline": "\\\\",
}
ACCENTS: Final = dict(
    zip(
        "\"'`^~=.uvHckrbd",
        "\u0308\u0301\u0300\u0302\u0303\u0304\u0307\u0306\u030c\u030b\u0327\u0328\u030a\u0331\u0323",
        strict=True,
    )
)
SIGNS: Final = {"~": " ", "``": "“", "''": "”", "---": "—", "--": "–", "{": "", "}": ""}
OPTION = re.compile(r"[ \t]*+(?:\n[ \t]*+)?\[((?:[^\[\]{}]|\{[^{}]*\})*+)\]")
GROUP = re.compile(r"[ \t]*+(?:\n[ \t]*+)?(?=\{)")
#: headings in headings, which have none
NESTED = re.compile(rf"\\(?:{'|'.join(LEVELS)})\b")
FORMULA_ENDS: Final = {"(": "\\)", "[": "\\]"}
#: marks of a heading with its level, of code at its line, and of a row of a table
HEADING_MARK, CODE_MARK, ROW_MARK = "\x01", "\x02", "\x03"
MARKS = re.compile("[\x01-\x03]")


def parse_tex(content: bytes, file: FileType) -> Outline:
    """Return a LaTeX file, or a part of one, with the title, author and date that it states."""
    text = MARKS.sub(" ", "\n".join(split_lines(decode(content))))
    reader = _TexReader(text)
    reader.read()
    stated = {
        "author": [name for name in AUTHOR_BORDER.split(reader.stated("author")) if name],
        "date": reader.plain("date"),
    }
    stated["author"] = [plain for name in stated["author"] if (plain := _Converter(name).plain())]
    return reader.written.finish(title=reader.plain("title") or None, metadata=stated_metadata(stated))


def _brace_pairs(text: str) -> dict[int, int]:
    """Return the end of each group by its start."""
    pairs: dict[int, int] = {}
    opened: list[int] = []
    for found in re.finditer(r"\\.|[{}]", text):
        if found[0] == "{":
            opened.append(found.start())
        elif found[0] == "}" and opened:
            pairs[opened.pop()] = found.end()
    return pairs


class _TexReader:
    """Reader of the lines into an outline."""

    def __init__(self, text: str) -> None:
        self.written = LineOutline()
        #: lines of code by the number of their first one, with their language
        self._code: dict[int, tuple[list[PlacedLine], str | None]] = {}
        self._text = "\n".join(COMMENT.sub(r"\1", line) for line in self._set_apart(text).split("\n"))
        self._pairs = _brace_pairs(self._text)

    def _set_apart(self, text: str) -> str:
        """Return the text without code, which is kept for its line."""
        pieces: list[str] = []
        number, done = 1, 0
        for found in CODE.finditer(text):
            pieces.append(text[done : found.start()])
            number += pieces[-1].count("\n")
            if found[1] != "comment":
                language = LANGUAGE.search(found[2])
                named = language[1] if language else found[3].strip("{}") if found[1] == "minted" else ""
                lines = [(line, number + index) for index, line in enumerate(found[4].split("\n"))]
                self._code[number] = lines, named.lower() or None
                pieces.append(CODE_MARK)
            pieces.append("\n" * found[0].count("\n"))
            number += found[0].count("\n")
            done = found.end()
        return "".join([*pieces, text[done:]])

    def stated(self, name: str) -> str:
        """Return the argument of the first command of this name, such as `\\title`, '' without one."""
        found = re.search(rf"\\{name}\s*+(?:\[[^\]]{{0,500}}\]\s*+)?(?=\{{)", self._text)
        end = self._pairs.get(found.end()) if found else None
        return self._text[found.end() + 1 : end - 1] if found and end else ""

    def plain(self, name: str) -> str:
        """Return the argument of a command as plain text."""
        return _Converter(self.stated(name)).plain()

    def read(self) -> None:
        """Read the lines between the preamble and the end of the document."""
        begin = re.search(r"\\begin\s*\{document\}", self._text)
        end = self._text.find("\\end{document}")
        body = self._text[: end if end >= 0 else None]
        if begin is not None:
            body = re.sub(r"[^\n]", "", body[: begin.start()]) + body[begin.end() :]
        for number, line in enumerate(_Converter(body).text().split("\n"), start=1):
            self._read_line(line, number)

    def _read_line(self, line: str, number: int) -> None:
        if HEADING_MARK not in line:
            self._read_text(line, number)
            return
        before, *parts = line.split(HEADING_MARK)  # level, text and what follows of each heading
        self._add(before, number)
        for level, text, after in zip(parts[::3], parts[1::3], parts[2::3], strict=False):
            self.written.add_heading(text, int(level or 1), number)
            if after.strip():
                self._read_text(after, number)

    def _read_text(self, line: str, number: int) -> None:
        if CODE_MARK in line and number in self._code:
            code, language = self._code.pop(number)
            self.written.add_block("code", code, language)
        else:
            self._add(line.replace(CODE_MARK, ""), number)

    def _add(self, line: str, number: int) -> None:
        text = " ".join(line.replace(ROW_MARK, "").split())
        if not text:
            if not line.strip(ROW_MARK) and ROW_MARK not in line:
                self.written.end_block()
        elif ROW_MARK in line:
            self.written.add(text.strip("| "), number, "table")
        elif text.startswith("- ") or (self.written.open_kind == "list" and line[0].isspace()):
            self.written.add(text, number, "list")
        else:
            self.written.add(text, number)


class _Converter:
    """Converter of LaTeX to text, with marks for headings and rows, and as many lines."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._pairs = _brace_pairs(text)
        self._pieces: list[str] = []
        self._tables = 0
        #: places of text to write behind the end of a group
        self._behind: dict[int, str] = {}
        #: finders of the ends of formulas, by how they end
        self._ends: dict[str, EndFinder] = {}

    def plain(self) -> str:
        """Return the text on one line."""
        return " ".join(MARKS.sub(" ", self.text()).split())

    def text(self) -> str:
        """Return the converted text."""
        at = 0
        while (found := TOKEN.search(self._text, at)) is not None:
            self._write_words(self._text[at : found.start()])
            at = self._read(found)
        self._write_words(self._text[at:])
        return unicodedata.normalize("NFC", "".join(self._pieces))

    def _write_words(self, words: str) -> None:
        if self._tables and words:
            words = re.sub(r"\n(?=.)", f"\n{ROW_MARK}", words)
        self._pieces.append(words)

    def _read(self, found: re.Match[str]) -> int:
        """Write what a token stands for; return the place at which the text goes on."""
        end = found.end()
        if found["verbatim"] is not None:
            self._pieces.append(found["verbatim"])
        elif found["environment"]:
            return self._read_environment(found["environment"], end, is_end=found[0].startswith("\\end"))
        elif found["accent"]:
            letter = (found["letter"] or found["bare"]).lstrip("\\")
            self._pieces.append(letter + ACCENTS[found["accent"]])
        elif found["name"]:
            return self._read_command(found["name"], end)
        elif found["sign"]:
            if found["sign"] in FORMULA_ENDS and (end := self._end_of(FORMULA_ENDS[found["sign"]], end)):
                self._pieces.append(self._text[found.start() : end])
                return end
            self._read_sign(found["sign"])
            end = found.end()
        elif found[0] == "&":
            self._pieces.append(" | " if self._tables else "&")
        else:
            self._pieces.append(SIGNS.get(found[0], found[0]) + self._behind.pop(end, ""))
        return end

    def _end_of(self, mark: str, at: int) -> int:
        """Return the end of the next mark from a place on, 0 without one."""
        finder = self._ends.get(mark) or self._ends.setdefault(mark, EndFinder(self._text, mark))
        return finder.after(at)

    def _read_sign(self, sign: str) -> None:
        if sign == "\\":
            self._pieces.append("" if self._tables else " ")
        elif sign == "\n":
            self._pieces.append(sign)
        else:
            self._pieces.append(sign if sign in "%$&#_{}" else " " if sign in ", ;:!" else "")

    def _read_environment(self, name: str, at: int, *, is_end: bool) -> int:
        if name in TABLES:
            self._tables = max(0, self._tables + (-1 if is_end else 1))
            self._pieces.append("" if is_end else ROW_MARK)
        if is_end:
            return at
        mark = f"\\end{{{name}}}"
        if name.rstrip("*") in FORMULAS and (end := self._end_of(mark, at)):
            self._pieces.append(self._text[at:end].removesuffix(mark))
            return end
        option, at = self._take_option(at)
        if name in NAMED:
            self._pieces.append(f"{name.capitalize()}{f' ({option})' if option else ''}. ")
        return self._skip_groups(at, 2) if name in WITH_ARGUMENTS else at

    def _read_command(self, name: str, at: int) -> int:
        option, after = self._take_option(at)
        if name in LEVELS:
            return self._read_heading(LEVELS[name], after)
        if name in LEFT_OUT:
            return self._skip_groups(after, LEFT_OUT[name])
        if name == "item":
            self._pieces.append(f"- {_Converter(option).plain()}: " if option else "- ")
            return after
        if name in ("footnote", "footnotetext", "endnote") and (group := GROUP.match(self._text, after)):
            end = self._pairs.get(group.end())
            if end is not None:
                self._pieces.append(" (")
                self._behind[end] = ")"
        if name in SYMBOLS:
            self._pieces.append(SYMBOLS[name])
            if self._text.startswith("{}", at):
                return at + 2
            return at + (self._text[at : at + 1] == " " and name not in ("LaTeX", "TeX", "quad", "bibitem"))
        return after

    def _read_heading(self, level: int, at: int) -> int:
        group = GROUP.match(self._text, at)
        end = self._pairs.get(group.end()) if group else None
        if group is None or end is None:
            return at
        text = _Converter(NESTED.sub("", self._text[group.end() + 1 : end - 1])).plain()
        self._pieces.append(f"{HEADING_MARK}{level}{HEADING_MARK}{text}{HEADING_MARK}")
        self._pieces.append("\n" * self._text.count("\n", at, end))
        return end

    def _take_option(self, at: int) -> tuple[str, int]:
        """Return the argument in brackets at a place and the place behind it."""
        option = OPTION.match(self._text, at)
        if option is None:
            return "", at
        self._pieces.append("\n" * option[0].count("\n"))
        return option[1], option.end()

    def _skip_groups(self, at: int, number: int) -> int:
        """Return the place behind up to `number` arguments, all for -1."""
        while number and (group := GROUP.match(self._text, at)) is not None and group.end() in self._pairs:
            end = self._pairs[group.end()]
            self._pieces.append("\n" * self._text.count("\n", at, end))
            at, number = end, number - 1
            _, at = self._take_option(at)
        return at
