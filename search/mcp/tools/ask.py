"""`ask`: an answer from the documents with its citations."""

from contextlib import closing

from search.answers import (
    Answer,
    AnswerCitation,
    AnswerRequest,
    AnswerState,
    Finished,
    Retrieved,
    answer_events,
)
from search.mcp.call_context import Call
from search.mcp.tools.arguments import AskArguments
from search.mcp.tools.documents import passage_url
from search.mcp.tools.outputs import AnswerOutput, CitedOutput, ToolOutput, dump
from search.mcp.tools.token_budget import Frame, join_parts, on_one_line
from search.retrieval.fusion.legs import missing_part_message

_STEPS = 3
_STATES = {
    AnswerState.GROUNDED: "Grounded: each citation is of a passage that the answer was made from.",
    AnswerState.UNGROUNDED: "Ungrounded: the text can't be held against the documents; don't rely on it.",
    AnswerState.EXTRACTIVE: "Extractive: sentences of the documents themselves; no model is configured.",
    AnswerState.REFUSED: "Refused: the documents that you may see don't hold an answer.",
    AnswerState.FAILED: "Failed: there is no whole answer; ask again.",
}


def ask_tool(call: Call, given: AskArguments) -> ToolOutput:
    """Answer the question from the documents; cancelling the call stops the model, too."""
    access = call.access
    request = AnswerRequest(
        question=given.question,
        filters=given.filters,
        conversation_id=given.conversation_id,
        recency=given.recency,
    )
    events = answer_events(access.workspace, access.reader, request, asker=access.caller, stop=call.stop)
    call.step(0, _STEPS, "searching")
    is_writing = False
    with closing(events):
        for event in events:
            if isinstance(event, Finished):
                return ToolOutput(text=answer_text(event.answer), data=dump(_describe(call, event.answer)))
            if isinstance(event, Retrieved):
                call.step(1, _STEPS, f"{len(event.hits)} passages")
            elif not is_writing:
                is_writing = True
                call.step(2, _STEPS, "writing")
    raise AssertionError("the events of an answer end with the answer")


def answer_text(answer: Answer) -> str:
    """Return an answer's text form: its state, text and citations, and the ids for follow-up requests."""
    frame = Frame([answer.text, *(citation.quote for citation in answer.citations)])
    reason = f" ({answer.reason})" if answer.reason is not None else ""
    cited = "\n".join(_citation_text(citation) for citation in answer.citations)
    return join_parts(
        f"{_STATES[answer.state]}{reason}",
        frame.notice if answer.text else "",
        frame.passage(answer.text, "\n" + cited if cited else "") if answer.text else "",
        *map(missing_part_message, answer.degraded),
        *answer.warnings,
        f"answer_id={answer.answer_id} conversation_id={answer.conversation_id}",
    )


def _describe(call: Call, answer: Answer) -> AnswerOutput:
    cited = (
        CitedOutput(
            n=each.n,
            title=on_one_line(each.title),
            url=passage_url(call, call.access.workspace, each),
            chunk=each.chunk_id,
            citation=each.uri,
        )
        for each in answer.citations
    )
    return AnswerOutput(
        answer_id=str(answer.answer_id),
        conversation_id=str(answer.conversation_id),
        state=answer.state.value,
        reason=None if answer.reason is None else answer.reason.value,
        text=answer.text,
        citations=tuple(cited),
    )


def _citation_text(citation: AnswerCitation) -> str:
    heading = " > ".join(map(on_one_line, citation.heading_path)) or on_one_line(citation.title)
    place = ", ".join(filter(None, (citation.source, citation.version, citation.trust_level)))
    return f"[#{citation.n}] {citation.uri} {heading} ({place}) chunk={citation.chunk_id}"
