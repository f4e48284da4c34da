"""Date and author of documents as columns; those of present documents follow in the next migration."""

from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [("search", "0024_compared_at")]

    operations = [
        migrations.AddField(
            model_name="document",
            name="author",
            field=models.CharField(blank=True, db_default="", default="", max_length=200),
        ),
        migrations.AddField(
            model_name="document",
            name="dated_at",
            field=models.DateTimeField(db_default=Now()),
        ),
    ]
