"""People in the Django admin."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.forms import BaseUserCreationForm
from django.db import models, transaction
from django.http import HttpRequest
from unfold.contrib.filters.admin import BooleanRadioFilter
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from kebab.admin import formatting
from kebab.admin.actions import Act, note
from kebab.admin.site import site
from kebab.people.access.caller import Caller
from kebab.people.admin.access_report import Explained
from kebab.people.members import owned_alone
from kebab.people.models import Membership, User, Workspace
from kebab.people.models.user import normal_address

_RIGHTS = ("is_staff", "is_superuser", "user_permissions")
# Fields of the form whose values the audit log has, before and after a change; no secrets.
_TOLD = ("email", "display_name", "is_active", *_RIGHTS)


class _NewPerson(UserCreationForm):  # type: ignore[misc]
    class Meta(BaseUserCreationForm.Meta):
        model = User
        fields = ("email",)

    def clean_email(self) -> str:
        return normal_address(self.cleaned_data["email"])


class _ChangedPerson(UserChangeForm):  # type: ignore[misc]
    def clean_email(self) -> str:
        return normal_address(self.cleaned_data["email"])


@admin.register(User, site=site)
class PersonAdmin(Explained, UserAdmin):  # type: ignore[misc, type-arg]
    """People, who sign in with their address. None is deleted: what they did keeps their name."""

    form, add_form, change_password_form = _ChangedPerson, _NewPerson, AdminPasswordChangeForm
    ordering = ("-id",)
    window_by = "id"
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
        """Let only operators give rights: whoever may change people could make themselves one."""
        always = ("member_of", "last_login", "date_joined")
        return always if request.user.is_superuser else (*always, *_RIGHTS)  # type: ignore[union-attr]

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Keep staff from the accounts of other staff: with their password they would have their rights."""
        has_rights = obj is not None and (obj.is_staff or obj.is_superuser)
        may_reach = request.user.is_superuser or not has_rights or obj == request.user  # type: ignore[union-attr]
        return may_reach and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False: a workspace could lose its owner. Deactivate instead, which ends their sessions."""
        return False

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> Any:
        """Set a password and write it down, both or neither."""
        with transaction.atomic():
            return super().user_change_password(request, id, form_url)

    def may(self, request: HttpRequest, act: Act, row: Any = None) -> bool:
        """Keep staff from the accounts of other staff here too."""
        return super().may(request, act, row) and self.has_change_permission(request, row)

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        """Save, and say which workspaces nobody can administer any more."""
        super().save_model(request, obj, form, change)
        if change and "is_active" in form.changed_data and not obj.is_active:
            for workspace in owned_alone(obj):
                messages.warning(request, f"{workspace} has no other active owner than {obj.email}.")

    def log_addition(self, request: HttpRequest, obj: User, message: Any) -> Any:
        """Write that the operator made an account; its subject is the address: people choose their names."""
        note(request, "user.added", obj.email, id=str(obj.pk))
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: User, message: Any) -> Any:
        """Write that the operator changed an account, which fields of it, and from what to what."""
        facts = {"fields": sorted(_changed(message, "fields")), "values": _changed(message, "values")}
        note(request, "user.changed", obj.email, id=str(obj.pk), **facts)
        return super().log_change(request, obj, message)

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Any, add: bool = False
    ) -> list[dict[str, Any]]:
        """Return Django's note of a change, with the values of fields before and after."""
        notes: list[dict[str, Any]] = super().construct_change_message(request, form, formsets, add)
        before, after = form.initial, form.cleaned_data
        values = [
            {"field": name, "before": _told(before[name]), "after": _told(after[name])}
            for name in form.changed_data
            if name in _TOLD and name in before
        ]
        for each in notes:
            each.get("changed", {})["values"] = values
        return notes

    def find(self, request: HttpRequest, term: str) -> models.QuerySet[User]:
        """Return the people whose address begins so."""
        return User.objects.filter(email__startswith=term.lower())

    def caller_in(self, request: HttpRequest, row: User) -> tuple[Caller, Workspace | None]:
        """Return the person, and no workspace."""
        return Caller(user=row), None

    @admin.display(description="member of")
    def member_of(self, user: User) -> Any:
        """Their first memberships."""
        memberships = Membership.objects.filter(user=user).select_related("workspace").order_by("pk")
        cells = [(formatting.link(each.workspace), each.role) for each in memberships[: formatting.MOST_ROWS]]
        return formatting.rows(cells, "Workspace", "Role")


def _changed(notes: list[dict[str, Any]], what: str) -> list[Any]:
    """Return the `fields` that Django's note of a change names, which are labels of the form, or `values`."""
    return [each for note in notes for each in note.get("changed", {}).get(what, [])]


def _told(value: Any) -> Any:
    """Return a value of a form as JSON has it: rows by what they are called."""
    if value is None or isinstance(value, bool | str):
        return value
    return sorted(map(str, value)) if isinstance(value, Iterable) else str(value)
