"""Search rules over the API: one at a time, all at once, and what is refused."""

import pytest

from kebab.identity.models import AuditEvent, Role, Workspace
from kebab.identity.tokens import mint_personal_token
from kebab.people.operator import command_line_access
from search.evaluation.judged import JudgedTopic, Qrel
from search.evaluation.topic_sets import store_topics
from search.models import Source
from search.settings.rules import validate_rules
from search.settings.search_settings import RULES
from tests.api.refusals import refusal_of
from tests.support.actors import bearer_client, make_member, make_workspace, member_client, token_client
from tests.support.corpus import write
from tests.support.search import sync

pytestmark = pytest.mark.django_db(transaction=True)

SYNONYMS = {"kind": "synonyms", "words": ["k8s", "Kubernetes"]}


@pytest.fixture
def space():
    workspace = make_workspace()
    write(workspace, "k.md", "Kubernetes runs containers.")
    write(workspace, "b.md", "Boats have sails.")
    sync(workspace)
    return workspace


@pytest.fixture
def admin(space):
    return member_client(space, Role.ADMIN)


def address(space, end=""):
    return f"/api/v1/workspaces/{space.slug}/rules{end}"


def paths_of(client, space, q="k8s"):
    response = client.get(f"/api/v1/workspaces/{space.slug}/search", {"q": q, "mode": "lexical"})
    return [hit["doc_path"] for hit in response.json()["hits"]]


def test_a_rule_is_added_switched_off_and_deleted(admin, space):
    assert admin.get(address(space)).json() == {"version": "", "rules": []}
    added = admin.post(address(space), SYNONYMS, format="json")
    assert added.status_code == 201
    rule = added.json()
    assert (rule["kind"], rule["is_active"]) == ("synonyms", True)
    assert (rule["words"], rule["means"]) == (["k8s", "Kubernetes"], [])
    assert admin.get(address(space)).json()["rules"] == [rule]
    assert paths_of(admin, space) == ["k.md"]
    one = address(space, f"/{rule['id']}")
    assert admin.patch(one, {"is_active": False}, format="json").json() == {**rule, "is_active": False}
    assert paths_of(admin, space) == []
    assert admin.delete(one).status_code == 204
    assert admin.get(address(space)).json() == {"version": "", "rules": []}
    assert admin.delete(one).status_code == 404


def test_replacing_all_rules_requires_the_current_version(admin, space):
    first = admin.put(address(space), {"rules": [SYNONYMS], "version": ""}, format="json").json()
    assert [rule["kind"] for rule in first["rules"]] == ["synonyms"]
    stale = admin.put(address(space), {"rules": [], "version": ""}, format="json")
    assert refusal_of(stale)[:2] == (409, "conflict")
    again = admin.put(address(space), first, format="json")
    assert again.json() == first


def test_a_rule_added_meanwhile_is_not_lost(admin, space, monkeypatch):
    other = {"kind": "stop_words", "words": ["please"], "note": "", "is_active": True, "id": "1" * 32}

    def add_another(value):
        monkeypatch.undo()
        with_other = {RULES: validate_rules([other])}
        Workspace.objects.filter(pk=space.pk).update(settings=with_other)
        return validate_rules(value)

    monkeypatch.setattr("search.settings.rules.validate_rules", add_another)
    late = admin.post(address(space), SYNONYMS, format="json")
    assert refusal_of(late)[:2] == (409, "conflict")
    assert [rule["kind"] for rule in admin.get(address(space)).json()["rules"]] == ["stop_words"]


