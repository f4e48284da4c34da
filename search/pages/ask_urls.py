"""The addresses of asking, and of what was answered."""

from django.urls import path

from search.pages.ask import AnswerPage, AskPage, CitationPage

urlpatterns = [
    path("w/<str:slug>/ask", AskPage.as_view(), name="ask"),
    path("w/<str:slug>/answers/<uuid:answer_id>", AnswerPage.as_view(), name="answer"),
    path(
        "w/<str:slug>/answers/<uuid:answer_id>/citations/<int:n>",
        CitationPage.as_view(),
        name="answer-citation",
    ),
]
