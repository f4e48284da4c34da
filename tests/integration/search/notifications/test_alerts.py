"""Alerts of saved searches: once for each change, under the owner's current rights, also after crashes."""

import json
import re

import pytest
from django.core import mail
from django.db.models.functions import Now

from kebab.errors import Forbidden, NotFound, Unprocessable
from kebab.identity.caller import Caller, caller_access
from kebab.identity.models import Group, Membership, Role
from kebab.people.members import remove_member
from kebab.webhooks.models import Delivery
from search.access.restrictions import restrict
from search.corpus.remove import delete_documents
from search.models import AlertDocument, Document, SavedSearch, Source
from search.notifications import alert_mail
from search.notifications.alert_mail import send_alert_mails
from search.notifications.alerts import evaluate_alerts, newest_matches
from search.notifications.saved_searches import (
    change_search,
    delete_search,
    find_feed,
    get_search,
    open_feed,
    save_search,
)
from search.retrieval.errors import InvalidFilter, InvalidQuery
from tests.support.actors import make_member, make_workspace
from tests.support.corpus import write
from tests.support.jobs import Killed, die
from tests.support.search import sync
from tests.support.webhooks import make_endpoint, operator_access

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("mirrors")]


@pytest.fixture
def ann(workspace):
    return caller_access(Caller(user=make_member(workspace)), workspace.slug)


@pytest.fixture
def endpoint(workspace):
    return make_endpoint(workspace, "https://hooks.example.org/", "alert.matched")


@pytest.fixture
def _mail_is_sent(settings, monkeypatch):
    settings.KEBAB_URL = "https://kebab.example.org"
    for module in ("saved_searches", "alert_mail"):
        monkeypatch.setattr(f"search.notifications.{module}.mail_is_delivered", lambda: True, raising=False)


def evaluate(workspace):
    sync(workspace)
    return evaluate_alerts()


def alerts():
    rows = Delivery.objects.order_by("id")
    return [[each["path"] for each in json.loads(row.body)["data"]["documents"]] for row in rows]


def mailed():
    """Send the mails as if they were due; return the paths of each."""
    SavedSearch.objects.exclude(mail_due_at=None).update(mail_due_at=Now())
    before = len(mail.outbox)
    send_alert_mails()
    return [re.findall(r"^\S+\.md$", message.body, re.M) for message in mail.outbox[before:]]


def test_matching_changed_documents_send_one_alert(workspace, ann, endpoint):
    write(workspace, "before.md", "the crane manual")
    save_search(ann, name="", text="crane", filters={"path_glob": ["*.md"]}, notify="webhook")
    write(workspace, "crane.md", "maintenance of the crane")
    write(workspace, "other.md", "nothing of it")
    write(workspace, "crane.txt", "a crane beside the filter")
    assert [evaluate(workspace), evaluate(workspace)] == [1, 0]
    write(workspace, "crane.md", "the crane has moved")
    assert evaluate(workspace) == 1
    assert alerts() == [["crane.md"], ["crane.md"]]


@pytest.mark.parametrize(
    ("text", "matching", "others"),
    [
        ("crane harbour", "The harbour has a crane.", ["a crane in the hills", "the old harbour"]),
        ("Krane im Hafen", "Der Hafen im Norden hat zwei Krane.", ["Krane im Gebirge", "der alte Hafen"]),
        ("起重机 港口", "港口的起重机已经维修。", ["山里的起重机", "旧的港口"]),
        (
            "maintenance interval of mobile harbour cranes",
            "The interval of maintenance of a harbour crane is a year.",
            ["mobile cranes", "maintenance of the mobile website"],
        ),
    ],
)
def test_documents_with_too_few_words_of_the_search_send_no_alert(
    workspace, ann, endpoint, text, matching, others
):
    saved = save_search(ann, name="", text=text, filters={}, notify="webhook")
    for number, other in enumerate(others):
        write(workspace, f"other{number}.md", other)
    assert evaluate(workspace) == 0
    write(workspace, "match.md", matching)
    assert (evaluate(workspace), alerts()) == (1, [["match.md"]])
    assert [hit.doc_path for hit in newest_matches(saved, ann, limit=9)] == ["match.md"]


