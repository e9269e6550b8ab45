"""Words of raw texts, the windows that hold them, and their entities.

W words of N rows, S sequence, T tokens, C classes.
"""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_bert.metrics.entities import split_tag
from keras_bert.preprocessing.text_rows import TextRows
from keras_bert.text.base_tokenizer import Tokenizer
from keras_bert.text.basic_words import is_cjk, is_punctuation
from keras_bert.text.tokens import SegmentPacker, TextTokens, numbered

_PUNCTUATION = 1
_CJK = 2
_CONTINUATION = 3  # "##..."
_classes_of_tokens = weakref.WeakKeyDictionary()  # of each tokenizer


@dataclasses.dataclass(kw_only=True)
class TextWords(TextRows):
    """Words of texts, int64 `[W]` each."""

    texts: Any  # `[B]` strings
    text: Any  # of each word, in ascending order
    window: Any  # the row in which each word has the most context
    position: Any  # of each word's first piece in that row
    start: Any  # of each word in its text, as in `TextTokens`
    end: Any


def text_words(read: TextTokens, packer: SegmentPacker) -> TextWords:
    """Splits raw texts into words as in files of tagged words.

    Words are separated by spaces, and punctuation at their ends is split off: "(don't)" is three
    words. A Chinese character is a word. A text longer than a sequence is read in windows that
    overlap by half.
    """
    tokens = read.tokens
    ops = tokens.ops
    is_first = word_starts(read, packer.tokenizer)  # [T]
    first, last = word_bounds(is_first, ops)  # [W]
    text_of_token, _ = numbered(tokens.lengths, ops)  # [T]
    text = ops.take(text_of_token, first)
    windows, window = tokens.central_windows(packer.sequence_length - 2, first, text)
    return TextWords(
        packer,
        (windows,),
        texts=read.texts,
        text=text,
        window=window,
        position=1 + first - ops.take(windows.starts, window),  # after [CLS]
        start=ops.take(read.starts, first),
        end=ops.take(read.ends, last),
    )


def word_starts(read: TextTokens, tokenizer: Tokenizer) -> Any:
    """Returns whether each token of raw texts begins a word, bool `[T]`; see `text_words`.

    In `so (it's)` the tokens "so", "(", "it", "'", "s", ")" are two runs between spaces. In the
    second run, "(" leads and ")" trails, and each is a word; "it's" is the word between.
    """
    ops = read.tokens.ops
    text, _ = numbered(read.tokens.lengths, ops)
    start = read.starts[:-1]
    end = read.ends[:-1]
    token_class = _token_classes(read, text, tokenizer)
    is_punctuation = token_class == _PUNCTUATION
    is_continuation = token_class == _CONTINUATION
    is_empty = start == end  # "▁" as a token of its own, before the word that it begins
    # A gap before "##..." is not a space but a character that BERT deletes.
    has_space = (start > _previous(end, 0, ops)) & ~is_continuation
    begins_run = has_space | (text != _previous(text, -1, ops))
    run = ops.cumsum(ops.cast(begins_run, "int64")) - 1  # [T], between spaces
    first_tokens = ops.flatnonzero(begins_run)
    num_runs = ops.num_rows(first_tokens)
    token = ops.arange(ops.num_rows(run))
    run_of_letters = ops.where(is_punctuation | is_empty, -1, run)  # -1 isn't compared
    first_letters = ops.segment_min(token, run_of_letters, num_runs)
    last_letters = ops.segment_max(token, run_of_letters, num_runs)
    is_outer = token < ops.take(first_letters, run)
    is_outer |= token > ops.take(last_letters, run)
    is_word = (is_punctuation & is_outer) | (token_class == _CJK)
    begins_in_run = is_word | _previous(is_word, False, ops)
    begins_in_run &= ~is_continuation
    begins_in_run &= ~_previous(is_empty, False, ops)
    return begins_run | begins_in_run


def _previous(values, first, ops):
    """Returns the value before each one, and `first` before value 0."""
    first = ops.full([1], first, values.dtype)
    return ops.concat([first, values], axis=0)[:-1]


def word_bounds(is_first: Any, ops: Any) -> tuple[Any, Any]:
    """Returns the first and the last token of each word, int64 `[W]`."""
    first = ops.flatnonzero(is_first)
    num_tokens = ops.num_rows(is_first)
    end = ops.concat([first, [num_tokens]], axis=0)[1:]
    return first, end - 1


