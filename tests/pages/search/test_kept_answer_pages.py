"""Pages of stored answers: conversations, validity, other people's answers, and deletion."""

import re
import uuid
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from kebab.identity.models import Group, Role
from search.models import KeptAnswer, Source
from tests.integration.search.answers.factories import make_answer
from tests.pages.search.shelf import Passage, make_member, shelve
from tests.support.corpus import restrict

GUIDE_LINE = "Push the image, then restart the workers one by one."


@pytest.fixture
def answer_of_member(guide, member):
    """Return a function that stores an answer of the member's of a given age."""

    def make(question, *, minutes=0, **fields):
        created_at = timezone.now() - timedelta(minutes=minutes)
        values = {"creator": f"user:{member.pk}", "quote": GUIDE_LINE, **fields}
        return make_answer(guide, question=question, created_at=created_at, **values)

    return make


def at(tail):
    return f"/w/handbook/{tail}"


def html_of(response):
    return response.content.decode()


def text_of(response):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html_of(response)))


def state_of(response):
    """Return the label that states whether a citation is still valid."""
    return re.search(r'class="state[^"]*"[^>]*>([^<]+)<', html_of(response))[1].strip()


def test_conversations_are_listed_newest_first_by_their_first_question(visitor, answer_of_member):
    old = answer_of_member("What was first?", minutes=9)
    answer_of_member("What came after it?", minutes=1, conversation_id=old.conversation_id)
    new = answer_of_member("What is newer?", minutes=5)
    answer_of_member("Whose is it?", creator="user:0")
    page = html_of(visitor.get(at("ask")))
    listed = re.findall(r"/conversations/([0-9a-f-]{36})\"", page)

    assert [each for each in listed if set(each) - {"0", "-"}] == [
        str(new.conversation_id),
        str(old.conversation_id),
    ]
    assert "What was first?" in page
    assert "What came after it?" not in page
    assert "Whose is it?" not in page


def test_a_list_of_many_conversations_goes_on(visitor, answer_of_member):
    for number in range(52):
        answer_of_member(f"Question {number:02}?", minutes=number)
    first = html_of(visitor.get(at("ask")))
    following = re.search(r'href="(\?cursor=[^"]+)"', first)[1]
    rest = html_of(visitor.get(at("ask") + following))

    assert "Question 49?" in first
    assert "Question 50?" not in first
    assert re.findall(r"Question \d\d", rest) == ["Question 50", "Question 51"]
    assert visitor.get(at("ask?cursor=x")).status_code == 400


def test_conversation_shows_its_turns_in_order_and_goes_on(visitor, answer_of_member):
    first = answer_of_member("What was first?", minutes=9)
    answer_of_member("What came after it?", minutes=1, conversation_id=first.conversation_id)
    page = html_of(visitor.get(at(f"conversations/{first.conversation_id}")))

    assert page.index("What was first?") < page.index("What came after it?")
    assert page.count("<article") - page.count('<article class="turn live"') == 2
    assert f'name="conversation_id" value="{first.conversation_id}"' in page
    fields = {"question": "How do I roll back?", "conversation_id": str(first.conversation_id)}
    response = visitor.post(at("ask"), fields)
    row = KeptAnswer.objects.get(question="How do I roll back?")
    assert response["Location"] == at(f"conversations/{first.conversation_id}#answer-{row.pk}")


def test_conversation_page_is_hidden_from_others(client, workspace, answer_of_member):
    row = answer_of_member("What was first?")
    address = at(f"conversations/{row.conversation_id}")
    for role in Role:
        client.force_login(make_member(workspace, f"{role}@example.org", role))
        strange, missing = client.get(address), client.get(at(f"conversations/{uuid.uuid4()}"))
        assert strange.status_code == 404
        assert strange.content == missing.content


def test_an_answer_is_deleted_and_the_rest_of_its_conversation_stays(visitor, answer_of_member):
    first = answer_of_member("What was first?", minutes=9)
    later = answer_of_member("What came after it?", conversation_id=first.conversation_id)
    assert f'action="/w/handbook/answers/{first.pk}/delete"' in html_of(
        visitor.get(at(f"answers/{first.pk}"))
    )
    response = visitor.post(at(f"answers/{first.pk}/delete"), follow=True)

    assert response.redirect_chain == [(at("ask"), 302)]
    assert list(KeptAnswer.objects.values_list("pk", flat=True)) == [later.pk]
    assert visitor.post(at(f"answers/{first.pk}/delete")).status_code == 404
    assert visitor.get(at(f"answers/{later.pk}/delete"))["Location"] == at(f"answers/{later.pk}")


def test_only_askers_and_reviewers_delete(client, workspace, answer_of_member):
    row = answer_of_member("What was first?")
    for role in (Role.VIEWER, Role.EDITOR):
        client.force_login(make_member(workspace, f"{role}@example.org", role))
        assert client.post(at(f"answers/{row.pk}/delete")).status_code == 404
    assert KeptAnswer.objects.exists()
    client.force_login(make_member(workspace, "admin@example.org", Role.ADMIN))
    assert client.post(at(f"answers/{row.pk}/delete")).status_code == 302
    assert not KeptAnswer.objects.exists()


