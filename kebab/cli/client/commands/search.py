"""`kebab search QUERY`."""

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

from kebab.cli.client.arguments import add_filters, add_workspace, filters_of
from kebab.cli.client.connection import Connection, Needs
from kebab.cli.client.terminal import Terminal
from kebab.cli.client.workspaces import find_workspace
from kebab.cli.errors import CliError
from kebab.cli.output import plain
from kebab.exit_codes import Exit

NEEDS: Needs = "servers"
EXAMPLES = (
    'kebab search "how do I rotate a token"',
    "kebab search timeout --source docs --code-lang python",
    "kebab search onboarding --media pdf --after 2026 --json",
)
# Options with the names of the API's fields.
_FIELDS = (
    *("mode", "fusion", "group", "sort", "recency", "k", "snippet_chars", "per_file_cap"),
    *("include", "max_text_chars", "fields", "facets", "max_facet_values"),
    *("rerank", "cutoff", "floor", "prefix", "explain", "why_not"),
)
_NEGATED = ("exact", "typos", "operators")
_INDENT = 4
_EXPLAINED = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument("query", nargs="?")
    asked.add_argument("--cursor", metavar="C", help="the page behind this cursor; only -k goes with it")
    add_workspace(parser)
    parser.add_argument("--mode", choices=("hybrid", "lexical", "vector"), help="default: hybrid")
    parser.add_argument("--fusion", choices=("rrf", "convex"), help="default: the workspace's")
    parser.add_argument("--group", choices=("passage", "document"), help="what a hit is; default: passage")
    parser.add_argument(
        "--sort", choices=("relevance", "date", "date_asc", "title"), help="default: relevance"
    )
    parser.add_argument("--recency", type=float, metavar="S", help="0 to 1: what age takes from a score")
    parser.add_argument("-k", type=int, metavar="N", help="at most so many hits, up to 1,000")
    add_filters(parser)
    parser.add_argument("--per-file-cap", type=int, metavar="N", help="at most so many hits of one document")
    parser.add_argument("--snippet-chars", type=int, metavar="N", help="the length of snippets")
    parser.add_argument("--max-text-chars", type=int, metavar="N", help="the length of included text")
    parser.add_argument("--max-facet-values", type=int, metavar="N", help="the values of each facet")
    for name, variable, meaning in (
        ("include", "include", "text or metadata, with --json"),
        ("field", "fields", "this field of hits alone; prints JSON"),
        ("facet", "facets", "count documents by this filter, or by metadata.NAME"),
    ):
        parser.add_argument(
            f"--{name}", dest=variable, action="append", default=[], metavar="X", help=meaning
        )
    for name, meaning in (
        ("rerank", "have the first candidates read again"),
        ("cutoff", "end where it stops being about the question"),
        ("floor", "leave out hits that are only related to the query"),
        ("prefix", "the last word may be the beginning of one"),
        ("explain", "say how the list came about"),
    ):
        parser.add_argument(f"--{name}", action="store_true", help=meaning)
    for name, meaning in (
        ("exact", "no list of names such as rateLimit"),
        ("typos", "correct no words"),
        ("operators", "all of the query is text, also -word and path:x"),
    ):
        parser.add_argument(f"--no-{name}", action="store_true", help=meaning)
    parser.add_argument(
        "--why-not", metavar="ID", help="say why this chunk or document is not among the hits"
    )


def run(connection: Connection, options: dict[str, Any], terminal: Terminal) -> int:
    """Search, print the result, and return the exit code."""
    workspace = find_workspace(connection, options["workspace"])
    result = workspace.post("/search", _body(options, workspace.facts["seq"]))
    if terminal.as_json or options["fields"]:
        terminal.document(result)
    else:
        print_result(terminal, result, workspace.slug)
    return Exit.DONE if result["hits"] else Exit.NOTHING


def _body(options: Mapping[str, Any], seq: int) -> dict[str, Any]:
    given = {name: options[name] for name in _FIELDS if options[name] not in (None, False, [])}
    given |= {name: False for name in _NEGATED if options[f"no_{name}"]}
    if filters := filters_of(options):
        given["filters"] = filters
    if options["cursor"] is None:
        # Whoever has just ingested something finds it.
        return {"q": options["query"], "min_seq": seq, **given}
    if extra := sorted(given.keys() - {"k"}):
        raise CliError(f"A cursor has its query already; leave out: {', '.join(extra)}.")
    return {"cursor": options["cursor"], **given}


def print_result(terminal: Terminal, result: Mapping[str, Any], place: str) -> None:
    """Print the hits of `place` with scores, citations and snippets, and remarks on what is missing."""
    if result["explain"] is not None:
        _print_explanation(terminal, result["explain"])
    hits = result["hits"]
    first_related = next((hit for hit in hits if hit.get("related")), None)
    for hit in hits:
        if hit is first_related:
            terminal.print(terminal.style("Related:", "dim") + "\n")
        for line in _hit_lines(terminal, hit):
            terminal.print(line)
        terminal.print()
    if hits:
        terminal.remark(_summary(result))
    else:
        terminal.remark(f"Nothing was found in {place}. Try fewer words or fewer filters.")
    _print_facets(terminal, result.get("facets"))
    for sentence in _remarks(result):
        terminal.remark(sentence)
    if result["next_cursor"] is not None:
        terminal.remark(f"More hits: kebab search --cursor {result['next_cursor']}")


