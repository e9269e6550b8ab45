import json

import keras
import numpy as np
import pytest

SETTINGS = "--sequence_length 7 --batch_size 8 --units 8 --layers -1 -2 --dropout 0"
SETTINGS += " --learning_rate 2e-2 --epochs 2"


@pytest.mark.slow
def test_it_learns_and_writes_what_it_says(arguments, module, tagged, tmp_path, refused):
    output = tmp_path / "out"
    module.main(arguments(tagged, "--combine", "weighted"))
    history = json.loads((output / "scores.json").read_text())
    assert len(history) == 2 and max(scores["f1"] for scores in history) == 1.0
    assert json.loads((output / "test_scores.json").read_text())["f1"] == 1.0
    lines = (output / "test_predictions.txt").read_text().split("\n")
    assert lines[:3] == ["the O O", "book B-THING B-THING", ""]
    assert len((output / "dev_predictions.txt").read_text().split("\n\n")) == 11
    best = keras.models.load_model(output / "best.keras")
    shares = best.get_layer("layer_combination").weights[0]
    assert np.abs(keras.ops.convert_to_numpy(shares)).min() > 0
    refused(r"layers=\[-2, -1\] \(there", module.main, arguments(tagged, "--layers", "-2", "-1"))


def test_padding_does_not_change_predictions(arguments, assert_close, module, tagged):
    model = module.make_model(module.parse_args(arguments(tagged, "--combine", "mean")), 2, 16, 3)
    vectors = np.random.default_rng(1).normal(size=(1, 5, 32)).astype("float32")
    padded = np.pad(vectors, ((0, 0), (0, 4), (0, 0)))
    assert_close(model.predict_on_batch(padded)[:, :5], model.predict_on_batch(vectors))
