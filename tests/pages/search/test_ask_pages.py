"""The ask page: the form, the answer with its citations, and answers that were not found."""

import re
import uuid

import pytest
from django.db import connection

from kebab.identity.models import Group, Role
from kebab.tenancy.current_workspace import acting_everywhere
from search.corpus import delete_documents
from search.models import Document, KeptAnswer, Source
from tests.integration.search.answers.factories import make_answer
from tests.integration.search.answers.fixtures import use  # noqa: F401  a fixture
from tests.integration.search.answers.stub import replies, says
from tests.pages.search.shelf import Passage, index, make_member, shelve
from tests.support.corpus import restrict

ASK = "/w/handbook/ask"
QUESTION = "How do I restart the workers?"


@pytest.fixture
def ask(visitor, guide):
    """Post a question as the form does, and return the resulting page."""

    def post(question=QUESTION, **fields):
        return visitor.post(ASK, {"question": question, **fields}, follow=True)

    return post


def text_of(response):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode()))


def html_of(response):
    return response.content.decode()


def state_of(response):
    """Return the label that states how reliable an answer is."""
    return re.search(r'class="state[^"]*"[^>]*>([^<]+)<', html_of(response))[1].strip()


def test_question_leads_to_its_kept_answer(ask, visitor):
    assert 'href="/w/handbook/ask"' in html_of(visitor.get("/w/handbook/search"))
    assert '<textarea id="question" name="question"' in html_of(visitor.get(ASK))
    response = ask()
    row = KeptAnswer.objects.get()

    assert response.redirect_chain == [(f"/w/handbook/answers/{row.pk}", 302)]
    assert row.question == QUESTION
    assert "Push the image, then restart the workers one by one." in text_of(response)
    assert html_of(visitor.get(f"/w/handbook/answers/{row.pk}")).count(f'id="answer-{row.pk}"') == 1


def test_a_marker_leads_to_its_citation_and_its_passage(ask, guide):
    page = html_of(ask())
    row = KeptAnswer.objects.get()
    chunk = row.citations[0]["chunk_id"]

    assert f'href="#cited-{row.pk}-1" hx-get="/w/handbook/answers/{row.pk}/citations/1"' in page
    assert f'id="cited-{row.pk}-1"' in page
    lines = row.citations[0]["citation"]
    place = f"/w/handbook/documents/{guide.doc_id.hex}?start={lines['start']}&amp;end={lines['end']}"
    assert f"{place}&amp;chunk={chunk}#L{lines['start']}" in page
    assert "Deploy guide" in page
    assert "ops/deploy.md#L" in page
    assert "primary" in page


def test_text_of_a_model_is_shown_in_paragraphs_with_its_name(ask, use):  # noqa: F811
    use(says("Restart them [#1].\n\nOne by one [#1]. Not [#9a] or [#01]."))
    response = ask()
    page = html_of(response)

    assert page.count('class="marker"') == 2
    assert re.search(r"<p>Restart them <a [^>]*><span [^>]*>[^<]*</span>1</a>\.</p>", page)
    assert "[#9a]" in page
    assert "parrot" in text_of(response)


def test_grounded_answers_are_distinguished_from_others(ask, use, subtests):  # noqa: F811
    use(says("Restart them [#1]."))
    grounded = state_of(ask())
    for text in ("Restart them.", "Restart them [#7].", ""):
        with subtests.test(text=text):
            use(says(text))
            assert state_of(ask()) != grounded
    use(replies({}, status=429))
    page = ask()

    assert state_of(page) != grounded
    assert "Deploy guide" in text_of(page)  # what was nearest


def test_refusal_shows_no_passages_and_offers_to_search(ask):
    response = ask("Who won the chess olympiad?")

    assert KeptAnswer.objects.get().reason == "not_covered"
    assert "Deploy guide" not in text_of(response)
    assert 'href="/w/handbook/search?q=Who+won+the+chess+olympiad%3F"' in html_of(response)


