from django.apps import AppConfig


class OperatingConfig(AppConfig):
    name = "kebab.operating"
    label = "operating"
