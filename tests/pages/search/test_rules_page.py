"""The pages of search rules: each kind is added by its form, switched and deleted."""

import pytest

from kebab.identity.models import Role, Workspace
from search.models import Document
from search.settings.rules import list_rules
from tests.support.actors import make_workspace, member_client
from tests.support.corpus import write
from tests.support.search import sync

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def space():
    workspace = make_workspace()
    document = write(workspace, "k.md", "Kubernetes runs containers.")
    sync(workspace)
    workspace.doc_id = document.doc_id.hex
    return workspace


@pytest.fixture
def admin(space):
    return member_client(space, Role.ADMIN)


def stored(space):
    return list_rules(Workspace.objects.get(pk=space.pk))[1]


def add(client, space, kind, **fields):
    return client.post(f"/w/{space.slug}/settings/rules?kind={kind}", fields)


@pytest.mark.parametrize(
    ("kind", "fields", "rule"),
    [
        ("synonyms", {"words": "k8s, Kubernetes"}, {"words": ["k8s", "Kubernetes"], "means": []}),
        ("stop_words", {"words": "acme"}, {"words": ["acme"]}),
        (
            "answer",
            {"queries": "lunch", "match": "contains", "title": "At noon", "text": "", "url": ""},
            {"queries": ["lunch"], "match": "contains", "title": "At noon"},
        ),
        (
            "boost",
            {"field": "type", "value": "md", "factor": "2"},
            {"field": "type", "value": "md", "factor": 2},
        ),
    ],
)
def test_each_form_adds_its_rule(admin, space, kind, fields, rule):
    assert add(admin, space, kind, **fields).status_code == 302
    (added,) = stored(space)
    assert added.items() >= {"kind": kind, **rule}.items()
    assert admin.get(f"/w/{space.slug}/settings/rules?kind={kind}").status_code == 200


def test_a_document_is_pinned_by_the_address_of_its_page(admin, space):
    address = f"https://kebab.example.org/w/{space.slug}/documents/{space.doc_id}"
    add(admin, space, "pin", queries="holiday", match="exact", documents=address)
    (added,) = stored(space)
    assert (added["queries"], added["documents"]) == (["holiday"], [space.doc_id])
    page = admin.get(f"/w/{space.slug}/settings/rules?kind=pin").content.decode()
    assert f"/w/{space.slug}/documents/{space.doc_id}" in page
    assert "pinned" in admin.get(f"/w/{space.slug}/search?q=holiday").content.decode()


def test_documents_are_pinned_by_title_path_or_id(admin, space):
    document = Document.objects.get(doc_id=space.doc_id)
    page = admin.get(f"/w/{space.slug}/settings/rules?kind=pin&query=a&document={space.doc_id}")
    assert page.context["form"].initial["documents"] == document.title
    for name in (document.title.upper(), document.path, str(document.doc_id)):
        add(admin, space, "pin", queries=name, match="exact", documents=f" {name}\n\n")
        assert stored(space)[-1]["documents"] == [space.doc_id]


def test_an_address_opens_the_form_with_its_query(admin, space):
    for kind in ("synonyms", "pin", "answer"):
        page = admin.get(f"/w/{space.slug}/settings/rules?kind={kind}&query=vacation").content.decode()
        assert "<details open" in page.replace(' class="asked primary"', "")
        assert 'value="vacation"' in page


def test_wrong_input_is_shown_with_the_form(admin, space):
    for kind, fields in (
        ("pin", {"queries": "a", "match": "exact", "documents": "no"}),
        ("synonyms", {"words": "one"}),
        ("boost", {"field": "trust", "value": "great", "factor": "2"}),
    ):
        response = add(admin, space, kind, **fields)
        assert response.status_code == 400
        assert 'role="alert"' in response.content.decode()
    assert stored(space) == []
    assert admin.get(f"/w/{space.slug}/settings/rules?kind=wish").status_code == 400


def test_a_rule_is_switched_and_deleted(admin, space):
    add(admin, space, "stop_words", words="acme")
    page = f"/w/{space.slug}/settings/rules/{stored(space)[0]['id']}"
    admin.post(f"{page}/switch?on=no")
    assert [rule["is_active"] for rule in stored(space)] == [False]
    admin.post(f"{page}/switch")
    assert [rule["is_active"] for rule in stored(space)] == [True]
    admin.post(f"{page}/delete")
    assert stored(space) == []
    assert admin.post(f"{page}/delete").status_code == 404


def test_promoted_answers_stand_above_the_hits(admin, space):
    add(admin, space, "answer", queries="lunch", match="exact", title="At noon", text="<b>", url="")
    for path in (f"/w/{space.slug}/search", "/search"):
        page = admin.get(f"{path}?q=lunch").content.decode()
        assert "<strong>At noon</strong>" in page
        assert "&lt;b&gt;" in page
