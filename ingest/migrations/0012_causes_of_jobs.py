"""Jobs remember the request that asked for them; the default lets code without the columns go on."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ingest", "0011_gate")]

    operations = [
        migrations.AddField(
            model_name="job",
            name=name,
            field=models.CharField(blank=True, db_default="", default="", max_length=64),
        )
        for name in ("request_id", "traceparent")
    ]
