"""Odd objects at the doors of every task, and as arguments of constructors.

They work, or a ValueError says why not.
"""

import inspect
import itertools
import types
import warnings

import keras
import numpy as np
import pytest

tf = pytest.importorskip("tensorflow", reason="pip install tensorflow")
pytest.importorskip("tensorflow_text", reason="pip install tensorflow-text")
if keras.backend.backend() != "tensorflow":
    pytest.skip("one backend is enough for the doors", allow_module_level=True)

from hypothesis import given, settings
from hypothesis import strategies as st

import keras_bert as kb
from tests.conftest import VOCABULARY
from tests.fuzz.conftest import EXAMPLES
from tests.fuzz.drawn import IDS, objects, odd_arguments
from tests.models.conftest import TASKS
from tests.pairs.examples import BatchList

slices = tf.data.Dataset.from_tensor_slices


def same(value):
    return value


FORMS = [
    *[same] * 6,
    np.array,
    tf.constant,
    slices,
    lambda value: slices(value).batch(2),
    lambda value: BatchList([(value,)]),
    lambda value: (row for row in [value]),
    lambda value: slices((value, value)),
]
METHODS = {  # and the arguments that may be odd
    "predict": ["x", "x", "batch_size"],
    "answer": ["x", "x", "batch_size"],
    "scores": ["x", "y", "batch_size"],
    "batches": ["x", "y", "sample_weight"],
    "evaluate": ["x", "y", "batch_size", "sample_weight"],
    "fit": "x x y y batch_size sample_weight validation_split validation_data accumulation_steps "
    "class_weight".split(),
}


@pytest.fixture(scope="module")
def doors():
    """Tasks with valid arguments of `fit`: `{name: (task, x, y)}`."""
    tokenizer = kb.BertTokenizer(VOCABULARY)
    encoder = kb.BertBackbone(30, 1, 2, 8, 8, max_sequence_length=16)
    found = {"bare": (kb.BertClassifier(encoder, 2), {"token_ids": IDS}, [0, 1])}
    for name, (kind, x, y, *_, options, arguments) in TASKS.items():
        if x is not None:
            kind = getattr(kb, kind)
            reader = kind.preprocessor_class()(tokenizer, 12, **options)
            found[name] = kind(encoder, preprocessor=reader, **arguments), x, y
    found["features"][0].adapt_features(TASKS["features"][1]["features"])
    for name, (task, *_) in found.items():
        if name != "vectors":
            arguments = {
                **task.default_compile_args(),
                "optimizer": keras.optimizers.SGD(0.0),
            }
            task.compile(**arguments, run_eagerly=True)
    return found


def check_result(task, method, x, result):
    """Asserts that a result is no silently wrong one."""
    if method == "batches":
        for batch in itertools.islice(result, 2):
            assert all(np.size(part) > 0 for part in tf.nest.flatten(batch))
        return
    if method == "fit":
        result = [value for values in result.history.values() for value in values]
        assert result, "nothing was trained on"
    for part in tf.nest.flatten(result):
        if not isinstance(part, (str, list)) and part is not None:
            assert np.isfinite(np.asarray(part, "float64")).all(), f"{result} is not finite"
    has_rows = isinstance(task, (kb.BertClassifier, kb.BertEmbedder, kb.BertMultipleChoice))
    if has_rows and method == "predict" and isinstance(x, list):
        rows = {len(part) for part in tf.nest.flatten(result)}
        assert rows == {len(x)}, f"{rows} rows for {len(x)} examples"


@pytest.mark.slow
@settings(max_examples=max(EXAMPLES, 60))
@given(data=st.data())
def test_odd_objects_work_or_say_what_is_wrong(doors, data):
    name = data.draw(st.sampled_from([*doors]))
    task, x, y = doors[name]
    method = data.draw(st.sampled_from([*METHODS][: 4 if name == "vectors" else None]))
    valid = {"x": x, "y": y} if "y" in METHODS[method] else {"x": x}
    odd = data.draw(st.lists(st.sampled_from(METHODS[method]), min_size=1, max_size=2))
    if not isinstance(task, kb.BertClassifier):
        odd = [argument for argument in odd if argument != "class_weight"]
    arguments = valid | {each: data.draw(odd_arguments(valid.get(each), FORMS)) for each in odd}
    if method in ("fit", "evaluate", "predict"):
        arguments["verbose"] = 0
    given_data = (arguments["x"], arguments.get("validation_data"))
    streams = (types.GeneratorType, keras.utils.PyDataset, tf.data.Dataset)
    of_streams = tf.errors.InvalidArgumentError
    allowed = of_streams if any(isinstance(part, streams) for part in given_data) else ()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = getattr(task, method)(**arguments)
            check_result(task, method, arguments["x"], result)
    except ValueError as error:
        assert not isinstance(error, UnicodeError)
    except allowed:
        pass


WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] a b c d e".split()
KINDS = ["", *"Classifier TokenClassifier SpanLabeler MultipleChoice Reranker".split()]
BACKBONE = {
    "vocabulary_size": 10,
    "num_layers": 1,
    "num_heads": 2,
    "hidden_dim": 8,
    "intermediate_dim": 8,
    "max_sequence_length": 16,
}
STEPS = {"peak_learning_rate": 1e-4, "warmup_steps": 1, "total_steps": 9}
numbers = st.integers(-3, 12) | st.floats(-1e30, 1e30)  # larger sizes are valid, and are built


@pytest.fixture(scope="module")
def parameters():
    """`(class, valid arguments, the name of one that may be odd)`."""
    tokenizer = {"tokenizer": kb.BertTokenizer(WORDS)}
    encoder = kb.BertBackbone(**BACKBONE)
    tasks = (kb.BertSpanLabeler, kb.BertMultipleChoice, kb.BertReranker, kb.BertEmbedder)
    classes = {
        kb.BertBackbone: BACKBONE,
        kb.BertClassifier: {"backbone": encoder, "num_classes": 2},
        kb.BertTokenClassifier: {"backbone": encoder, "num_classes": 2},
        **dict.fromkeys((*tasks, kb.BertPretrainer), {"backbone": encoder}),
        kb.BertTokenizer: {"vocabulary": WORDS},
        **{getattr(kb, f"Bert{kind}Preprocessor"): tokenizer for kind in KINDS},
        kb.Batching: {},
        kb.AdamW: {},
        kb.WarmupLinearDecay: STEPS,
    }
    fixed = {"self", "name", "kwargs", "no_decay", "dtype", "backbone", "tokenizer"}
    return [
        (cls, valid, name)
        for cls, valid in classes.items()
        for name, each in inspect.signature(cls.__init__).parameters.items()
        if name not in fixed and not isinstance(each.default, bool)  # any object is true or false
    ]


@given(data=st.data(), value=objects | numbers)
def test_any_arguments_of_constructors_work_or_are_named(parameters, data, value):
    cls, valid, name = data.draw(st.sampled_from(parameters))
    try:
        cls(**{**valid, name: value})
    except OSError:  # of a path
        assert cls is kb.BertTokenizer
    except ValueError as error:
        assert not isinstance(error, UnicodeError)
        assert any(word in str(error) for word in name.split("_")), f"{name}={value}: {error}"
