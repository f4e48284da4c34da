"""Kinds of sources on the connector protocol; the states of their connectors follow in the next migration."""

from collections.abc import Mapping
from typing import ClassVar

from django.db import migrations, models

KINDS = [
    ("upload", "Upload"),
    ("folder", "Folder"),
    ("git", "Git"),
    ("web", "Web"),
    ("s3", "S3"),
    ("webdav", "Webdav"),
    ("feed", "Feed"),
    ("imap", "Imap"),
    ("mediawiki", "Mediawiki"),
    ("github", "Github"),
    ("gitlab", "Gitlab"),
    ("program", "Program"),
]


class Migration(migrations.Migration):
    dependencies = [("search", "0031_saved_searches")]

    safe_because: ClassVar[Mapping[int, str]] = {
        0: "a wider constraint takes its place in the same transaction",
        2: "sources are few, so that all rows are looked at in no time",
    }

    operations = [
        migrations.RemoveConstraint(model_name="source", name="source_kind_known"),
        migrations.AlterField(
            model_name="source", name="kind", field=models.CharField(choices=KINDS, max_length=10)
        ),
        migrations.AddConstraint(
            model_name="source",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", [kind for kind, _ in KINDS])), name="source_kind_known"
            ),
        ),
    ]
