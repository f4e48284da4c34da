from django.apps import AppConfig


class OperatingConfig(AppConfig):
    name = "kebab.admin"
    label = "operating"
