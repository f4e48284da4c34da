"""Terminal output of answers."""

from collections.abc import Iterator

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from kebab.cli.output import plain
from search.answers import Answer, AnswerCitation, AnswerReason, AnswerState
from search.answers.markers import marker
from search.retrieval.fusion.legs import missing_leg_message

_REASONS = {
    AnswerReason.NO_CHUNKS: "Nothing was found.",
    AnswerReason.SCORE_GATE: "What was found scores below the workspace's score_gate.",
    AnswerReason.NOT_COVERED: "The documents don't say enough of what the question is about.",
    AnswerReason.EMPTY: "The model wrote nothing.",
    AnswerReason.NO_MARKER: "The model cites no passage, so nothing of it can be checked.",
    AnswerReason.UNKNOWN_MARKER: "The model cites a passage that it was not given; don't rely on it.",
}


def print_piece(console: Console, text: str) -> None:
    """Print a piece of an answer's text as it arrives."""
    console.print(plain(text), end="", soft_wrap=True)


def print_citations(console: Console, answer: Answer) -> None:
    """Print the citation of each marker in the text."""
    for citation in answer.citations:
        console.print(_citation_line(citation), soft_wrap=True)
        below = " > ".join(citation.heading_path) or citation.title
        console.print(Padding(Text(plain(below), style="dim"), (0, 0, 0, 5), expand=False))


def answer_remarks(answer: Answer) -> Iterator[str]:
    """Yield the remarks on an answer, one sentence each: its state, reason, warnings and time."""
    if answer.state is AnswerState.EXTRACTIVE:
        yield "These are the documents' own sentences: no model is configured."
    if answer.reason in _REASONS:
        yield _REASONS[answer.reason]
    for leg in answer.degraded:
        yield missing_leg_message(leg)
    yield from answer.warnings
    yield f"{answer.state} in {answer.took_ms:,.0f} ms; conversation {answer.conversation_id}"


def _citation_line(citation: AnswerCitation) -> Text:
    line = Text(f"{marker(citation.n)} ")
    line.append(plain(citation.uri), style="cyan")
    place = citation.source if citation.version is None else f"{citation.source} {citation.version}"
    return line.append(plain(f"  {place}, {citation.trust_level}"), style="dim")
