import keras
import numpy as np
import pytest

from keras_bert import AdamW, BertClassifier, BertPretrainer

EAGERLY = keras.backend.backend() == "tensorflow"  # tracing takes longer than a few steps


@pytest.fixture
def model(make_backbone):
    return BertClassifier(make_backbone(dropout=0.0), num_classes=2, dropout=0.0)


def test_gradients_of_many_parts_are_summed_in_float32(make_backbone):
    """In bfloat16 a sum of 16 equal parts is off by 3 %."""
    model = BertClassifier(make_backbone(dropout=0.0, dtype="bfloat16"), num_classes=2, dropout=0.0)
    gradients = []
    for parts in (1, 16):
        x = {"token_ids": np.tile([[2, 7, 9, 3]], (parts, 1))}
        optimizer = AdamW(1e-9, beta_1=0.0, global_clipnorm=None)  # the moment is the gradient
        model.compile(optimizer, run_eagerly=EAGERLY)
        model.fit(x, np.ones(parts), batch_size=parts, accumulation_steps=parts)
        moments = model.optimizer._first_moments
        gradients.append([keras.ops.convert_to_numpy(moment) for moment in moments])
    for one, many in zip(*gradients, strict=True):
        np.testing.assert_allclose(many, one, rtol=16 * np.finfo("float32").eps)


class Broken(keras.utils.PyDataset):
    """Two batches, the second of which can't be read."""

    def __len__(self):
        return 2

    def __getitem__(self, index):
        if index:
            raise OSError("no such file")
        return {"token_ids": np.full((2, 4), 5)}, np.array([0, 1])


class Ends(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        raise KeyboardInterrupt


def test_a_model_keeps_its_weights_when_data_or_a_callback_raise_an_error(model):
    """On JAX, Keras moves them out of the variables before the first step."""
    model.compile("sgd", run_eagerly=EAGERLY)
    x, y = Broken()[0]
    before = model.predict(x)
    for run in (model.predict, model.evaluate):
        with pytest.raises(Exception, match="no such file"):
            run(Broken())
        np.testing.assert_array_equal(model.predict(x), before)
    with pytest.raises(Exception, match="no such file"):
        model.fit(Broken(), shuffle=False)
    before = model.predict(x)
    with pytest.raises(KeyboardInterrupt):
        model.fit(x, y, callbacks=[Ends()])
    after = model.predict(x)
    assert np.isfinite(after).all() and np.any(after != before)


X, Y = {"token_ids": np.arange(32).reshape(8, 4) % 25 + 5}, np.arange(8) % 2


def test_packed_rows_train_as_their_sequences_alone(make_backbone, assert_close):
    padded = {
        "token_ids": [[5, 6, 7, 8], [9, 10, 11, 0]],
        "segment_ids": [[0, 0, 1, 1], [0, 1, 1, 0]],
        "padding_mask": [[1, 1, 1, 1], [1, 1, 1, 0]],
        "mask_positions": [[1], [2]],
    }
    packed = {
        "token_ids": [[5, 6, 7, 8, 9, 10, 11, 0]],
        "segment_ids": [[0, 0, 1, 1, 0, 1, 1, 0]],
        "sequence_ids": [[1, 1, 1, 1, 2, 2, 2, 0]],
        "cls_positions": [[0, 4, 0]],  # the last slot is unused
        "mask_positions": [[1, 6]],
    }
    model, found = BertPretrainer(make_backbone(dropout=0.0, relative_bias=True)), []
    start, settings = model.get_weights(), model.default_compile_args()
    for x, tokens, are_random in (
        (padded, [[12], [14]], [0, 1]),
        (packed, [[12, 14]], [[0, 1, 0]]),
    ):
        y = {"masked_lm": np.array(tokens), "next_sentence": np.array(are_random)}
        model.set_weights(start)
        model.compile(**{**settings, "optimizer": keras.optimizers.SGD(0.1)}, run_eagerly=True)
        x = {name: np.array(values) for name, values in x.items()}
        history = model.fit(x, y).history
        found.append([history["loss"], model.get_weights()])
    assert_close(*found)
    assert np.any(found[0][1][0] != start[0])


def test_fit_says_at_which_step_the_loss_became_nan(make_backbone, caplog, capsys):
    model = BertClassifier(make_backbone(), num_classes=2)
    # The second step meets the weights of the first.
    model.compile(keras.optimizers.SGD(1e30), run_eagerly=True)
    assert not np.isfinite(model.fit(X, Y, batch_size=2, epochs=2, verbose=0).history["loss"]).any()
    first, second = (each.getMessage() for each in caplog.records if each.name == "keras_bert")
    assert "at step 2 of epoch 1" in first and "learning rate" in first
    assert "at step 1 of epoch 2" in second
    caplog.clear()
    good = BertClassifier(make_backbone(), num_classes=2)
    good.compile(keras.optimizers.SGD(1e-3), run_eagerly=True)
    good.fit(X, Y, batch_size=4, verbose=1)
    assert not caplog.records and "2/2" in capsys.readouterr().out


def test_a_sum_is_evaluated_after_training_on_batches_in_parts(model, assert_close, refused):
    model.compile("sgd", run_eagerly=True)
    model.fit(X, Y, accumulation_steps=2)
    mean, _ = model.evaluate(X, Y)
    total = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="sum")
    model.compile("sgd", total, run_eagerly=True)
    assert_close(model.evaluate(X, Y), 8 * mean)
    refused("reduction of the loss", model.fit, X, Y, accumulation_steps=2)


def test_a_batch_without_rows_leaves_finite_weights(model, tensorflow):
    """As a filter within batches makes it."""

    def known(x, y):
        is_known = y < 2
        x = {name: tensorflow.boolean_mask(values, is_known) for name, values in x.items()}
        return x, tensorflow.boolean_mask(y, is_known)

    model.compile(**model.default_compile_args())
    x = {"token_ids": np.arange(1, 13).reshape(6, 2)}
    batches = tensorflow.data.Dataset.from_tensor_slices((x, [0, 1, 2, 2, 1, 0])).batch(2)
    assert np.isfinite(model.fit(batches.map(known)).history["loss"]).all()
    assert all(np.isfinite(weight).all() for weight in model.get_weights())
