"""Which address a person has shown to be theirs, and invitations by their address."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("people", "0004_audit_indexes")]

    operations = [
        migrations.AddField(
            model_name="user",
            name="proved_email",
            field=models.EmailField(blank=True, default="", editable=False, max_length=254),
        ),
        migrations.AddIndex(
            model_name="invitation", index=models.Index(fields=["email"], name="invitation_by_email")
        ),
    ]
