"""Passages around a hit in a context pack, and their citations."""

from tests.integration.search.context.workspace_files import cited_lines, index, put_file
from tests.support.corpus import chunk, write
from tests.support.runtime import use_reranker

# Makes each section large enough for a chunk of its own.
FILLER = "Whoever cooks here washes the pans, wipes the table and locks the door. " * 5
GUIDE = f"""# Guide

Before you begin, read this. {FILLER}

## Install

Get the installer from the kitchen. {FILLER}

## Linux

Run apt and wait for the pepper. {FILLER}

## Windows

Double-click the installer. {FILLER}

# Reference

Nothing to see of skewers. {FILLER}
"""


def segments_of(pack):
    return [segment for file in pack["files"] for segment in file["segments"]]


def chunks_of(pack):
    return [each for segment in segments_of(pack) for each in segment["chunks"]]


def test_neighbours_and_siblings_lower_the_score_by_their_factors(workspace, ask_for):
    put_file(workspace, "guide.md", GUIDE)
    put_file(workspace, "other.md", GUIDE.replace("pepper", "salt"))
    index(workspace)

    def ask(**expand):
        pack = ask_for("pepper", mode="lexical", expand=expand)
        assert [file["doc_path"] for file in pack["files"]] == ["guide.md"]
        [segment] = segments_of(pack)
        return segment, [
            (each["reached_by"], round(each["score"] / segment["score"], 6)) for each in segment["chunks"]
        ]

    alone, chunks = ask(neighbours=0, siblings=False)
    assert alone["text"] == "\n".join(GUIDE.split("\n")[8:11])
    assert alone["citation"]["uri"] == "guide.md#L9-L11"
    assert (alone["citation"]["section"], alone["reached_by"]) == ("Linux", "hit")
    assert chunks == [("hit", 1.0)]

    beside, chunks = ask(siblings=False)
    assert beside["citation"]["uri"] == "guide.md#L5-L15"
    assert beside["text"] == "\n".join(GUIDE.split("\n")[4:15])
    assert chunks == [("neighbour", 0.8), ("hit", 1.0), ("neighbour", 0.8)]

    _, chunks = ask(neighbours=2, siblings=False)
    assert (chunks[0], chunks[-1]) == (("neighbour", 0.64), ("neighbour", 0.64))

    siblings, chunks = ask(neighbours=0)
    assert chunks == [("sibling", 0.7), ("hit", 1.0), ("sibling", 0.7)]
    assert "Install" in siblings["text"] and "Windows" in siblings["text"]
    assert "skewers" not in siblings["text"] and "begin" not in siblings["text"]


def test_siblings_of_code_are_the_units_beside_it_and_code_in_none_has_none(workspace, ask_for):
    body = "\n".join(f"        self.value_{n} = self.other_{n} + {n}" for n in range(12))
    methods = "\n".join(f"    def {name}(self):\n{body}\n" for name in ("pepper", "salt"))
    thyme = f"def thyme(value):\n{body.replace('        ', '    ')}\n"
    put_file(workspace, "spice.py", f"class Spice:\n{methods}\n\n{thyme}")
    put_file(workspace, "spice.kt", "fun cumin() {}\n" + "val other = first + second\n" * 90)
    index(workspace)
    pack = ask_for("pepper", mode="lexical", expand={"neighbours": 0})
    assert [each["reached_by"] for each in chunks_of(pack)] == ["hit", "sibling"]
    assert "def salt" in segments_of(pack)[0]["text"] and "thyme" not in segments_of(pack)[0]["text"]
    alone = chunks_of(ask_for("cumin", mode="lexical", expand={"neighbours": 0}))
    assert {each["reached_by"] for each in alone} == {"hit"}


def test_surrounding_passages_match_the_filters(workspace, ask_for):
    def as_code(text, ordinal):
        return chunk(text, ordinal, kind="code", language="python")

    write(workspace, "a.py", as_code("pepper one", 0), chunk("two", 1), as_code("three", 2), tags=("kept",))
    index(workspace)
    for filters, count in (({"kind": ["code"]}, 2), ({"tags_any": ["kept"]}, 3)):
        pack = ask_for("pepper", mode="lexical", filters=filters, expand={"neighbours": 2})
        assert len(chunks_of(pack)) == count