_LONG = "\n\n".join(f"Paragraph {number} has other matters." for number in range(8))


@pytest.mark.parametrize(
    ("before", "after", "count"),
    [
        ("The crane was instaled in May.", "The crane was installed in May.", 0),
        ("Der Kran ist 20 m hohc.", "Der Kran ist 20 m hoch.", 0),
        ("The crane is here.", "the CRANE is here!", 0),
        (f"The crane is here.\n\n{_LONG}", f"The crane is here.\n\n{_LONG} And more.", 0),
        ("The crane lifts 20 t.", "The crane lifts 30 t.", 1),
        ("The crane is safe.", "The crane is not safe.", 1),
        ("The crane is closed.", "The crane is opened.", 1),
        ("Kran: 起重机价格为五百元。", "Kran: 起重机价格为六百元。", 1),
        ("The crane lifts.", "The crane lifts. It costs 900 euros.", 1),
        (f"The crane.\n\n{_LONG}", f"The crane.\n\n{_LONG}\n\nA second crane has come.", 1),
    ],
)
def test_document_is_told_again_only_when_the_text_around_the_words_changes(
    workspace, ann, endpoint, before, after, count
):
    for text in ("crane", "kran"):
        save_search(ann, name="", text=text, filters={}, notify="webhook")
    write(workspace, "a.md", before)
    told = evaluate(workspace)
    assert told
    write(workspace, "a.md", after, tags=("reviewed",))
    assert evaluate(workspace) == told * count


def test_document_that_no_longer_matches_leaves_no_text_and_is_told_again(workspace, ann, endpoint):
    saved = save_search(ann, name="", text="crane", filters={}, notify="webhook")
    for text, count in (("the crane", 1), ("nothing of it", 0), ("the crane", 1)):
        write(workspace, "a.md", text)
        assert evaluate(workspace) == count
        assert AlertDocument.objects.filter(saved_search=saved.pk).count() == count
    change_search(ann, saved.pk, notify="no")
    assert not AlertDocument.objects.exists()


def test_deleted_document_leaves_no_text_of_its_alert(workspace, ann, endpoint):
    save_search(ann, name="", text="crane", filters={}, notify="webhook")
    write(workspace, "a.md", "the crane")
    evaluate(workspace)
    assert AlertDocument.objects.count() == 1
    delete_documents(workspace, [Document.objects.get().doc_id])
    assert not AlertDocument.objects.exists()


def test_alerts_use_the_current_rights_of_the_owner(workspace, ann, endpoint):
    save_search(ann, name="", text="crane", filters={}, notify="webhook")
    write(workspace, "secret.md", "the crane", source="closed")
    restrict(Source.objects.get(key="closed"), [Group.objects.create(workspace=workspace, name="few").pk])
    write(workspace, "open.md", "the crane")
    evaluate(workspace)
    assert alerts() == [["open.md"]]


def test_interrupted_alert_evaluation_is_repeated_without_duplicates(workspace, ann, endpoint, monkeypatch):
    save_search(ann, name="", text="crane", filters={}, notify="webhook")
    write(workspace, "crane.md", "the crane")
    sync(workspace)
    with monkeypatch.context() as patched:
        patched.setattr("search.models.tenant.TenantQuerySet.update", die)
        with pytest.raises(Killed):
            evaluate_alerts()
    assert alerts() == []
    assert (evaluate_alerts(), alerts()) == (1, [["crane.md"]])


def test_alert_waits_until_the_document_is_searchable(workspace, ann, endpoint, settings):
    settings.KEBAB_WAIT_LIMIT_S = 0
    save_search(ann, name="", text="crane", filters={}, notify="webhook")
    evaluate(workspace)
    write(workspace, "crane.md", "the crane")
    evaluate_alerts()
    sync(workspace)
    evaluate_alerts()
    assert alerts() == [["crane.md"]]


@pytest.mark.parametrize("end", ["delete", "leave"])
def test_deleted_saved_search_sends_no_alert(workspace, ann, endpoint, end):
    saved = save_search(ann, name="", text="crane", filters={}, notify="webhook")
    _, path = open_feed(ann, saved.pk)
    secret = path.rpartition("/")[2]
    assert find_feed(secret)
    write(workspace, "crane.md", "the crane")
    evaluate(workspace)
    assert len(alerts()) == 1
    if end == "delete":
        delete_search(ann, saved.pk)
    else:
        remove_member(operator_access(workspace, "operator:test"), ann.user.pk)
    assert alerts() == [] and find_feed(secret) is None
    assert not SavedSearch.objects.exists()


