"""BERT that classifies words, for names, parts of speech or chunks."""

import keras

from keras_bert.layers.dense_and_norms import dense
from keras_bert.layers.dropout import Dropout
from keras_bert.models.bert_task import BertTask
from keras_bert.models.task_parts import head_policy, number_of_classes
from keras_bert.preprocessing.labels import ClassNumbers
from keras_bert.presets.published import Published
from keras_bert.saved import registered
from keras_bert.scoring.label_scorers import TagScorer
from keras_bert.training.adamw import AdamW


@registered
class BertTokenClassifier(BertTask):
    """An encoder with a head that classifies each word, to tag words or to find entities.

    `fit` and `evaluate` take words (a list of sentences, each a list of str) and their tags or
    class numbers. `answer` finds the tags of words, or the entities of raw texts. See
    `BertTokenClassifierPreprocessor`. Source: Devlin et al. 2019, section 5.3.

    Args:
        num_classes: int, C, at least 2; None means the number of the preprocessor's `label_names`.
        dropout: float, for the sequence output.
        **kwargs: those of `BertTask`, like all arguments that aren't listed.

    Returns:
        Logits `[B, S, C]`, float32.

    Raises:
        ValueError: if `num_classes` is below 2 or differs from the number of the preprocessor's
            `label_names`.

    Example:
    >>> from keras_bert import BertBackbone, BertTokenizer, sizes
    >>> from keras_bert import BertTokenClassifier, BertTokenClassifierPreprocessor
    >>> words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "in", "paris", "rome"]
    >>> named = {"label_names": ["O", "B-LOC"]}
    >>> preprocessor = BertTokenClassifierPreprocessor(BertTokenizer(words), **named)
    >>> backbone = BertBackbone(vocabulary_size=len(words), **sizes.tiny)
    >>> model = BertTokenClassifier(backbone, preprocessor=preprocessor)
    >>> model.compile(**{**model.default_compile_args(), "optimizer": "adam"})
    >>> sentences, tags = [["in", "Paris"], ["Rome"]], [["O", "B-LOC"], ["B-LOC"]]
    >>> history = model.fit(sentences, tags, epochs=60, verbose=0)
    >>> [answer["label"] for answer in model.answer(sentences)]
    [['O', 'B-LOC'], ['B-LOC']]
    >>> found = model.answer("In Rome")
    >>> found["entity_text"], found["entity_type"], found["entity_start"]
    (['Rome'], ['LOC'], [3])
    """

    preprocessor_name = "BertTokenClassifierPreprocessor"
    scorer_class = TagScorer
    published = Published(
        pipeline="token-classification",
        javascript_pipeline="token-classification",
        head="ForTokenClassification",
        purpose="labels words",
        example='answer("Ada Lovelace wrote it.")',
    )
    reads = "token_vectors"

    def __init__(
        self, backbone, num_classes=None, preprocessor=None, dropout=0.1, dtype=None, **kwargs
    ):
        policy = head_policy(self, backbone, dtype)
        num_classes = number_of_classes(self, num_classes, preprocessor, at_least=2)
        output_dropout = Dropout(dropout, name="output_dropout", dtype=policy)
        head = dense(num_classes, "logits", dtype=policy)
        inputs = dict(backbone.input)
        encoded = backbone.token_vectors(inputs)  # [B, S, H]
        logits = keras.ops.cast(head(output_dropout(encoded)), "float32")  # [B, S, C]
        super().__init__(inputs, logits, backbone, preprocessor, dtype, **kwargs)
        self.head = head
        self.num_classes = num_classes
        self.dropout = dropout

    def default_compile_args(self):
        """Returns AdamW at 5e-5, and cross-entropy and accuracy of each word's first piece."""
        return {
            "optimizer": AdamW(5e-5),
            "loss": keras.losses.SparseCategoricalCrossentropy(
                from_logits=True, reduction="mean_with_sample_weight"
            ),
            "weighted_metrics": [keras.metrics.SparseCategoricalAccuracy(name="accuracy")],
        }

    @property
    def labels(self):
        return ClassNumbers(list(map(str, range(self.num_classes))))

    def targets(self, y):
        return self.labels.numbers(y)
