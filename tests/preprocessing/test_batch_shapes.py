import keras
import pytest
from keras_bert.preprocessing.batch_shapes import batch_shapes


@pytest.mark.parametrize(
    ("backend", "kind", "trim", "drop_remainder"),
    [
        ("tensorflow", "CPU", True, False),
        ("tensorflow", "GPU", [32, 64, 96, 128], False),
        ("tensorflow", "TPU", False, True),
        ("jax", "CPU", [32, 64, 96, 128], False),
        ("jax", "TPU", False, True),
        ("torch", "CPU", True, False),
    ],
)
def test_the_fewer_shapes_the_dearer_a_new_one_is(monkeypatch, backend, kind, trim, drop_remainder):
    monkeypatch.setattr("keras_bert.preprocessing.batch_shapes.device_kind", lambda: kind)
    monkeypatch.setattr(keras.backend, "backend", lambda: backend)
    assert batch_shapes(128) == {"trim": trim, "drop_remainder": drop_remainder}
