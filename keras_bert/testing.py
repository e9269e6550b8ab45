"""Contracts: what all classes of a kind do, for the tests of a class of your own.

Each function makes small things, tries one property after the other, and ends in an
`AssertionError` with the name of the first that doesn't hold. Models should be tiny (two layers of
16 numbers): a contract then takes about a second.

Example:
>>> import functools
>>> import numpy as np
>>> from keras_bert import testing
>>> from keras_bert.layers import LayerCombination
>>> x = np.random.default_rng(1).normal(size=(2, 5, 8)).astype("float32")
>>> testing.run_layer(functools.partial(LayerCombination, "weighted"), [x, 2 * x])
"""

import contextlib
import inspect
import json
import pickle
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_bert.models.backbone import Backbone
from keras_bert.models.bert_task import BertTask
from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor, preprocessor_of
from keras_bert.preprocessing.forms import take
from keras_bert.text.base_tokenizer import Tokenizer
from keras_bert.training.keras_internals import all_layers

tree = keras.tree
# A value is the last of several sums in a row: 16 of up to 64 terms are 128 roundings, and half
# precision rounds what lies between them, too. Bounds are relative to the largest value.
ROUNDINGS = {"float32": 128 * 2.0**-23, "float16": 16 * 2.0**-11, "bfloat16": 16 * 2.0**-8}


def run_layer(make: Callable[[], keras.layers.Layer], *inputs: Any, **named_inputs: Any) -> None:
    """Asserts what a layer does, whatever it computes.

    Its config has all arguments of its constructor, and makes it again with the same dtypes, as a
    `.keras` file does. Each row is computed for itself, none are taken too, and shapes and dtypes
    are those that Keras computes without values. Tokens don't depend on what is padding. It follows
    weights that change after a prediction, and computes in half precision.

    Args:
        make: a function that makes the layer, a registered class, under the global dtype policy.
        *inputs: its call arguments, trees of arrays with `[B, ...]`, B at least 2.
        **named_inputs: those by name. Of a `padding_mask` `[B, S]`, some values should be 0.

    Raises:
        AssertionError: if a property doesn't hold; a note names it.

    Example:
    >>> import functools
    >>> import numpy as np
    >>> from keras_bert import testing
    >>> from keras_bert.layers import LayerCombination
    >>> states = [np.ones((2, 3, 8), "float32")] * 2
    >>> testing.run_layer(functools.partial(LayerCombination, "mean"), states)
    """
    inputs = tree.map_structure(np.asarray, (inputs, named_inputs))
    layer = make()
    _result(layer, inputs)  # makes its weights
    _vary(layer)
    expected = _numpy(_result(layer, inputs))

    def outputs(layer):
        return lambda inputs: _numpy(_result(layer, inputs))

    with _property(layer, "a config has all arguments, and makes the layer again"):
        again = _copied(layer)
        _result(again, inputs)
        again.set_weights(layer.get_weights())
        _assert_close(outputs(again)(inputs), expected)
    with _property(layer, "each row is computed for itself, and none are taken"):
        _assert_rows(outputs(layer), inputs, expected)
    if "padding_mask" in named_inputs:
        with _property(layer, "tokens don't depend on what is padding"):
            _assert_padding(outputs(layer), inputs, inputs[1]["padding_mask"], expected)
    symbols = tree.map_structure(lambda x: keras.Input(x.shape[1:], dtype=x.dtype.name), inputs)
    model = keras.Model(tree.flatten(symbols), _result(layer, symbols))

    def predicted(model):
        return model.predict(tree.flatten(inputs), verbose=0)

    with _property(layer, "shapes and dtypes are those that Keras computes without values"):
        for symbol, value in zip(tree.flatten(model.output), tree.flatten(expected), strict=True):
            shape = [given or size for given, size in zip(symbol.shape, value.shape, strict=True)]
            assert (shape, symbol.dtype) == ([*value.shape], value.dtype.name)
    with _property(layer, "weights that change after a prediction are seen"):
        _assert_close(predicted(model), expected)
        _vary(layer, seed=2)
        expected = outputs(layer)(inputs)
        _assert_close(predicted(model), expected)
    with _property(layer, "a .keras file makes it again"), _folder() as folder:
        model.save(folder / "layer.keras")
        _assert_close(predicted(keras.models.load_model(folder / "layer.keras")), expected)
    for policy in ("mixed_bfloat16", "mixed_float16", "bfloat16"):
        with _property(layer, f"it computes in {policy}"):
            with _policy(policy):
                half = make()
                _result(half, inputs)
            half.set_weights(layer.get_weights())
            _assert_close(outputs(half)(inputs), expected, policy.removeprefix("mixed_"))
            copied = _copied(half)
            _result(copied, inputs)
            dtypes = [[part.dtype_policy.name for part in all_layers(x)] for x in (half, copied)]
            assert dtypes[0] == dtypes[1], dtypes


