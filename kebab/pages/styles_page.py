"""The style page: every component of the pages at one glance, in debug mode."""

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from kebab.pages.page import Page


class StylesPage(Page):
    """Buttons, fields, lists and the other components, as templates write them."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Return the page. Raises Http404 unless in debug mode."""
        if not settings.DEBUG:
            raise Http404
        return render(request, "pages/styles.html")
