"""Training loops, train steps and optimizers as users write them."""

import keras
import numpy as np
import pytest

from keras_bert import Batching, BertClassifier
from tests.habits.conftest import EAGERLY, LABELS, PLAIN, TEXTS, backend_is
from tests.marks import on

IN_ORDER = Batching(4, shuffle=False)
SGD = keras.optimizers.SGD


# Loops of one's own


@on("torch")
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


class OfTapes(BertClassifier):
    """A train step of TensorFlow."""

    def train_step(self, data):
        import tensorflow as tf

        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply(gradients, self.trainable_variables)
        return {"my_loss": loss}


class OfTensors(BertClassifier):
    """A train step of PyTorch."""

    def train_step(self, data):
        import torch

        x, y = data
        self.zero_grad()
        loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        loss.backward()
        gradients = [variable.value.grad for variable in self.trainable_variables]
        with torch.no_grad():
            self.optimizer.apply(gradients, self.trainable_variables)
        return {"my_loss": loss}


def test_a_train_step_of_ones_own(preset, plain, same_weights):
    kind = {"tensorflow": OfTapes, "jax": OfStates, "torch": OfTensors}[keras.backend.backend()]
    model = kind.from_preset(preset)
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
    scores = model.evaluate(TEXTS, LABELS, 4, return_dict=True)
    assert_close(scores["seen"], scores["loss"])


def test_train_on_batch(sgd_model, plain, same_weights, assert_close):
    losses = []
    for x, y in sgd_model.batches(TEXTS, LABELS, batching=IN_ORDER):
        loss, _ = sgd_model.train_on_batch(x, y)
        losses.append(loss)
    same_weights(sgd_model, plain()[1])
    assert_close(np.mean(losses), plain()[0][0], sums=64)


def test_test_on_batch(sgd_model, assert_close):
    x, y = sgd_model.preprocessor(TEXTS), np.array(LABELS)
    assert_close(sgd_model.test_on_batch(x, y), sgd_model.evaluate(x, y))


@pytest.mark.slow
def test_seeds_repeat_a_run(make_backbone, compiled):
    losses = []
    for seed in (42, 42, 1):
        keras.utils.set_random_seed(seed)
        model = BertClassifier(make_backbone(), preprocessor=compiled.preprocessor)
        model.compile(SGD(0.1), run_eagerly=EAGERLY)
        losses.append(model.fit(TEXTS, LABELS, batch_size=4).history["loss"])
    assert losses[0] == losses[1] != losses[2]


def test_tensors_are_due_in_calls_and_single_batches(sgd_model, refused):
    for verb in (sgd_model.train_on_batch, sgd_model.test_on_batch):
        refused("fit, predict, answer|preprocessor", verb, TEXTS, LABELS)
    refused("predict|answer", sgd_model, TEXTS)


def test_an_interruption_and_going_on(sgd_model, plain, same_weights):
    def interrupt(batch, logs):
        if batch == 1:
            raise KeyboardInterrupt

    assert sgd_model.fit(TEXTS, LABELS, epochs=0).history == {}
    with pytest.raises(KeyboardInterrupt):
        callback = keras.callbacks.LambdaCallback(on_train_batch_end=interrupt)
        sgd_model.fit(TEXTS, LABELS, epochs=3, callbacks=[callback], **PLAIN)
    same_weights(sgd_model, plain()[1])
    sgd_model.fit(TEXTS, LABELS, **PLAIN)
    same_weights(sgd_model, plain(2)[1])
    assert int(sgd_model.optimizer.iterations) == 4
