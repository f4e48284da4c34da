"""Project files of sources: their settings, applied to the source when it is synced."""

from typing import Any

from ingest.connectors.project_file import ProjectFile
from ingest.connectors.walk_rules import WalkRules
from search.models import Source, SourceVersion


def walk_rules(project: ProjectFile | None) -> WalkRules:
    """Return the rules of a walk: the global settings and those of the project file."""
    if project is None:
        return WalkRules.from_settings()
    return WalkRules.from_settings(
        folders=project.folders,
        excluded_folders=project.excluded_folders,
        excluded_files=project.excluded_files,
    )


def project_report(project: ProjectFile | None) -> dict[str, Any] | None:
    """Return the name and the errors of the project file, for the job's report; None without one."""
    if project is None:
        return None
    errors = [{"key": error.key, "message": error.message} for error in project.errors]
    return {"name": project.name, "errors": errors}


def describe_source(source: Source, project: ProjectFile | None) -> None:
    """Apply the fields of the project file to the source and its versions, in the caller's transaction.

    Fields that the file no longer states are reset, unless a person has changed them since. A file with
    errors changes nothing.
    """
    if project is not None and project.errors:
        return
    sources = Source.objects.in_workspace(source.workspace_id).filter(pk=source.pk)
    locked = sources.select_for_update(no_key=True).first()
    if locked is None:
        return
    stated = _stated_fields(project)
    changes = {**_reverted_fields(locked, stated), **stated}
    versions = changes.pop("versions", {})
    sources.update(**changes, project=stated)
    _set_version_titles(source, versions)


def _stated_fields(project: ProjectFile | None) -> dict[str, Any]:
    if project is None:
        return {}
    fields = {
        "title": project.title,
        "description": project.description,
        "rules": None if project.rules is None else list(project.rules),
        "versions": None if project.previous_versions is None else dict(project.previous_versions),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _reverted_fields(source: Source, stated: dict[str, Any]) -> dict[str, Any]:
    defaults = {"title": source.key, "description": "", "rules": []}
    return {
        name: default
        for name, default in defaults.items()
        if name in source.project and name not in stated and getattr(source, name) == source.project[name]
    }


def _set_version_titles(source: Source, titles: dict[str, str]) -> None:
    versions = SourceVersion.objects.in_workspace(source.workspace_id).filter(source=source, tag__in=titles)
    for version in versions.exclude(tag=""):
        if version.title != titles[version.tag]:
            versions.filter(pk=version.pk).update(title=titles[version.tag])
