"""The URLs of probes."""

from django.urls import path

from kebab.health.views import HealthView, MetricsView, ReadyView, VersionView

urlpatterns = [
    path("healthz", HealthView.as_view(), name="healthz"),
    path("readyz", ReadyView.as_view(), name="readyz"),
    path("metrics", MetricsView.as_view(), name="metrics"),
    path("version", VersionView.as_view(), name="version"),
]