@pytest.mark.usefixtures("_mail_is_sent")
def test_matches_are_mailed_together_and_once(workspace, ann):
    save_search(ann, name="Cranes", text="crane", filters={}, notify="mail")
    for path in ("a.md", "b.md"):
        write(workspace, path, "the crane")
        evaluate(workspace)
    assert send_alert_mails() == 0  # not due yet
    assert [sorted(paths) for paths in mailed()] == [["a.md", "b.md"]]
    assert mail.outbox[0].to == [ann.user.email]
    assert "Cranes" in mail.outbox[0].subject
    assert f"https://kebab.example.org/w/{workspace.slug}/search?q=crane" in mail.outbox[0].body
    assert mailed() == []


@pytest.mark.usefixtures("_mail_is_sent")
def test_mail_names_only_what_its_owner_may_still_read(workspace, ann):
    save_search(ann, name="", text="crane", filters={}, notify="mail")
    write(workspace, "open.md", "the crane")
    write(workspace, "closed.md", "the crane", source="closed")
    evaluate(workspace)
    restrict(Source.objects.get(key="closed"), [Group.objects.create(workspace=workspace, name="few").pk])
    assert mailed() == [["open.md"]]
    write(workspace, "open.md", "the crane again")
    evaluate(workspace)
    type(ann.user).objects.filter(pk=ann.user.pk).update(is_active=False)
    assert mailed() == []


@pytest.mark.usefixtures("_mail_is_sent")
def test_mail_whose_sender_dies_or_is_refused_is_sent_again(workspace, ann, monkeypatch):
    save_search(ann, name="", text="crane", filters={}, notify="mail")
    write(workspace, "a.md", "the crane")
    evaluate(workspace)
    with monkeypatch.context() as patched:
        patched.setattr(alert_mail.EmailMessage, "send", die)
        with pytest.raises(Killed):
            mailed()

    def refuse(message):
        raise OSError

    with monkeypatch.context() as patched:
        patched.setattr(alert_mail.EmailMessage, "send", refuse)
        assert mailed() == []
    assert send_alert_mails() == 0  # not at once
    assert mailed() == [["a.md"]]


def test_alerts_begin_with_the_next_change(workspace, ann, endpoint):
    saved = save_search(ann, name="", text="crane", filters={})
    write(workspace, "a.md", "the crane")
    change_search(ann, saved.pk, notify="webhook", name="Cranes")
    assert evaluate(workspace) == 0
    write(workspace, "b.md", "the crane")
    assert (evaluate(workspace), alerts()) == (1, [["b.md"]])
    change_search(ann, saved.pk, notify="no")
    write(workspace, "c.md", "the crane")
    assert evaluate(workspace) == 0


def test_wrong_searches_are_refused(workspace, ann):
    for wrong in ({"text": " "}, {"text": "x" * 2_001}, {"mode": "psychic"}):
        with pytest.raises(InvalidQuery):
            save_search(ann, **{"name": "", "text": "crane", "filters": {}, **wrong})
    with pytest.raises(InvalidFilter):
        save_search(ann, name="", text="crane", filters={"nonsense": ["x"]})
    with pytest.raises(Unprocessable):
        save_search(ann, name="", text="crane", filters={}, notify="mail")
    with pytest.raises(Forbidden):
        save_search(operator_access(workspace, "operator:test"), name="", text="crane", filters={})


def test_saved_search_is_its_owners_alone(workspace, ann):
    saved = save_search(ann, name="", text="crane", filters={})
    bob = make_member(workspace, Role.OWNER)
    elsewhere = make_workspace()
    Membership.objects.create(workspace=elsewhere, user=ann.user, role=Role.OWNER)
    for other in (
        caller_access(Caller(user=bob), workspace.slug),
        caller_access(Caller(user=ann.user), elsewhere.slug),
    ):
        for act in (get_search, delete_search, open_feed):
            with pytest.raises(NotFound):
                act(other, saved.pk)
