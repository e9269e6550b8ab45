"""A smaller vocabulary for a task: a mixin of `BertTask`."""

import copy

import keras

from keras_bert.corpus.shards import Corpus
from keras_bert.models.lora import adapters
from keras_bert.preprocessing.data_of import data_of
from keras_bert.preprocessing.task_checks import preprocessor_of
from keras_bert.presets.preset_folder import built_with_zeros
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.training.strategy import scope_of


class Trimming:
    """Mixin of tasks: copies with a smaller vocabulary."""

    def trim_vocabulary(self, texts, keep=()):
        """Copies this task with only those tokens of its vocabulary that some texts need.

        The token table is half of a small model, and most of a multilingual one. Special tokens and
        single characters stay, too; tokens keep their order. Answers on the texts are the same, to
        the bit. Other texts are cut into shorter pieces if their tokens are gone, so give many
        texts. A corpus must be prepared again, with the copy's tokenizer.
        Source: Abdaoui et al. 2020, "Load What You Need".

        Args:
            texts: raw examples, as `answer` takes them; what it truncates counts, too. Or a
                `Corpus`, which needs TensorFlow.
            keep: list of str, tokens or words that stay, too; words with all of their pieces.

        Returns:
            A new task of this class on the same devices, not compiled.

        Raises:
            ValueError: if there is no preprocessor or its tokenizer is not a `BertTokenizer`,
                `texts` are not what it reads or a corpus of another vocabulary, `keep` has an
                unknown word, or LoRA is enabled.

        Example:
        >>> from keras_bert import BertBackbone, BertEmbedder, BertEmbedderPreprocessor
        >>> from keras_bert import BertTokenizer, sizes
        >>> special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        >>> tokenizer = BertTokenizer([*special, "a", "good", "bad", "book"])
        >>> reader = BertEmbedderPreprocessor(tokenizer)
        >>> model = BertEmbedder(BertBackbone(9, **sizes.tiny), preprocessor=reader)
        >>> small = model.trim_vocabulary(["Good books", "A good book"])
        >>> small.preprocessor.tokenizer.get_vocabulary()[5:]
        ['a', 'good', 'book']
        """
        if adapters(self.backbone):
            raise ValueError("This model has LoRA adapters: call merge_lora first.")
        ids = _needed_ids(self, texts, keep)
        preprocessor = copy.copy(self.preprocessor)
        preprocessor.tokenizer = preprocessor.tokenizer.with_tokens(ids)
        sizes = self.backbone.get_config() | {"vocabulary_size": len(ids), "trainable": True}

        def make():
            backbone = type(self.backbone).from_config(sizes)
            changes = {"trainable": True, "backbone": backbone, "preprocessor": preprocessor}
            return type(self).from_config(self.get_config() | changes)

        with scope_of(self):
            small = built_with_zeros(make)
        small.trainable = self.trainable
        small.backbone.trainable = self.backbone.trainable
        for new, old in zip(small.weights, self.weights, strict=True):
            new.assign(_trimmed(old, new.shape, ids))
            new.trainable = old.trainable
        small.backbone.published_source = self.backbone.published_source
        return small


def _trimmed(weight, shape, ids):
    """Copies a weight, with only these ids along its axis of the vocabulary if it has one."""
    for axis, size in enumerate(shape):
        if size < weight.shape[axis]:
            return keras.ops.take(weight, ids, axis)
    return keras.ops.copy(weight)


def _needed_ids(task, texts, keep):
    tokenizer = preprocessor_of(task).tokenizer
    if not isinstance(tokenizer, BertTokenizer):
        raise ValueError(
            "trim_vocabulary takes a model with a BertTokenizer; the vocabulary of a "
            f"{type(tokenizer).__name__} can't be trimmed, as its tokens are made of one another."
        )
    vocabulary = tokenizer.get_vocabulary()
    needed = set(tokenizer.special_ids)
    for token in vocabulary:
        if len(token.removeprefix("##")) == 1:  # a character
            needed.add(tokenizer.token_to_id(token))
    if isinstance(texts, Corpus):
        from keras_bert.corpus.record_groups import ids_of_corpus

        texts.check_tokenizer(tokenizer)
        needed |= ids_of_corpus(texts)
    else:
        needed |= _ids_of_texts(task, texts)
    known = set(vocabulary)
    for word in [keep] if isinstance(keep, str) else keep:
        if word in known:
            needed.add(tokenizer.token_to_id(word))
        else:
            needed.update(_ids_of_word(tokenizer, word))
    return sorted(needed)


def _ids_of_word(tokenizer, word):
    ids = tokenizer(word)
    is_word = ids and " " not in tokenizer.detokenize(ids)
    if not is_word or tokenizer.unk_token_id in ids:
        raise ValueError(
            f"keep has {word!r}, which is neither a token of the vocabulary nor one word made "
            "of its tokens: leave it out, or give each word by itself."
        )
    return ids


def _ids_of_texts(task, texts):
    """Returns the ids that the preprocessor meets as it reads texts with each of its prompts."""
    data = data_of(task, texts, with_labels=False)
    reader = copy.copy(task.preprocessor)
    reader.tokenizer = copy.copy(reader.tokenizer)  # with no ids used yet
    reader.truncation = "tail"  # reads whole texts
    variants = (reader, *reader.variants().values())
    for chunk in data.chunks():
        for variant in variants:
            variant.read(chunk)
    return reader.tokenizer.used_ids
