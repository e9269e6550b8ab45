"""Saving, loading and copying models as users write them."""

import copy
import io
import pickle

import keras
import numpy as np
import pytest

from keras_bert import BertClassifier, BertMultipleChoice, ModernBertBackbone
from tests.habits.conftest import EAGERLY, LABELS, PLAIN, TEXTS


@pytest.fixture
def alike(assert_close, compiled):
    """A function that asserts that a model has the predictions and answers of the preset's."""

    def check(model):
        model.run_eagerly = EAGERLY
        expected = compiled.predict(TEXTS)
        assert_close(model.predict(TEXTS), expected)
        assert model.answer(TEXTS[0])["label"] == compiled.answer(TEXTS[0])["label"]

    return check


def test_a_copy_answers_alike(compiled, alike):
    alike(pickle.loads(pickle.dumps(compiled)))
    alike(copy.deepcopy(compiled))


@pytest.mark.slow
def test_a_clone_and_a_copy_train_alone(sgd_model, plain, same_weights, preset):
    clone = keras.models.clone_model(sgd_model)  # a keras.Model, of prepared inputs
    clone.set_weights(sgd_model.get_weights())
    inputs = sgd_model.preprocessor(TEXTS)
    for other, x in ((clone, inputs), (copy.deepcopy(sgd_model), TEXTS)):
        other.run_eagerly = EAGERLY
        other.fit(x, np.array(LABELS), **PLAIN)
        same_weights(other, plain()[1])
    same_weights(sgd_model, BertClassifier.from_preset(preset))


@pytest.mark.slow
def test_the_state_dict_of_torch(model, preset, alike):
    torch = pytest.importorskip("torch", reason="pip install torch")
    if keras.backend.backend() != "torch":
        pytest.skip("a module of torch")
    file = io.BytesIO()
    assert any(name.endswith("logits/kernel") for name in model.state_dict())
    torch.save(model.state_dict(), file)
    other = BertClassifier.from_preset(preset)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.zero_()
    file.seek(0)
    other.load_state_dict(torch.load(file))
    alike(other)


@pytest.mark.slow
def test_a_keras_model_around_a_model_is_saved(make_backbone, reloaded, assert_close):
    choices = BertMultipleChoice(make_backbone())
    encoder = ModernBertBackbone(30, 2, 2, 16, 24)
    ends = (
        (encoder.input, encoder.output["pooled_output"]),
        (choices.input, choices.output),
    )
    for x, vectors in ends:
        model = keras.Model(x, keras.layers.Softmax()(vectors))
        shape = (2, 3, 4)[-len(x["token_ids"].shape) :]
        given = {name: np.ones(shape, "int32") for name in x}
        given["token_ids"] = np.arange(np.prod(shape)).reshape(shape)
        assert_close(reloaded(model)(given), model(given))


@pytest.mark.filterwarnings("ignore")  # of layers without weights, and of the optimizer's slots
def test_a_quantized_model_with_an_optimizer_is_saved(preset, reloaded, assert_close):
    for mode in ("int4", "int8"):
        model = BertClassifier.from_preset(preset)
        model.compile("adam", run_eagerly=EAGERLY)
        model.fit(TEXTS, LABELS)
        model.quantize(mode)
        loaded = reloaded(model)
        assert_close(loaded.predict(TEXTS), model.predict(TEXTS))
        loaded.fit(TEXTS, LABELS)
