"""BERT that chooses between several texts."""

import keras
import numpy as np

from keras_bert.layers.choices import ChoicesAsRows, RowsAsChoices
from keras_bert.layers.dropout import Dropout
from keras_bert.layers.initializer import dense
from keras_bert.models.bert_task import BertTask, holds_text
from keras_bert.training.adamw import AdamW


@keras.saving.register_keras_serializable(package="keras_bert")
class BertMultipleChoice(BertTask):
    """Which of several texts goes best with a context: how it ends, or the answer to it.

    `fit` and `evaluate` take questions as `read_choices` gives them, beside what every task takes;
    `predict` takes questions without labels. Questions may have different numbers of choices. Each
    choice is read with the context as a pair; its score is the product of the pooled output with a
    vector that is learnt.
    Source: Devlin et al. 2019, section 4.4.

    Args:
        backbone: a `BertBackbone`.
        preprocessor: a `BertPreprocessor`, for raw text; or None.
        dropout: float, of the pooled output.
        **kwargs: those of `keras.Model`.

    Call arguments:
        inputs: a dict of the backbone's inputs, each `[B, C, S]`, C the number of choices. A
            choice whose `padding_mask` is 0 throughout isn't there.

    Returns:
        Logits `[B, C]`, float32; -1e9 for a choice that isn't there.

    Example:
    >>> from keras_bert import BertBackbone, BertPreprocessor, BertTokenizer, sizes
    >>> words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "it", "rains", "shines", "stones"]
    >>> preprocessor = BertPreprocessor(BertTokenizer(words))
    >>> model = BertMultipleChoice(BertBackbone(vocabulary_size=9, **sizes.tiny), preprocessor)
    >>> question = {"context": "It", "choices": ["rains", "stones", "shines"]}
    >>> [answer] = model.predict([question], verbose=0)
    >>> answer["choice"] == question["choices"][answer["label"]], len(answer["probabilities"])
    (True, 3)
    """

    def __init__(self, backbone, preprocessor=None, dropout=0.1, **kwargs):
        inputs = {
            name: keras.Input((None, None), dtype="int32", name=name, optional=name != "token_ids")
            for name in backbone.input
        }
        output_dropout = Dropout(dropout, name="output_dropout")
        head = dense(1, "logits")
        pooled = backbone(ChoicesAsRows(name="rows")(inputs))["pooled_output"]  # [B x C, H]
        scores = head(output_dropout(pooled))  # [B x C, 1]
        logits = RowsAsChoices(name="choices")(
            scores, token_ids=inputs["token_ids"], padding_mask=inputs["padding_mask"]
        )  # [B, C]
        super().__init__(inputs, logits, backbone, preprocessor, **kwargs)
        self.head = head
        self.dropout = dropout

    def default_compile_args(self):
        """AdamW at 2e-5; cross-entropy over the choices, and accuracy."""
        return {
            "optimizer": AdamW(2e-5),
            "loss": keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            "metrics": [keras.metrics.SparseCategoricalAccuracy(name="accuracy")],
        }

    def predict(self, x, batch_size=None, **kwargs):
        """The choices between texts; of prepared inputs the logits, as `keras.Model.predict`.

        Args:
            x: dicts of `context`, a str, and `choices`, a list of str, or one such dict; or
                prepared inputs. A choice of "" isn't there.
            batch_size: int, questions that the model takes at once; 32 by default.
            **kwargs: those of `keras.Model.predict`.

        Returns:
            A list of dicts, one for each question: `label`, int, the place of the most probable
            choice; `choice`, str, its text; `probabilities`, a list of floats, one for each choice.

        Raises:
            ValueError: if there are no questions, one is not a context with two choices or more,
                or there is no preprocessor.
        """
        if not _holds_questions(x):
            return super().predict(x, batch_size=batch_size, **kwargs)
        questions = [x] if isinstance(x, dict) else list(x)
        dataset = self._dataset(questions, batch_size, labelled=False)
        logits = super().predict(dataset, **kwargs)
        probabilities = np.exp(logits - logits.max(axis=-1, keepdims=True))
        probabilities /= probabilities.sum(axis=-1, keepdims=True)
        answers = []
        for question, row in zip(questions, probabilities, strict=True):
            label = int(row.argmax())
            shares = row[: len(question["choices"])].tolist()
            choice = str(question["choices"][label])
            answers.append({"label": label, "choice": choice, "probabilities": shares})
        return answers

    def answers(self, outputs):
        """What an exported model says of prepared inputs: `probabilities` `[B, C]` and `label`."""
        return {
            "probabilities": keras.ops.softmax(outputs, axis=-1),
            "label": keras.ops.argmax(outputs, axis=-1),
        }

    def string_signature(self):
        """See `BertTask.string_signature`."""
        return self.answer_choices, {"context": 1, "choices": 2}

    def answer_choices(self, context, choices):
        """What an exported model says of raw strings, in the TensorFlow graph.

        Args:
            context: string `[B]`.
            choices: string `[B, C]`. A choice of "" isn't there: so questions with different
                numbers of choices are asked together.

        Returns:
            A dict of tensors: `probabilities`, float32 `[B, C]`, 0 for a choice of ""; the place
            of the most probable choice, `label`, int64 `[B]`, and its text, `choice`, string `[B]`.
        """
        import tensorflow as tf

        from keras_bert.preprocessing.choice_dataset import choice_inputs
        from keras_bert.preprocessing.padding import trim_padding

        message = "give each context a row of choices"
        same = tf.debugging.assert_equal(tf.shape(context)[0], tf.shape(choices)[0], message)
        with tf.control_dependencies([same]):
            places = tf.where(choices != "")  # [K, 2]
        inputs = choice_inputs(
            self.preprocessor,
            self.preprocessor.tokenizer(context),
            self.preprocessor.tokenizer(tf.gather_nd(choices, places)),
            places,
            tf.shape(choices, tf.int64),
        )
        logits = self(trim_padding(inputs), training=False)  # [B, C]
        label = tf.argmax(logits, axis=-1)
        return {
            "probabilities": tf.nn.softmax(logits) * tf.cast(choices != "", tf.float32),
            "label": label,
            "choice": tf.gather(choices, label, batch_dims=1),
        }

    def check_labels(self, labels):
        """Raises a ValueError if `labels` can't be places of choices."""
        labels = np.asarray(labels)
        if not labels.size or not _is_one_each(labels):
            return
        if not np.issubdtype(labels.dtype, np.integer) or labels.min() < 0:
            found = labels.min() if np.issubdtype(labels.dtype, np.number) else labels.flat[0]
            raise ValueError(
                "Labels must be the places of choices, ints from 0 for the first; got "
                f"{found!r}. Number the choices of each question from 0."
            )

    def checked_dataset(self, dataset):
        """The same dataset, which ends in an error where a label isn't that of a choice."""
        from keras_bert.preprocessing.checked_choices import checked_choices

        return checked_choices(dataset)

    def get_config(self):
        return {**super().get_config(), "dropout": self.dropout}

    def _dataset(self, questions, batch_size, **options):
        if self.preprocessor is None:
            raise ValueError(
                f"{type(self).__name__} was given text, but it has no preprocessor. Make it with "
                "preprocessor=BertPreprocessor(tokenizer), or start from a preset that has one."
            )
        from keras_bert.preprocessing.choice_dataset import choice_dataset

        return choice_dataset(
            questions,
            preprocessor=self.preprocessor,
            batch_size=batch_size or 32,
            trim=self._trim(),
            **options,
        )

    def _prepared(self, x, y=None, sample_weight=None, batch_size=None, shuffle=False, learns=True):
        if _holds_questions(x):
            if sample_weight is not None:
                raise ValueError("Questions have no weights: leave sample_weight out.")
            questions = [x] if isinstance(x, dict) else x
            if y is not None:
                questions = _labelled(questions, y)
            return self._dataset(questions, batch_size, shuffle=shuffle), None, None
        if holds_text(x):
            raise ValueError(
                "A BertMultipleChoice takes questions, dicts of 'context' and 'choices', as "
                "read_choices gives them; it was given whole texts."
            )
        prepared = super()._prepared(x, y, sample_weight, batch_size, shuffle, learns)
        if y is not None and isinstance(x, dict) and _is_one_each(np.asarray(y)):
            _check_chosen(x, np.asarray(y).reshape(-1))
        return prepared


