"""What a project file says of a source, carried over to the source when it is synced."""

from typing import Any

from ingest.connectors.project_file import ProjectFile
from ingest.connectors.walk_rules import WalkRules
from search.models import Source, SourceVersion


def walk_rules(project: ProjectFile | None) -> WalkRules:
    """Return what a walk leaves out, the project file's wishes included."""
    if project is None:
        return WalkRules.from_settings()
    return WalkRules.from_settings(
        folders=project.folders,
        excluded_folders=project.excluded_folders,
        excluded_files=project.excluded_files,
    )


def project_report(project: ProjectFile | None) -> dict[str, Any] | None:
    """Return which project file was read and what is wrong in it, as the job's report has it."""
    if project is None:
        return None
    errors = [{"key": wrong.key, "message": wrong.message} for wrong in project.wrong]
    return {"name": project.name, "errors": errors}


def describe_source(source: Source, project: ProjectFile | None) -> None:
    """Let the source and its versions say what their project file says; joins the caller's transaction.

    What the file no longer says is taken back, unless a person has said something else since. A file with
    something wrong in it leaves all as it was.
    """
    if project is not None and project.wrong:
        return
    sources = Source.objects.in_workspace(source.workspace_id).filter(pk=source.pk)
    locked = sources.select_for_update(no_key=True).first()
    if locked is None:
        return
    says = _says(project)
    changes = {**_taken_back(locked, says), **says}
    versions = changes.pop("versions", {})
    sources.update(**changes, project=says)
    _entitle_versions(source, versions)


def _says(project: ProjectFile | None) -> dict[str, Any]:
    if project is None:
        return {}
    said = {
        "title": project.title,
        "description": project.description,
        "rules": None if project.rules is None else list(project.rules),
        "versions": None if project.previous_versions is None else dict(project.previous_versions),
    }
    return {name: value for name, value in said.items() if value is not None}


def _taken_back(source: Source, says: dict[str, Any]) -> dict[str, Any]:
    defaults = {"title": source.key, "description": "", "rules": []}
    return {
        name: default
        for name, default in defaults.items()
        if name in source.project and name not in says and getattr(source, name) == source.project[name]
    }


def _entitle_versions(source: Source, titles: dict[str, str]) -> None:
    versions = SourceVersion.objects.in_workspace(source.workspace_id).filter(source=source, tag__in=titles)
    for version in versions.exclude(tag=""):
        if version.title != titles[version.tag]:
            versions.filter(pk=version.pk).update(title=titles[version.tag])