@pytest.mark.parametrize(
    ("rule", "field"),
    [
        ({"kind": "pin", "queries": ["a"]}, "documents"),
        ({"kind": "pin", "queries": ["a"], "documents": ["x"]}, "documents[0]"),
        ({"kind": "synonyms", "words": ["k8s"]}, "words"),
        ({"kind": "synonyms", "words": ["k8s", "!?"]}, "words[1]"),
        ({"kind": "stop_words", "words": ["a"], "queries": ["a"]}, "queries"),
        ({"kind": "boost", "field": "trust", "value": "great", "factor": 2}, "value"),
        ({"kind": "boost", "field": "source", "value": "a", "factor": 0}, "factor"),
        ({"kind": "boost", "field": "source", "value": "no-such", "factor": 2}, "value"),
        ({"kind": "pin", "queries": ["a"], "documents": ["0" * 32]}, "documents"),
        ({"kind": "answer", "queries": ["a"], "title": "A", "url": "javascript:x"}, "url"),
        ({"kind": "wish"}, "kind"),
        ({"kind": "synonyms", "words": ["a", "b"], "force": True}, "force"),
    ],
)
def test_a_wrong_rule_is_refused_by_its_field(admin, space, rule, field):
    response = admin.post(address(space), rule, format="json")
    assert response.status_code == 400
    assert [error["field"] for error in response.json()["errors"]] == [field]


def test_rules_of_a_source_deleted_since_may_still_be_changed(admin, space):
    boost = {"kind": "boost", "field": "source", "value": "docs", "factor": 2}
    assert admin.post(address(space), boost, format="json").status_code == 201
    Source.objects.in_workspace(space).update(key="old")
    present = admin.get(address(space)).json()
    assert admin.put(address(space), present, format="json").status_code == 200
    refused = admin.post(address(space), {**boost, "value": "no-such"}, format="json").json()
    assert "no-such" in refused["detail"]


def test_a_rule_that_makes_golden_queries_worse_is_refused_unless_forced(admin, space):
    judged = JudgedTopic(topic_id="1", text="containers", qrels=(Qrel(path="k.md", grade=1),))
    store_topics(command_line_access(space), [judged])
    pin = {"kind": "pin", "queries": ["containers"], "documents": [doc_id(admin, space)]}
    refused = admin.post(address(space), pin, format="json")
    assert refusal_of(refused)[:2] == (409, "quality_gate")
    assert admin.post(address(space, "?force=true"), pin, format="json").status_code == 201
    assert paths_of(admin, space, "containers")[0] == "b.md"


def doc_id(client, space):
    found = client.get(f"/api/v1/workspaces/{space.slug}/search", {"q": "boats", "mode": "lexical"})
    return found.json()["hits"][0]["doc_id"]


def test_promoted_answers_and_pins_are_in_the_response(admin, space):
    admin.post(address(space), {"kind": "answer", "queries": ["boats"], "title": "Boats"}, format="json")
    response = admin.get(f"/api/v1/workspaces/{space.slug}/search", {"q": "Boats", "mode": "lexical"}).json()
    assert response["promoted"] == [{"title": "Boats", "text": "", "url": ""}]
    assert [hit["retrieval"]["pinned"] for hit in response["hits"]] == [False]
    (several,) = admin.post("/api/v1/search", {"q": "boats"}, format="json").json()["workspaces"]
    assert several["promoted"] == response["promoted"]


def test_the_audit_log_has_the_number_of_rules_and_not_their_text(admin, space):
    admin.post(address(space), SYNONYMS, format="json")
    event = AuditEvent.objects.get(action="workspace.changed")
    (change,) = event.detail["values"]
    assert change["field"] == "settings.rules"
    assert (change["before"], change["after"]["rules"]) == (None, 1)
    assert "k8s" not in str(event.detail)


def test_only_admins_and_their_tools_see_rules(space):
    for role in (Role.VIEWER, Role.EDITOR):
        assert member_client(space, role).get(address(space)).status_code == 403
    assert token_client(space, "manage").get(address(space)).status_code == 403
    user = make_member(space, Role.ADMIN)
    for scope, status in (("search", 403), ("manage", 200)):
        client = bearer_client(mint_personal_token(user, scopes=[scope])[1])
        assert client.get(address(space)).status_code == status
    client.post(address(space), SYNONYMS, format="json")
    assert "rules" not in client.get(f"/api/v1/workspaces/{space.slug}").json()["settings"]
