"""Words of raw texts: the windows that hold them, and rows whose words `explain` weighs.

W words of N rows, S sequence, T tokens, C classes.
"""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np

from keras_bert.metrics.entities import split_tag
from keras_bert.preprocessing.text_rows import TextRows
from keras_bert.text.base_tokenizer import Tokenizer
from keras_bert.text.basic_words import is_cjk, is_punctuation
from keras_bert.text.tokens import SegmentPacker, TextTokens, Tokens, numbered

_MARK, _CHARACTER, _GOES_ON = 1, 2, 3
_kinds_of_tokens = weakref.WeakKeyDictionary()  # of tokenizers, whose tokens are many


@dataclasses.dataclass(kw_only=True)
class TextWords(TextRows):
    """Words of texts, int64 `[W]` each."""

    texts: Any  # `[B]` strings
    text: Any  # of each word, in ascending order
    window: Any  # the row in which each word has the most context
    position: Any  # of each word's first piece in the packed row
    start: Any  # of each word in its text, as in `TextTokens`
    end: Any


def text_words(read: TextTokens, packer: SegmentPacker) -> TextWords:
    """Splits raw texts into words as in files of tagged words.

    Words are separated by spaces, and punctuation at their ends is split off: "(don't)" is three
    words. A Chinese character is a word. A text longer than a sequence is read in windows that
    overlap by half.
    """
    ops, tokens = read.tokens.ops, read.tokens
    text_of, _ = numbered(tokens.lengths, ops)  # [T]
    ids = tokens.values[:-1]
    is_first = word_starts(read, packer.tokenizer)
    token = ops.flatnonzero(is_first)  # [W]
    last = ops.concat([token[1:], [ops.num_rows(ids)]], axis=0)[: ops.num_rows(token)] - 1
    text = ops.take(text_of, token)
    windows, window = tokens.central_windows(packer.sequence_length - 2, token, text)
    return TextWords(
        packer,
        (windows,),
        texts=read.texts,
        text=text,
        window=window,
        position=1 + token - ops.take(windows.starts, window),
        start=ops.take(read.starts, token),
        end=ops.take(read.ends, last),
    )


def word_starts(read: TextTokens, tokenizer: Tokenizer) -> Any:
    """Returns whether each token of raw texts begins a word, bool `[T]`; see `text_words`.

    In `so (it's)` the tokens "so", "(", "it", "'", "s", ")" are two runs between spaces. In the
    second one, "(" leads and ")" trails, and each is a word; "it's" is the word between.
    """
    ops = read.tokens.ops
    text_of, _ = numbered(read.tokens.lengths, ops)
    kinds = _kinds(read, text_of, tokenizer)
    true, size = ops.full([1], True, "bool"), ops.num_rows(kinds)
    starts, ends = read.starts[:-1], read.ends[:-1]
    is_mark, is_character = kinds == _MARK, kinds == _CHARACTER
    is_empty = starts == ends  # a "▁" of SentencePiece alone, before the word that it begins
    is_first_of_text = ops.concat([true, text_of[1:] != text_of[:-1]], axis=0)[:size]
    has_gap = ops.concat([true, starts[1:] > ends[:-1]], axis=0)[:size]
    # Between pieces of a word is no space, but perhaps a character that BERT deletes.
    begins_run = is_first_of_text | (has_gap & (kinds != _GOES_ON))
    run = ops.cumsum(ops.cast(begins_run, "int64")) - 1  # [T], number of the run between spaces
    letters = ops.cast(~(is_mark | is_empty), "int64")
    before = ops.cumsum(letters) - letters  # earlier tokens other than marks
    runs = ops.flatnonzero(begins_run)
    seen = before - ops.take(ops.take(before, runs), run)
    in_run = ops.segment_sum(letters, run, ops.num_rows(runs))
    leads, trails = is_mark & (seen == 0), is_mark & (seen == ops.take(in_run, run))
    alone = leads | trails | is_character
    alone_before = ops.concat([~true, alone[:-1]], axis=0)[:size]
    empty_before = ops.concat([~true, is_empty[:-1]], axis=0)[:size]
    return begins_run | ((alone | alone_before) & (kinds != _GOES_ON) & ~empty_before)


def _kinds(read, text_of, tokenizer):
    """Returns the `_kind` of each token, `[T]`; [UNK] is classified by its text."""
    ops, ids = read.tokens.ops, read.tokens.values[:-1]
    if tokenizer not in _kinds_of_tokens:
        kinds = [_kind(token) for token in tokenizer.words()]
        _kinds_of_tokens[tokenizer] = np.array(kinds, "int64")
    kinds = ops.take(ops.array(_kinds_of_tokens[tokenizer]), ids)
    unknown = ops.flatnonzero(ids == tokenizer.unk_token_id)
    text, start, end = [ops.take(values, unknown) for values in (text_of, read.starts, read.ends)]
    kinds_of_unknown = ops.classify_strings(ops.substrings(read.texts, text, start, end), _kind)
    return ops.scatter_update(kinds, unknown, kinds_of_unknown)


