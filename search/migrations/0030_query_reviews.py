"""Reviews of searches without results."""

import django.db.models.deletion
from django.db import migrations, models

from kebab.tenancy.keys import Reference, composite_primary_key, foreign_key
from kebab.tenancy.policies import wall

_STATES = ("open", "in_work", "done", "ignored")


class Migration(migrations.Migration):
    dependencies = [("search", "0029_fill_filter_values")]

    operations = [
        migrations.CreateModel(
            name="QueryReview",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("folded", models.CharField(max_length=500)),
                (
                    "state",
                    models.CharField(
                        choices=list(zip(_STATES, ("Open", "In work", "Done", "Ignored"), strict=True)),
                        max_length=10,
                    ),
                ),
                ("owner", models.CharField(blank=True, max_length=320)),
                ("changed_at", models.DateTimeField(auto_now=True)),
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
                "constraints": [
                    models.UniqueConstraint(fields=("workspace", "folded"), name="query_review_once"),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", list(_STATES))), name="query_review_state_known"
                    ),
                ],
            },
        ),
        composite_primary_key("search_queryreview"),
        foreign_key(Reference("search_queryreview", ("workspace_id",), "people_workspace", ("id",))),
        wall("search_queryreview"),
    ]
