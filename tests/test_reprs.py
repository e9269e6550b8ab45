"""What Python and notebooks print for public objects."""

import inspect

import keras
import pytest

import keras_bert
from keras_bert import BertBackbone, BertClassifier, BertClassifierPreprocessor

SETTINGS = "num_layers=2, num_heads=2, hidden_dim=16"


def test_a_model_shows_its_sizes(make_backbone):
    backbone = make_backbone(num_layers=2)
    sizes = f"BertBackbone(vocabulary_size=30, {SETTINGS}: {backbone.count_params():,} weights)"
    assert repr(backbone) == sizes
    assert repr(BertClassifier(backbone, 3)) == f"BertClassifier(num_classes=3, {sizes})"
    assert repr(keras_bert.BertPretrainer(backbone)) == f"BertPretrainer({sizes})"


def test_training_objects_show_their_settings(tmp_path):
    rate = keras_bert.WarmupLinearDecay(1e-4, 10, 100)
    shown = "WarmupLinearDecay(peak_learning_rate=0.0001, warmup_steps=10, total_steps=100, "
    assert repr(rate) == shown + "continuous=False, final_fraction=0.0)"
    assert repr(keras_bert.AdamW(5e-5)) == "AdamW(5e-05, weight_decay=0.01)"
    assert repr(keras_bert.AdamW(rate)).startswith("AdamW(WarmupLinearDecay(peak_learning_rate=")
    loss = keras_bert.losses.InBatchNegatives(20, matryoshka_dims=(8, 4))
    assert repr(loss) == "InBatchNegatives(scale=20, matryoshka_dims=(8, 4))"
    folder = str(tmp_path)
    curves = keras_bert.callbacks.TrainingCurves(folder)
    assert repr(curves) == f"TrainingCurves({folder!r}, every=10)"
    checkpoint = keras_bert.TrainingCheckpoint(tmp_path)
    assert repr(checkpoint) == f"TrainingCheckpoint({folder!r}, keep=2)"


@pytest.mark.parametrize("name", keras_bert.__all__)
def test_no_public_object_shows_its_address(name):
    kind = getattr(keras_bert, name)
    if not inspect.isclass(kind):
        return
    assert kind.__repr__ is not object.__repr__
    if not issubclass(kind, keras.layers.Layer):  # Keras shows the name of a layer
        assert kind.__repr__.__module__.startswith("keras_bert.") or hasattr(
            kind, "__dataclass_fields__"
        )


def test_views_of_a_model_show_their_sizes(make_backbone, letters):
    model = BertClassifier(make_backbone(num_layers=2), 2, BertClassifierPreprocessor(letters, 8))
    view = keras_bert.pictures.show_attention(model, "a b")
    assert repr(view) == "AttentionView(4 tokens, 2 layers, 2 heads)"
    found = {"entity_start": [0], "entity_end": [1], "entity_type": ["X"], "entity_score": [1.0]}
    assert repr(keras_bert.pictures.show_answers("a b", found)).startswith("AnswerView(1 marks;")


def test_a_subclass_keeps_the_repr():
    class Wide(BertBackbone):
        pass

    shape = {"num_layers": 1, "num_heads": 1, "hidden_dim": 4, "intermediate_dim": 4}
    assert repr(Wide(9, **shape)).startswith("Wide(vocabulary_size=9, num_layers=1")