def _kind(token):
    """Classifies a token: marks, Chinese characters, a continuing piece ("##..."), or 0."""
    if not token:
        return 0
    if all(map(is_punctuation, token)):  # "##" of a byte-pair vocabulary too
        return _MARK
    if token.startswith("##"):
        return _GOES_ON
    return _CHARACTER if all(map(is_cjk, token)) else 0


def found_entities(outputs: Any, words: TextWords, label_names: Sequence[str]) -> dict[str, Any]:
    """Finds the entities of texts by `conlleval`'s rules, from logits `[N, S, C]` of their words.

    Tags may have no prefixes. See `BertTokenClassifierPreprocessor.answers` for the result.
    """
    ops = words.ops
    prefixes, types_of_labels = zip(*map(split_tag, label_names), strict=True)
    type_names, types = np.unique(types_of_labels, return_inverse=True)
    opens = ops.array(np.isin(prefixes, ["B", "S"]))
    closes = ops.array(np.isin(prefixes, ["O", "E", "S"]))
    inside = ops.array(np.isin(prefixes, ["B", "I", "E", "S"]))
    types = ops.array(types)
    logits = ops.gather_nd(outputs, words.window, words.position)  # [W, C]
    probabilities = ops.softmax(logits)
    label = ops.argmax(probabilities, axis=-1)  # [W]
    score = ops.take_along_axis(probabilities, label[:, None])[:, 0]
    is_in, type_, text = ops.take(inside, label), ops.take(types, label), words.text
    follows = (text[1:] == text[:-1]) & ~ops.take(closes, label)[:-1] & (type_[1:] == type_[:-1])
    follows = ops.concat([ops.full([1], False, "bool"), follows], axis=0)[: ops.num_rows(label)]
    begins = is_in & (~follows | ops.take(opens, label))
    first, member = ops.flatnonzero(begins), ops.flatnonzero(is_in)  # [E], words in entities
    number = ops.take(ops.cumsum(ops.cast(begins, "int64")) - 1, member)
    last = ops.segment_max(member, number, ops.num_rows(first))
    text = ops.take(text, first)
    start, end = ops.take(words.start, first), ops.take(words.end, last)
    values = {
        "text": ops.substrings(words.texts, text, start, end),
        "type": ops.take(ops.strings(type_names.tolist()), ops.take(type_, first)),
        **ops.text_spans(words.texts, text, start, end),
        "score": ops.segment_mean(ops.take(score, member), number, ops.num_rows(first)),
    }
    counts = ops.segment_sum(
        ops.full([ops.num_rows(first)], 1, "int64"), text, ops.num_rows(words.texts)
    )
    entities = {
        f"entity_{name}": ops.from_row_lengths(value, counts) for name, value in values.items()
    }
    return {**entities, "num_entities": counts}


@dataclasses.dataclass
class ExplainedRow:
    """A row, its words, and the number that is explained."""

    inputs: dict[str, Any]  # of the model, `[1, S]`
    words: dict[str, np.ndarray]  # `word_text`, `word_column`, `word_start`, `word_end`: `[W]`
    word: np.ndarray  # int64 `[S]`, the word of each position; -1 at special tokens
    target: Any = None  # what is explained, such as the name of a class
    value: Callable[[Any], Any] = lambda outputs: outputs[:, 0]  # of B rows, `[B]`


def explained_row(
    packer: SegmentPacker,
    texts: Sequence[TextTokens],
    tokens: Sequence[Tokens] | None = None,
    **options: Any,
) -> ExplainedRow:
    """Packs a text or two, or those of their `tokens` that a window holds."""
    if tokens is None:
        tokens = [text.tokens for text in texts]
    first_number = packer.tokenizer.vocabulary_size()  # numbers words above all ids
    words, numbered = [], []
    for column, (text, part) in enumerate(zip(texts, tokens, strict=True)):
        is_first = word_starts(text, packer.tokenizer)  # [T]
        numbers = first_number + len(words) - 1 + np.cumsum(is_first)
        numbered.append(dataclasses.replace(part, values=np.append(numbers, 0)))
        first = np.flatnonzero(is_first)
        last = np.append(first[1:], is_first.size) - 1
        for start, end in zip(text.starts[first], text.ends[last], strict=False):
            words.append((text.texts[0][start:end], column, start, end))
    [width] = packer.lengths(*tokens)
    numbers = packer(*numbered, width=width)["token_ids"][0]
    is_word = numbers >= first_number
    word = np.full(numbers.shape, -1)
    seen, word[is_word] = np.unique(numbers[is_word] - first_number, return_inverse=True)
    held = [words[number] for number in seen]
    columns = {}
    for place, name in enumerate(("word_text", "word_column", "word_start", "word_end")):
        columns[name] = np.array([own[place] for own in held])
    return ExplainedRow(packer(*tokens, width=width), columns, word, **options)


def log_odds(logits: Any, number: int) -> Any:
    """Computes log(p / (1 - p)) of the probability p of a class, `[B]`, from logits `[B, C]`."""
    others = keras.ops.concatenate([logits[:, :number], logits[:, number + 1 :]], axis=-1)
    return logits[:, number] - keras.ops.logsumexp(others, axis=-1)
