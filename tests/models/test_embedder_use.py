"""Prompts, similarity and search with vectors of texts."""

import numpy as np
import pytest

from keras_bert import BertEmbedder, BertEmbedderPreprocessor, BertTask, VectorIndex

TEXTS = ["a b c", "d", "", "e f g h i j k l m n o p q"]
PROMPTS = {"query": "q r ", "passage": "p "}


@pytest.fixture
def backbone(make_backbone, varied):
    return varied(make_backbone())


@pytest.fixture
def model(backbone, preprocessor):
    reader = BertEmbedderPreprocessor(preprocessor.tokenizer, 12, prompts=PROMPTS)
    return BertEmbedder(backbone, preprocessor=reader)


def test_prompts_are_prepended(assert_close, model, difference):
    plain = model.predict(TEXTS, verbose=0)
    for encode, prompt in ((model.encode_query, "q r "), (model.encode_document, "p ")):
        written = model.predict([prompt + text for text in TEXTS], verbose=0)
        assert_close(encode(TEXTS), written)
        assert difference(written, plain) > 1e-3
        assert encode("a b c").shape == (1, 16)
    reader = type(model.preprocessor).like(model.preprocessor, default_prompt_name="passage")
    default = BertEmbedder(model.backbone, preprocessor=reader)
    assert_close(default.predict(TEXTS, verbose=0), model.encode_document(TEXTS))
    assert_close(default.encode_query(TEXTS), model.encode_query(TEXTS))


def test_pairs_train_with_the_prompts_of_their_use(model, tensorflow):
    pairs = (["a", "b"], ["c", "d e"])
    [(inputs, _)] = model.batches(pairs)
    written = ["q r a", "q r b"], ["p c", "p d e"]
    for column, texts in zip(inputs, written, strict=True):
        expected = model.preprocessor(texts)["token_ids"]
        found = column["token_ids"]
        np.testing.assert_array_equal(found, expected[:, : found.shape[1]])
    [(streamed, _)] = model.batches(tensorflow.data.Dataset.from_tensor_slices(pairs))
    tensorflow.nest.map_structure(np.testing.assert_array_equal, streamed, inputs)
    [((first, _), _)] = model.batches(pairs, [1.0, 2.0])  # of scores, no prompts
    expected = model.preprocessor(["a", "b"])["token_ids"][:, :3]
    np.testing.assert_array_equal(first["token_ids"], expected)


def test_prompts_and_widths_are_saved(backbone, preprocessor, assert_close, tmp_path, caplog):
    options = {"prompts": PROMPTS, "default_prompt_name": "query"}
    reader = BertEmbedderPreprocessor(preprocessor.tokenizer, 12, **options)
    model = BertEmbedder(backbone, truncate_dim=5, preprocessor=reader)
    vectors = model.predict(TEXTS, verbose=0)
    assert vectors.shape == (4, 5)
    assert_close(np.linalg.norm(vectors, axis=-1), np.ones(len(vectors)))
    model.save_to_preset(tmp_path / "preset")
    model.save_to_hugging_face(tmp_path / "hugging_face")
    assert "SentenceTransformer(folder, truncate_dim=5)" in caplog.text
    both = {**PROMPTS, "document": PROMPTS["passage"]}  # the names that sentence-transformers reads
    for folder, prompts in (("preset", PROMPTS), ("hugging_face", both)):
        loaded = BertTask.from_preset(tmp_path / folder)
        assert (loaded.preprocessor.prompts, loaded.truncate_dim) == (prompts, 5)
        assert_close(loaded.predict(TEXTS, verbose=0), vectors)
    whole = BertEmbedder.from_preset(tmp_path / "preset", truncate_dim=None)
    assert whole.predict(TEXTS, verbose=0).shape == (4, 16)


def test_prompts_are_served(tensorflow, model, assert_close, tmp_path):
    served = tensorflow.saved_model.load(model.export(tmp_path / "served")).signatures
    texts = tensorflow.constant(TEXTS)
    for name, expected in (
        ("serving_default", model.predict(TEXTS, verbose=0)),
        ("query", model.encode_query(TEXTS)),
        ("document", model.encode_document(TEXTS)),
    ):
        assert_close(served[name](text=texts)["embedding"].numpy(), expected)


def test_similarity_is_a_matrix_of_texts_or_vectors(assert_close, model):
    vectors = model.predict(TEXTS, verbose=0)
    expected = vectors @ vectors[:2].T
    for texts in (TEXTS, vectors, 3 * vectors, (3 * vectors).tolist()):
        for others in (TEXTS[:2], vectors[:2]):
            assert_close(model.similarity(texts, others), expected)
    assert model.similarity("a b c", TEXTS).shape == (1, 4)
    pairwise = model.similarity_pairwise(TEXTS[:2], vectors[1:3])
    assert_close(pairwise, np.sum(vectors[:2] * vectors[1:3], axis=-1))


