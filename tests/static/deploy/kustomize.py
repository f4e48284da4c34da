"""The part of `kustomize build` that the manifests use, for machines without it."""

import copy
import re
from collections.abc import Iterable, Iterator
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import yaml

Manifest = dict[str, Any]


def build(folder: Path, before: Iterable[Manifest] = ()) -> list[Manifest]:
    """Return the manifests that a folder's kustomization comes to, a component's with those `before` it."""
    configuration = yaml.safe_load((folder / "kustomization.yaml").read_text())
    manifests = [
        *before,
        *(each for name in configuration.get("resources", ()) for each in _resource(folder / name)),
    ]
    for name in configuration.get("components", ()):
        manifests = build(folder / name, manifests)
    manifests += [_configuration(folder, each) for each in configuration.get("configMapGenerator", ())]
    for patch in configuration.get("patches", ()):
        if "path" in patch:
            _patch(manifests, yaml.safe_load((folder / patch["path"]).read_text()))
        else:
            _remove(manifests, patch["target"], yaml.safe_load(patch["patch"]))
    for manifest in manifests:
        _transform(manifest, configuration)
    return manifests


def _resource(path: Path) -> list[Manifest]:
    if path.is_dir():
        return build(path)
    return [each for each in yaml.safe_load_all(path.read_text()) if each]


def _configuration(folder: Path, configuration: Manifest) -> Manifest:
    files = {name: (folder / name).read_text() for name in configuration["files"]}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": configuration["name"]},
        "data": files,
    }


def _patch(manifests: list[Manifest], patch: Manifest) -> None:
    names = [(each["kind"], each["metadata"]["name"]) for each in manifests]
    target = manifests[names.index((patch["kind"], patch["metadata"]["name"]))]
    merged = _merge(target, patch)
    target.clear()
    target.update(merged)


def _remove(manifests: list[Manifest], target: Manifest, operations: list[Manifest]) -> None:
    for manifest in manifests:
        named = manifest["kind"] == target["kind"] and re.fullmatch(
            target["name"], manifest["metadata"]["name"]
        )
        for operation in operations if named else ():
            assert operation["op"] == "remove"
            *above, last = operation["path"].split("/")[1:]
            del reduce(getitem, above, manifest)[last]


def _merge(old: Any, new: Any) -> Any:
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return copy.deepcopy(new)
    return {**old, **{name: _merge(old.get(name), value) for name, value in new.items()}}


def _transform(manifest: Manifest, configuration: Manifest) -> None:
    metadata = manifest["metadata"]
    if "namespace" in configuration:
        metadata["namespace"] = configuration["namespace"]
    for labels in configuration.get("labels", ()):
        metadata.setdefault("labels", {}).update(labels["pairs"])
        template = manifest.get("spec", {}).get("template")
        if template and labels.get("includeTemplates"):
            template["metadata"].setdefault("labels", {}).update(labels["pairs"])
    for count in configuration.get("replicas", ()):
        if metadata["name"] == count["name"] and "replicas" in manifest.get("spec", {}):
            manifest["spec"]["replicas"] = count["count"]
    for image in configuration.get("images", ()):
        for container in containers(manifest):
            if container["image"].partition(":")[0] == image["name"]:
                container["image"] = f"{image['newName']}:{image['newTag']}"


def containers(manifest: Manifest) -> Iterator[Manifest]:
    """Return the containers that a manifest runs."""
    yield from manifest.get("spec", {}).get("template", {}).get("spec", {}).get("containers", ())
