"""`codebase-retrieval`: code for an information request, by file, or an overview of what files define."""

from search.context import (
    Budget,
    BudgetUnit,
    CodeRequest,
    ContextPack,
    ResponseMode,
    pack_text,
    retrieve_code,
)
from search.mcp.call_context import Call
from search.mcp.tools.arguments import CodebaseArguments
from search.mcp.tools.outputs import CodeOutput, ToolOutput, dump
from search.mcp.tools.token_budget import Frame, fit_blocks, join_parts, room_in_frame
from search.retrieval.fusion.legs import missing_leg_message


def codebase_tool(call: Call, given: CodebaseArguments) -> ToolOutput:
    """Return the overview or the text of the best files, each in its file's order."""
    access = call.access
    call.step(0, 2, "searching")
    pack = retrieve_code(access.workspace, access.reader, _request(given))
    call.step(1, 2, f"{len(pack.files)} files")
    shortcomings = map(missing_leg_message, pack.degraded)
    text = fit_blocks(given.max_tokens, _frame_pack(pack), [*shortcomings, *pack.warnings], lambda kept: "")
    cited = tuple(segment.citation.uri for file in pack.files for segment in file.segments)
    return ToolOutput(text=text, data=dump(CodeOutput(text=text, citations=cited)))


def _request(given: CodebaseArguments) -> CodeRequest:
    return CodeRequest(
        information_request=given.information_request,
        technical_terms=given.technical_terms,
        source=given.source,
        version=given.version,
        include=given.include,
        exclude=given.exclude,
        languages=given.languages,
        response_mode=ResponseMode(given.response_mode),
        budget=Budget(unit=BudgetUnit.TOKENS, total=room_in_frame(given.max_tokens)),
    )


def _frame_pack(pack: ContextPack) -> str:
    if pack.files or (pack.overview is not None and pack.overview.files):
        text = pack_text(pack)
        frame = Frame([text])
        return join_parts(frame.notice, frame.passage(text))
    if pack.left_out:
        return "Nothing that was found fits; ask with a larger max_tokens."
    return "Nothing was found. Try other words or terms, or fewer filters."