def run_backbone(make: Callable[[], Backbone]) -> None:
    """Asserts what an encoder does: what tasks, presets and `AdamW(layer_decay=)` rely on.

    Inputs but the ids may be left out. Each row is computed for itself, tokens don't depend on
    padding, and, if the class says so, not on their neighbours in a packed row. Configs, `.keras`
    files and presets make it again. Freezing goes from the bottom to the top; adapters change
    nothing before they train, and nothing when they are merged.

    Args:
        make: a function that makes the encoder, a registered class, under the global dtype policy.

    Raises:
        AssertionError: if a property doesn't hold; a note names it.

    Example:
    >>> from keras_bert import BertBackbone, sizes, testing
    >>> testing.run_backbone(lambda: BertBackbone(vocabulary_size=30, **sizes.tiny))
    """
    model = _vary(make())
    model.run_eagerly = True
    length = min(12, model.max_sequence_length)
    mask = (np.arange(length) < [[length], [length // 2], [1], [length - 1]]).astype("int32")
    ids = np.random.default_rng(1).integers(0, model.vocabulary_size, mask.shape).astype("int32")
    given = {"token_ids": ids, "segment_ids": 0 * ids, "padding_mask": mask}
    inputs = {name: value for name, value in given.items() if name in model.input}

    def outputs(model):
        return lambda inputs: _numpy(model(inputs))

    expected = outputs(model)(inputs)
    with _property(model, "outputs are vectors of tokens, and perhaps of rows"):
        shapes = {name: value.shape for name, value in expected.items()}
        assert shapes.pop("sequence_output") == (*ids.shape, model.hidden_dim)
        assert shapes in ({}, {"pooled_output": (len(ids), model.hidden_dim)})
    with _property(model, "inputs but the ids may be left out"):
        whole = {**inputs, "padding_mask": np.ones_like(mask)}
        _assert_close(outputs(model)({"token_ids": ids}), outputs(model)(whole))
    with _property(model, "each row is computed for itself, and none are taken"):
        _assert_rows(outputs(model), inputs, expected)
    with _property(model, "tokens don't depend on what is padding"):
        _assert_padding(outputs(model), inputs, mask, expected)
    if model.takes_packed_rows:
        with _property(model, "sequences of a packed row don't see each other"):
            parts = np.arange(length) >= length // 2
            packed = {"token_ids": ids, "sequence_ids": np.tile(1 + parts, (len(ids), 1))}
            found = outputs(model)(packed)["sequence_output"]
            for part in (slice(0, length // 2), slice(length // 2, length)):
                alone = outputs(model)({"token_ids": ids[:, part]})["sequence_output"]
                _assert_close(found[:, part], alone)
    _assert_copies(model, lambda model: _numpy(model.predict(inputs, verbose=0)))
    with _property(model, "weights that change after a prediction are seen"):
        _vary(model, seed=2)
        expected = outputs(model)(inputs)
        _assert_close(model.predict(inputs, verbose=0), expected)
    with _property(model, "it freezes from the bottom to the top"):
        for up_to in reversed(range(model.num_layers + 1)):
            model.freeze(up_to)
            frozen = [model.embeddings, *model.blocks[:up_to]]
            assert not any(part.trainable_variables for part in frozen)
            assert all(part.trainable_variables for part in model.blocks[up_to:])
        model.unfreeze()
        from_the_top = [*reversed(model.blocks), model.embeddings]
        for depth, part in enumerate(from_the_top, start=1):
            assert all(variable.layers_to_head == depth for variable in part.variables)
            assert part.trainable_variables
    with _property(model, "adapters change nothing before they train or when they are merged"):
        model.enable_lora(2)
        _assert_close(outputs(model)(inputs), expected)
        _vary(model, seed=3)
        adapted = outputs(model)(inputs)
        model.merge_lora()
        _assert_close(outputs(model)(inputs), adapted)
    for policy in ("mixed_bfloat16", "mixed_float16"):
        with _property(model, f"it computes in {policy}"):
            with _policy(policy):
                half = make()
            half.set_weights(model.get_weights())
            _assert_close(outputs(half)(inputs), adapted, policy.removeprefix("mixed_"))


def run_task(task: BertTask, x: Any, y: Any = None, *, loss_is_mean: bool = True) -> None:
    """Asserts what a task does, whatever it predicts.

    `predict` gives float32 arrays, the same for examples one by one, in batches and prepared;
    `answer` gives a dict of plain Python for each example. The loss doesn't depend on batches.
    `fit` trains; predictions follow the weights. Configs, `.keras` files and presets make the task
    again.

    Args:
        task: a `BertTask` with a preprocessor, of a registered class. It runs eagerly, is compiled
            if it isn't, and is trained by one step.
        x: at least 3 raw examples, as the task takes them.
        y: their labels, unless `x` has them.
        loss_is_mean: bool; False for a loss that compares the examples of a batch.

    Raises:
        AssertionError: if a property doesn't hold; a note names it.
        ValueError: if the task has no preprocessor.

    Example:
    >>> from keras_bert import BertBackbone, BertClassifier, BertClassifierPreprocessor
    >>> from keras_bert import BertTokenizer, sizes, testing
    >>> tokenizer = BertTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b"])
    >>> reader = BertClassifierPreprocessor(tokenizer, sequence_length=8)
    >>> task = BertClassifier(BertBackbone(vocabulary_size=7, **sizes.tiny), 2, reader)
    >>> testing.run_task(task, ["a", "b", "a b"], [0, 1, 0])
    """
    if not task.compiled:
        task.compile(optimizer=keras.optimizers.SGD(0.1))
    _vary(task)
    reader = preprocessor_of(task)
    number = len(reader.listed(x))
    whole = Batching(4 * number, pad_to="full")

    def predicted(task, x=x, **options):
        task.run_eagerly = True
        return task.predict(x, verbose=0, **options)

    expected = predicted(task)
    with _property(task, "predict gives float32 arrays, whatever the batches"):
        assert all(type(part) is np.ndarray for part in tree.flatten(expected))
        assert all(part.dtype == "float32" for part in tree.flatten(expected))
        _assert_close(predicted(task, batch_size=1), expected)
    if not reader.cuts_windows:
        with _property(task, "prepared inputs are predicted like raw examples"):
            [inputs] = reader.batches(x, batching=whole, with_labels=False)
            ready = predicted(task, inputs)
            is_token = inputs["padding_mask"] == 1
            if isinstance(ready, dict) or ready.ndim == 3:  # of tokens: raw padding has no outputs
                _assert_close(_at(ready, is_token), _at(expected, is_token))
            else:
                _assert_close(ready, expected)
    with _property(task, "answer gives a dict of plain Python for each example"):
        answers = task.answer(x, batch_size=2)
        assert len(answers) == number and json.loads(json.dumps(answers)) == answers
        [alone] = task.answer(take(x, slice(0, 1)))
        assert alone.keys() == answers[0].keys() == answers[-1].keys()
        for name, value in alone.items():
            if np.asarray(value).dtype.kind == "f":
                _assert_close(np.float32(value), np.float32(answers[0][name]))
            else:
                assert value == answers[0][name], name
    if loss_is_mean:
        with _property(task, "loss and metrics don't depend on batches"):
            batchings = (whole, Batching(2, pad_to="full"))
            losses = [task.evaluate(x, y, verbose=0, batching=each) for each in batchings]
            _assert_close(np.float32(losses[1]), np.float32(losses[0]))
    _assert_copies(task, predicted)
    with _property(task, "fit trains, and predictions follow the weights"):
        logs = task.fit(x, y, batch_size=number, verbose=0).history
        assert np.isfinite(logs["loss"]).all()
        trained = predicted(task)
        assert max(_differences(trained, expected)) > 0
        _assert_copies(task, predicted, ways=("config",))


def run_preprocessor(preprocessor: BertPreprocessor, x: Any, y: Any = None) -> None:
    """Asserts what a preprocessor does, whatever rows it makes.

    Configs and pickles make it again. Rows don't depend on batches; ids are of the vocabulary, and
    padding is masked and has its id.

    Args:
        preprocessor: a `BertPreprocessor`.
        x: raw examples, as it reads them.
        y: their labels; None leaves out those that `x` contains.

    Raises:
        AssertionError: if a property doesn't hold; a note names it.

    Example:
    >>> from keras_bert import BertPreprocessor, BertTokenizer, testing
    >>> tokenizer = BertTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a"])
    >>> testing.run_preprocessor(BertPreprocessor(tokenizer, 8), ["a", "a a"])
    """

    def batched(preprocessor, size):
        batching, with_labels = Batching(size, pad_to="full"), y is not None
        batches = preprocessor.batches(x, y, batching=batching, with_labels=with_labels)
        return tree.map_structure(lambda *parts: np.concatenate(parts), *batches)

    expected = batched(preprocessor, 10_000)
    with _property(preprocessor, "rows don't depend on batches"):
        _assert_equal(batched(preprocessor, 2), expected)
    with _property(preprocessor, "a config or a pickle makes it again"):
        for again in (_copied(preprocessor), pickle.loads(pickle.dumps(preprocessor))):
            assert again.get_config() == preprocessor.get_config()
            _assert_equal(batched(again, 10_000), expected)
    with _property(preprocessor, "ids are of the vocabulary, and padding is masked"):
        inputs = expected[0] if isinstance(expected, tuple) else expected
        ids, mask = inputs["token_ids"], inputs["padding_mask"]
        tokenizer = preprocessor.tokenizer
        assert ids.shape[-1] == mask.shape[-1] == preprocessor.sequence_length
        assert (ids >= 0).all() and (ids < tokenizer.vocabulary_size()).all()
        assert (ids[mask == 0] == tokenizer.pad_token_id).all() and mask.any()


def run_tokenizer(tokenizer: Tokenizer, texts: Sequence[str]) -> None:
    """Asserts what a tokenizer does, whatever its algorithm.

    A text's tokens don't depend on other texts. Their offsets lie in the text, in order, and have
    no spaces at their ends. Tokens and ids are each other's inverse. Configs, pickles and assets
    make it again.

    Args:
        tokenizer: a `BertTokenizer`, a `FastTokenizer` or another one with their methods.
        texts: list of str, of the kind that it is for.

    Raises:
        AssertionError: if a property doesn't hold; a note names it.

    Example:
    >>> from keras_bert import BertTokenizer, testing
    >>> tokenizer = BertTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "##b"])
    >>> testing.run_tokenizer(tokenizer, ["ab a", "", "a"])
    """
    texts = ["", *texts]
    expected = tokenizer.tokenize(texts)
    with _property(tokenizer, "a text's tokens don't depend on other texts"):
        assert expected == [tokenizer.tokenize(text) for text in texts]
        assert expected[0] == tokenizer.tokenize([]) == []
    with _property(tokenizer, "offsets lie in the text, in order, without spaces at their ends"):
        ids, starts, ends = tokenizer.tokenize_with_offsets(texts)
        assert ids == expected
        for text, begins, stops in zip(texts, starts, ends, strict=True):
            assert sorted(begins) == begins and sorted(stops) == stops
            for start, end in zip(begins, stops, strict=True):
                assert 0 <= start <= end <= len(text)
                assert text[start:end] == text[start:end].strip()
    with _property(tokenizer, "tokens and ids are each other's inverse"):
        words = tokenizer.get_vocabulary()
        assert len(words) == tokenizer.vocabulary_size() > max(map(max, filter(None, expected)))
        assert [tokenizer.token_to_id(word) for word in words] == list(range(len(words)))
        assert [tokenizer.id_to_token(index) for index in range(len(words))] == words
        roles = [getattr(tokenizer, f"{role}_token_id") for role in ("pad", "cls", "sep", "mask")]
        assert len({*roles}) == 4 and set(roles) <= {*range(len(words))}
        assert all(isinstance(text, str) for text in tokenizer.detokenize(expected))
    with _property(tokenizer, "a config, a pickle or assets make it again"), _folder() as folder:
        copies = [_copied(tokenizer), pickle.loads(pickle.dumps(tokenizer))]
        tokenizer.save_assets(folder)
        config = {**tokenizer.get_config(), "vocabulary": str(folder / tokenizer.asset)}
        for again in [*copies, type(tokenizer)(**config)]:
            assert again.get_config() == tokenizer.get_config()
            assert again.tokenize(texts) == expected


def run_format(
    save: Callable[[keras.Model, Path], Any],
    model: keras.Model,
    load: Callable[[Path], keras.Model] = BertTask.from_preset,
) -> None:
    """Asserts that a folder of a format holds a whole model, and nothing of a user's is lost.

    The model comes back as its class with the same weights, bit for bit, and the same settings; it
    can be saved over itself, but not over a file of another kind.

    Args:
        save: a function of a model and a folder that writes it there.
        model: a `BertTask` or a `Backbone`.
        load: a function of the folder that loads it.

    Raises:
        AssertionError: if a property doesn't hold; a note names it.

    Example:
    >>> from keras_bert import BertBackbone, BertPretrainer, sizes, testing
    >>> model = BertPretrainer(BertBackbone(vocabulary_size=30, **sizes.tiny))
    >>> testing.run_format(BertPretrainer.save_to_hugging_face, model)
    """
    _vary(model)
    with _folder() as folder:
        place = folder / "model"
        with _property(model, "it comes back bit for bit, as its class, also saved over itself"):
            for _ in range(2):
                save(model, place)
                back = load(place)
                assert type(back) is type(model) and _settings(back) == _settings(model)
                assert not back.load_report.new and not back.load_report.left_over
                _assert_equal(back.get_weights(), model.get_weights())
        with _property(model, "a user's file is not lost, and nothing is half-written"):
            (folder / "thesis").mkdir()
            (folder / "thesis" / "chapter.txt").write_text("years of work")
            try:
                save(model, folder / "thesis")
            except ValueError as error:
                assert "chapter.txt" in str(error)
            else:
                raise AssertionError("saved over chapter.txt")
            assert [path.name for path in (folder / "thesis").iterdir()] == ["chapter.txt"]


@contextlib.contextmanager
def _property(subject: Any, says: str) -> Iterator[None]:
    """Names what doesn't hold if the block raises."""
    try:
        yield
    except Exception as error:
        error.add_note(f"{type(subject).__name__} doesn't keep its contract: {says}.")
        raise


@contextlib.contextmanager
def _policy(name: str) -> Iterator[None]:
    """Has layers that are made in the block compute in a dtype policy."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(name)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def _result(layer, inputs):
    arguments, named = inputs
    return layer(*arguments, **named)


def _numpy(outputs):
    return tree.map_structure(keras.ops.convert_to_numpy, outputs)


def _vary(layer: Any, seed: int = 1) -> Any:
    """Gives the trainable weights values as far from their start as those of a trained model."""
    generator = np.random.default_rng(seed)
    for weight in layer.trainable_weights:
        weight.assign(generator.normal(0.1, 0.3, weight.shape))
    return layer


def _copied(made: Any) -> Any:
    """Makes an object again from its config, after JSON; the config has all arguments."""
    config = json.loads(json.dumps(made.get_config()))
    taken = inspect.signature(type(made)).parameters.values()
    named = {
        each.name for each in taken if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
    }
    assert named - {"dtype"} <= config.keys(), f"get_config lacks {named - {*config}}"
    return type(made).from_config(config)


def _assert_copies(model, predicted, ways=("config", "file", "preset")):
    expected = predicted(model)
    with _folder() as folder:
        for way in ways:
            with _property(model, f"a {way} makes it again"):
                if way == "config":
                    again = _copied(model)
                    again.set_weights(model.get_weights())
                elif way == "file":
                    model.save(folder / "model.keras")
                    again = keras.saving.load_model(folder / "model.keras", compile=False)
                else:
                    model.save_to_preset(folder / "preset")
                    again = type(model).from_preset(folder / "preset")
                    assert not again.load_report.new
                assert type(again) is type(model) and again.get_config() == model.get_config()
                again.run_eagerly = True
                _assert_close(predicted(again), expected)


def _settings(model):
    """Returns a model's config without names."""
    config = model.get_config()
    if model.backbone is not model:
        config["backbone"] = _settings(model.backbone)
    names = ("name", "trainable", "preprocessor")
    return {name: value for name, value in config.items() if name not in names}


def _assert_rows(outputs, inputs, expected):
    number = len(tree.flatten(inputs)[0])
    for row in range(number):
        found = outputs(tree.map_structure(lambda x, row=row: x[row : row + 1], inputs))
        size = len(tree.flatten(found)[0])  # a layer may make several rows of one
        part = slice(row * size, (row + 1) * size)
        _assert_close(found, tree.map_structure(lambda x, part=part: x[part], expected))
    none = outputs(tree.map_structure(lambda x: x[:0], inputs))
    for found, some in zip(tree.flatten(none), tree.flatten(expected), strict=True):
        assert (found.shape, found.dtype) == ((0, *some.shape[1:]), some.dtype)


def _assert_padding(outputs, inputs, mask, expected):
    is_padding = mask == 0
    assert is_padding.any(), "give a padding_mask with zeros"

    def changed(x):
        if x is mask or x.shape[:2] != mask.shape:
            return x
        others = x.copy()
        others[is_padding] = x[0, 0]
        return others

    found = outputs(tree.map_structure(changed, inputs))
    _assert_close(_at(found, ~is_padding), _at(expected, ~is_padding))


def _at(outputs, is_token):
    """Returns the outputs of tokens, and outputs of rows as they are."""

    def chosen(x):
        return x[is_token] if x.shape[:2] == is_token.shape else x

    return tree.map_structure(chosen, outputs)


def _differences(found, expected):
    pairs = list(zip(tree.flatten(found), tree.flatten(expected), strict=True))
    assert [a.shape for a, _ in pairs] == [b.shape for _, b in pairs]
    return [np.abs(np.float32(a) - np.float32(b)).max(initial=0) for a, b in pairs]


def _assert_close(found: Any, expected: Any, dtype: str = "float32") -> None:
    sizes = [np.abs(part).max(initial=0) for part in tree.flatten(expected)]
    for difference, size in zip(_differences(found, expected), sizes, strict=True):
        bound = ROUNDINGS[dtype] * size
        assert difference <= bound, f"values differ by {difference:.2g}, by more than {bound:.2g}"


def _assert_equal(found: Any, expected: Any) -> None:
    tree.map_structure(np.testing.assert_array_equal, found, expected)
