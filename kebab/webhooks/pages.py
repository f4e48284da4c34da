"""Pages of webhooks. A secret is shown once, in the response that created it."""

import uuid
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kebab.identity.caller import ADMINS
from kebab.identity.models import Workspace
from kebab.pages.page import WorkspacePage, list_page
from kebab.people.pages.form_page import FormPage, PeopleAction
from kebab.webhooks.endpoints import (
    change_endpoint,
    create_endpoint,
    delete_endpoint,
    deliveries_of,
    endpoints_of,
    get_endpoint,
    send_test,
)
from kebab.webhooks.models import EventType

_EVENTS = {
    EventType.DOCUMENT_INDEXED: gettext_lazy("document.indexed: a document is new or has changed"),
    EventType.DOCUMENT_DELETED: gettext_lazy("document.deleted: a document was deleted"),
    EventType.DOCUMENT_REFUSED: gettext_lazy("document.refused: a file could not be read or was refused"),
    EventType.JOB_FINISHED: gettext_lazy("job.finished: an upload or a sync has ended"),
    EventType.JOB_FAILED: gettext_lazy("job.failed: an upload or a sync has failed"),
    EventType.SEARCH_UNSUCCESSFUL: gettext_lazy("search.unsuccessful: a search without results"),
    EventType.ALERT_MATCHED: gettext_lazy("alert.matched: new documents match a saved search"),
}


class WebhookForm(forms.Form):
    """A new webhook."""

    url = forms.CharField(
        label=gettext_lazy("Address"),
        help_text=gettext_lazy("Begins with https://"),
        widget=forms.TextInput(attrs={"autocomplete": "off", "inputmode": "url"}),
    )
    events = forms.MultipleChoiceField(
        label=gettext_lazy("Events"),
        choices=[(event.value, words) for event, words in _EVENTS.items()],
        widget=forms.CheckboxSelectMultiple,
    )
    description = forms.CharField(label=gettext_lazy("Description"), max_length=200, required=False)


class WebhooksPage(FormPage):
    """The webhooks, and the form that creates one."""

    tab = "settings"

    def act(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Create a webhook; its secret is in this response only. Raises InvalidRequest, Conflict."""
        self.form = form = WebhookForm(request.POST)
        if not form.is_valid():
            return self.render_invalid(request, form)
        endpoint, secret = create_endpoint(self.access, **form.cleaned_data)
        return self.page(request, made=endpoint, secret=secret)

    def page(self, request: HttpRequest, form: forms.Form | None = None, **context: Any) -> HttpResponse:
        """Render the webhooks, oldest first."""
        context |= {
            "form": WebhookForm() if form is None else form,
            "webhooks": endpoints_of(self.access.workspace),
        }
        return self.render(request, "webhooks/webhooks.html", section="webhooks", **context)


@WorkspacePage.of(need=ADMINS, tab="settings")
def webhook_page(page: WorkspacePage, webhook_id: uuid.UUID) -> HttpResponse:
    """Return one webhook, and its deliveries, the newest first. Raises NotFound."""
    endpoint = get_endpoint(page.access.workspace, webhook_id)
    listed = list_page(page, page.request, deliveries_of(endpoint), ordering=("-id",))
    return page.render(page.request, "webhooks/webhook.html", webhook=endpoint, list=listed)


@PeopleAction.of(tab="settings")
def switch_webhook(page: PeopleAction, webhook_id: uuid.UUID) -> HttpResponse:
    """Enable a webhook, or disable it with `on=no`. Raises NotFound."""
    is_enabled = page.request.GET.get("on") != "no"
    change_endpoint(page.access, webhook_id, is_enabled=is_enabled)
    return page.finish(_("Webhook enabled") if is_enabled else _("Webhook disabled"), "webhook", webhook_id)


@PeopleAction.of(tab="settings")
def test_webhook(page: PeopleAction, webhook_id: uuid.UUID) -> HttpResponse:
    """Queue a test event. Raises NotFound, and Conflict for a disabled webhook."""
    send_test(page.access, webhook_id)
    message = _("A test event is on its way. Reload the page in a few seconds.")
    return page.finish(message, "webhook", webhook_id)


@PeopleAction.of(tab="settings")
def delete_webhook(page: PeopleAction, webhook_id: uuid.UUID) -> HttpResponse:
    """Delete the webhook with its deliveries. Raises NotFound."""
    delete_endpoint(page.access, webhook_id)
    return page.finish(_("Webhook deleted"), "webhooks")


_WEBHOOKS = "w/<str:slug>/webhooks"
_WEBHOOK = f"{_WEBHOOKS}/<uuid:webhook_id>"

urlpatterns = [
    path(_WEBHOOKS, WebhooksPage.as_view(), name="webhooks"),
    path(_WEBHOOK, webhook_page.as_view(), name="webhook"),
    path(f"{_WEBHOOK}/switch", switch_webhook.as_view(), name="webhook-switch"),
    path(f"{_WEBHOOK}/test", test_webhook.as_view(), name="webhook-test"),
    path(f"{_WEBHOOK}/delete", delete_webhook.as_view(), name="webhook-deletion"),
]
