"""Vectors of texts and of tokens: layers, prompts, similarity and search."""

import keras
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from keras_bert import BertEmbedder, BertEmbedderPreprocessor, BertTask, testing

TEXTS = ["a b c", "d", "", "e f g h i j k l m n o p q"]
PROMPTS = {"query": "q r ", "passage": "p "}


@pytest.fixture
def deep(make_backbone, randomized):
    return randomized(make_backbone(num_layers=3))


@pytest.fixture
def model(make_backbone, varied, letters, untraced):
    reader = BertEmbedderPreprocessor(letters, 12, prompts=PROMPTS)
    return untraced(BertEmbedder(varied(make_backbone()), preprocessor=reader))


def test_chosen_layers_are_combined_before_pooling(deep, inputs, assert_close):
    states = [keras.ops.convert_to_numpy(state) for state in deep.hidden_states(inputs)]
    tokens = inputs["padding_mask"][:, :, None]
    joined = np.concatenate([states[3], states[0], states[2]], axis=-1)
    expected = (joined * tokens).sum(axis=1) / tokens.sum(axis=1)
    model = BertEmbedder(deep, normalize=False, layers=[-1, 0, 2], combine="concat")
    assert model.output.shape == (None, 48)
    assert_close(model(inputs), expected)


def test_blocks_after_the_chosen_layers_are_not_computed(deep):
    model = BertEmbedder(deep, layers=[1])
    names = {operation.name for operation in model.operations}
    assert "block_0" in names and not names & {"block_1", "block_2", "pooler"}
    assert {w.path for w in deep.weights} <= {w.path for w in model.weights}  # all are saved
    trained = {w.path.partition("/")[0] for w in model.trainable_weights}
    assert "block_0" in trained and not trained & {"block_1", "block_2", "pooler"}


def test_layers_are_saved(deep, tmp_path):
    deep.save_to_preset(tmp_path / "encoder")
    model = BertTask.from_preset(tmp_path / "encoder")
    assert type(model) is BertEmbedder and not model.load_report.new
    model = BertEmbedder(deep, layers=[-1, 1], combine="weighted", pooling=None)
    testing.run_format(BertEmbedder.save_to_preset, model)


def test_vectors_of_tokens_are_not_compared_or_served(
    tensorflow, deep, preprocessor, tmp_path, refused
):
    tokens = BertEmbedder(deep, pooling=None, preprocessor=preprocessor)
    for message, call, *arguments in (
        (r"one for the whole.*from_preset\(folder, pooling=", tokens.similarity, "a", "b"),
        (
            "With pooling=None a text has a vector for each token",
            tokens.fit,
            (["a"], ["b"]),
        ),
        ("vector for each token.*pooling=", tokens.export, tmp_path / "served"),
        (
            "pooling=.*; for transformers.*model.backbone",
            tokens.save_to_hugging_face,
            tmp_path,
        ),
    ):
        refused(message, call, *arguments)
    assert not list(tmp_path.iterdir())


def test_layers_and_poolings_that_are_not_there_are_refused(deep, tmp_path, refused):
    for arguments, message in (
        ({"layers": [-1, 4]}, "layers must be at most 3; got 4"),
        ({"combine": "weighted"}, "at least 2; got 1"),
        ({"pooling": "sum"}, "pooling must be one of .*; got 'sum'"),
        ({"pooling": None, "truncate_dim": 3}, "pooling with truncate_dim must be"),
        ({"matryoshka_dims": (32,)}, "from 1 to 16, .*32"),
    ):
        refused(message, BertEmbedder, deep, **arguments)
    several = BertEmbedder(deep, layers=[-1, -2])
    message = "layers=.*; for transformers.*model.backbone"
    refused(message, several.save_to_hugging_face, tmp_path / "theirs")


def test_prompts_are_prepended(assert_close, model):
    for encode, prompt in ((model.encode_query, "q r "), (model.encode_document, "p ")):
        vectors = encode(tuple(TEXTS))
        assert_close(vectors, model.predict([prompt + text for text in TEXTS]))
    reader = model.preprocessor
    model.preprocessor = reader.like(reader, default_prompt_name="passage")
    assert_close(model.predict(TEXTS), vectors)


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


def test_prompts_and_widths_are_saved(model, untraced, assert_close, tmp_path, caplog):
    reader = model.preprocessor.like(model.preprocessor, default_prompt_name="query")
    model = untraced(BertEmbedder(model.backbone, truncate_dim=5, preprocessor=reader))
    vectors = model.predict(TEXTS)
    assert vectors.shape == (4, 5)
    model.save_to_hugging_face(tmp_path)
    assert "SentenceTransformer(folder, truncate_dim=5)" in caplog.text
    loaded = untraced(BertTask.from_preset(tmp_path))
    # The names that sentence-transformers reads.
    both = {
        **PROMPTS,
        "document": PROMPTS["passage"],
    }
    assert (loaded.preprocessor.prompts, loaded.truncate_dim) == (both, 5)
    assert_close(loaded.predict(TEXTS), vectors)


@pytest.mark.slow
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
    for size in (8192, 2):  # texts are embedded in parts
        monkeypatch.setattr("keras_bert.models.bert_embedder._TEXTS", size)
        indices, found = model.search(queries, TEXTS, 3)
        assert_array_equal(indices, np.argsort(-expected)[:, :3])
        assert_close(found, -np.sort(-expected)[:, :3])
    assert_array_equal(model.search(queries, model.encode_document(TEXTS), 3)[0], indices)


def test_texts_are_compared_with_each_other_or_with_their_counterparts(assert_close, model):
    expected = model.predict(TEXTS[:2]) @ model.predict(TEXTS).T
    assert_close(model.similarity(TEXTS[:2], TEXTS), expected)
    assert_close(model.similarity_pairwise(TEXTS[:2], TEXTS[2:]), np.diag(expected[:, 2:]))


def test_what_cannot_be_compared_is_refused(model, letters, refused):
    vectors = np.ones((2, 16), "float32")
    for message, call, *arguments in (
        ("There are 4 texts but 2 others", model.similarity_pairwise, TEXTS, TEXTS[:2]),
        ("top_k must be at least 1", model.search, "a", ["b"], 0),
        ("must be floats.*encode_document", model.search, "a", {"text": [1]}),
        ("Vectors must .*got nan at .0, 0", model.similarity, vectors * np.nan, vectors),
        ("differ in width: 16 and 3", model.similarity, vectors, vectors[:, :3]),
        ("Give a text or a list of texts", model.encode_query, {"text": "a"}),
    ):
        refused(message, call, *arguments)
    reader = BertEmbedderPreprocessor
    refused("prompts must be a dict", reader, letters, prompts=["q: "])
    refused("default_prompt_name .*got 'qury'", reader, letters, default_prompt_name="qury")
