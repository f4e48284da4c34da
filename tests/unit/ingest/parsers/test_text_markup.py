"""Org, AsciiDoc, MediaWiki and LaTeX: blocks by their lines, titles, authors and dates."""

import pytest

from ingest.parsers.registry import parse

ORG = """# -*- mode: org -*-
#+TITLE: Tides of
#+TITLE: the quay
#+AUTHOR: Ada Pike
#+DATE: <2024-05-31 Fri>
#+FILETAGS: :harbour:tides:
#+TODO: OPEN | SHUT

* Ebb :water:low:
  :PROPERTIES:
  :CUSTOM_ID: ebb
  :END:
Water falls, see [[https://x.example][the table]] or [[file:b.org]].[fn:1]
# a comment
** OPEN [#A] Gauges [1/2]
- [X] upper
  of the lock
- lower :: the old one
+ 3 m

#+CAPTION: Depths
| Gauge | Depth |
|-------+-------|
| upper | 5     |
#+begin_src Python :results none
* not a heading
#+end_src
#+BEGIN_QUOTE
Mind the step.
#+END_QUOTE
#+begin_comment
hidden
#+end_comment
: 12 m
"""
ASCIIDOC = """// a comment
= Tides of the quay
Ada Pike <ada@x.example>; Bo Carp
v1.2, 2024-05-31: first
:toc:
:quay: north quay
:keywords: harbour, tides

Water falls at the {quay}, see https://x.example[the table] or <<ebb,Ebb>>.

[[ebb]]
== Ebb
////
hidden
////
[NOTE]
====
Mind the step.
====
TIP: Ask first.

.Reading a gauge
[source,python]
----
== not a heading
----

* upper
** of the lock
+
next part
Draught:: depth of a ship
Slack::
  no tide

[cols="1,1"]
|===
|Gauge |Depth

|upper
|5 m
2+|closed
|===

image::curve.png[Curve of May,400]

Older gauges
~~~~~~~~~~~~
....
12 m
....
include::other.adoc[]
"""
MEDIAWIKI = """{{Infobox
| name = {{hidden}}
}}__NOTOC__
'''Ebb''' is ''falling'' water<ref name="a">hidden
note</ref>, see [[Tide table|the table]], [[Lock]] or [https://x.example a page].<!-- hidden -->
[[File:curve.png|thumb|200px|Curve of [[May]]]]
== Gauges ==
* upper
** of the lock
# 3 m &amp; more
; Draught : depth
; Slack
: no tide
{| class="wikitable"
|+ Depths
! Gauge !! Depth
|-
| upper || style="x" | 5 m
|-
| lower
| 3 m
|}
<syntaxhighlight lang="Python">
== not a heading ==
x = [[1]]
</syntaxhighlight>
<nowiki>'''kept'''</nowiki> and <br/>H<sub>2</sub>O
[[Category:Harbour]]
"""
TEX = r"""\documentclass[a4paper]{article}
\usepackage{babel} % hidden
\title{Tides of \emph{the} quay}
\author{Ada Pike\thanks{hidden} \and Bo Carp}
\date{31 May 2024}
\begin{document}
\maketitle
\section[Short]{Ebb and
  flood}\label{sec:ebb}
K\"onig \'Elan \ss{} \v{S}, 50\,\% of {\bf water}~\cite[p.~5]{pike} falls\footnote{Twice
a day.}: $h_{1} < 5$ % hidden
``Quoted'' --- see \href{https://x.example}{the table}.

\begin{itemize}
  \item upper
    of the lock
  \item[old] lower
\end{itemize}
\subsection*{Depths}
\begin{tabular}{l|r}
  \hline
  Gauge & Depth \\
  upper & \textbf{5 m} \\
\end{tabular}
\begin{equation}
  a_{1} = \frac{b}{2}
\end{equation}
\begin{lstlisting}[language=Python]
\section{no heading} % kept
\end{lstlisting}
\begin{theorem}[Pike] All falls. \end{theorem}
\end{document}
hidden
"""
EXPECTED = {
    "a.org": [
        ("heading", "Ebb", 9),
        ("paragraph", "Water falls, see the table or file:b.org.", 13),
        ("heading", "Gauges", 15),
        ("list", "- upper", 16),
        ("list", "of the lock", 17),
        ("list", "- lower: the old one", 18),
        ("list", "+ 3 m", 19),
        ("paragraph", "Depths", 21),
        ("table", "Gauge | Depth", 22),
        ("table", "upper | 5", 24),
        ("code", "* not a heading", 26),
        ("paragraph", "Mind the step.", 29),
        ("code", "12 m", 34),
    ],
    "a.adoc": [
        ("heading", "Tides of the quay", 2),
        ("paragraph", "Water falls at the north quay, see the table or Ebb.", 9),
        ("heading", "Ebb", 12),
        ("paragraph", "NOTE: Mind the step.", 18),
        ("paragraph", "TIP: Ask first.", 20),
        ("paragraph", "Reading a gauge", 22),
        ("code", "== not a heading", 25),
        ("list", "* upper", 28),
        ("list", "** of the lock", 29),
        ("list", "next part", 31),
        ("list", "Draught: depth of a ship", 32),
        ("list", "Slack: no tide", 33),
        ("table", "Gauge | Depth", 38),
        ("table", "upper | 5 m", 40),
        ("table", "closed", 42),
        ("paragraph", "Curve of May", 45),
        ("heading", "Older gauges", 47),
        ("code", "12 m", 50),
    ],
    "a.wiki": [
        ("paragraph", "Ebb is falling water", 4),
        ("paragraph", ", see the table, Lock or a page.", 5),
        ("paragraph", "Curve of May", 6),
        ("heading", "Gauges", 7),
        ("list", "- upper", 8),
        ("list", "- of the lock", 9),
        ("list", "- 3 m & more", 10),
        ("list", "Draught: depth", 11),
        ("list", "Slack: no tide", 12),
        ("table", "Depths", 15),
        ("table", "Gauge | Depth", 16),
        ("table", "upper | 5 m", 18),
        ("table", "lower | 3 m", 20),
        ("code", "== not a heading ==", 24),
        ("code", "x = [[1]]", 25),
        ("paragraph", "'''kept''' and H2O", 27),
    ],
    "a.tex": [
        ("heading", "Ebb and flood", 8),
        ("paragraph", "König Élan ß Š, 50 % of water falls (Twice", 10),
        ("paragraph", "a day.): $h_{1} < 5$", 11),
        ("paragraph", "“Quoted” — see the table.", 12),
        ("list", "- upper", 15),
        ("list", "of the lock", 16),
        ("list", "- old: lower", 17),
        ("heading", "Depths", 19),
        ("table", "Gauge | Depth", 22),
        ("table", "upper | 5 m", 23),
        ("paragraph", r"a_{1} = \frac{b}{2}", 26),
        ("code", r"\section{no heading} % kept", 29),
        ("paragraph", "Theorem (Pike). All falls.", 31),
    ],
}
CONTENT = {"a.org": ORG, "a.adoc": ASCIIDOC, "a.wiki": MEDIAWIKI, "a.tex": TEX}
STATED = {"author": "Ada Pike", "created": "2024-05-31"}
BOTH = {**STATED, "author": "Ada Pike, Bo Carp"}


