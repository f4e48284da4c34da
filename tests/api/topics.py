"""Documents about fruit, topics on them, and clients that may evaluate."""

from kebab.identity.models import Group, TokenGroup
from kebab.identity.tokens import mint_token
from search.models import Source
from tests.support.actors import bearer_client
from tests.support.api import address
from tests.support.corpus import restrict, write

APPLES = {
    "topic_id": "apples",
    "query": "apple harvest",
    "judgements": [{"path": "apples.md", "fragment": "L1-L9", "grade": 2}],
}
PEARS = {"topic_id": "pears", "query": "pear harvest", "judgements": [{"path": "pears.md"}]}
ZEBRAS = {"topic_id": "zebras", "query": "zebras", "is_unanswerable": True}


def write_fruit(workspace):
    """Write three documents that the topics are about, one of them in a source of its own."""
    write(workspace, "apples.md", "the apple harvest in autumn")
    write(workspace, "pears.md", "the pear harvest in late summer")
    write(workspace, "secret.md", "the apple harvest that nobody knows of", source="closed")


def close_source(workspace):
    """Restrict the source `closed` to a group, and return the group."""
    group = Group.objects.create(workspace=workspace, name="cellar")
    restrict(Source.objects.in_workspace(workspace).get(key="closed"), group)
    return group


def manager_of(workspace, *groups):
    """Return a client that may evaluate, by a token that is in these groups."""
    token, secret = mint_token(workspace, scopes=["manage", "search"])
    for group in groups:
        TokenGroup.objects.create(workspace=workspace, group=group, token=token)
    return bearer_client(secret)


def post_topics(client, workspace, *topics, **fields):
    """Post topics as JSON."""
    body = {"topics": list(topics), **fields}
    return client.post(address(workspace, "/eval/topics"), body, format="json")


def row_values(client, workspace, tail="/eval/topics", name="topic_id"):
    """Return a field of each row of a list."""
    answer = client.get(address(workspace, tail))
    assert answer.status_code == 200, answer.content
    return [row[name] for row in answer.json()["results"]]
