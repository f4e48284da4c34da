"""Documents that try to steer an answer stay data, in prompts and in answers."""

import json
import re

import pytest

from search.answers.prompt import INSTRUCTIONS
from tests.drills.answers.injections_page import PAGE, page
from tests.integration.search.answers.injections import INJECTIONS, SECRET
from tests.integration.search.answers.stub import says
from tests.integration.search.context.workspace_files import put_file

QUESTION = f"What do the notes say about {SECRET}?"
_LINK = re.compile(r"\]\(|\]\[|<(?:img|script|iframe|a)\b|<https?:", re.IGNORECASE)
_UNSEEN = re.compile("[\x00\x1b\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
_MARKER = re.compile(r"\[#\d{1,3}\]")
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_HEAD = re.compile(rf"\[#\d+\] source={_QUOTED} trust=unknown heading={_QUOTED} uri={_QUOTED}")


def fill(workspace):
    """Write each injected document into a source of its own, between two that are none."""
    for number, injected in enumerate(INJECTIONS.values()):
        source = f"s{number}"
        put_file(workspace, "a.md", f"# Calm\n\nThe calm notes say the word {SECRET}.\n", source=source)
        text = f"{SECRET} notes say this.\n\n{injected.text}\n\nThe {SECRET} notes end here.\n"
        put_file(workspace, injected.path, text, source=source, title=injected.title)
        put_file(
            workspace, "z.md", f"# Quiet\n\nThe quiet notes say the word {SECRET}, too.\n", source=source
        )


@pytest.fixture
def ask_about(ask):
    """Ask in the source of the injection of a number."""
    return lambda number, question: ask(question, filters={"source": [f"s{number}"]})


def blocks_sent_to(stub):
    """Return the blocks of the one message: by number, the line above each and its text without the bars."""
    [system, user] = stub.requests[0]["messages"]
    assert system == {"role": "system", "content": INSTRUCTIONS}
    assert user["role"] == "user"
    [nonce] = set(re.findall(r"^BEGIN ([0-9a-f]{16})$", user["content"], re.MULTILINE))
    block = re.compile(rf"^(\[#(\d+)\] .*)\nBEGIN {nonce}\n((?:\|.*\n)+)END {nonce}$", re.MULTILINE)
    blocks = {int(found[2]): (found[1], found[3]) for found in block.finditer(user["content"])}
    rest = block.sub("", user["content"])
    return nonce, blocks, rest


def test_page_shows_how_each_of_the_thirty_is_rendered():
    assert len(INJECTIONS) == 30
    assert PAGE.read_text(encoding="utf-8") == page()


@pytest.mark.parametrize("half", [0, 1])
def test_injected_text_stays_in_its_frame_and_links_nowhere_when_repeated(ask_about, use, subtests, half):
    for number, (name, injected) in list(enumerate(INJECTIONS.items()))[half::2]:
        with subtests.test(injection=name):
            stub = use(says(injected.text))
            answer = ask_about(number, QUESTION)
            assert_framed(injected, answer, *blocks_sent_to(stub))

            given = {f"[#{hit['n']}]" for hit in answer["hits"]}
            markers = set(_MARKER.findall(answer["text"]))
            assert answer["state"] == ("grounded" if markers and markers <= given else "ungrounded")
            assert {f"[#{citation['n']}]" for citation in answer["citations"]} == markers & given
            assert not _LINK.search(answer["text"])
            assert not _UNSEEN.search(answer["text"])


def assert_framed(injected, answer, nonce, blocks, rest):
    """Assert that a model gets the question and the hits' blocks, and that no text leaves its block."""
    assert set(blocks) == {hit["n"] for hit in answer["hits"]}
    assert len(blocks) >= 3
    # Beside the blocks stands the question, and nothing else.
    assert rest.split() == f"Question: {QUESTION}".split()
    everything = "\n".join(f"{head.partition(' ')[2]}\n{text}" for head, text in blocks.values())
    assert not [trick for trick in injected.tricks if trick in everything]
    for head, text in blocks.values():
        assert nonce not in f"{head[4:]}{text}"
        assert _MARKER.findall(head) == [head.partition(" ")[0]]
        assert not _MARKER.search(text)
        assert _HEAD.fullmatch(head)


def test_extractive_answer_holds_no_forged_marker(ask_about, subtests):
    for number, (name, injected) in enumerate(INJECTIONS.items()):
        with subtests.test(injection=name):
            answer = ask_about(number, f"{QUESTION} {injected.text[:200]}")

            assert answer["state"] in ("extractive", "refused")
            cited = [f"[#{citation['n']}]" for citation in answer["citations"]]
            assert set(_MARKER.findall(answer["text"])) == set(cited)
            assert json.dumps(answer)