def _token_classes(read, text, tokenizer):
    """Returns the `_token_class` of each token, int64 `[T]`; the text decides for [UNK]."""
    ops = read.tokens.ops
    ids = read.tokens.values[:-1]
    if tokenizer not in _classes_of_tokens:
        classes = [_token_class(token) for token in tokenizer.words()]
        _classes_of_tokens[tokenizer] = np.array(classes, "int64")
    classes = ops.take(ops.array(_classes_of_tokens[tokenizer]), ids)
    unknown = ops.flatnonzero(ids == tokenizer.unk_token_id)
    text = ops.take(text, unknown)
    start = ops.take(read.starts, unknown)
    end = ops.take(read.ends, unknown)
    unknown_texts = ops.substrings(read.texts, text, start, end)
    unknown_classes = ops.classify_strings(unknown_texts, _token_class)
    return ops.scatter_update(classes, unknown, unknown_classes)


def _token_class(token):
    """Classifies a token as punctuation, Chinese characters, a continuing piece, or 0."""
    if not token:
        return 0
    if all(map(is_punctuation, token)):  # also the token "##" of a byte-pair vocabulary
        return _PUNCTUATION
    if token.startswith("##"):
        return _CONTINUATION
    if all(map(is_cjk, token)):
        return _CJK
    return 0


def find_entities(outputs: Any, words: TextWords, label_names: Sequence[str]) -> dict[str, Any]:
    """Finds the entities of texts by `conlleval`'s rules, from logits `[N, S, C]`.

    Tags without prefixes are joined as by transformers' "simple" strategy, unless all words have
    one, as parts of speech. Files of tagged words have "St." as a word; in a text its period is
    another, which belongs to the entity "St. Louis". See `BertTokenClassifierPreprocessor.answers`
    for the result.
    """
    ops = words.ops
    logits = ops.gather_nd(outputs, words.window, words.position)  # [W, C]
    probabilities = ops.softmax(logits)
    label = ops.argmax(probabilities, axis=-1)  # [W]
    score = ops.take_along_axis(probabilities, label[:, None])[:, 0]
    prefixes, types = np.array(list(map(split_tag, label_names))).T  # [C]
    if "O" in label_names:  # without prefixes, neighbors of a type are one entity
        prefixes[types == np.array(label_names)] = "I"
    type_names, types = np.unique(types, return_inverse=True)
    type_ = ops.take(ops.array(types), label)

    def has_prefix(*some):
        return ops.take(ops.array(np.isin(prefixes, some)), label)

    word = ops.arange(ops.num_rows(label))

    def continues(distance):  # the entity of an earlier word
        earlier = ops.maximum(word - distance, 0)
        follows = (word >= distance) & has_prefix("I", "E")
        follows &= ops.take(has_prefix("B", "I"), earlier)
        for values in (words.text, type_):
            follows &= values == ops.take(values, earlier)
        return follows

    period = ops.flatnonzero(continues(2) & ~continues(1)) - 1
    text, start, end = (ops.take(each, period) for each in (words.text, words.start, words.end))
    is_inner = start == ops.take(words.end, period - 1)
    is_inner &= ops.substrings(words.texts, text, start, end) == "."
    is_inner = ops.scatter_update(word < 0, period, is_inner)  # [W]
    after_period = _previous(is_inner, False, ops)
    is_inside = ~has_prefix("O") & ~is_inner
    is_first = is_inside & ~continues(1) & ~after_period
    # A name in IOB1 begins with I-, so that "Mary. Ann" may be two.
    first = ops.concat([word[:1], ops.flatnonzero(is_first)], axis=0)
    first = ops.take(first, ops.cumsum(ops.cast(is_first, "int64")))  # of the last entity so far
    is_first |= after_period & ~ops.take(has_prefix("B"), first)
    begins = ops.cast(is_first, "int64")
    counts = ops.segment_sum(begins, words.text, ops.num_rows(words.texts))
    first = ops.flatnonzero(is_first)  # [E]
    num_entities = ops.num_rows(first)
    member = ops.flatnonzero(is_inside)  # words in entities
    entity = ops.take(ops.cumsum(begins) - 1, member)
    last = ops.segment_max(member, entity, num_entities)
    text = ops.take(words.text, first)
    start = ops.take(words.start, first)
    end = ops.take(words.end, last)
    type_names = ops.strings(type_names.tolist())
    values = {"text": ops.substrings(words.texts, text, start, end)}
    values["type"] = ops.take(type_names, ops.take(type_, first))
    values |= ops.text_spans(words.texts, text, start, end)
    values["score"] = ops.segment_mean(ops.take(score, member), entity, num_entities)
    entities = {}
    for name, value in values.items():
        entities[f"entity_{name}"] = ops.from_row_lengths(value, counts)
    return entities | {"num_entities": counts}