def _hit_lines(terminal: Terminal, hit: Mapping[str, Any]) -> Iterator[str]:
    headings, title = hit["heading_path"], hit["title"]
    below = headings[1:] if headings[:1] == [title] else headings
    name = plain(" > ".join((title, *below))).replace("\n", " ")
    score = f"{hit['score']:.4f}"
    yield f"{hit['rank']:>2}. {terminal.style(name, 'bold')}  {terminal.style(score, 'dim')}"
    place = " ".join(filter(None, (hit["source"], hit["version"])))
    language = f", by meaning in {hit['lang']}" if hit.get("other_language") else ""
    stale = ", outdated" if hit.get("outdated") else ", not indexed for long" if hit["stale"] else ""
    about = terminal.style(plain(f"  {place}, {hit['trust_level']}{language}{stale}"), "dim")
    yield " " * _INDENT + terminal.style(plain(hit["citation"]["uri"]), "cyan") + about
    yield terminal.indented(hit["snippet"], _INDENT, hit["highlights"])
    yield " " * _INDENT + terminal.style(_legs(hit["retrieval"]), "dim")
    for section in (hit.get("sections") or ())[1:]:
        uri = terminal.style(plain(f"  {section['citation']['uri']}"), "cyan")
        yield " " * _INDENT + plain(section["section_label"]) + uri
        yield terminal.indented(section["snippet"], _INDENT, section["highlights"])
    for page in hit.get("older") or ():
        yield " " * _INDENT + terminal.style(plain(f"older version: {page['path']}"), "dim")
    if hit.get("also_in"):
        yield " " * _INDENT + terminal.style(plain(f"also in {', '.join(hit['also_in'])}"), "dim")


def _legs(retrieval: Mapping[str, Any]) -> str:
    """Return a hit's rank and score in each leg; in a single mode only that leg has them."""
    legs = {name: retrieval.get(f"{name}_rank") for name in ("lexical", "vector", "exact", "rerank")}
    scores = {name: retrieval.get(f"{name}_score") for name in legs}
    return "  ".join(
        f"{name} #{rank}" + ("" if scores[name] is None else f" ({scores[name]:.3f})")
        for name, rank in legs.items()
        if rank is not None
    )


def _summary(result: Mapping[str, Any]) -> str:
    """Return a sentence with the number of hits, the time and the mode."""
    hits, total = result["hits"], result["lexical_total"]
    related = sum(bool(hit.get("related")) for hit in hits)
    found = _count(len(hits), "hit") + (f", {related:,} only related" if related else "")
    found += f" in {result['took_ms']:.1f} ms ({result['mode']})"
    if total is None:
        return f"{found}."
    noun = "document" if hits[0].get("sections") is not None else "chunk"
    number = total["value"]
    have = f"no {noun} has" if not number else f"{_count(number, noun)} {'has' if number == 1 else 'have'}"
    partial = any(hit["retrieval"].get("tier") == "some" for hit in hits)
    return f"{found}; {have} every word{', others have some' if partial else ''}."


def missing_parts(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each part that `degraded` names."""
    for part in answer["degraded"]:
        if part == "primary_unreachable":
            yield "Answered from a standby of the database; the latest changes may be missing."
        else:
            yield f"Answered without the whole {part} leg."


def _remarks(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for corrected words, promoted answers, and each part that the result lacks."""
    if result["corrected_query"] is not None:
        yield f"Showing results for: {result['corrected_query']}"
    for answer in result.get("promoted", ()):
        yield ": ".join(filter(None, (answer["title"], f"{answer['text']} {answer['url']}".strip())))
    yield from missing_parts(result)
    rerank = result["rerank"]
    if rerank is not None and rerank["status"] == "fallback":
        yield f"The order is the fused one, without a reranker: {rerank['reason']}"
    yield from result["warnings"]
    if result["lag"]:
        yield f"This node's mirror is {_count(result['lag'], 'change')} behind."
    if result["did_you_mean"] is not None:
        yield f"Did you mean: {result['did_you_mean']}"


def _print_facets(terminal: Terminal, facets: Mapping[str, Any] | None) -> None:
    for name, values in (facets or {"by_filter": {}})["by_filter"].items():
        counts = ", ".join(f"{value['value']} {value['documents']:,}" for value in values)
        terminal.print(plain(f"{name}: {counts or 'no values'}"))


def _print_explanation(terminal: Terminal, explain: Mapping[str, Any]) -> None:
    """Print the match expressions, the time of each stage, the first fused candidates."""
    verdict, match, fused = (explain.get(name) for name in ("why_not", "match", "fused"))
    if verdict:
        terminal.print(plain(f"{verdict['id']}: {verdict['detail']}"))
    for name in ("every", "some"):
        if match and match[name] is not None:
            terminal.print(plain(f"{name} term  {match[name]}"))
    if operators := explain.get("operators"):
        terminal.print(plain(f"operators  {', '.join(operators['conditions'])}"))
    if timings := explain.get("timings_ms"):
        terminal.print("  ".join(f"{stage} {ms:.1f} ms" for stage, ms in timings.items()))
    if fused:
        rows = [{**each, "score": f"{each['score']:.4f}", **each["ranks"]} for each in fused[:_EXPLAINED]]
        legs = sorted({leg for each in fused for leg in each["ranks"]})
        terminal.table(["chunk_id", "score", *legs], rows)
    terminal.print()


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
