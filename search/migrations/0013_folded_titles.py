"""Titles in lower case as a column: a range of it is served by an index behind row-level security."""

from django.db import migrations, models
from django.db.models.functions import Lower


class Migration(migrations.Migration):
    dependencies = [("search", "0012_document_of_version")]

    operations = [
        migrations.AddField(
            model_name="document",
            name="title_folded",
            field=models.GeneratedField(
                db_persist=True,
                expression=Lower("title"),
                output_field=models.TextField(db_collation="C"),
            ),
        ),
        migrations.AddIndex(
            model_name="document",
            index=models.Index(fields=["workspace", "title_folded"], name="document_by_folded_title"),
        ),
        migrations.RemoveIndex(model_name="document", name="document_by_title"),
    ]
