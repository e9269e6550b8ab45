"""BERT that gives each word a class: names, parts of speech, chunks."""

import keras
import numpy as np

from keras_bert.layers.dropout import Dropout
from keras_bert.layers.initializer import dense
from keras_bert.models.bert_task import BertTask, holds_text
from keras_bert.training.adamw import AdamW


@keras.saving.register_keras_serializable(package="keras_bert")
class BertTokenClassifier(BertTask):
    """A class for each word of a sentence, and the entities that they make of a text.

    `fit` and `evaluate` take words: lists of sentences, each a list of str, and the tags or class
    numbers of the words; or what `tagged_dataset` gives. A word is labelled on its first piece.
    `predict` gives the tags of words, the entities of raw texts, and the logits of prepared inputs.
    Source: Devlin et al. 2019, section 5.3.

    Args:
        backbone: a `BertBackbone`.
        num_classes: int, C, at least 2.
        preprocessor: a `BertPreprocessor`, for words and raw text; or None.
        dropout: float, of the sequence output.
        label_names: C strings, the tags: "O", "B-LOC", ...; "0", "1", ... by default. BIO, IOB1
            and BIOES are read; a tag without a prefix is an entity of one word, "O" is none.
        **kwargs: those of `keras.Model`.

    Call arguments:
        inputs: a dict of the backbone's inputs.

    Returns:
        Logits `[B, S, C]`, float32.

    Raises:
        ValueError: if `num_classes` is below 2 or is not the number of `label_names`.

    Example:
    >>> from keras_bert import BertBackbone, BertPreprocessor, BertTokenizer, sizes
    >>> words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "in", "paris", "rome"]
    >>> model = BertTokenClassifier(
    ...     BertBackbone(vocabulary_size=len(words), **sizes.tiny),
    ...     num_classes=2,
    ...     preprocessor=BertPreprocessor(BertTokenizer(words)),
    ...     label_names=["O", "B-LOC"],
    ... )
    >>> model.compile(**{**model.default_compile_args(), "optimizer": "adam"})
    >>> sentences, tags = [["in", "Paris"], ["Rome"]], [["O", "B-LOC"], ["B-LOC"]]
    >>> history = model.fit(sentences, tags, epochs=60, verbose=0)
    >>> model.predict(sentences)
    [['O', 'B-LOC'], ['B-LOC']]
    >>> [entity] = model.predict("In Rome")
    >>> entity["text"], entity["type"], entity["start"], entity["end"]
    ('Rome', 'LOC', 3, 7)
    """

    reads_pooler = False

    def __init__(
        self, backbone, num_classes, preprocessor=None, dropout=0.1, label_names=None, **kwargs
    ):
        if num_classes < 2:
            raise ValueError(f"num_classes must be 2 or more; got {num_classes}.")
        if label_names is not None and len(label_names) != num_classes:
            raise ValueError(
                f"There are {num_classes} classes but {len(label_names)} label_names: "
                f"{list(label_names)}. Give each class one name."
            )
        output_dropout = Dropout(dropout, name="output_dropout")
        head = dense(num_classes, "logits")
        encoded = backbone(backbone.input)["sequence_output"]  # [B, S, H]
        logits = keras.ops.cast(head(output_dropout(encoded)), "float32")  # [B, S, C]
        super().__init__(dict(backbone.input), logits, backbone, preprocessor, **kwargs)
        self.head = head
        self.num_classes = num_classes
        self.dropout = dropout
        self.label_names = list(label_names or map(str, range(num_classes)))

    def default_compile_args(self):
        """AdamW at 5e-5; cross-entropy and accuracy of what has a weight: the first pieces."""
        return {
            "optimizer": AdamW(5e-5),
            "loss": keras.losses.SparseCategoricalCrossentropy(
                from_logits=True, reduction="mean_with_sample_weight"
            ),
            "weighted_metrics": [keras.metrics.SparseCategoricalAccuracy(name="accuracy")],
        }

    def predict(self, x, batch_size=None, *, documents=None, **kwargs):
        """The entities of texts, the tags of words, or the logits of prepared inputs.

        Args:
            x: a text or a list, array or `tf.data.Dataset` of texts; a list of sentences, each a
                list of words; or prepared inputs.
            batch_size: int; 32 by default.
            documents: `[n]` ints, with words: the document of each sentence, whose other
                sentences are then context, as in `tagged_dataset`.
            **kwargs: those of `keras.Model.predict`, for prepared inputs.

        Returns:
            Of texts, for each a list of dicts of an entity's `text`, `type`, `start` and `end` (in
            characters: `text[start:end]`) and `score`, the mean probability of its words' tags;
            for a single str its entities. Of words, for each sentence a list of tags. Of prepared
            inputs, logits `[n, S, C]`.

        Raises:
            ValueError: if the model has no preprocessor to read text or words with.
        """
        if holds_words(x):
            return self._tags(x, batch_size or 32, documents)
        if holds_text(x):
            return self._entities(x, batch_size or 32)
        return super().predict(x, batch_size=batch_size, **kwargs)

    def answers(self, outputs):
        """`probabilities` `[B, S, C]` and the best `label`, `[B, S]`, of each token."""
        return {
            "probabilities": keras.ops.softmax(outputs, axis=-1),
            "label": keras.ops.argmax(outputs, axis=-1),
        }

    def string_signature(self):
        """See `BertTask.string_signature`."""
        return self.answer_texts, {"text": 1}

    def answer_texts(self, text):
        """What an exported model says of raw strings, in the TensorFlow graph.

        Args:
            text: string `[B]`.

        Returns:
            A dict of tensors `[B, E]`, E the most entities of a text: `entity_text` and
            `entity_type`, strings; `entity_start` and `entity_end` in characters,
            `entity_start_byte` and `entity_end_byte` in bytes of UTF-8, int64; `entity_score`,
            float32; and int64 `num_entities` `[B]`. Behind a text's last entity they are empty.
        """
        import tensorflow as tf

        from keras_bert.preprocessing.found_entities import found_entities
        from keras_bert.preprocessing.text_words import text_words, windows_inputs

        words = text_words(text, self.preprocessor)
        [inputs] = windows_inputs(words, self.preprocessor)
        logits = self(inputs, training=False)
        logits = tf.gather_nd(logits, tf.stack([words.window, words.position], axis=1))
        found = found_entities(logits, words, text, self.label_names)
        answers = {f"entity_{name}": values.to_tensor() for name, values in found.items()}
        return {**answers, "num_entities": found["score"].row_lengths()}

    def check_labels(self, labels):
        """Raises a ValueError if `labels`, an array of integers, leaves the classes."""
        labels = np.asarray(labels)
        if not np.issubdtype(labels.dtype, np.integer) or not labels.size:
            return
        if labels.min() < 0 or labels.max() >= self.num_classes:
            raise ValueError(
                f"Labels must be in 0 to {self.num_classes - 1} for num_classes="
                f"{self.num_classes}; got values from {labels.min()} to {labels.max()}. What is "
                "not to be learnt has any class and sample_weight 0."
            )

    def get_config(self):
        return {
            **super().get_config(),
            "num_classes": self.num_classes,
            "dropout": self.dropout,
            "label_names": self.label_names,
        }

    def _prepared(self, x, y=None, sample_weight=None, batch_size=None, shuffle=False, learns=True):
        if not holds_words(x):
            if holds_text(x):
                raise ValueError(
                    "A BertTokenClassifier learns from words, a class for each; it was given whole "
                    "texts. Give lists of words and of tags, as read_conll does."
                )
            return super()._prepared(x, y, sample_weight, batch_size, shuffle, learns)
        self._check_reads("words")
        if y is None or sample_weight is not None:
            raise ValueError("With words, give the tags of each sentence, and no sample_weight.")
        from keras_bert.preprocessing.tagged_dataset import tagged_dataset

        dataset = tagged_dataset(
            x,
            self._class_numbers(y),
            preprocessor=self.preprocessor,
            batch_size=batch_size or 32,
            shuffle=shuffle,
            trim=self._trim(),
        )
        return dataset, None, None

    def _class_numbers(self, tags):
        """Lists of class numbers from lists of tags, or of numbers."""
        numbers = {name: number for number, name in enumerate(self.label_names)}
        for index, sentence in enumerate(tags):
            for tag in sentence:
                is_known = tag in numbers if isinstance(tag, str) else 0 <= tag < self.num_classes
                if not is_known:
                    raise ValueError(
                        f"Sentence {index} has the tag {tag!r}, which is none of the "
                        f"{self.num_classes} classes: {', '.join(self.label_names)}."
                    )
        return [[numbers[t] if isinstance(t, str) else int(t) for t in s] for s in tags]

    def _tags(self, sentences, batch_size, documents):
        """The tags of words: a list for each sentence."""
        self._check_reads("words")
        from keras_bert.preprocessing.row_batches import row_batches
        from keras_bert.preprocessing.tagged_dataset import windows_dataset
        from keras_bert.preprocessing.tagged_windows import TaggedWindows

        windows = TaggedWindows(sentences, self.preprocessor, documents)
        rows = row_batches(windows.num_tokens(), batch_size)
        batches = windows_dataset(windows, None, self.preprocessor, rows, self._trim())
        logits = self._word_logits(batches.as_numpy_iterator(), batch_size, *windows.places())
        names = iter([self.label_names[number] for number in logits.argmax(axis=-1)])
        return [[next(names) for _ in range(length)] for length in windows.lengths]

    def _entities(self, texts, batch_size):
        """The entities of raw texts: a list of dicts for each."""
        self._check_reads("text")
        from keras_bert.preprocessing.found_entities import entity_dicts, found_entities
        from keras_bert.preprocessing.text_dataset import text_batches
        from keras_bert.preprocessing.text_words import text_words, windows_inputs

        answers = []
        for columns, *_ in text_batches(texts, batch_size=batch_size):
            batch = _texts_alone(*columns)
            words = text_words(batch, self.preprocessor)
            windows = (
                {name: values.numpy() for name, values in inputs.items()}
                for inputs in windows_inputs(words, self.preprocessor, batch_size)
            )
            places = words.window.numpy(), words.position.numpy()
            logits = self._word_logits(windows, batch_size, *places)
            answers += entity_dicts(found_entities(logits, words, batch, self.label_names))
        return answers[0] if isinstance(texts, (str, bytes)) else answers

    def _word_logits(self, batches, batch_size, window, position):
        """Logits `[W, C]` of words that stand at a position of a window, in the windows' order."""
        found = [np.zeros((0, self.num_classes), "float32")]
        for number, inputs in enumerate(batches):
            first, behind = np.searchsorted(
                window, [number * batch_size, (number + 1) * batch_size]
            )
            rows = window[first:behind] - number * batch_size
            logits = keras.ops.convert_to_numpy(self.predict_on_batch(inputs))
            found.append(logits[rows, position[first:behind]])
        return np.concatenate(found)

    def _check_reads(self, what):
        if self.preprocessor is None:
            raise ValueError(
                f"{type(self).__name__} was given {what}, but it has no preprocessor. Make it with "
                "preprocessor=BertPreprocessor(tokenizer), or start from a preset that has one."
            )


def _texts_alone(texts, pairs=None):
    if pairs is not None:
        raise ValueError(
            "A BertTokenClassifier takes texts, not pairs of them; for words give a list of lists."
        )
    return texts


def holds_words(x):
    """Whether `x` is sentences of words: a list or a tuple of lists of strings."""
    if not isinstance(x, (list, tuple)) or isinstance(x, str):
        return False
    sentences = [sentence for sentence in x if not isinstance(sentence, (str, bytes))]
    return bool(sentences) and all(isinstance(s, (list, tuple, np.ndarray)) for s in sentences)
