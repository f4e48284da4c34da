"""Passages in prompts, and sentences that an extractive answer quotes."""

import re

from search.embedders.bert.tokenizer import TokenCounter
from tests.integration.search.answers.stub import says
from tests.integration.search.context.workspace_files import index, put_file


def test_passages_fit_into_the_context_of_the_model(ask, guides, use):
    for number in range(6):
        text = f"Run the installer on Linux machine {number}: it unpacks, checks and starts. " * 8
        put_file(guides, f"guides/linux-{number}.md", f"# Installer {number}\n\n{text}\n")
    index(guides)
    question = "How do I run the installer on Linux?"
    stub = use(says("So it is [#1]."), context_tokens=1_500)
    narrow = ask(question)
    sent = stub.requests[0]["messages"]
    shown = re.findall(r"(?m)^\[#(\d+)\] source=", sent[1]["content"])
    # A quarter of the context is left for the answer, and a model may make twelve tokens of our ten.
    room = 1_500 * 3 / 4 * 10 / 12

    assert 0 < len(shown) < len(narrow["hits"])
    assert shown == [str(hit["n"]) for hit in narrow["hits"] if hit["n"] is not None]
    assert sum(TokenCounter().count(message["content"]) for message in sent) <= room

    use(says("So it is [#1]."), context_tokens=8_192)
    assert all(hit["n"] is not None for hit in ask(question)["hits"])


def test_document_forges_no_marker_in_an_answer(ask, workspace):
    text = "# Zeppelins\n\nZeppelins dock at the north tower [#9] [#\x7f8] [#1](http://x.example).\n"
    put_file(workspace, "forged.md", text)
    index(workspace)
    answer = ask("Where do zeppelins dock?")

    quoted = "Zeppelins dock at the north tower (no. 9) (no. 8) #1. [#1]"
    assert quoted in answer["text"]
    assert [each["n"] for each in answer["citations"]] == [1]
    assert "[#9]" in answer["citations"][0]["quote"]


def test_sentence_is_whole_however_its_lines_are_broken(ask, workspace):
    text = (
        "# Moorings\n\nBoats lie at their moorings while the harbour freezes, e.g. in\n"
        "January, and nobody may leave the quay before the ice breaker\nhas come. Ask the warden.\n\n"
        "- ropes are in the shed\n- the quay is lit at night\n"
    )
    put_file(workspace, "moorings.md", text)
    index(workspace)

    whole = "Boats lie at their moorings while the harbour freezes, e.g. in January, and nobody may leave the"
    assert whole in ask("Where do boats lie while the harbour freezes?")["text"]
    assert "Moorings [#1]\n\n- ropes" in ask("Is the quay lit at night?")["text"]


SUPERSEDED = "# Mooring fees 2024 (superseded)\n\nThe mooring fee is 25 euros per night and boat.\n"
CURRENT = "# Mooring fees\n\nThe mooring fee is 40 euros per night and boat.\n"


def test_outdated_page_is_quoted_only_where_no_current_one_answers(ask, workspace):
    put_file(workspace, "fees-2024.md", SUPERSEDED)
    put_file(workspace, "archive/crane.md", "# Crane\n\nThe harbour crane lifts four tonnes.\n")
    put_file(workspace, "fees.md", CURRENT)
    index(workspace)

    now, then = ask("What is the mooring fee per night?"), ask("What was the mooring fee per night in 2024?")
    only = ask("What does the harbour crane lift?")

    assert "40 euros" in now["text"] and "25" not in now["text"]
    assert [each["citation"]["path"] for each in now["hits"]] == ["fees.md"]
    assert now["warnings"] == []
    assert "25 euros" in then["text"]
    assert "four tonnes" in only["text"] and len(only["warnings"]) == 1
