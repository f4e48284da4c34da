"""Users in the Django admin."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.forms import BaseUserCreationForm
from django.db import models, transaction
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import BooleanRadioFilter
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from kebab.admin import formatting
from kebab.admin.actions import RowAction, record_admin_action
from kebab.admin.site import site
from kebab.people.access.caller import Caller
from kebab.people.admin.access_report import AccessReportAdmin
from kebab.people.members import solely_owned_workspaces
from kebab.people.models import Membership, User, Workspace
from kebab.people.models.user import normalize_email

_RIGHTS = ("is_staff", "is_superuser", "user_permissions")
# Form fields whose values before and after a change go into the audit log; no secrets.
_AUDITED_FIELDS = ("email", "display_name", "is_active", *_RIGHTS)


class _PersonCreationForm(UserCreationForm):
    class Meta(BaseUserCreationForm.Meta):  # type: ignore[name-defined]  # the stubs lack it
        model = User
        fields = ("email",)

    def clean_email(self) -> str:
        return normalize_email(self.cleaned_data["email"])


class _PersonChangeForm(UserChangeForm):
    def clean_email(self) -> str:
        return normalize_email(self.cleaned_data["email"])


@admin.register(User, site=site)
class PersonAdmin(AccessReportAdmin, UserAdmin):  # type: ignore[misc, type-arg]  # the class itself is not generic, its form another
    """Users, who sign in with their address. None is deleted: audit events keep their name."""

    form, add_form, change_password_form = _PersonChangeForm, _PersonCreationForm, AdminPasswordChangeForm
    ordering = ("-id",)
    window_by = "id"
    figures = ((_("Users"), {}),)
    list_display = ("email", "display_name", "is_active", "is_staff", "last_login", "access_link")
    search_fields = ("email",)
    search_help_text = "How an address begins"
    list_filter = (
        ("is_active", BooleanRadioFilter),
        ("is_staff", BooleanRadioFilter),
        ("is_superuser", BooleanRadioFilter),
    )
    fieldsets = (
        (None, {"fields": ("email", "password")}),
        ("Person", {"fields": ("display_name", "member_of")}),
        ("Rights here", {"fields": ("is_active", *_RIGHTS)}),
        ("Dates", {"fields": ("last_login", "date_joined")}),
    )
    add_fieldsets = ((None, {"fields": ("email", "password1", "password2")}),)
    filter_horizontal = ("user_permissions",)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Let superusers alone grant rights: other staff could make themselves superusers."""
        always = ("member_of", "last_login", "date_joined")
        return always if request.user.is_superuser else (*always, *_RIGHTS)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Forbid staff to change other staff: by setting a password they would gain their rights."""
        has_rights = obj is not None and (obj.is_staff or obj.is_superuser)
        may_reach = request.user.is_superuser or not has_rights or obj == request.user
        return may_reach and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False: a workspace could lose its owner. Deactivating a user ends their sessions instead."""
        return False

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> Any:
        """Set a password and record it, in one transaction."""
        with transaction.atomic():
            return super().user_change_password(request, id, form_url)

    def is_permitted(self, request: HttpRequest, action: RowAction, row: Any = None) -> bool:
        """Forbid staff actions on the accounts of other staff."""
        return super().is_permitted(request, action, row) and self.has_change_permission(request, row)

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        """Save, and warn about workspaces that lose their last active owner."""
        super().save_model(request, obj, form, change)
        if change and "is_active" in form.changed_data and not obj.is_active:
            for workspace in solely_owned_workspaces(obj):
                messages.warning(request, f"{workspace} has no other active owner than {obj.email}.")

    def log_addition(self, request: HttpRequest, obj: User, message: Any) -> Any:
        """Record that the operator created an account, under its address, since people choose their names."""
        record_admin_action(request, "user.added", obj.email, id=str(obj.pk))
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: User, message: Any) -> Any:
        """Record that the operator changed an account, with the fields and their old and new values."""
        facts = {
            "fields": sorted(_changed_values(message, "fields")),
            "values": _changed_values(message, "values"),
        }
        record_admin_action(request, "user.changed", obj.email, id=str(obj.pk), **facts)
        return super().log_change(request, obj, message)

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Any, add: bool = False
    ) -> list[dict[str, Any]]:
        """Return Django's change message, with the old and new values of fields."""
        notes: list[dict[str, Any]] = super().construct_change_message(request, form, formsets, add)
        before, after = form.initial, form.cleaned_data
        values = [
            {"field": name, "before": _json_value(before[name]), "after": _json_value(after[name])}
            for name in form.changed_data
            if name in _AUDITED_FIELDS and name in before
        ]
        for each in notes:
            each.get("changed", {})["values"] = values
        return notes

    def find(self, request: HttpRequest, term: str) -> models.QuerySet[User]:
        """Return the users whose address starts with `term`."""
        return User.objects.filter(email__startswith=term.lower())

    def caller_in(self, request: HttpRequest, row: User) -> tuple[Caller, Workspace | None]:
        """Return the user, without a default workspace."""
        return Caller(user=row), None

    @admin.display(description="member of")
    def member_of(self, user: User) -> Any:
        """Return a table of the user's first memberships."""
        memberships = Membership.objects.filter(user=user).select_related("workspace").order_by("pk")
        cells = [(formatting.link(each.workspace), each.role) for each in memberships[: formatting.MOST_ROWS]]
        return formatting.rows(cells, "Workspace", "Role")


def _changed_values(notes: list[dict[str, Any]], what: str) -> list[Any]:
    """Return the `fields` of Django's change messages, which are form labels, or their `values`."""
    return [each for note in notes for each in note.get("changed", {}).get(what, [])]


def _json_value(value: Any) -> Any:
    """Return a form value as JSON; rows become their names."""
    if value is None or isinstance(value, bool | str):
        return value
    return sorted(map(str, value)) if isinstance(value, Iterable) else str(value)
