"""Folders, vectors and losses equal those of sentence-transformers."""

import keras
import numpy as np
import pytest

from keras_bert import (
    BertEmbedder,
    BertEmbedderPreprocessor,
    BertTask,
    ModernBertBackbone,
)

pytestmark = pytest.mark.slow

TEXTS = ["a b c", "d", "e f g h i", "b"]
OTHERS = ["c b", "d e", "f", "a b"]
SCORES = np.array([0.0, 1.0, 0.5, 0.2], "float32")


@pytest.fixture(scope="module")
def theirs(torch):
    return pytest.importorskip("sentence_transformers", reason='pip install ".[parity]"')


@pytest.fixture
def backbone(make_backbone, varied):
    return varied(make_backbone(dropout=0.0, attention_dropout=0.0))


@pytest.fixture(params=["cls", "mean"])
def modern(letters, varied, request):
    size = letters.vocabulary_size(), 4, 2, 32, 48
    return varied(ModernBertBackbone(*size, pooling=request.param))


@pytest.mark.parametrize(
    ("settings", "prompts", "default"),
    [
        ({}, {}, None),
        ({"pooling": "cls"}, {"query": "q : ", "document": "p "}, "document"),
        ({"pooling": "max", "truncate_dim": 5}, {"query": "q ", "passage": "p "}, None),
        ({"normalize": False, "truncate_dim": 5}, {"other": "c "}, "other"),
    ],
)
def test_a_folder_has_the_same_vectors(
    theirs,
    backbone,
    preprocessor,
    untraced,
    assert_close,
    tmp_path,
    settings,
    prompts,
    default,
):
    reader = BertEmbedderPreprocessor(
        preprocessor.tokenizer, 12, prompts=prompts, default_prompt_name=default
    )
    ours = BertEmbedder(backbone, preprocessor=reader, **settings)
    ours.save_to_hugging_face(tmp_path / "ours")
    width = {"truncate_dim": settings.get("truncate_dim")}
    model = theirs.SentenceTransformer(str(tmp_path / "ours"), device="cpu", **width)
    unit = {"normalize_embeddings": ours.normalize}  # their cut comes after Normalize
    model.save(str(tmp_path / "theirs"))
    for embedder in (ours, BertEmbedder.from_preset(tmp_path / "theirs", **width)):
        untraced(embedder)
        assert_close(embedder.predict(TEXTS), model.encode(TEXTS, **unit))
        assert_close(embedder.encode_query(TEXTS), model.encode_query(TEXTS, **unit))
        assert_close(embedder.encode_document(TEXTS), model.encode_document(TEXTS, **unit))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_modernbert_of_a_folder_in_shards(
    theirs, torch, transformers, letters, modern, assert_close, tmp_path, caplog, dtype
):
    """As gte-modernbert and nomic's embedders are published, with ModernGBERT's WordPiece."""
    reader = BertEmbedderPreprocessor(letters, 12, prompts={"query": "q ", "document": "d "})
    ours = BertEmbedder(modern, modern.pooling, preprocessor=reader)
    ours.save_to_hugging_face(tmp_path)
    network = transformers.AutoModel.from_pretrained(tmp_path, dtype=getattr(torch, dtype))
    (tmp_path / "model.safetensors").unlink()
    network.save_pretrained(tmp_path, max_shard_size="20KB")
    assert len(list(tmp_path.glob("model-*.safetensors"))) > 1
    options = {"device": "cpu", "model_kwargs": {"dtype": "float32"}}
    model = theirs.SentenceTransformer(str(tmp_path), **options)
    embedder = BertTask.from_preset(tmp_path)
    assert type(embedder) is BertEmbedder and embedder.pooling == modern.pooling
    assert "lacks" not in caplog.text, "an embedder doesn't read the head that isn't there"
    assert_close(embedder.encode_query(TEXTS), model.encode_query(TEXTS))
    assert_close(embedder.encode_document(TEXTS), model.encode_document(TEXTS))


@pytest.mark.parametrize("kind", ["pairs", "scores", "matryoshka"])
def test_training_has_the_same_losses(theirs, torch, backbone, preprocessor, tmp_path, kind):
    from sentence_transformers.sentence_transformer import losses

    dims = (16, 4) if kind == "matryoshka" else None
    ours = BertEmbedder(backbone, preprocessor=preprocessor, matryoshka_dims=dims)
    ours.save_to_hugging_face(tmp_path)
    model = theirs.SentenceTransformer(str(tmp_path), device="cpu")
    loss = (losses.CoSENTLoss if kind == "scores" else losses.MultipleNegativesRankingLoss)(model)
    loss = losses.MatryoshkaLoss(model, loss, list(dims)) if dims else loss
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    ours.compile(keras.optimizers.SGD(0.1), run_eagerly=True)
    scores = SCORES if kind == "scores" else None
    labels = None if scores is None else torch.from_numpy(scores)
    [batch] = ours.batches((TEXTS, OTHERS), scores)
    for _ in range(3):
        features = [model.preprocess(column) for column in (TEXTS, OTHERS)]
        expected = loss(features, labels)
        optimizer.zero_grad()
        expected.backward()
        optimizer.step()
        ours.reset_metrics()
        assert float(ours.train_on_batch(*batch)) == pytest.approx(expected.item(), rel=1e-4)
