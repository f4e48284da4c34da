"""Callers of a workspace, and topics for them."""

from kebab.identity.caller import Access, Caller, token_access
from kebab.identity.models import Group, TokenGroup, TokenScope, Workspace
from kebab.identity.tokens import mint_token, readable_tokens
from kebab.people.operator import command_line_access
from search.evaluation.judged import JudgedTopic, Qrel


def operator_of(workspace: Workspace) -> Access:
    """Return a caller who reads everything."""
    return command_line_access(workspace)


def token_of(workspace: Workspace, *groups: Group) -> Access:
    """Return a token with all scopes that reads open sources and sources of these groups."""
    token, _ = mint_token(workspace, scopes=TokenScope)
    for group in groups:
        TokenGroup.objects.create(workspace=workspace, group=group, token=token)
    found = readable_tokens().get(pk=token.pk)
    return token_access(Caller(token=found), found)


def topic(topic_id: str, text: str, *relevant: str | Qrel, **fields: object) -> JudgedTopic:
    """Return a topic; a plain text stands for a relevant path of `docs`."""
    qrels = tuple(each if isinstance(each, Qrel) else Qrel(path=each, source="docs") for each in relevant)
    return JudgedTopic(topic_id=topic_id, text=text, qrels=qrels, **fields)
