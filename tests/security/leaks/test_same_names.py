"""Objects of equal names in two workspaces stay separate."""

from search.models import Source
from tests.support.actors import Role, make_member, make_workspace, person_client
from tests.support.api import address


def test_site_of_another_workspace_can_be_added(db):
    workspace, other = make_workspace(), make_workspace()
    client = person_client(make_member(workspace, Role.EDITOR))
    config = {"url": "https://docs.example.org/"}
    Source.objects.create(workspace=other, key="site", kind="web", config=config)
    body = {"key": "site", "kind": "web", "config": config}
    created = client.post(address(workspace, "/sources"), body, format="json")

    assert created.status_code == 201
    listed = client.get(address(workspace, "/sources")).json()["results"]
    assert [row["id"] for row in listed] == [created.json()["id"]]
