"""Prompts, similarity and search with vectors of texts."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from keras_bert import BertEmbedder, BertEmbedderPreprocessor, BertTask

TEXTS = ["a b c", "d", "", "e f g h i j k l m n o p q"]
PROMPTS = {"query": "q r ", "passage": "p "}


@pytest.fixture
def backbone(make_backbone, varied):
    return varied(make_backbone())


@pytest.fixture
def model(backbone, preprocessor, untraced):
    reader = BertEmbedderPreprocessor(preprocessor.tokenizer, 12, prompts=PROMPTS)
    return untraced(BertEmbedder(backbone, preprocessor=reader))


def test_prompts_are_prepended(assert_close, model, difference, untraced):
    plain = model.predict(TEXTS)
    for encode, prompt in ((model.encode_query, "q r "), (model.encode_document, "p ")):
        written = model.predict([prompt + text for text in TEXTS])
        assert_close(encode(TEXTS), written)
        assert difference(written, plain) > 1e-3
    assert model.encode_query("a b c").shape == (1, 16)
    reader = type(model.preprocessor).like(model.preprocessor, default_prompt_name="passage")
    default = untraced(BertEmbedder(model.backbone, preprocessor=reader))
    assert_close(default.predict(TEXTS), model.encode_document(TEXTS))
    assert_close(default.encode_query(TEXTS), model.encode_query(TEXTS))


def test_pairs_train_with_the_prompts_of_their_use(model):
    pairs = (["a", "b"], ["c", "d e"])
    for y, written in (
        (None, (["q r a", "q r b"], ["p c", "p d e"])),
        ([1.0, 2.0], pairs),  # of scores, no prompts
    ):
        [(inputs, _)] = model.batches(pairs, y)
        for column, texts in zip(inputs, written, strict=True):
            ids = column["token_ids"]
            expected = model.preprocessor(texts)["token_ids"]
            assert_array_equal(ids, expected[:, : ids.shape[1]])


def test_prompts_and_widths_are_saved(
    backbone, preprocessor, untraced, assert_close, tmp_path, caplog
):
    options = {"prompts": PROMPTS, "default_prompt_name": "query"}
    reader = BertEmbedderPreprocessor(preprocessor.tokenizer, 12, **options)
    model = untraced(BertEmbedder(backbone, truncate_dim=5, preprocessor=reader))
    vectors = model.predict(TEXTS)
    assert vectors.shape == (4, 5)
    assert_close(np.linalg.norm(vectors, axis=-1), np.ones(len(vectors)))
    model.save_to_hugging_face(tmp_path)
    assert "SentenceTransformer(folder, truncate_dim=5)" in caplog.text
    loaded = untraced(BertTask.from_preset(tmp_path))
    both = {**PROMPTS, "document": PROMPTS["passage"]}  # the names that sentence-transformers reads
    assert (loaded.preprocessor.prompts, loaded.truncate_dim) == (both, 5)
    assert_close(loaded.predict(TEXTS), vectors)
    assert BertEmbedder.from_preset(tmp_path, truncate_dim=None).output.shape == (None, 16)


def test_prompts_are_served(tensorflow, model, assert_close, tmp_path):
    served = tensorflow.saved_model.load(model.export(tmp_path / "served")).signatures
    texts = tensorflow.constant(TEXTS)
    for name, expected in (
        ("serving_default", model.predict(TEXTS)),
        ("query", model.encode_query(TEXTS)),
        ("document", model.encode_document(TEXTS)),
    ):
        assert_close(served[name](text=texts)["embedding"].numpy(), expected)


def test_search_finds_the_nearest_by_the_prompts_of_queries_and_documents(
    assert_close, model, monkeypatch
):
    queries = ["d", "a b"]
    expected = model.encode_query(queries) @ model.encode_document(TEXTS).T
    assert model.search("a", ["b"], 2)[0].tolist() == [[0]]  # all, if there are fewer
    for size in (8192, 2):  # texts are embedded in parts
        monkeypatch.setattr("keras_bert.models.bert_embedder._TEXTS", size)
        indices, found = model.search(queries, TEXTS, 3)
        assert_array_equal(indices, np.argsort(-expected)[:, :3])
        assert_close(found, -np.sort(-expected)[:, :3])


def test_what_cannot_be_compared_is_refused(model, preprocessor, refused):
    vectors = np.ones((2, 16), "float32")
    for message, call, *arguments in (
        ("There are 4 texts but 2 others", model.similarity_pairwise, TEXTS, TEXTS[:2]),
        ("top_k must be at least 1", model.search, "a", ["b"], 0),
        ("Vectors must .*got nan at .0, 0", model.search, "a", vectors * np.nan, 1),
        ("differ in width: 16 and 3", model.search, "a", vectors[:, :3]),
        ("must be floats.*encode_document", model.search, "a", {"text": [1]}),
        ("differ in width: 16 and 3", model.similarity, vectors, vectors[:, :3]),
        ("no texts", model.similarity, TEXTS, []),
        (r"Vectors must be floats .*got \{'text'", model.similarity, {"text": [1]}, vectors),
        (r"must be floats .*got \[\[1.0\]", model.similarity, vectors, [[1.0], [1.0, 2.0]]),
        ("Give a text or a list of texts", model.encode_query, {"text": "a"}),
    ):
        refused(message, call, *arguments)
    for message, settings in (
        ("prompts must be a dict", {"prompts": ["q: "]}),
        ("default_prompt_name .*got 'qury'", {"prompts": PROMPTS, "default_prompt_name": "qury"}),
    ):
        refused(message, BertEmbedderPreprocessor, preprocessor.tokenizer, **settings)
