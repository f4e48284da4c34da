"""The local models by their published names."""

from collections.abc import Mapping
from typing import Final

from search.embedders.bert.english import ENGLISH
from search.embedders.bert.model import LocalModel
from search.embedders.bert.multilingual import MULTILINGUAL

LOCAL_MODELS: Final[Mapping[str, LocalModel]] = {model.name: model for model in (ENGLISH, MULTILINGUAL)}