def test_each_citation_is_shown_as_valid_or_changed(visitor, workspace, answer_of_member):
    row = answer_of_member("How do I restart?")
    address, scripted = at(f"answers/{row.pk}/check"), {"HX-Request": "true"}
    assert f'href="{address}"' in html_of(visitor.get(at(f"answers/{row.pk}")))
    assert "ops/deploy.md#L3" in text_of(visitor.get(address, headers=scripted))
    stands = state_of(visitor.get(address, headers=scripted))

    shelve(workspace, "ops/deploy.md", "Nothing is left of it.", title="Deploy guide")
    assert state_of(visitor.get(address, headers=scripted)) != stands
    assert "<html" not in html_of(visitor.get(address, headers=scripted))
    assert "<html" in html_of(visitor.get(address))


def test_checking_an_answer_requires_reading_it(visitor, workspace, answer_of_member):
    row = answer_of_member("How do I restart?")
    restrict(Source.objects.get(key="handbook"), Group.objects.create(workspace=workspace, name="crew"))
    for page in (f"answers/{row.pk}/check", f"conversations/{row.conversation_id}"):
        assert visitor.get(at(page)).status_code == 404
    assert "How do I restart?" not in html_of(visitor.get(at("ask")))
    assert "How do I restart?" not in html_of(visitor.get(at("answers")))


def test_answers_of_others_are_listed_for_reviewers_only(client, workspace, answer_of_member):
    answer_of_member("What did Ada ask?", asked_by="ada@example.org")
    for role in Role:
        client.force_login(make_member(workspace, f"{role}@example.org", role))
        page, ask = client.get(at("answers")), client.get(at("ask"))
        is_reviewer = role in (Role.ADMIN, Role.OWNER)
        assert ("What did Ada ask?" in text_of(page)) is is_reviewer
        assert ("ada@example.org" in text_of(page)) is is_reviewer
        assert ask.status_code == 200


def test_own_answers_are_listed(visitor, answer_of_member):
    answer_of_member("Who won?", state="refused", reason="not_covered", text="")

    assert "Who won?" in text_of(visitor.get(at("answers")))


def test_sources_are_numbered_from_1_in_the_order_of_the_answer(visitor, answer_of_member):
    cited = answer_of_member("What is it?").citations[0]
    row = answer_of_member(
        "And then?", text="So [#4], not so [#2].", citations=[{**cited, "n": 4}, {**cited, "n": 2}]
    )
    page = html_of(visitor.get(at(f"answers/{row.pk}")))

    markers = re.findall(r'class="marker" href="#cited-[^"]*-(\d)"[^>]*>.*?</span>(\d)</a>', page)
    assert markers == [("4", "1"), ("2", "2")]
    assert "So [1], not so [2]." in page
    passage = html_of(visitor.get(at(f"answers/{row.pk}/citations/2"), headers={"hx-request": "true"}))
    assert '<p class="n">2</p>' in passage


def test_further_sections_of_cited_documents_are_offered_to_the_asker(visitor, member, workspace, guide):
    passages = [
        Passage(text=f"On {name}.", ordinal=number, heading_path=("Deploy guide", name))
        for number, name in enumerate(("Start", "Undo", "Undo", "This · That"))
    ]
    passages[-1] = replace(passages[-1], text="## Who may?\n\nAll.\n\n## Start\n\nNow.")
    document = shelve(workspace, "more.md", "x", title="Deploy guide", passages=passages)
    row = make_answer(document, heading="Start", creator=f"user:{member.pk}")
    page = visitor.get(at(f"answers/{row.pk}"))

    (turn,) = page.context["turns"]
    offered = [(each["label"], each["question"]) for each in turn["follow_ups"]]
    assert offered == [("Undo", "Deploy guide: Undo"), ("Who may?", "Who may?")]
    form = html_of(visitor.get(turn["follow_ups"][0]["address"]))
    assert f'name="conversation_id" value="{row.conversation_id}"' in form
    assert "Deploy guide: Undo</textarea>" in form
    assert f"/w/handbook/search?q={row.question.replace(' ', '+')[:-1]}" in html_of(page)


def test_reviewers_are_offered_no_follow_ups(client, workspace, answer_of_member):
    row = answer_of_member("What is it?")
    client.force_login(make_member(workspace, "boss@example.org", Role.OWNER))
    assert client.get(at(f"answers/{row.pk}")).context["turns"][0]["follow_ups"] == []


def test_conversation_is_downloaded_as_markdown(visitor, answer_of_member):
    first = answer_of_member("What\nis it?", text="So [#1].", minutes=5)
    answer_of_member("And then?", text="", state="refused", conversation_id=first.conversation_id)
    file = visitor.get(at(f"conversations/{first.conversation_id}?format=md"))

    assert file["Content-Type"] == "text/markdown; charset=utf-8"
    assert file["Content-Disposition"] == 'attachment; filename="answers.md"'
    told, *_ = html_of(file).partition("\n\n## And then?")
    assert told == "## What is it?\n\nSo [1].\n\n1. Deploy guide (ops/deploy.md#L1)"
    answer = visitor.get(at(f"answers/{first.pk}?format=md"))
    assert html_of(answer) == f"{told}\n"
