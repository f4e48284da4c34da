"""What a group reads is found, and goes with it, by an index that begins with the workspace."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("search", "0013_folded_titles")]

    operations = [
        migrations.AddIndex(
            model_name="sourcereader",
            index=models.Index(fields=["workspace", "group"], name="source_reader_by_group"),
        ),
        migrations.AlterField(
            model_name="sourcereader",
            name="group",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="people.group",
            ),
        ),
    ]
