"""The scope with which a person's tools administer workspaces."""

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models

_SCOPES = ["search", "ingest", "manage", "ask", "administer"]
_NAMES = {"apitoken": "token_scopes_known", "personaltoken": "personal_token_scopes_known"}


class Migration(migrations.Migration):
    atomic = False  # one table at a time
    safe_because = dict.fromkeys(
        range(3 * len(_NAMES)), "tokens are few, and the version before writes none of the new scope"
    )
    dependencies = [("people", "0010_personal_tokens")]

    operations = [
        operation
        for model, name in _NAMES.items()
        for operation in (
            migrations.AlterField(
                model_name=model,
                name="scopes",
                field=ArrayField(
                    base_field=models.CharField(
                        choices=[(scope, scope.title()) for scope in _SCOPES], max_length=16
                    ),
                    blank=True,
                    default=list,
                    size=None,
                ),
            ),
            migrations.RemoveConstraint(model_name=model, name=name),
            migrations.AddConstraint(
                model_name=model,
                constraint=models.CheckConstraint(
                    condition=models.Q(scopes__contained_by=_SCOPES), name=name
                ),
            ),
        )
    ]
