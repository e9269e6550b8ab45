"""BERT for multiple choice."""

import keras

from keras_bert.models.several_texts import SeveralTexts
from keras_bert.preprocessing.labels import Choices
from keras_bert.presets.published import Published
from keras_bert.saved import registered
from keras_bert.scoring.label_scorers import ChoiceScorer
from keras_bert.training.adamw import AdamW


@registered
class BertMultipleChoice(SeveralTexts):
    """An encoder with a head that chooses the best ending of a context, or answer to it.

    `fit` and `evaluate` take questions as `read_choices` returns them; `answer` takes questions
    without labels. Questions may differ in the number of their choices. Each choice is paired with
    the context, and its score is the product of the pooled output with a trained vector. See
    `BertMultipleChoicePreprocessor`. Source: Devlin et al. 2019, section 4.4.

    Args:
        dropout: float, for the pooled output.
        **kwargs: those of `BertTask`, like all arguments that aren't listed.

    Call arguments:
        inputs: a dict of the backbone's inputs, each `[B, C, S]`, C the number of choices. A
            choice whose `padding_mask` is 0 throughout is missing.

    Returns:
        Logits `[B, C]`, float32; -1e9 for a missing choice.

    Example:
    >>> from keras_bert import BertBackbone, BertMultipleChoice, BertMultipleChoicePreprocessor
    >>> from keras_bert import BertTokenizer, sizes
    >>> words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "it", "rains", "shines", "stones"]
    >>> preprocessor = BertMultipleChoicePreprocessor(BertTokenizer(words))
    >>> model = BertMultipleChoice(BertBackbone(vocabulary_size=9, **sizes.tiny), preprocessor)
    >>> question = {"context": "It", "choices": ["rains", "stones", "shines"]}
    >>> [answer] = model.answer([question])
    >>> answer["choice"] == question["choices"][answer["label"]], len(answer["probabilities"])
    (True, 3)
    """

    preprocessor_name = "BertMultipleChoicePreprocessor"
    scorer_class = ChoiceScorer
    published = Published(
        pipeline="multiple-choice",
        head="ForMultipleChoice",
        purpose="chooses one of several answers",
        example='answer({"context": "It rains.", "choices": ["I fly.", "I get wet."]})',
        texts=(),
    )
    name_of_texts = "choices"
    labels = Choices()

    def default_compile_args(self):
        """Returns AdamW at 2e-5, cross-entropy over the choices, and accuracy."""
        return {
            "optimizer": AdamW(2e-5),
            "loss": keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            "metrics": [keras.metrics.SparseCategoricalAccuracy(name="accuracy")],
        }
