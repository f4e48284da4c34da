from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "kebab.http.api"
    label = "api"
