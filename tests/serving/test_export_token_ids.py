"""ONNX, LiteRT and OpenVINO answer as `predict` does, in their own runtimes."""

import json
import re
import warnings

import keras
import numpy as np
import pytest
import tokenizers

import keras_bert
from keras_bert import Batching
from keras_bert.preprocessing.forms import take
from keras_bert.serving.export_token_ids import _FORMATS, write_own_files
from keras_bert.serving.hugging_face_export import (
    described_for_hugging_face,
    hugging_face_function,
)
from tests import vocabularies
from tests.conftest import VOCABULARY
from tests.models.conftest import TASKS
from tests.runtimes import RUN

WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] the a film book is was good bad . ##s ##es é 中".split()
TEXTS = [
    "The film was GOOD.",
    "a bad book",
    "",
    "books; films é! 中国 the",
    "e\u0301 a\x00b",
    "a film book is was good bad . " * 3,
]
PACKAGES = {
    "onnx": "tf2onnx",
    "litert": "ai_edge_litert.interpreter",
    "openvino": "openvino",
}


def needed(format):
    """Skips the test if the package of a format is missing."""
    pytest.importorskip(PACKAGES[format], reason='pip install ".[export]"')


@pytest.fixture(scope="module")
def make(make_case, make_backbone, randomized):
    """Makes the task of a case, by default with names of its classes."""

    def make(name="labels", backbone=None):
        return randomized(make_case(name, backbone or make_backbone(num_layers=2)))

    return make


def batches(model, x):
    """Inputs of all examples, and of the first, which is shorter."""
    for number in (4, 1):
        data = take(x, slice(number)), None
        options = {"batching": Batching(64, pad_to="longest"), "with_labels": False}
        [inputs] = model.preprocessor.batches(*data, **options)
        yield {name: np.asarray(inputs[name], x.dtype) for name, x in model.input.items()}


def outputs(model, inputs):
    found = model(inputs, training=False)
    return found if isinstance(found, dict) else {model.published.output: found}


# Dicts of outputs, one axis more, and attention in blocks; `make pairs` has the other tasks.
@pytest.mark.slow
@pytest.mark.parametrize("name", ["questions", "choices", "tags"])
@pytest.mark.parametrize("format", PACKAGES)
def test_tasks_run_as_predict(assert_close, make, tmp_path, format, name):
    needed(format)
    modern = keras_bert.ModernBertBackbone(30, 2, 2, 16, 24, window=1)
    model = make(name, modern if name == "tags" else None)
    path = model.export(tmp_path / "out", format=format, names="keras_bert")
    for inputs in batches(model, TASKS[name][1]):
        assert_close(RUN[format](path, inputs), outputs(model, inputs))
    if (format, name) == ("onnx", "choices"):
        import onnxruntime

        names = ("token_ids", "segment_ids", "padding_mask")
        axes = ["batch", "choices", "length"]
        found = {x.name: x.shape for x in onnxruntime.InferenceSession(path).get_inputs()}
        assert found == dict.fromkeys(names, axes)


@pytest.mark.slow
def test_a_quantized_model_runs_in_onnx_runtime(assert_close, make, tmp_path):
    needed("onnx")
    model = make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Keras warns of each layer that it doesn't quantize
        model.quantize("int8")
    path = model.export(tmp_path / "out", format="onnx", names="keras_bert")
    for inputs in batches(model, TASKS["labels"][1]):
        assert_close(RUN["onnx"](path, inputs), outputs(model, inputs))


def fast_tokenizer(preprocessor, folder):
    """The tokenizer in the files beside an export."""
    write_own_files(preprocessor, folder)
    return tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))


def test_the_tokenizers_files_make_the_preprocessor_s_rows(tmp_path):
    seconds = TEXTS[1:2] * len(TEXTS)
    pairs = [*zip(TEXTS, seconds, strict=True)]
    for lowercase, truncation in ((True, "head"), (False, "tail")):
        tokenizer = keras_bert.BertTokenizer(WORDS, lowercase=lowercase, max_word_characters=4)
        own = keras_bert.BertClassifierPreprocessor(tokenizer, 9, truncation=truncation)
        theirs = fast_tokenizer(own, tmp_path)
        for columns, examples in (([TEXTS], TEXTS), ([TEXTS, seconds], pairs)):
            rows = theirs.encode_batch(examples)
            found = {
                "token_ids": [row.ids for row in rows],
                "segment_ids": [row.type_ids for row in rows],
                "padding_mask": [row.attention_mask for row in rows],
            }
            assert found == {name: values.tolist() for name, values in own(*columns).items()}


def test_the_tokenizers_files_lose_no_text_of_windows(tmp_path):
    tokenizer = keras_bert.BertTokenizer(WORDS)
    for own in (
        keras_bert.BertTokenClassifierPreprocessor(tokenizer, 9),
        keras_bert.BertClassifierPreprocessor(tokenizer, 9, window_stride=3),
        keras_bert.BertClassifierPreprocessor(tokenizer, 9, truncation="head_tail"),
    ):
        assert len(fast_tokenizer(own, tmp_path).encode("good bad " * 20).ids) == 42


# Name of a task: the output of Hugging Face's tools for each of `predict`'s.
THEIR_OUTPUTS = {
    **dict.fromkeys(("classes", "tags", "choices", "documents"), {"logits": "logits"}),
    "questions": {"start": "start_logits", "end": "end_logits"},
    "vectors": {"embedding": "sentence_embedding"},
}
THEIR_INPUTS = {
    "token_ids": "input_ids",
    "segment_ids": "token_type_ids",
    "padding_mask": "attention_mask",
}