@pytest.mark.parametrize("in_blocks", [False, True])
def test_search_finds_the_nearest(assert_close, model, monkeypatch, tmp_path, in_blocks):
    if in_blocks:
        monkeypatch.setattr("keras_bert.vector_index._QUERIES", 3)
        monkeypatch.setattr("keras_bert.vector_index._DOCUMENTS", 7)
    rng = np.random.default_rng(1)
    queries = rng.normal(size=(8, 16)).astype("float32")
    documents = rng.normal(size=(50, 16)).astype("float32")
    documents[40:] = documents[:10]  # ties, of which the lower index comes first
    cosines = model.similarity(queries, documents)
    one_by_one = np.sum(
        queries[:, None] * (documents / np.linalg.norm(documents, axis=1)[:, None]), 2
    )
    order = np.argsort(-one_by_one, axis=1, kind="stable")
    if in_blocks:  # of a file on disk
        np.save(tmp_path / "documents.npy", documents)
        documents = np.load(tmp_path / "documents.npy", mmap_mode="r")
    for top_k in (1, 4, 50):
        indices, found = model.search(queries, documents, top_k)
        assert indices.shape == found.shape == (8, top_k)
        np.testing.assert_array_equal(indices, order[:, :top_k])
        assert_close(found, np.take_along_axis(cosines, indices, 1))
    texts = ["a b c", "d", "x"]
    indices, found = model.search("d", texts, 2)
    expected = (model.encode_query("d") @ model.encode_document(texts).T)[0]
    np.testing.assert_array_equal(indices[0], np.argsort(-expected)[:2])
    assert_close(found[0], np.sort(expected)[::-1][:2])


def test_an_index_of_texts_is_searched_as_the_texts_are(assert_close, model, monkeypatch, refused):
    expected = model.search(["a b", "d"], TEXTS, 3)
    monkeypatch.setattr("keras_bert.models.bert_embedder._TEXTS", 2)  # several parts
    index = model.index(TEXTS)
    indices, found = model.search(["a b", "d"], index, 3)
    np.testing.assert_array_equal(indices, expected[0])
    assert_close(found, expected[1])
    short = model.index(model.encode_document(TEXTS), dtype="int8")
    assert short.dtype == "int8" and len(short) == len(TEXTS)
    other = VectorIndex([[1.0]], "dot")
    refused("compares by dot, and this model by cosine", model.search, "a", other)
    refused("differ in width: 16 and 1", model.search, "a", VectorIndex([[1.0]]))
    refused("no texts", model.index, [])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e4m3fn"])
def test_vectors_of_short_floats_are_compared_and_searched(model, dtype):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    vectors = np.eye(16)[:3].astype(ml_dtypes.finfo(dtype).dtype)
    assert model.search(vectors[:2], vectors, 1)[0].tolist() == [[0], [1]]
    assert model.similarity(vectors, vectors).tolist() == np.eye(3).tolist()


def test_what_cannot_be_compared_is_refused(model, backbone, preprocessor, refused):
    vectors = np.ones((2, 16), "float32")
    wrong = vectors.copy()
    wrong[1, 3] = np.nan
    tokenizer = preprocessor.tokenizer
    assert model.search("a", ["b"], 2)[0].tolist() == [[0]]  # all, if there are fewer
    refused("top_k must be at least 1", model.search, "a", ["b"], 0)
    refused("prompts must be a dict", BertEmbedderPreprocessor, tokenizer, prompts=["q: "])
    refused("differ in width: 16 and 3", model.similarity, vectors, vectors[:, :3])
    refused("Vectors must .*got nan at .1, 3", model.similarity, wrong, vectors)
    refused("Vectors must .*got nan at .1, 3", model.search, "a", wrong, 1)
    refused("no texts", model.similarity, TEXTS, [])
    refused("differ in width: 3 and 16", model.similarity, np.ones(3), vectors)
    refused(r"Vectors must be floats .*got \{'text'", model.similarity, {"text": [1]}, vectors)
    refused(r"must be floats .*got \[\[1.0\]", model.similarity, vectors, [[1.0], [1.0, 2.0]])
    refused("Vectors must be floats .*got None", model.search, "a", None, 1)
    refused("Give a text or a list of texts", model.search, "a", {"text": ["b"]}, 1)
    refused("matryoshka_dims must be .*got 8", BertEmbedder, backbone, matryoshka_dims=8)
    refused("Give a text or a list of texts", model.encode_query, {"text": "a"})
    refused("truncate_dim must be at most 16", BertEmbedder, backbone, truncate_dim=17)
    refused("pooling with truncate_dim must be", BertEmbedder, backbone, None, truncate_dim=3)
    message = "default_prompt_name must be one of 'query', 'passage', None; got 'qury'"
    wrong = {"prompts": PROMPTS, "default_prompt_name": "qury"}
    refused(message, BertEmbedderPreprocessor, tokenizer, **wrong)