def test_source_filter_of_a_question_is_kept_on_the_answer_page(ask, workspace):
    shelve(workspace, "other.md", "Restart the workers with the other tool.")
    ask(source=["nowhere"])
    assert KeptAnswer.objects.get().state == "refused"
    page = ask(source=["handbook"])

    assert page.redirect_chain[0][0].endswith("?source=handbook")
    assert 'name="source" value="handbook" checked' in html_of(page)
    assert "restart the workers" in text_of(page)


def test_invalid_question_is_refused_keeping_input(visitor, guide):
    for question in ("", "  \r\n ", "x" * 8001):
        response = visitor.post(ASK, {"question": question, "source": "handbook"})
        assert response.status_code == 400
        assert 'name="source" value="handbook" checked' in html_of(response)
        assert question.strip() in html_of(response)
        assert not KeptAnswer.objects.exists()


def test_text_is_shown_and_never_run(ask, use, workspace):  # noqa: F811
    hostile = "<script>alert(1)</script><b>restart</b>"
    shelve(workspace, "hostile.md", f"To restart the mangle, {hostile}", title=hostile)
    index(workspace)
    use(says(f"{hostile} [#1]"))
    page = html_of(ask(f"restart the mangle {hostile}"))

    assert "<script>alert" not in page
    assert "<b>restart" not in page
    assert "&lt;script" in page


def test_only_ones_own_conversation_can_be_continued(ask, visitor, workspace, guide):
    ask()
    own = KeptAnswer.objects.get()
    ask("And how do I roll back?", conversation_id=str(own.conversation_id))
    assert {row.conversation_id for row in KeptAnswer.objects.all()} == {own.conversation_id}

    strange = make_answer(guide)
    for conversation in (strange.conversation_id, uuid.uuid4()):
        response = visitor.post(ASK, {"question": QUESTION, "conversation_id": str(conversation)})
        assert response.status_code == 404
    assert visitor.post(ASK, {"question": QUESTION, "conversation_id": "x"}).status_code == 400


def test_passage_is_shown_between_its_neighbours_with_the_quote_marked(ask, visitor):
    ask()
    row = KeptAnswer.objects.get()
    address = f"/w/handbook/answers/{row.pk}/citations/1"
    page, fragment = visitor.get(address), visitor.get(address, headers={"HX-Request": "true"})

    assert "<html" in html_of(page)
    assert "<html" not in html_of(fragment)
    for response in (page, fragment):
        assert "Push the image, then restart the workers one by one." in text_of(response)
        assert "Roll back with the tag" in text_of(response)
        assert f"chunk={row.citations[0]['chunk_id']}" in html_of(response)
    assert visitor.get(f"/w/handbook/answers/{row.pk}/citations/2").status_code == 404


def test_a_quoted_sentence_is_marked_in_its_passage(visitor, workspace, member, guide):
    shelve(workspace, "long.md", "The ferry is slow. The marmalade siren sounds at noon. It is loud.")
    index(workspace)
    row = visitor.post(ASK, {"question": "When does the marmalade siren sound?"}, follow=True)
    answer = KeptAnswer.objects.get()
    page = html_of(visitor.get(f"/w/handbook/answers/{answer.pk}/citations/1"))

    assert row.status_code == 200
    assert re.search(r"<mark>[^<]*marmalade siren sounds at noon\.</mark> It is", page)


def test_changed_passage_is_shown_with_the_cited_text(ask, visitor, workspace):
    ask()
    row = KeptAnswer.objects.get()
    shelve(workspace, "ops/deploy.md", "Nothing is left of it.", title="Deploy guide")
    page = text_of(visitor.get(f"/w/handbook/answers/{row.pk}/citations/1"))

    assert "Nothing is left of it." not in page
    assert "restart the workers one by one" in page


def test_answer_page_is_visible_to_asker_and_reviewers_only(ask, client, workspace):
    ask()
    row = KeptAnswer.objects.get()
    pages = [f"/w/handbook/answers/{row.pk}", f"/w/handbook/answers/{row.pk}/citations/1"]
    for role, status in ((Role.VIEWER, 404), (Role.EDITOR, 404), (Role.ADMIN, 200), (Role.OWNER, 200)):
        client.force_login(make_member(workspace, f"{role}@example.org", role))
        for page in pages:
            assert client.get(page).status_code == status, (role, page)
    reviewed = client.get(pages[0])
    assert "ada@example.org" in text_of(reviewed)
    assert "<textarea" not in html_of(reviewed)


