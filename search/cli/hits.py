"""Terminal output of search results."""

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from kebab.cli.output import plain, table
from search.retrieval.types import HitSection, LexicalTotal, RetrievalDetail, SearchHit, SearchResult

# A line break inside a snippet would break the indentation; replacing it by one space keeps the offsets.
_ON_ONE_LINE = str.maketrans("\n\t", "  ")
_EXPLAINED = 10


def print_result(console: Console, result: SearchResult) -> None:
    """Print each hit with its scores, citation and snippet, and a line before those that are only related."""
    first_related = next((hit for hit in result.hits if hit.related), None)
    for hit in result.hits:
        if hit is first_related:
            console.print("Related:\n", style="dim")
        console.print(_headline(hit))
        for line in (_citation_line(hit), _snippet(hit), Text(legs(hit.retrieval), style="dim")):
            console.print(Padding(line, (0, 0, 0, 4), expand=False), soft_wrap=False)
        for section in (hit.sections or ())[1:]:
            console.print(Padding(_section(section), (0, 0, 0, 4), expand=False), soft_wrap=False)
        if hit.also_in:
            also = Text(plain(f"also in {', '.join(hit.also_in)}"), style="dim")
            console.print(Padding(also, (0, 0, 0, 4), expand=False), soft_wrap=False)
        console.print()


def summary(result: SearchResult) -> str:
    """Return a sentence with the number of hits, the time and the mode."""
    noun = "document" if result.hits and result.hits[0].sections is not None else "chunk"
    related = sum(hit.related for hit in result.hits)
    found = _pluralize(len(result.hits), "hit") + (f", {related:,} only related" if related else "")
    found += f" in {result.took_ms:.1f} ms ({result.mode})"
    return found + (
        "."
        if result.lexical_total is None
        else f"; {_lexical_total_text(result, result.lexical_total, noun)}."
    )


def legs(retrieval: RetrievalDetail) -> str:
    """Return a hit's rank and score in each leg; in a single mode only that leg has them."""
    found = {
        "lexical": (retrieval.lexical_rank, retrieval.lexical_score),
        "vector": (retrieval.vector_rank, retrieval.vector_score),
        "exact": (retrieval.exact_rank, None),
        "rerank": (retrieval.rerank_rank, retrieval.rerank_score),
    }
    return "  ".join(
        f"{name} #{rank}" + ("" if score is None else f" ({score:.3f})")
        for name, (rank, score) in found.items()
        if rank is not None
    )


def print_explanation(console: Console, result: SearchResult) -> None:
    """Print the explanation: the match expressions, the time of each stage, the first fused candidates."""
    explain = result.explain or {}
    verdict = explain.get("why_not")
    if isinstance(verdict, dict):
        console.print(plain(f"{verdict['id']}: {verdict['detail']}"))
    match = explain.get("match")
    if isinstance(match, dict):
        for name in ("every", "some"):
            if match[name] is not None:
                console.print(plain(f"{name} term  {match[name]}"))
    operators = explain.get("operators")
    if isinstance(operators, dict):
        console.print(plain(f"operators  {', '.join(operators['conditions'])}"))
    timings = explain.get("timings_ms")
    if isinstance(timings, dict):
        console.print("  ".join(f"{stage} {ms:.1f} ms" for stage, ms in timings.items()))
    fused = explain.get("fused")
    if isinstance(fused, list) and fused:
        rows = [{**each, "score": f"{each['score']:.4f}", **each["ranks"]} for each in fused[:_EXPLAINED]]
        legs_of_rows = sorted({leg for each in fused for leg in each["ranks"]})
        console.print(table(["chunk_id", "score", *legs_of_rows], rows))
    console.print()


def _headline(hit: SearchHit) -> Text:
    below = hit.heading_path[1:] if hit.heading_path[:1] == (hit.title,) else hit.heading_path
    line = Text(f"{hit.rank:>2}. ")
    line.append(plain(" > ".join((hit.title, *below))).translate(_ON_ONE_LINE), style="bold")
    return line.append(f"  {hit.score:.4f}", style="dim")


def _citation_line(hit: SearchHit) -> Text:
    line = Text(plain(hit.citation.uri), style="cyan")
    place = hit.source if hit.version is None else f"{hit.source} {hit.version}"
    stale = ", not indexed for long" if hit.stale else ""
    return line.append(plain(f"  {place}, {hit.trust_level}{stale}"), style="dim")


def _snippet(hit: SearchHit | HitSection) -> Text:
    line = Text(plain(hit.snippet).translate(_ON_ONE_LINE))
    for start, end in hit.highlights:
        line.stylize("bold yellow", start, end)
    return line


def _section(section: HitSection) -> Text:
    line = Text(plain(section.section_label))
    line.append(plain(f"  {section.citation.uri}"), style="cyan")
    return line.append("\n").append_text(_snippet(section))


def _lexical_total_text(result: SearchResult, total: LexicalTotal, noun: str) -> str:
    have = (
        f"no {noun} has"
        if total.value == 0
        else f"1 {noun} has"
        if total.value == 1
        else f"{total.value:,} {noun}s have"
    )
    return f"{have} every word" + (", others have some" if result.has_partial_matches else "")


def _pluralize(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
