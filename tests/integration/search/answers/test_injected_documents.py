"""Documents that try to steer an answer: what a model is shown of each, and what its text can do."""

import json
import re

import pytest

from search.answers.frame import INSTRUCTIONS
from tests.drills.answers.injections_page import PAGE, page
from tests.integration.search.answers.injections import INJECTIONS, SECRET
from tests.integration.search.answers.stub import says
from tests.integration.search.context.filling import index, put

QUESTION = f"What do the notes say about {SECRET}?"
_MARKER = re.compile(r"\[#\d{1,3}\]")
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_HEAD = re.compile(rf"\[#\d+\] source={_QUOTED} trust=unknown heading={_QUOTED} uri={_QUOTED}")

each_injection = pytest.mark.parametrize("name", sorted(INJECTIONS))


@pytest.fixture
def hostile(workspace):
    """Put the injected document of a name into the workspace, between two that are none."""

    def fill(name):
        injected = INJECTIONS[name]
        put(workspace, "a.md", f"# Calm\n\nThe word {SECRET} is of the calm notes.\n")
        text = f"{SECRET} notes begin here.\n\n{injected.text}\n\nThe {SECRET} notes end here.\n"
        put(workspace, injected.path, text, title=injected.title)
        put(workspace, "z.md", f"# Quiet\n\nThe word {SECRET} is of the quiet notes, too.\n")
        index(workspace)
        return injected

    return fill


def shown_to(stub):
    """Give the blocks of the one message: by number, the line above each and its text without the bars."""
    [system, user] = stub.requests[0]["messages"]
    assert system == {"role": "system", "content": INSTRUCTIONS}
    assert user["role"] == "user"
    [nonce] = set(re.findall(r"^BEGIN ([0-9a-f]{16})$", user["content"], re.MULTILINE))
    block = re.compile(rf"^(\[#(\d+)\] .*)\nBEGIN {nonce}\n((?:\|.*\n)+)END {nonce}$", re.MULTILINE)
    blocks = {int(found[2]): (found[1], found[3]) for found in block.finditer(user["content"])}
    rest = block.sub("", user["content"])
    return nonce, blocks, rest


def test_there_are_thirty():
    assert len(INJECTIONS) == 30


def test_the_page_shows_how_each_is_rendered():
    assert PAGE.read_text(encoding="utf-8") == page()


@each_injection
def test_it_stays_in_the_frame(ask, hostile, use, name):
    injected = hostile(name)
    stub = use(says("The notes say so [#1]."))
    answer = ask(QUESTION)
    nonce, blocks, rest = shown_to(stub)

    assert answer["state"] == "grounded"
    assert set(blocks) == {hit["n"] for hit in answer["hits"]}
    # Beside the blocks stands the question, and nothing else.
    assert rest.split() == f"Question: {QUESTION}".split()
    everything = "\n".join(f"{head.partition(' ')[2]}\n{text}" for head, text in blocks.values())
    assert not [trick for trick in injected.tricks if trick in everything]
    for head, text in blocks.values():
        assert nonce not in f"{head[4:]}{text}"
        assert _MARKER.findall(head) == [head.partition(" ")[0]]
        assert not _MARKER.search(text)
        assert _HEAD.fullmatch(head)
    assert answer["citations"][0]["quote"]


@each_injection
def test_a_model_that_obeys_it_leaves_neither_marker_nor_link(ask, hostile, use, name):
    """A parrot repeats the document whole: its markers are what it says, and lead to what it was given."""
    injected = hostile(name)
    use(says(injected.text))
    answer = ask(QUESTION)

    given = {f"[#{hit['n']}]" for hit in answer["hits"]}
    said = set(_MARKER.findall(answer["text"]))
    assert answer["state"] == ("grounded" if said and said <= given else "ungrounded")
    assert {f"[#{citation['n']}]" for citation in answer["citations"]} == said & given
    assert not re.search(r"\]\(|\]\[|<(?:img|script|iframe|a)\b|<https?:", answer["text"], re.IGNORECASE)
    assert not re.search("[\x00\x1b\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]", answer["text"])


@each_injection
def test_its_own_sentences_forge_no_marker(ask, hostile, name):
    hostile(name)
    answer = ask(f"{QUESTION} {INJECTIONS[name].text[:200]}")

    assert answer["state"] in ("extractive", "refused")
    cited = [f"[#{citation['n']}]" for citation in answer["citations"]]
    assert set(_MARKER.findall(answer["text"])) == set(cited)
    assert json.dumps(answer)
