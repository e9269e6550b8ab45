"""A score of a pair of texts, as STS-B has them."""

import keras
import numpy as np

from keras_bert import BertClassifier
from keras_bert.metrics import regression_scores


def test_scores_of_pairs_train_from_raw_text(assert_close, make_backbone, preprocessor):
    first = ["a b c", "d e", "f", "g h i", "j k", "l m n"]
    second = ["a b c", "o p", "f", "g q r", "s t", "l m u"]
    scores = [5.0, 0.2, 4.8, 2.0, 0.0, 3.4]
    model = BertClassifier(make_backbone(num_layers=1, dropout=0.0), 1, preprocessor, dropout=0.0)
    model.compile(optimizer=keras.optimizers.Adam(0.01), loss="mean_squared_error")
    model.fit((first * 60, second * 60), scores * 60, batch_size=6, verbose=0)
    predicted = model.predict((first, second), verbose=0)
    assert predicted.shape == (6, 1) and predicted.dtype == np.float32
    assert regression_scores(scores, predicted[:, 0])["pearson"] > 0.8
    found = model.answer((first, second))
    assert_close([answer["score"] for answer in found], predicted[:, 0])
    assert all(set(answer) == {"score"} for answer in found)
    expected = regression_scores(scores, predicted[:, 0])
    assert_close(model.scores((first, second), scores), expected)
    assert_close(model.answer((first[0], second[0]))["score"], predicted[0, 0])
