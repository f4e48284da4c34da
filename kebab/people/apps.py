from django.apps import AppConfig


class PeopleConfig(AppConfig):
    name = "kebab.people"
    label = "people"
