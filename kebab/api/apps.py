from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "kebab.api"
    label = "api"
