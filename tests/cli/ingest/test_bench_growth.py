"""Text and vectors with which `kebab bench --growth` grows a corpus."""

from itertools import islice

import numpy as np
import pytest

from ingest.cli.bench.growth.texts import GrowingText, TextWriter
from ingest.cli.bench.growth.vectors import NOISE, around, fill_vectors
from search.embedders.hashing import HashEmbedder
from search.models import ChunkVector
from search.vectors.spaces import ensure_live_space
from tests.support.corpus import chunk, write

pytestmark = pytest.mark.slow

PARAGRAPHS = [f"Paragraph {number} says what there is to say on subject {number}." for number in range(40)]


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "pages"
    made.mkdir()
    for number in range(4):
        text = "\n\n".join([f"# Title {number}", *PARAGRAPHS[number * 10 : number * 10 + 10]])
        (made / f"{number}.md").write_text(text)
    (made / "picture.png").write_bytes(b"\x89PNG")
    return made


def test_folders_own_documents_come_first_each_once_and_others_are_the_same_every_time(folder):
    real = {path.read_text() for path in folder.glob("*.md")}
    documents, again = (list(islice(GrowingText(folder).documents(), 12)) for _ in range(2))
    assert GrowingText(folder).real == 4
    assert sorted(documents[:4]) == sorted(real)
    assert not real & set(documents[4:])
    assert documents == again
    assert len(set(documents)) == 12


def test_recombined_documents_are_made_of_real_paragraphs_and_headings(folder):
    blocks = GrowingText(folder).recombined(7).strip().split("\n\n")
    headings = [block for block in blocks if block.startswith("#")]
    assert blocks[0] in {f"# Title {number}" for number in range(4)}
    assert len(headings) == 5
    assert set(blocks) - set(headings) <= set(PARAGRAPHS)


def test_batches_have_as_many_bytes_as_asked_for_and_go_on_where_the_last_ended(folder, tmp_path):
    writer = TextWriter(GrowingText(folder), tmp_path / "out")
    first, second = writer.write(1_500), writer.write(1)
    sizes = [path.stat().st_size for path in sorted(first.rglob("*.md"))]
    assert sum(sizes[:-1]) < 1_500 <= sum(sizes)
    texts = [path.read_text() for batch in (first, second) for path in sorted(batch.rglob("*.md"))]
    assert texts == list(islice(GrowingText(folder).documents(), len(texts)))


def test_made_up_vectors_lie_around_real_ones():
    drawn = np.random.default_rng(5)
    real = drawn.standard_normal((20, 64)).astype(np.float32)
    real /= np.linalg.norm(real, axis=1, keepdims=True)
    made = around(real, 500, np.random.default_rng(1))
    assert made.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(made, axis=1), 1.0, atol=1e-5)
    nearest = (made @ real.T).max(axis=1)
    assert nearest.mean() == pytest.approx(1 / np.sqrt(1 + NOISE**2), abs=0.03)
    np.testing.assert_array_equal(made, around(real, 500, np.random.default_rng(1)))


def test_so_many_chunks_are_embedded_and_the_rest_made_up(workspace):
    for number in range(3):
        write(workspace, f"{number}.md", *(chunk(f"text {number} {each}") for each in range(50)))
    embedder = HashEmbedder()
    space = ensure_live_space(workspace, embedder.space)
    filled = fill_vectors(workspace, space, embedder, embed_at_most=64)
    assert (filled.embedded, filled.made_up) == (64, 86)
    assert ChunkVector.objects.in_workspace(workspace).count() == 150
    # Later only what is new is made up, for there are as many real ones as were wanted.
    write(workspace, "more.md", chunk("more"))
    again = fill_vectors(workspace, space, embedder, embed_at_most=64)
    assert (again.embedded, again.made_up) == (0, 1)
