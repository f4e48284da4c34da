"""Searches that people have saved; with one go the events about it that are not delivered yet."""

import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

from kebab.tenancy.keys import Reference, composite_primary_key, foreign_key
from kebab.tenancy.policies import wall

_TENANT = ("workspace_id",)
_NOTIFY = {"no": "Don’t notify", "mail": "By email", "webhook": "By webhook"}
# The search may go with a membership, of which no code of webhooks knows.
_GO_ALONG = """
CREATE FUNCTION kebab_delete_alerts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM webhooks_delivery
    WHERE workspace_id = OLD.workspace_id AND subject = OLD.id::text AND state = 'pending';
    RETURN NULL;
END $$;
CREATE TRIGGER alerts_go_along AFTER DELETE ON search_savedsearch
FOR EACH ROW EXECUTE FUNCTION kebab_delete_alerts()
"""
_STAY = """
DROP TRIGGER alerts_go_along ON search_savedsearch;
DROP FUNCTION kebab_delete_alerts()
"""


class Migration(migrations.Migration):
    dependencies = [
        ("search", "0030_query_reviews"),
        ("webhooks", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="SavedSearch",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("name", models.CharField(max_length=200)),
                ("text", models.TextField()),
                ("mode", models.CharField(max_length=10)),
                ("filters", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("feed_sha256", models.BinaryField(max_length=32, null=True, unique=True)),
                (
                    "notify",
                    models.CharField(choices=list(_NOTIFY.items()), default="no", max_length=10),
                ),
                ("seen_seq", models.BigIntegerField(default=0, editable=False)),
                (
                    "unsent",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), default=list, editable=False, size=None
                    ),
                ),
                ("mail_due_at", models.DateTimeField(editable=False, null=True)),
                (
                    "membership",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="saved_searches",
                        to="people.membership",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="people.workspace",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["workspace", "membership", "name"], name="saved_search_by_member"),
                    models.Index(
                        condition=models.Q(("notify", "no"), _negated=True),
                        fields=["workspace", "id"],
                        name="saved_search_with_alert",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(notify__in=list(_NOTIFY)), name="saved_search_notify"
                    )
                ],
            },
        ),
        composite_primary_key("search_savedsearch"),
        foreign_key(Reference("search_savedsearch", _TENANT, "people_workspace", ("id",))),
        foreign_key(Reference("search_savedsearch", (*_TENANT, "membership_id"), "people_membership")),
        wall("search_savedsearch"),
        migrations.RunSQL(_GO_ALONG, _STAY),
    ]