def test_answer_is_hidden_with_its_document(ask, visitor, workspace):
    ask()
    row = KeptAnswer.objects.get()
    restrict(Source.objects.get(key="handbook"), Group.objects.create(workspace=workspace, name="crew"))

    for page in (f"/w/handbook/answers/{row.pk}", f"/w/handbook/answers/{row.pk}/citations/1"):
        hidden = visitor.get(page)
        missing = visitor.get(page.replace(str(row.pk), str(uuid.uuid4())))
        assert hidden.status_code == 404
        assert hidden.content == missing.content
    assert "deploy" not in html_of(visitor.get(ASK))


def test_answer_whose_document_is_deleted_concurrently_is_shown_once(ask, use, workspace):  # noqa: F811
    def behave(exchange):
        with acting_everywhere():
            delete_documents(workspace, [Document.objects.get(path="ops/deploy.md").doc_id])
        connection.close()  # the stub's thread ends without
        says("Restart them [#1].")(exchange)

    use(behave)
    response = ask()

    assert response.redirect_chain == []
    assert "Restart them" in text_of(response)
    assert not KeptAnswer.objects.exists()


def test_workspace_without_documents_refuses_every_question(visitor, workspace):
    assert visitor.get(ASK).status_code == 200
    visitor.post(ASK, {"question": "Is there anything?"}, follow=True)
    assert KeptAnswer.objects.get().state == "refused"


def test_huge_titles_and_words_are_cut(visitor, workspace, member, guide):
    passage = Passage(
        text="The walrus " + "w" * 300 + " sings.",
        heading_path=("h" * 200_000,),
        spans=[{"kind": "line", "start": 1, "end": 1}],
    )
    shelve(workspace, "huge.md", passage.text, title="t" * 500, passages=[passage])
    index(workspace)
    response = visitor.post(ASK, {"question": "What does the walrus sing?"}, follow=True)

    assert response.status_code == 200
    assert len(response.content) < 60_000


def test_first_source_is_open_beside_the_answer(ask):
    page = html_of(ask())
    beside = page[page.index('class="beside"') :]

    assert "restart the workers one by one" in beside
    assert "Roll back with the tag" in beside


MARKDOWN = """To polish the astrolabe, see [here](https://evil.example):

```bash
wipe **it**
```

| a | b |
|---|---|
| 1 | 2 |
"""


def test_markdown_of_answers_and_passages_is_rendered_without_links(ask, workspace, guide):
    passage = Passage(text=MARKDOWN, heading_path=("Polish",), spans=[{"kind": "line", "start": 1, "end": 9}])
    shelve(workspace, "polish.md", MARKDOWN, passages=[passage])
    index(workspace)
    answer, beside = html_of(ask("How do I polish the astrolabe?")).split('class="beside"')
    answer = answer[answer.index('class="answer-text') :].partition("<section")[0]

    assert "wipe **it**" in re.sub("<[^>]+>", "", answer)
    assert '<pre class="fence"' in answer
    assert "<td>2</td>" in beside
    assert "<mark>here</mark>" in beside
    assert '<span class="line cited">wipe **it**\n</span>' in beside
    assert "evil.example" not in answer + beside


def test_answer_and_its_link_can_be_copied(ask):
    page = html_of(ask())
    row = KeptAnswer.objects.get()
    copied = re.search(rf'id="text-{row.pk}" hidden>([^<]*)<', page)[1]

    assert copied.startswith(f"{QUESTION}\n\nPush the image, then restart the workers one by one. [1]\n\n")
    assert copied.endswith(f"1. Deploy guide ({row.citations[0]['uri']})")
    assert re.search(rf'id="link-{row.pk}" hidden>http[^<]*/w/handbook/answers/{row.pk}<', page)
