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
    plain = model.predict(TEXTS, verbose=0)
    for encode, prompt in ((model.encode_query, "q r "), (model.encode_document, "p ")):
        written = model.predict([prompt + text for text in TEXTS], verbose=0)
        assert_close(encode(TEXTS), written)
        assert difference(written, plain) > 1e-3
    assert model.encode_query("a b c").shape == (1, 16)
    reader = type(model.preprocessor).like(model.preprocessor, default_prompt_name="passage")
    default = untraced(BertEmbedder(model.backbone, preprocessor=reader))
    assert_close(default.predict(TEXTS, verbose=0), model.encode_document(TEXTS))
    assert_close(default.encode_query(TEXTS), model.encode_query(TEXTS))


def test_pairs_train_with_the_prompts_of_their_use(model, tensorflow):
    pairs = (["a", "b"], ["c", "d e"])
    [(inputs, _)] = model.batches(pairs)
    written = ["q r a", "q r b"], ["p c", "p d e"]
    for column, texts in zip(inputs, written, strict=True):
        expected = model.preprocessor(texts)["token_ids"]
        found = column["token_ids"]
        assert_array_equal(found, expected[:, : found.shape[1]])
    [(streamed, _)] = model.batches(tensorflow.data.Dataset.from_tensor_slices(pairs))
    tensorflow.nest.map_structure(assert_array_equal, streamed, inputs)
    [((first, _), _)] = model.batches(pairs, [1.0, 2.0])  # of scores, no prompts
    expected = model.preprocessor(["a", "b"])["token_ids"][:, :3]
    assert_array_equal(first["token_ids"], expected)


def test_prompts_and_widths_are_saved(
    backbone, preprocessor, untraced, assert_close, tmp_path, caplog
):
    options = {"prompts": PROMPTS, "default_prompt_name": "query"}
    reader = BertEmbedderPreprocessor(preprocessor.tokenizer, 12, **options)
    model = untraced(BertEmbedder(backbone, truncate_dim=5, preprocessor=reader))
    vectors = model.predict(TEXTS, verbose=0)
    assert vectors.shape == (4, 5)
    assert_close(np.linalg.norm(vectors, axis=-1), np.ones(len(vectors)))
    model.save_to_hugging_face(tmp_path)
    assert "SentenceTransformer(folder, truncate_dim=5)" in caplog.text
    loaded = untraced(BertTask.from_preset(tmp_path))
    both = {**PROMPTS, "document": PROMPTS["passage"]}  # the names that sentence-transformers reads
    assert (loaded.preprocessor.prompts, loaded.truncate_dim) == (both, 5)
    assert_close(loaded.predict(TEXTS, verbose=0), vectors)
    assert BertEmbedder.from_preset(tmp_path, truncate_dim=None).output.shape == (None, 16)


def test_prompts_are_served(tensorflow, model, assert_close, tmp_path):
    served = tensorflow.saved_model.load(model.export(tmp_path / "served")).signatures
    texts = tensorflow.constant(TEXTS)
    for name, expected in (
        ("serving_default", model.predict(TEXTS, verbose=0)),
        ("query", model.encode_query(TEXTS)),
        ("document", model.encode_document(TEXTS)),
    ):
        assert_close(served[name](text=texts)["embedding"].numpy(), expected)


def test_search_finds_the_nearest_by_the_prompts_of_queries_and_documents(assert_close, model):
    texts = ["a b c", "d", "x"]
    indices, found = model.search("d", texts, 2)
    expected = (model.encode_query("d") @ model.encode_document(texts).T)[0]
    assert_array_equal(indices[0], np.argsort(-expected)[:2])
    assert_close(found[0], np.sort(expected)[::-1][:2])


def test_documents_of_several_parts_are_searched_as_one(assert_close, model, monkeypatch):
    expected = model.search(["a b", "d"], TEXTS, 3)
    monkeypatch.setattr("keras_bert.models.bert_embedder._TEXTS", 2)
    indices, found = model.search(["a b", "d"], TEXTS, 3)
    assert_array_equal(indices, expected[0])
    assert_close(found, expected[1])


def test_what_cannot_be_compared_is_refused(model, backbone, preprocessor, refused):
    vectors = np.ones((2, 16), "float32")
    tokenizer = preprocessor.tokenizer
    assert model.search("a", ["b"], 2)[0].tolist() == [[0]]  # all, if there are fewer
    refused("top_k must be at least 1", model.search, "a", ["b"], 0)
    refused("differ in width: 16 and 3", model.similarity, vectors, vectors[:, :3])
    refused("Vectors must .*got nan at .0, 0", model.search, "a", vectors * np.nan, 1)
    refused("differ in width: 16 and 3", model.search, "a", vectors[:, :3])
    refused("must be floats.*encode_document", model.search, "a", {"text": [1]})
    refused("no texts", model.similarity, TEXTS, [])
    refused(r"Vectors must be floats .*got \{'text'", model.similarity, {"text": [1]}, vectors)
    refused(r"must be floats .*got \[\[1.0\]", model.similarity, vectors, [[1.0], [1.0, 2.0]])
    refused("Give a text or a list of texts", model.encode_query, {"text": "a"})
    refused("matryoshka_dims must be .*got 8", BertEmbedder, backbone, matryoshka_dims=8)
    refused("truncate_dim must be at most 16", BertEmbedder, backbone, truncate_dim=17)
    refused("pooling with truncate_dim must be", BertEmbedder, backbone, None, truncate_dim=3)
    refused("prompts must be a dict", BertEmbedderPreprocessor, tokenizer, prompts=["q: "])
    unknown = {"prompts": PROMPTS, "default_prompt_name": "qury"}
    refused("default_prompt_name .*got 'qury'", BertEmbedderPreprocessor, tokenizer, **unknown)
