from keras_bert.metrics.calibration import (
    expected_calibration_error as expected_calibration_error,
)
from keras_bert.metrics.entities import entity_scores as entity_scores
from keras_bert.metrics.labels import classification_scores as classification_scores
from keras_bert.metrics.labels import multi_label_scores as multi_label_scores
from keras_bert.metrics.labels import regression_scores as regression_scores
from keras_bert.metrics.retrieval import retrieval_scores as retrieval_scores
from keras_bert.metrics.squad import squad_scores as squad_scores
