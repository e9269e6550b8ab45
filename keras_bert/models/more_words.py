"""A copy of a task with more words in its vocabulary."""

import copy

import keras
import numpy as np

from keras_bert.messages import shown
from keras_bert.preprocessing.bert_preprocessor import preprocessor_of
from keras_bert.presets.preset_arguments import shared_arguments


def with_more_words(task, words):
    """Returns what `BertTask.grow_vocabulary` describes."""
    preprocessor = copy.copy(preprocessor_of(task))
    tokenizer = preprocessor.tokenizer
    pieces = [] if isinstance(words, str) else list(map(tokenizer.tokenize, words))
    new = {*words} - {*tokenizer.get_vocabulary()}
    if not pieces or not all(pieces) or len(new) < len(words):
        raise ValueError(
            f"Give a list of words that aren't tokens yet, each once; got {shown(words)}."
        )
    preprocessor.tokenizer = tokenizer.with_words(words)
    sizes = shared_arguments(task.backbone.get_config())
    sizes["vocabulary_size"] += len(words)
    arguments = shared_arguments(task.get_config())
    arguments |= {"backbone": type(task.backbone)(**sizes), "preprocessor": preprocessor}
    model = type(task)(**arguments)
    if len(model.weights) != len(task.weights):
        raise ValueError("Call grow_vocabulary before quantize and enable_lora.")
    rows = [preprocessor.tokenizer.token_to_id(word) for word in words]
    for new, old in zip(model.weights, task.weights, strict=True):
        values = keras.ops.convert_to_numpy(old)
        if new.shape != old.shape:  # has a row for each token
            means = [values[ids].mean(axis=0) for ids in pieces]
            values = np.resize(values, new.shape)
            values[rows] = means
        new.assign(values)
    return model
