"""Text in, what BERT takes out."""

import numbers

import keras
import tensorflow as tf

from keras_bert.text.tokenizer import BertTokenizer

TRUNCATIONS = ("head", "tail", "head_tail")


@keras.saving.register_keras_serializable(package="keras_bert")
class BertPreprocessor:
    """Sentences, or pairs of them, as `[CLS] A [SEP]` or `[CLS] A [SEP] B [SEP]`.

    Too long a text is cut; of a pair, the longer text loses a token until both fit, the second
    one on ties (`_truncate_seq_pair` of google-research/bert run_classifier.py). A second text
    that is empty still has its `[SEP]`. Works eagerly, in `tf.data` and in a SavedModel.

    Args:
        tokenizer: a `BertTokenizer`.
        sequence_length: int, S, at least 3; 5 leaves room for a token of each text of a pair.
        truncation: what is kept of a text that is too long: `"head"`, its beginning; `"tail"`, its
            end; or `"head_tail"`, a quarter of the room for its beginning and the rest for its
            end: 128 and 382 of 510 tokens, which Sun et al. 2019 (section 5.3.1) found best for
            reviews.

    Call arguments:
        texts: `[B]` strings: a list, an array or a tensor; of a single text too.
        pairs: `[B]` strings, the second text of each; or None.

    Returns:
        A dict of `token_ids`, `segment_ids` and `padding_mask`, each `[B, S]` int32.

    Raises:
        ValueError: if `sequence_length` leaves no room for text, the texts are not `[B]` strings,
            there is no such truncation, or there are not as many second texts.

    Example:
    >>> from keras_bert import BertPreprocessor, BertTokenizer
    >>> tokenizer = BertTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "so", "it", "is"])
    >>> preprocessor = BertPreprocessor(tokenizer, sequence_length=8)
    >>> preprocessor(["So it is."])["token_ids"].numpy()
    array([[2, 5, 6, 7, 1, 3, 0, 0]], dtype=int32)
    """

    def __init__(self, tokenizer, sequence_length=128, truncation="head"):
        if not isinstance(sequence_length, numbers.Integral):
            raise ValueError(f"sequence_length must be an int; got {sequence_length!r}.")
        if sequence_length < 3:
            raise ValueError(
                f"sequence_length={sequence_length} leaves no room for a token between [CLS] and "
                "[SEP]; use 3 or more."
            )
        if truncation not in TRUNCATIONS:
            raise ValueError(
                f"truncation must be one of {', '.join(map(repr, TRUNCATIONS))}; got "
                f"{truncation!r}."
            )
        self.tokenizer = tokenizer
        self.sequence_length = int(sequence_length)
        self.truncation = truncation

    def __call__(self, texts, pairs=None):
        first = self._token_ids(texts)
        if pairs is None:
            return self.pack(first)
        second = self._token_ids(pairs)
        if not first.shape[:1].is_compatible_with(second.shape[:1]):
            raise ValueError(
                f"There are {first.shape[0]} texts but {second.shape[0]} second texts: give each "
                "text one."
            )
        return self.pack(first, second)

    def pack(self, first, second=None):
        """Packs ragged token ids `[B, (T)]` as a call packs texts."""
        tokenizer, length = self.tokenizer, self.sequence_length
        batch = first.nrows()
        start = tf.fill([batch, 1], tokenizer.cls_token_id)
        end = tf.fill([batch, 1], tokenizer.sep_token_id)
        if second is None:
            row = tf.concat([start, self._cut(first, length - 2), end], axis=1)
            segment_ids = tf.zeros([batch, length], tf.int32)
        else:
            room = length - 3
            longer, shorter = (room + 1) // 2, room // 2
            first_lengths, second_lengths = _row_lengths(first), _row_lengths(second)
            keep_first = tf.minimum(first_lengths, tf.maximum(longer, room - second_lengths))
            keep_second = tf.minimum(second_lengths, tf.maximum(shorter, room - keep_first))
            first, second = self._cut(first, keep_first), self._cut(second, keep_second)
            row = tf.concat([start, first, end, second, end], axis=1)
            columns = tf.range(length)
            is_second = (columns >= keep_first[:, None] + 2) & (
                columns < (keep_first + keep_second)[:, None] + 3
            )
            segment_ids = tf.cast(is_second, tf.int32)
        padding_mask = tf.sequence_mask(_row_lengths(row), length, dtype=tf.int32)
        token_ids = row.to_tensor(tokenizer.pad_token_id, shape=[None, length])
        return {
            "token_ids": tf.ensure_shape(token_ids, [None, length]),
            "segment_ids": tf.ensure_shape(segment_ids, [None, length]),
            "padding_mask": tf.ensure_shape(padding_mask, [None, length]),
        }

    def _cut(self, ragged, room):
        """At most `room` tokens, an int or `[B]`, of each row of `ragged`."""
        starts, ends = ragged.row_starts(), ragged.row_limits()
        keep = tf.minimum(ends - starts, tf.cast(room, starts.dtype))
        if self.truncation == "head":
            tokens = tf.ragged.range(starts, starts + keep)
        elif self.truncation == "tail":
            tokens = tf.ragged.range(ends - keep, ends)
        else:  # of a row that fits, both parts together are the row
            first = (keep + 3) // 4
            parts = (starts, starts + first), (ends - keep + first, ends)
            tokens = tf.concat([tf.ragged.range(*part) for part in parts], axis=1)
        return tokens.with_flat_values(tf.gather(ragged.flat_values, tokens.flat_values))

    def _token_ids(self, texts):
        token_ids = self.tokenizer(texts)
        if token_ids.shape.rank != 2:
            raise ValueError(
                "A preprocessor takes [B] texts, and [B] second texts where they are pairs: "
                f"preprocessor(['text']), preprocessor(['text'], ['second text']). It got texts of "
                f"shape {token_ids.shape[:-1]}."
            )
        return token_ids

    def settings(self):
        """What `preprocessor.json` holds: everything but the vocabulary."""
        tokenizer = self.tokenizer.get_config()
        tokenizer.pop("vocabulary")
        return {
            "sequence_length": self.sequence_length,
            "truncation": self.truncation,
            "tokenizer": tokenizer,
        }

    def get_config(self):
        return {
            "sequence_length": self.sequence_length,
            "truncation": self.truncation,
            "tokenizer": self.tokenizer.get_config(),
        }

    @classmethod
    def from_config(cls, config):
        tokenizer = BertTokenizer.from_config(config["tokenizer"])
        return cls(**{**config, "tokenizer": tokenizer})


def _row_lengths(ragged):
    return tf.cast(ragged.row_lengths(), tf.int32)