@pytest.mark.parametrize("path", CONTENT)
def test_lines_are_read_by_their_kind_and_place(path):
    parsed = parse(CONTENT[path].encode(), path)
    assert parsed.warnings == ()
    lines = parsed.outline.lines
    read = [
        (block.kind, " ".join(lines[number - 1].split()), parsed.source_span(number, number).start)
        for block in parsed.outline.blocks
        for number in range(block.span.start, block.span.end + 1)
        if lines[number - 1].strip()
    ]
    assert read == EXPECTED[path]
    assert "hidden" not in "\n".join(lines)


@pytest.mark.parametrize(
    ("path", "title", "metadata", "tags"),
    [
        ("a.org", "Tides of the quay", STATED, ("harbour", "tides")),
        ("a.adoc", "Tides of the quay", BOTH, ("harbour", "tides")),
        ("a.wiki", "Ebb", {}, ("Harbour",)),
        ("a.tex", "Tides of the quay", BOTH, ()),
    ],
)
def test_stated_title_author_and_date_are_read(path, title, metadata, tags):
    parsed = parse(CONTENT[path].encode(), path)
    assert (parsed.title, dict(parsed.metadata), parsed.tags) == (title, metadata, tags)
    assert parsed.lang == "en"


def test_code_knows_its_language():
    for path, content in CONTENT.items():
        blocks = parse(content.encode(), path).outline.blocks
        assert "python" in {block.language for block in blocks if block.kind == "code"}, path


@pytest.mark.parametrize("path", CONTENT)
def test_hostile_markup_is_read(path, subtests):
    for piece in [
        *("#+begin_src\n", ":a:\n", "[[" * 20, "* a\n#+begin_src b\n", "|" * 50 + "\n"),
        *("----\n", "....\n////\n", "|===\n", "[source,", "a::\n", "<<", "{a}", "image:["),
        *("{{", "{|\n", "[[File:|", "<ref>", "<pre>", "<!--", "''", "<nowiki", "[http://x "),
        *("\\begin{tabular}", "{", "$", "\\(", "\\section{", "\\footnote{", "\\verb|", "\\begin{verbatim}"),
        *("\\begin{equation}", "\\cite[", "\\title{\\author{", "\\\\%", "&"),
    ]:
        content = f"= a\n* b\n{piece * 2_000}\nlast words"
        with subtests.test(case=piece):
            assert parse(content.encode(), path).warnings == ()
