"""Any arguments of constructors: they work, or a ValueError says why not."""

import inspect
import json

import keras
import numpy as np
import pytest

pytest.importorskip("hypothesis", reason='pip install ".[dev]"')
tf = pytest.importorskip("tensorflow", reason="pip install tensorflow")
pytest.importorskip("tensorflow_text", reason="pip install tensorflow-text")
if keras.backend.backend() != "tensorflow":
    pytest.skip("one backend is enough for the doors", allow_module_level=True)

from hypothesis import given
from hypothesis import strategies as st

import keras_bert as kb

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcde"]
KINDS = ["", *"Classifier TokenClassifier SpanLabeler MultipleChoice Reranker".split()]
BACKBONE = {"vocabulary_size": 10, "num_layers": 1, "num_heads": 2, "hidden_dim": 8}
BACKBONE |= {"intermediate_dim": 8, "max_sequence_length": 16}
STEPS = {"peak_learning_rate": 1e-4, "warmup_steps": 1, "total_steps": 9}

# Larger sizes are valid, and would be built.
infinite = [2**70, -(2**70), float("nan"), float("inf"), 1j]
numbers = st.integers(-3, 12) | st.floats(-1e30, 1e30) | st.sampled_from(infinite)
odd = st.sampled_from(
    [*(None, True, False, object(), len, Ellipsis, b"\xff", "\ud800", "gelu", "mean", "O", "no")]
    + [np.int64(2), np.float32("nan"), np.array(2), np.array([1.0, 2]), np.eye(2), tf.constant(1)]
    + [WORDS, [*WORDS, "x"], ["no", "yes"], {"a": 1}, {1, 2}, range(3), [-1, -2], tf.constant("a")]
)
values = odd | numbers | st.text(max_size=3) | st.lists(numbers | st.text(max_size=2), max_size=3)


@pytest.fixture(scope="module")
def classes():
    tokenizer, encoder = {"tokenizer": kb.BertTokenizer(WORDS)}, kb.BertBackbone(**BACKBONE)
    return {
        kb.BertBackbone: BACKBONE,
        kb.BertClassifier: {"backbone": encoder, "num_classes": 2},
        kb.BertTokenClassifier: {"backbone": encoder, "num_classes": 2},
        kb.BertSpanLabeler: {"backbone": encoder},
        kb.BertMultipleChoice: {"backbone": encoder},
        kb.BertReranker: {"backbone": encoder},
        kb.BertEmbedder: {"backbone": encoder},
        kb.BertPretrainer: {"backbone": encoder},
        kb.BertTokenizer: {"vocabulary": WORDS},
        **{getattr(kb, f"Bert{kind}Preprocessor"): tokenizer for kind in KINDS},
        kb.Batching: {},
        kb.AdamW: {},
        kb.WarmupLinearDecay: STEPS,
    }


def check(cls, arguments, changed):
    try:
        made = cls(**arguments)
    except OSError:  # of a path
        assert cls is kb.BertTokenizer
        return
    except ValueError as error:
        assert not isinstance(error, UnicodeError) and len(str(error)) > 20
        words = {word for name in changed for word in name.split("_")}
        assert any(word in str(error) for word in words), f"{changed}: {error}"
        return
    if not hasattr(made, "get_config") or callable(changed.get("learning_rate")):
        return
    config = made.get_config()
    json.dumps(keras.saving.serialize_keras_object(config))
    assert set(cls.from_config(config).get_config()) == set(config)
    for name, value in changed.items():
        if name in config and isinstance(value, (bool, int, float)):
            kept = np.float32(value) if name == "learning_rate" else value
            assert config[name] == kept, f"{name}={value!r} became {config[name]!r}"


@given(data=st.data())
def test_any_arguments_work_or_say_what_is_wrong(classes, data):
    cls = data.draw(st.sampled_from(list(classes)))
    parameters = inspect.signature(cls.__init__).parameters.values()
    # Of a switch, any object is true or false.
    names = {each.name for each in parameters if not isinstance(each.default, bool)}
    names -= {"self", "name", "kwargs", "no_decay", "dtype", "backbone", "tokenizer"}
    if not names:
        return
    some = st.dictionaries(st.sampled_from(sorted(names)), values, min_size=1, max_size=2)
    changed = data.draw(some)
    check(cls, {**classes[cls], **changed}, changed)
