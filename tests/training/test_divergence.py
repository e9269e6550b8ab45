import keras
import numpy as np

from keras_bert import BertClassifier

X, Y = {"token_ids": np.arange(32).reshape(8, 4) % 25 + 5}, np.arange(8) % 2


def test_fit_says_at_which_step_the_loss_became_nan(make_backbone, caplog):
    model = BertClassifier(make_backbone(), num_classes=2)
    # The second step meets the weights of the first.
    model.compile(keras.optimizers.SGD(1e30), run_eagerly=True)
    history = model.fit(X, Y, batch_size=2, epochs=2, verbose=0).history
    assert not np.isfinite(history["loss"]).any()
    first, second = (each.getMessage() for each in caplog.records if each.name == "keras_bert")
    assert "at step 2 of epoch 1" in first and "learning rate" in first
    assert "at step 1 of epoch 2" in second
    caplog.clear()
    good = BertClassifier(make_backbone(), num_classes=2)
    good.compile(keras.optimizers.SGD(1e-3), run_eagerly=True)
    good.fit(X, Y, batch_size=4, verbose=0)
    assert not caplog.records
