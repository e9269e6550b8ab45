from .calibration import (
    expected_calibration_error as expected_calibration_error,
)
from .entities import entity_scores as entity_scores
from .labels import classification_scores as classification_scores
from .labels import multi_label_scores as multi_label_scores
from .labels import regression_scores as regression_scores
from .retrieval import retrieval_scores as retrieval_scores
from .squad import squad_scores as squad_scores
