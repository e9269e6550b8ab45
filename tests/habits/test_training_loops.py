"""Training loops, train steps and optimizers as users write them."""

import contextlib

import keras
import numpy as np
import pytest

from keras_bert import Batching, BertClassifier
from tests.habits.conftest import EAGERLY, LABELS, PLAIN, TEXTS, backend_is, loss_and_gradients

IN_ORDER = Batching(4, shuffle=False)
SGD = keras.optimizers.SGD


# Loops of one's own


@pytest.mark.skipif(not backend_is("torch"), reason="a loop of torch")
def test_a_loop_of_torch_with_an_optimizer_of_torch(model, plain, same_weights):
    import torch

    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in model.batches(TEXTS, LABELS, batching=IN_ORDER):
        loss = torch.nn.functional.cross_entropy(model(x), torch.tensor(y).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    same_weights(model, plain()[1])


class OfStates(BertClassifier):
    """A train step of JAX."""

    def train_step(self, state, data):
        import jax

        trainable, others, of_optimizer, of_metrics = state
        x, y = data

        def loss_of(trainable, others):
            y_pred, others = self.stateless_call(trainable, others, x, training=True)
            return self.compute_loss(x, y, y_pred), others

        gradient = jax.value_and_grad(loss_of, has_aux=True)
        (loss, others), gradients = gradient(trainable, others)
        trainable, of_optimizer = self.optimizer.stateless_apply(of_optimizer, gradients, trainable)
        return {"my_loss": loss}, (trainable, others, of_optimizer, of_metrics)


class OfTensors(BertClassifier):
    """A train step of TensorFlow or PyTorch."""

    def train_step(self, data):
        x, y = data

        def loss_of(y_pred):
            return self.compute_loss(y=y, y_pred=y_pred)

        loss, gradients = loss_and_gradients(self, x, loss_of)
        with without_gradients():
            self.optimizer.apply(gradients, self.trainable_variables)
        return {"my_loss": loss}


def without_gradients():
    if not backend_is("torch"):
        return contextlib.nullcontext()
    import torch

    return torch.no_grad()


def test_a_train_step_of_ones_own(preset, plain, same_weights):
    model = (OfStates if backend_is("jax") else OfTensors).from_preset(preset)
    model.compile(SGD(0.1), model.default_compile_args()["loss"])
    assert {*model.fit(TEXTS, LABELS, **PLAIN).history} == {"my_loss"}
    same_weights(model, plain()[1])


class WithTestStep(BertClassifier):
    def test_step(self, *args):
        logs = super().test_step(*args)
        if isinstance(logs, tuple):  # and the state, of JAX
            return {**logs[0], "seen": logs[0]["loss"]}, logs[1]
        return {**logs, "seen": logs["loss"]}


@pytest.mark.slow
def test_a_test_step_of_ones_own(preset, assert_close):
    steps = 1 if backend_is("torch") else 2  # Keras has no other there
    model = WithTestStep.from_preset(preset)
    model.compile(SGD(0.1), steps_per_execution=steps)
    scores = model.evaluate(TEXTS, LABELS, 4, return_dict=True, verbose=0)
    assert_close(scores["seen"], scores["loss"])


def test_train_on_batch(sgd_model, plain, same_weights, assert_close):
    losses = []
    for x, y in sgd_model.batches(TEXTS, LABELS, batching=IN_ORDER):
        loss, _ = sgd_model.train_on_batch(x, y)
        losses.append(loss)
    same_weights(sgd_model, plain()[1])
    assert_close(np.mean(losses), plain()[0][0], sums=64)


def test_tensors_are_due_in_calls_and_single_batches(sgd_model, refused):
    refused("fit, predict, answer|preprocessor", sgd_model.train_on_batch, TEXTS, LABELS)
    refused("predict|answer", sgd_model, TEXTS)


@pytest.mark.slow
def test_test_on_batch_and_predict_on_batch(compiled, assert_close):
    x = compiled.preprocessor(TEXTS)
    scores = compiled.test_on_batch(x, np.array(LABELS), return_dict=True)
    expected = compiled.evaluate(TEXTS, LABELS, return_dict=True, verbose=0)
    assert_close(scores, expected)
    assert_close(compiled.predict_on_batch(x), compiled.predict(TEXTS, verbose=0))


@pytest.mark.slow
def test_seeds_repeat_a_run(preset):
    losses = []
    for seed in (42, 42, 1):
        keras.utils.set_random_seed(seed)
        model = BertClassifier.from_preset(preset, dropout=0.3)
        model.compile(SGD(0.1), run_eagerly=EAGERLY)
        losses.append(model.fit(TEXTS, LABELS, batch_size=4, verbose=0).history["loss"])
    assert losses[0] == losses[1] != losses[2]


def test_an_interruption_and_going_on(sgd_model, plain, same_weights):
    def interrupt(batch, logs):
        if batch == 1:
            raise KeyboardInterrupt

    assert sgd_model.fit(TEXTS, LABELS, epochs=0, verbose=0).history == {}
    with pytest.raises(KeyboardInterrupt):
        callback = keras.callbacks.LambdaCallback(on_train_batch_end=interrupt)
        sgd_model.fit(TEXTS, LABELS, epochs=3, callbacks=[callback], **PLAIN)
    same_weights(sgd_model, plain()[1])
    sgd_model.fit(TEXTS, LABELS, **PLAIN)
    same_weights(sgd_model, plain(2)[1])
    assert int(sgd_model.optimizer.iterations) == 4
