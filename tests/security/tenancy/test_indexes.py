"""Every index on tenant tables begins with the workspace, and dependent rows are deleted with theirs."""

import re

import pytest
from django.db import connection

from kebab.health.server_checks import tenant_models
from kebab.identity.caller import readable_memberships
from kebab.identity.models import ApiToken, Group, GroupMember, Membership, TokenGroup
from kebab.identity.tokens import readable_tokens
from kebab.tenancy.current_workspace import acting_in
from search.models import SourceReader

_INDEXES = """
SELECT indexrelid::regclass::text
FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
WHERE indrelid = ANY(%s::regclass[]) AND attname <> 'workspace_id'
"""
# Queried before the workspace is known: callers and invitations.
OF_CALLERS = {
    "people_apitoken_created_by_id_45bd726c",
    "people_apitoken_prefix_8d442cb4_like",
    "people_apitoken_prefix_key",
    "people_invitation_secret_sha256_key",
    "people_membership_user_id_35baff26",
    "people_workspace_slug_6193c943_like",
    "people_workspace_slug_key",
    "invitation_by_email",
    "search_savedsearch_feed_sha256_key",
}
# Queried by operators and sweeps over all workspaces.
OF_OPERATORS = {
    "api_idempotencykey_created_at_bf12046a",
    "audit_by_actor",
    "audit_newest",
    "job_newest",
    "unreadable_newest",
}
# Keys of memberships; those of a workspace's own rows are composite.
KEYS_OF_PEOPLE = {
    "api_idempotencykey_pkey",
    "people_apitoken_pkey",
    "people_auditevent_pkey",
    "people_group_pkey",
    "people_groupmember_pkey",
    "people_invitation_pkey",
    "people_membership_pkey",
    "people_tokengroup_pkey",
    "people_workspace_pkey",
}


def test_every_index_begins_with_the_workspace(db):
    tables = [model._meta.db_table for model in tenant_models()]
    with connection.cursor() as cursor:
        cursor.execute(_INDEXES, [tables])
        others = {name for (name,) in cursor.fetchall()}

    assert others == OF_CALLERS | OF_OPERATORS | KEYS_OF_PEOPLE


@pytest.mark.parametrize(
    ("model", "gone"),
    [
        (Group, [GroupMember, TokenGroup, SourceReader]),
        (Membership, [GroupMember]),
        (ApiToken, [TokenGroup]),
    ],
    ids=["group", "membership", "token"],
)
def test_dependent_rows_are_deleted_with_their_row_in_its_workspace_only(model, gone, alpha, beta):
    rows = (GroupMember, TokenGroup, SourceReader)
    with acting_in(alpha.id):
        model.objects.filter(workspace=alpha.id).delete()

    remaining = {each for each in rows if each.objects.filter(workspace=alpha.id).exists()}
    assert remaining == set(rows) - set(gone)
    assert all(each.objects.filter(workspace=beta.id).exists() for each in rows)


def test_group_members_are_found_by_an_index_of_the_workspace(alpha):
    querysets = {"membership_id": readable_memberships(alpha.owner), "token_id": readable_tokens()}
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
    for column, rows in querysets.items():
        assert re.search(rf"Index Cond: .*workspace_id = .* AND \({column} = ", rows.explain())
