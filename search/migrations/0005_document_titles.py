from django.contrib.postgres.indexes import OpClass
from django.db import migrations, models
from django.db.models.functions import Lower


class Migration(migrations.Migration):
    dependencies = [("search", "0004_known_share")]

    operations = [
        migrations.AddIndex(
            model_name="document",
            index=models.Index(
                models.F("workspace"),
                OpClass(Lower("title"), name="text_pattern_ops"),
                name="document_by_title",
            ),
        ),
    ]