def test_pack_uses_passages_for_documents_without_line_citations(workspace, ask_for):
    write(workspace, "gone.md", "pepper one", "two", "three")  # its bytes were never kept
    pages = [chunk(f"salt {n}", n, spans=({"kind": "page", "page": n // 2 + 1},)) for n in range(4)]
    write(workspace, "a.pdf", *pages, media="pdf")
    put_file(workspace, "a.html", "<html><body><h1>Spices</h1><p>Much thyme.</p><p>Salty</p></body></html>")
    index(workspace)

    def ask(request):
        segments = segments_of(ask_for(request, mode="lexical"))
        assert not any(segment["verbatim"] for segment in segments)
        return segments

    assert [segment["text"] for segment in ask("pepper")] == ["pepper one", "two", "three"]
    assert [(segment["citation"]["uri"], segment["text"]) for segment in ask("salt")] == [
        ("a.pdf#page=1", "salt 0\nsalt 1"),
        ("a.pdf#page=2", "salt 2\nsalt 3"),
    ]
    [segment] = ask("thyme")
    assert "Much thyme." in segment["text"] and "<p>" not in segment["text"]


def test_pack_cites_verbatim_lines_with_long_lines_and_crlf(workspace, ask_for):
    whole = " ".join(f"clove{n} is ground and then roasted slowly." for n in range(60))
    too_long = " ".join(f"word{n} is ground and then toasted slowly." for n in range(400))
    put_file(workspace, "a.md", f"# Spices\n\n{whole}\n")
    put_file(workspace, "b.md", f"{too_long}\n")
    put_file(workspace, "guide.md", GUIDE.replace("\n", "\r\n"))
    index(workspace)
    [segment] = segments_of(ask_for("roasted", mode="lexical"))
    assert segment["verbatim"] and segment["text"] == f"# Spices\n\n{whole}"
    assert len(segment["chunks"]) > 1
    [segment] = segments_of(ask_for("word3", mode="lexical", filters={"path_glob": ["b.md"]}))
    assert not segment["verbatim"] and segment["citation"]["uri"] == "b.md#L1"
    assert segment["text"].startswith("word0 ") and len(segment["text"]) < len(too_long)
    [segment] = segments_of(ask_for("pepper", mode="lexical", expand={"siblings": False}))
    assert segment["verbatim"] and segment["text"] == cited_lines(GUIDE, segment)


def test_hits_of_a_file_are_capped_as_the_workspace_says(workspace, ask_for):
    for path in ("a.md", "b.md"):
        write(workspace, path, *(f"pepper {'salt ' * n}" for n in range(7)))
    index(workspace)

    def hits(**body):
        expand = {"neighbours": 0, "siblings": False}
        pack = ask_for("pepper", mode="lexical", expand=expand, cutoff=False, **body)
        return max(sum(len(segment["chunks"]) for segment in file["segments"]) for file in pack["files"])

    assert hits() == 3  # segments apart from each other, three a file
    assert hits(per_file_cap=1) == 1
    workspace.settings = {"pre_rerank_max_per_file": 2}
    workspace.save(update_fields=["settings"])
    assert hits() == 2


class LineReranker:
    """Reads a passage's score from its own text: the protocol's fake."""

    name = "by line"
    gives_logits = False

    def rerank(self, query, passages):
        assert query == "pepper salt"
        return [float(passage.split()[-1]) for passage in passages]


def test_configured_reranker_orders_the_hits_and_the_cutoff_ends_them(workspace, ask_for, monkeypatch):
    for n, score in enumerate([0.3, 0.44, 0.46, 0.8, 0.9]):
        write(workspace, f"{n}.md", f"pepper {score}")
    index(workspace)
    assert ask_for("pepper")["rerank"] is None
    pack = ask_for("pepper", rerank=True)
    assert pack["rerank"]["status"] == "fallback" and "KEBAB_RERANKER" in pack["rerank"]["reason"]
    assert len(pack["files"]) == 5

    use_reranker(monkeypatch, LineReranker())

    def ask(**body):
        expand = {"neighbours": 0, "siblings": False}
        return ask_for("pepper", technical_terms=["salt"], mode="lexical", expand=expand, **body)

    pack = ask()
    assert pack["rerank"] == {"status": "ok", "reason": None}
    assert [file["score"] for file in pack["files"]] == [0.9, 0.8, 0.46]
    plain = ask(rerank=False)
    assert plain["rerank"] is None and len(plain["files"]) == 5
    assert [file["score"] for file in ask(cutoff=False)["files"]] == [0.9, 0.8, 0.46, 0.44, 0.3]


def test_pack_without_a_reranker_starts_from_eight_hits(workspace, ask_for):
    for n in range(12):
        write(workspace, f"{n}.md", f"pepper {n}")
    index(workspace)
    assert len(ask_for("pepper")["files"]) == 8
    assert len(ask_for("pepper", cutoff=False)["files"]) == 12
    assert len(ask_for("pepper", k=2)["files"]) == 2
