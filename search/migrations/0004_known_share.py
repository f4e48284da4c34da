from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("search", "0003_libraries")]

    operations = [
        migrations.AddField(
            model_name="embeddingspace",
            name="known_share",
            field=models.FloatField(blank=True, null=True),
        ),
    ]
