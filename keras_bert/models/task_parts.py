"""The parts that a task is made of, and their checks."""

import keras

from keras_bert.messages import check_int, check_one_each
from keras_bert.models.backbone import Backbone
from keras_bert.models.precision import own_policy
from keras_bert.text.base_tokenizer import tokenizer_class
from keras_bert.text.vocabulary import SavedVocabulary
from keras_bert.training.keras_internals import writes_assets


def head_policy(task, backbone, dtype, output="sequence_output"):
    """Returns the policy of a task's head, the backbone's if `dtype` is None.

    Raises:
        ValueError: if the backbone isn't a `Backbone` with the output that the task reads.
    """
    name = type(task).__name__
    if not isinstance(backbone, Backbone):
        raise ValueError(
            f"{name} takes a Backbone, such as BertBackbone; got {type(backbone).__name__}. To "
            f"load one by name or folder, use {name}.from_preset(source)."
        )
    if output not in backbone.output:
        raise ValueError(
            f"{name} reads the {output} of its backbone, which {type(backbone).__name__} lacks; "
            f"its outputs are {', '.join(backbone.output)}."
        )
    return own_policy(backbone.dtype_policy if dtype is None else dtype)


def score_policy(task, backbone, dtype, output="sequence_output"):
    """Like `head_policy`, but float32 in place of half precision, in which scores tie."""
    policy = head_policy(task, backbone, dtype, output)
    is_half = policy.compute_dtype in ("bfloat16", "float16")
    return keras.DTypePolicy("float32") if is_half and type(policy) is keras.DTypePolicy else policy


def fitting_preprocessor(task, preprocessor, takes):
    """Returns a preprocessor that fits a task, converted if needed."""
    from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor

    kind = task.preprocessor_class()
    if not isinstance(preprocessor, BertPreprocessor):
        raise ValueError(
            f"{type(task).__name__} takes a {kind.__name__} as its preprocessor; got "
            f"{type(preprocessor).__name__}. Make it with {kind.__name__}(tokenizer)."
        )
    if not takes(preprocessor):
        preprocessor = kind.like(preprocessor)
    words = preprocessor.tokenizer.vocabulary_size()
    if words > task.backbone.vocabulary_size:
        raise ValueError(
            f"The tokenizer has {words} words, the backbone only {task.backbone.vocabulary_size}: "
            "use the vocabulary that it was made for; model.grow_vocabulary(words) adds words."
        )
    length = preprocessor.sequence_length
    most = task.backbone.max_sequence_length
    if length > most:
        raise ValueError(f"sequence_length={length} exceeds the backbone's {most} positions.")
    if "label_names" not in preprocessor.arguments():
        return preprocessor
    num_classes = task.output.shape[-1]
    if preprocessor.label_names is None:
        names = list(map(str, range(num_classes)))
        return preprocessor.like(preprocessor, label_names=names)
    check_one_each(num_classes, "classes", label_names=preprocessor.label_names)
    return preprocessor


def number_of_classes(task, num_classes, preprocessor, at_least):
    """Returns a classifier's number of classes, by default one for each of the `label_names`."""
    if num_classes is None:
        names = getattr(preprocessor, "label_names", None)
        if names is None:
            raise ValueError(
                f"{type(task).__name__} needs to know its classes: give label_names, such as "
                "sorted(set(labels)), or num_classes for labels that are numbers from 0."
            )
        num_classes = len(names)
    check_int("num_classes", num_classes, at_least)
    return int(num_classes)


def preprocessor_config(preprocessor):
    """Serializes a preprocessor, without its tokens where Keras saves them as an asset.

    Keras prints the whole config if it can't find a class.
    """
    if preprocessor is None:
        return None
    given = type(preprocessor.tokenizer)
    made = preprocessor.tokenizer_class or tokenizer_class(preprocessor.tokenizer.settings())
    if given is not made:
        raise ValueError(
            f"A {given.__name__} can't be saved: loading would make a {made.__name__}. Set it as "
            "the tokenizer_class of a preprocessor class of your own."
        )
    config = keras.saving.serialize_keras_object(preprocessor)
    if writes_assets():
        tokens = preprocessor.tokenizer.get_vocabulary()
        config["config"]["tokenizer"]["vocabulary"] = SavedVocabulary.of(tokens).to_dict()
    return config