def _labelled(questions, labels):
    if len(labels) != len(questions):
        raise ValueError(
            f"There are {len(questions)} questions but {len(labels)} labels: give each one."
        )
    return [
        {**question, "label": label} if isinstance(question, dict) else question
        for question, label in zip(questions, labels, strict=True)
    ]


def _check_chosen(inputs, labels):
    """Raises a ValueError if a label, `[B]`, isn't that of a choice that is there."""
    padding_mask = inputs.get("padding_mask")
    tokens = inputs["token_ids"] if padding_mask is None else padding_mask
    tokens = keras.ops.convert_to_numpy(tokens)  # [B, C, S]
    is_there = np.ones(tokens.shape[:2], "bool") if padding_mask is None else tokens.any(axis=-1)
    inside = labels < is_there.shape[1]
    chosen = is_there[np.arange(len(labels)), np.where(inside, labels, 0)] & inside
    if not chosen.all():
        row = int(np.argmin(chosen))
        raise ValueError(
            f"Question {row} has the label {labels[row]}, but its choices are "
            f"{', '.join(map(str, np.flatnonzero(is_there[row]))) or 'none'}. Number the choices "
            "of each question from 0."
        )


def _is_one_each(labels):
    return labels.ndim == 1 or labels.shape[1:] == (1,)


def _holds_questions(x):
    if isinstance(x, (list, tuple)) and len(x):
        x = x[0]
    return isinstance(x, dict) and ("choices" in x or "context" in x)
