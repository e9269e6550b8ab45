"""What Python and notebooks print for public objects."""

import inspect

import keras

import keras_bert
from keras_bert import BertClassifier, BertClassifierPreprocessor


def test_objects_show_their_sizes_and_settings(make_backbone, letters):
    backbone = make_backbone(num_layers=2)
    encoder = ("BertBackbone(", "num_layers=2", f"{backbone.count_params():,} weights")
    model = BertClassifier(backbone, 2, BertClassifierPreprocessor(letters, 8))
    rate = keras_bert.WarmupLinearDecay(1e-4, 10, 100)
    for shown, parts in (
        (model, ("BertClassifier(num_classes=2", *encoder)),
        (keras_bert.AdamW(rate), ("peak_learning_rate=0.0001", "weight_decay=0.01")),
        (
            keras_bert.pictures.show_attention(model, "a b"),
            ("4 tokens", "2 layers", "2 heads"),
        ),
    ):
        assert [part for part in parts if part not in repr(shown)] == []


def test_no_public_object_shows_its_address():
    for kind in filter(inspect.isclass, (getattr(keras_bert, name) for name in keras_bert.__all__)):
        assert kind.__repr__ is not object.__repr__
        if not issubclass(kind, keras.layers.Layer):  # Keras shows the name of a layer
            is_own = kind.__repr__.__module__.startswith("keras_bert.")
            assert is_own or hasattr(kind, "__dataclass_fields__"), kind
