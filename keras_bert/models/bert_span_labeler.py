"""BERT that answers questions with stretches of a text."""

import keras
import numpy as np

from keras_bert.layers.initializer import dense
from keras_bert.models.bert_task import BertTask
from keras_bert.training.adamw import AdamW

_CHUNK = 1024  # questions whose logits are held at once


@keras.saving.register_keras_serializable(package="keras_bert")
class BertSpanLabeler(BertTask):
    """Where in a context the answer to a question begins and ends.

    `fit` and `evaluate` take examples as `read_squad` gives them, beside what every task takes;
    `predict` takes questions, and answers them in the context's own words. Contexts may be of any
    length: they are read in windows that overlap.

    Source: Devlin et al. 2019, sections 4.2 and 4.3; google-research/bert run_squad.py.

    Args:
        backbone: a `BertBackbone`.
        preprocessor: a `BertPreprocessor`, for raw text, or None; the paper's sequences have 384
            tokens: `from_preset(..., sequence_length=384)`.
        document_stride: int, tokens from the beginning of a window to that of the next one.
        max_question_length: int, tokens; longer questions lose their last ones.
        max_answer_length: int, tokens.
        null_threshold: float: the answer is "" where the score of none is higher than the best
            answer's by more than this, as SQuAD 2.0 needs it; `squad_scores` finds the best value.
            None, for SQuAD 1.1, always answers.
        **kwargs: those of `keras.Model`.

    Call arguments:
        inputs: a dict of the backbone's inputs.

    Returns:
        A dict of logits, `start` and `end`, `[B, S]` float32.

    Raises:
        ValueError: if the windows' sizes leave no room for a context, or are below 1.

    Example:
    >>> from keras_bert import BertBackbone, BertPreprocessor, BertSpanLabeler, BertTokenizer, sizes
    >>> words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "where", "?", "in", "paris"]
    >>> preprocessor = BertPreprocessor(BertTokenizer(words), sequence_length=384)
    >>> model = BertSpanLabeler(BertBackbone(vocabulary_size=9, **sizes.tiny), preprocessor)
    >>> [found] = model.predict([{"question": "Where?", "context": "In Paris"}], verbose=0)
    >>> found["answer"] == "In Paris"[found["start"] : found["end"]]
    True
    """

    reads_pooler = False

    def __init__(
        self,
        backbone,
        preprocessor=None,
        document_stride=128,
        max_question_length=64,
        max_answer_length=30,
        null_threshold=None,
        **kwargs,
    ):
        if max_answer_length < 1:
            raise ValueError(f"max_answer_length must be at least 1; got {max_answer_length}.")
        if preprocessor is not None:
            from keras_bert.preprocessing.question_windows import check_lengths

            check_lengths(preprocessor, document_stride, max_question_length)
        head = dense(2, "logits")
        encoded = backbone(backbone.input)["sequence_output"]  # [B, S, H]
        logits = keras.ops.cast(head(encoded), "float32")  # [B, S, 2]
        outputs = {"start": logits[:, :, 0], "end": logits[:, :, 1]}
        super().__init__(dict(backbone.input), outputs, backbone, preprocessor, **kwargs)
        self.head = head
        self.document_stride = document_stride
        self.max_question_length = max_question_length
        self.max_answer_length = max_answer_length
        self.null_threshold = null_threshold

    def default_compile_args(self):
        """AdamW at 3e-5; the mean of the cross-entropies of start and end."""
        return {
            "optimizer": AdamW(3e-5),
            "loss": {
                name: keras.losses.SparseCategoricalCrossentropy(from_logits=True, name=name)
                for name in ("start", "end")
            },
            "loss_weights": {"start": 0.5, "end": 0.5},
            "metrics": {
                name: [keras.metrics.SparseCategoricalAccuracy(name="accuracy")]
                for name in ("start", "end")
            },
        }

    def predict(self, x, batch_size=None, *, n_best=1, verbose="auto", **kwargs):
        """The answers to questions; of prepared inputs the logits, as `keras.Model.predict`.

        Args:
            x: dicts of `question` and `context`, or one such dict; or prepared inputs.
            batch_size: int, windows that the model takes at once; 32 by default.
            n_best: int; more than 1 asks for other answers too.
            verbose: whether progress is shown: "auto", 0, 1 or 2.
            **kwargs: those of `keras.Model.predict`, for prepared inputs.

        Returns:
            A list of dicts, one for each question:
                `answer`: str, a stretch of the context, or "" for none;
                `start`, `end`: int, its characters: the answer is `context[start:end]`;
                `score`: float, its probability among all answers of at most `max_answer_length`
                    tokens, and none if there is a `null_threshold`;
                `null_odds`: float, by how much the score of none, in logits, is above the best
                    answer's;
                `n_best`, with `n_best` above 1: up to as many different answers, the best first,
                    dicts of `answer`, `start`, `end`, `score`, `start_logit` and `end_logit`.

        Raises:
            ValueError: if there are no questions, one is not a dict of two strings, or there is no
                preprocessor.
        """
        if not _holds_questions(x):
            return super().predict(x, batch_size=batch_size, verbose=verbose, **kwargs)
        if n_best < 1:
            raise ValueError(f"n_best must be at least 1; got {n_best}.")
        self._check_reads_text()
        from keras_bert.preprocessing.question_dataset import check_questions
        from keras_bert.preprocessing.question_windows import check_lengths

        check_lengths(self.preprocessor, **self.window_arguments())
        examples = [x] if isinstance(x, dict) else list(x)
        check_questions(examples)
        chunks = range(0, len(examples), _CHUNK)
        shown = len(chunks) > 1 and verbose != 0
        progress = keras.utils.Progbar(len(examples), verbose=1 if shown else 0)
        answers = []
        for first in chunks:
            chunk = examples[first : first + _CHUNK]
            answers += self._answers_of(chunk, batch_size or 32, n_best)
            progress.update(len(answers))
        return answers

    def answers(self, outputs):
        """What an exported model says of prepared inputs: `start_logits` and `end_logits`."""
        return {"start_logits": outputs["start"], "end_logits": outputs["end"]}

    def string_signature(self):
        """See `BertTask.string_signature`."""
        return self.answer_questions, {"question": 1, "context": 1}

    def answer_questions(self, question, context):
        """What an exported model says of raw strings, in the TensorFlow graph.

        Args:
            question: string `[B]`.
            context: string `[B]`, of any length.

        Returns:
            A dict of tensors `[B]`: `answer`, string, "" for none; `start` and `end`, int64, its
            characters in the context, `start_byte` and `end_byte`, its bytes of UTF-8; and
            `score` and `null_odds`, float32, those of `predict`.
        """
        import tensorflow as tf

        from keras_bert.preprocessing.question_windows import question_windows
        from keras_bert.preprocessing.served_answers import served_answers

        message = "give each question a context of its own"
        same = tf.debugging.assert_equal(tf.shape(question), tf.shape(context), message)
        with tf.control_dependencies([same]):
            none = tf.equal(tf.size(question), 0)  # of no question there is nothing to map over
        blank = tf.fill([tf.cast(none, tf.int32)], "")
        asked, read = (tf.concat([texts, blank], axis=0) for texts in (question, context))
        found = served_answers(
            question_windows(self.preprocessor, asked, read, **self.window_arguments()),
            read,
            lambda inputs: self(inputs, training=False),
            max_answer_length=self.max_answer_length,
            null_threshold=self.null_threshold,
        )
        return {name: values[: tf.shape(question)[0]] for name, values in found.items()}

    def window_arguments(self):
        """The sizes of windows, as `question_dataset` takes them."""
        return {
            "document_stride": self.document_stride,
            "max_question_length": self.max_question_length,
        }

    def get_config(self):
        return {
            **super().get_config(),
            **self.window_arguments(),
            "max_answer_length": self.max_answer_length,
            "null_threshold": self.null_threshold,
        }

    def _answers_of(self, examples, batch_size, n_best):
        from keras_bert.preprocessing.answers import answers_of
        from keras_bert.preprocessing.question_dataset import batches_by_length, windows_of

        windows = windows_of(examples, self.preprocessor, **self.window_arguments())
        lengths = windows.num_tokens()
        start, end = np.zeros((2, len(lengths), lengths.max()), "float32")  # [N, S]
        for rows, batches in batches_by_length(windows, batch_size):
            found = super().predict(batches, verbose=0)
            for logits, name in ((start, "start"), (end, "end")):
                part = found[name][: len(rows), : logits.shape[1]]
                logits[rows, : part.shape[1]] = part
        return answers_of(
            examples,
            windows,
            start,
            end,
            max_answer_length=self.max_answer_length,
            n_best=n_best,
            null_threshold=self.null_threshold,
        )

    def _check_reads_text(self):
        if self.preprocessor is None:
            raise ValueError(
                f"{type(self).__name__} was given text, but it has no preprocessor. Make it with "
                "preprocessor=BertPreprocessor(tokenizer, 384), or start from a preset that has "
                "one."
            )

    def _prepared(self, x, y=None, sample_weight=None, batch_size=None, shuffle=False, learns=True):
        if not _holds_questions(x):
            return super()._prepared(x, y, sample_weight, batch_size, shuffle, learns)
        if y is not None or sample_weight is not None:
            raise ValueError(
                "Questions bring their answers along, as example['answers']: leave y and "
                "sample_weight out."
            )
        self._check_reads_text()
        from keras_bert.preprocessing.question_dataset import question_dataset

        dataset = question_dataset(
            [x] if isinstance(x, dict) else x,
            preprocessor=self.preprocessor,
            batch_size=batch_size or 32,
            shuffle=shuffle,
            trim=self._trim(),
            **self.window_arguments(),
        )
        return dataset, None, None


def _holds_questions(x):
    if isinstance(x, (list, tuple)) and len(x):
        x = x[0]
    return isinstance(x, dict) and ("question" in x or "context" in x)