def test_every_task_has_the_names_of_hugging_faces_tools(assert_close, make):
    for name, theirs in THEIR_OUTPUTS.items():
        model = make(name)
        inputs, _ = batches(model, TASKS[name][1])
        expected = outputs(model, inputs)
        states = model.backbone(inputs) if name == "vectors" else {}
        if name == "documents":  # a row is a pair
            inputs = {n: values[:, 0] for n, values in inputs.items()}
        found = run_under_their_names(model, inputs)
        if name == "vectors":
            assert_close(found.pop("last_hidden_state"), states["sequence_output"])
        assert_close(found, {other: expected[n] for n, other in theirs.items()}, name=name)
    found = run_under_their_names(model.backbone, inputs)
    assert_close(found["last_hidden_state"], states["sequence_output"])
    assert_close(found["pooler_output"], states["pooled_output"])


def run_under_their_names(model, inputs):
    given = {THEIR_INPUTS[n]: values.astype("int64") for n, values in inputs.items()}
    function = hugging_face_function(model, described_for_hugging_face(model))
    specs = function.input_signature
    assert {spec.name for spec in specs} == {*given}
    return function.python_function(*(given[spec.name] for spec in specs))


MPNET = {"architecture": "mpnet", "num_segments": 0, "relative_bias": True}


@pytest.mark.slow
@pytest.mark.parametrize("family", [None, "mpnet"])
@pytest.mark.parametrize("format", ["onnx", "openvino"])
def test_a_stranger_runs_the_lines_of_the_folder(
    assert_close, make, make_backbone, run_python, tmp_path, format, family
):
    needed(format)
    model = make("classes", make_backbone(**(MPNET if family else {})))
    if family:
        words = ["<s>", "<pad>", "</s>", "[UNK]", "<mask>", *VOCABULARY[5:]]
        tokenizer = keras_bert.BertTokenizer(words, family=family)
    else:
        tokenizer = keras_bert.FastTokenizer(vocabularies.composed_wordpieces(VOCABULARY[:-1]))
    model.preprocessor.tokenizer = tokenizer
    model.export(tmp_path / "out", format=format)
    [lines] = re.findall("```python\n(.*?)```", (tmp_path / "out" / "README.md").read_text(), re.S)
    *lines, last = lines.replace('["What a book!"]', repr(TEXTS)).strip().split("\n")
    lines += [f"found = {last.removeprefix('print')}", "print(found[0].tolist())"]
    forbidden = 'import sys; sys.modules |= dict.fromkeys(("keras_bert", "keras", "tensorflow"))'
    said = run_python("-c", "\n".join([forbidden, *lines]), cwd=tmp_path / "out")
    assert_close(np.array(json.loads(said)), model.predict(TEXTS))


def test_models_that_hugging_face_has_no_names_for_are_exported_under_their_own(
    make, tmp_path, refused
):
    for name in ("pretrainer", "features"):
        refused('names="keras_bert"', make(name).export, tmp_path / "out", format="onnx")
    litert = {"format": "litert", "names": "hugging_face"}
    refused("'keras_bert'; got 'hugging_face'", make().export, tmp_path / "out", **litert)
    assert not list(tmp_path.iterdir())


@pytest.fixture
def fake_writer(monkeypatch):
    """Gives a format a writer that takes no time and needs no package."""

    def fake(format):
        def write(function, path):
            path.write_bytes(b"model")

        monkeypatch.setitem(_FORMATS, format, _FORMATS[format]._replace(write=write, package=None))

    return fake


def test_the_folder_replaces_an_export_and_nothing_else(make, fake_writer, tmp_path, refused):
    folder, model = tmp_path / "books", make()
    fake_writer("litert")
    model.export(folder, format="litert")
    written = {"model.tflite", "tokenizer.json", "vocab.txt", "preprocessor.json"}
    assert {path.name for path in folder.iterdir()} == written
    model.preprocessor = None
    model.export(folder, format="litert")
    assert [path.name for path in folder.iterdir()] == ["model.tflite"]
    (folder / "notes.txt").touch()
    refused("holds notes.txt, which would be lost", model.export, folder, format="litert")


def test_a_folder_for_hugging_faces_tools_describes_the_model(make, fake_writer, tmp_path, refused):
    fake_writer("onnx")
    folder, model = tmp_path / "books", make()
    model.quantize("int8")  # its weights are in the graph alone
    assert model.export(folder, format="onnx") == str(folder / "onnx" / "model.onnx")
    files = "config.json vocab.txt tokenizer.json tokenizer_config.json special_tokens_map.json"
    assert {path.name for path in folder.iterdir()} == {
        *files.split(),
        "README.md",
        "onnx",
    }
    assert [path.name for path in (folder / "onnx").iterdir()] == ["model.onnx"]
    assert "from a probability of 0.7 on" in (folder / "README.md").read_text()
    fake_writer("litert")
    refused("holds .*onnx, which would be lost", make().export, folder, format="litert")


def test_what_cannot_be_exported_says_why(make, monkeypatch, tmp_path, refused):
    model, folder = make(), tmp_path / "books"
    refused("'torch'; got 'tflite'", model.export, folder, "tflite")
    message = "got int8. Quantize the file with its runtime"
    refused(message, model.export, folder, format="onnx", int8=True)
    mixed = keras_bert.BertBackbone(9, 1, 2, 8, 8, dtype="mixed_bfloat16")
    message = "bfloat16, which format='openvino' can't hold.*, dtype=.float32"
    refused(message, mixed.export, folder, format="openvino")
    monkeypatch.setattr("keras_bert.serving.export_token_ids.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"tf2onnx.*keras3-bert\[export"):
        model.export(folder, format="onnx")
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    refused("KERAS_BACKEND=tensorflow", model.export, folder, format="litert")
    assert not list(tmp_path.iterdir())
