"""ONNX, LiteRT and OpenVINO answer as `predict` does, in their own runtimes."""

import json
import re
import warnings
from unittest.mock import Mock

import keras
import numpy as np
import pytest
import tokenizers

import keras_bert
from keras_bert.files.json_files import read_json
from keras_bert.serving.export_token_ids import _FORMATS, write_own_files
from keras_bert.serving.hugging_face_export import (
    described_for_hugging_face,
    hugging_face_function,
)
from tests import vocabularies
from tests.runtimes import RUN

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"the a film book is was good bad .".split()]
WORDS += ["##s", "##es", "é", "中"]
TEXTS = ["The film was GOOD.", "a bad book", "", "books; films é! 中国 the", "e\u0301 a\x00b"]

# Name: class, its arguments.
TASKS = {
    "classifier": ("BertClassifier", {"num_classes": 3}),
    "features": ("BertClassifier", {"num_classes": 1, "num_features": 2}),
    "tokens": ("BertTokenClassifier", {"num_classes": 5}),
    "spans": ("BertSpanLabeler", {}),
    "choices": ("BertMultipleChoice", {}),
    "documents": ("BertReranker", {}),
    "embedder": ("BertEmbedder", {}),
    "layers": ("BertEmbedder", {"pooling": "max", "layers": [0, -1], "combine": "weighted"}),
    "token vectors": ("BertEmbedder", {"pooling": None, "normalize": False}),
    "pretrainer": ("BertPretrainer", {}),
    "backbone": ("BertBackbone", {}),
    "ModernBERT": ("BertTokenClassifier", {"num_classes": 5}),
}
# Dicts of outputs, one axis more, and attention in blocks; all are tested weekly.
EACH_CHANGE = ("spans", "choices", "ModernBERT")
EACH_TASK = [n if n in EACH_CHANGE else pytest.param(n, marks=pytest.mark.weekly) for n in TASKS]


PACKAGES = {"onnx": "tf2onnx", "litert": "ai_edge_litert.interpreter", "openvino": "openvino"}


def needed(format):
    """Skips the test if the package of a format is missing."""
    pytest.importorskip(PACKAGES[format], reason='pip install ".[export]"')


def make(name="classifier", num_layers=1, hidden_dim=16, encoder=(), **arguments):
    kind, own = TASKS[name]
    keras.utils.set_random_seed(2)
    encoder, backbone = dict(encoder), keras_bert.BertBackbone
    if name == "ModernBERT":
        encoder["window"], backbone = 2, keras_bert.ModernBertBackbone
    model = backbone(
        len(WORDS), num_layers, 2, hidden_dim, intermediate_dim=2 * hidden_dim, **encoder
    )
    if kind != "BertBackbone":
        model = getattr(keras_bert, kind)(model, **own, **arguments)
    generator = np.random.default_rng(4)  # a new model gives all texts nearly the same outputs
    for weight in model.weights:
        if weight.path.endswith(("kernel", "embeddings", "bias")):
            weight.assign(generator.normal(0, 1.2 * hidden_dim**-0.5, weight.shape))
    return model


def with_preprocessor(**arguments):
    reader = keras_bert.BertClassifierPreprocessor(
        keras_bert.BertTokenizer(WORDS), sequence_length=12, label_names=["x", "y", "z"]
    )
    return make(preprocessor=reader, **arguments)


def batch(model, rows, length, others):
    """Random inputs of a model, of `others` choices to each question."""
    generator = np.random.default_rng(rows)
    limits = {"token_ids": len(WORDS), "segment_ids": 2, "mask_positions": length}
    made = {}
    for name, spec in model.input.items():
        shape = (rows, others, length) if len(spec.shape) == 3 else (rows, length)
        if name == "features":
            values = generator.normal(size=(rows, spec.shape[1]))
        elif name == "padding_mask":
            values = np.arange(length) < generator.integers(1, length + 1, (*shape[:-1], 1))
        else:
            values = generator.integers(0, limits[name], shape)
        made[name] = values.astype(spec.dtype)
    return made


def outputs(model, inputs):
    found = model(inputs, training=False)
    if not isinstance(found, dict):
        found = {"embedding" if "embedder" in model.name else "logits": found}
    return {name: np.asarray(value) for name, value in found.items()}


def of_both(model, path, format):
    """Outputs of an exported model and of its model, for two batches of different shapes."""
    found, expected = [], []
    for shape in ((3, 9, 4), (1, 17, 2)):
        inputs = batch(model, *shape)
        expected.append(outputs(model, inputs))
        found.append(RUN[format](path, inputs))
    keras.tree.assert_same_structure(found, expected)
    return found, expected


@pytest.mark.slow
@pytest.mark.parametrize("name", EACH_TASK)
@pytest.mark.parametrize("format", PACKAGES)
def test_every_task_runs_as_predict(assert_close, difference, tmp_path, format, name):
    needed(format)
    model = make(name, num_layers=2)
    path = model.export(tmp_path / "out", format=format, names="keras_bert")
    found, expected = of_both(model, path, format)
    print(f"{name}, {format}: largest difference {difference(found, expected):.1e}")
    assert_close(found, expected)
    if (format, name) == ("onnx", "choices"):
        import onnxruntime

        session, axes = onnxruntime.InferenceSession(path), ["batch", "choices", "length"]
        assert {x.name: (x.type, x.shape) for x in session.get_inputs()} == {
            name: ("tensor(int32)", axes) for name in ("token_ids", "segment_ids", "padding_mask")
        }
        [logits] = session.get_outputs()
        assert (logits.name, logits.type, logits.shape[0]) == ("logits", "tensor(float)", "batch")


@pytest.mark.slow
def test_a_quantized_model_runs_in_onnx_runtime_alone(assert_close, tmp_path, refused):
    needed("onnx")
    model = make(num_layers=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Keras warns of each layer that it doesn't quantize
        model.quantize("int8")
    path = model.export(tmp_path / "out", format="onnx", names="keras_bert")
    assert_close(*of_both(model, path, "onnx"))
    refused(
        "int8, which format='litert' can't hold", model.export, tmp_path / "other", format="litert"
    )


def fast_tokenizer(preprocessor, folder):
    """The tokenizer in the files beside an export."""
    write_own_files(preprocessor, folder)
    return tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))


def test_the_tokenizers_files_give_its_tokens(tmp_path):
    for lowercase in (True, False):
        own = keras_bert.BertTokenizer(WORDS, lowercase=lowercase, max_word_characters=4)
        preprocessor = keras_bert.BertClassifierPreprocessor(own, label_names=["x", "y"])
        theirs = fast_tokenizer(preprocessor, tmp_path)
        theirs.no_padding()
        ids = [encoding.ids for encoding in theirs.encode_batch(TEXTS, add_special_tokens=False)]
        assert ids == own(TEXTS)
        assert (tmp_path / "vocab.txt").read_text(encoding="utf-8").split() == WORDS
        settings = read_json(tmp_path / "preprocessor.json")
        assert settings["tokenizer"] == own.settings()
        assert settings["label_names"] == ["x", "y"]


def test_the_tokenizers_files_truncate_and_pad_as_the_preprocessor_does(tmp_path):
    texts = ["a film book is was good bad . " * 3, "bad", "good bad " * 3]
    seconds = ["good bad book"] * 2 + ["a film is was"]
    pairs = [*zip(texts, seconds, strict=True)]
    tokenizer = keras_bert.BertTokenizer(WORDS)
    for truncation in ("head", "tail"):
        own = keras_bert.BertClassifierPreprocessor(tokenizer, 9, truncation=truncation)
        theirs = fast_tokenizer(own, tmp_path)
        for columns, examples in (([texts], texts), ([texts, seconds], pairs)):
            rows = theirs.encode_batch(examples)
            expected = own(*columns)
            for name, values in (
                ("token_ids", [row.ids for row in rows]),
                ("segment_ids", [row.type_ids for row in rows]),
                ("padding_mask", [row.attention_mask for row in rows]),
            ):
                np.testing.assert_array_equal(values, expected[name], name)


class OwnWindows(keras_bert.BertPreprocessor):
    """A preprocessor of a user's that reads its examples in windows."""

    truncates = False


def test_the_tokenizers_files_lose_no_text_of_windows(tmp_path):
    tokenizer = keras_bert.BertTokenizer(WORDS)
    for own in (
        keras_bert.BertTokenClassifierPreprocessor(tokenizer, 9),
        keras_bert.BertSpanLabelerPreprocessor(
            tokenizer, 12, document_stride=2, max_question_length=2
        ),
        keras_bert.BertClassifierPreprocessor(tokenizer, 9, window_stride=3),
        keras_bert.BertClassifierPreprocessor(tokenizer, 9, truncation="head_tail"),
        OwnWindows(tokenizer, 9),
    ):
        assert len(fast_tokenizer(own, tmp_path).encode("good bad " * 20).ids) == 42


# Name of a task: the output of Hugging Face's tools for each of `predict`'s.
THEIR_OUTPUTS = {
    "classifier": {"logits": "logits"},
    "tokens": {"logits": "logits"},
    "spans": {"start": "start_logits", "end": "end_logits"},
    "choices": {"logits": "logits"},
    "documents": {"logits": "logits"},
    "embedder": {"embedding": "sentence_embedding"},
    "backbone": {"sequence_output": "last_hidden_state", "pooled_output": "pooler_output"},
}
THEIR_INPUTS = {
    "token_ids": "input_ids",
    "segment_ids": "token_type_ids",
    "padding_mask": "attention_mask",
}


def test_every_task_has_the_names_of_hugging_faces_tools(assert_close):
    for name, theirs in THEIR_OUTPUTS.items():
        model = make(name)
        inputs = batch(model, 3, 9, others=1 if name == "documents" else 4)
        expected = outputs(model, inputs)
        if name == "documents":  # a row is a pair
            inputs = {n: values[:, 0] for n, values in inputs.items()}
        given = {THEIR_INPUTS[n]: values.astype("int64") for n, values in inputs.items()}
        function = hugging_face_function(model, described_for_hugging_face(model))
        specs = function.input_signature
        assert {spec.name for spec in specs} == {*given}
        found = function.python_function(*(given[spec.name] for spec in specs))
        if name == "embedder":
            assert_close(found.pop("last_hidden_state"), model.backbone(inputs)["sequence_output"])
        assert_close(found, {other: expected[n] for n, other in theirs.items()}, name=name)


MPNET = {"architecture": "mpnet", "num_segments": 0, "relative_bias": True}


@pytest.mark.slow
@pytest.mark.parametrize("family", [None, "mpnet"])
@pytest.mark.parametrize("format", ["onnx", "openvino"])
def test_a_stranger_runs_the_lines_of_the_folder(
    assert_close, run_python, tmp_path, format, family
):
    needed(format)
    model = with_preprocessor(num_layers=2, encoder=MPNET if family else {})
    if family:
        words = ["<s>", "<pad>", "</s>", "[UNK]", "<mask>", *WORDS[5:]]
        tokenizer = keras_bert.BertTokenizer(words, family=family)
    else:
        tokenizer = keras_bert.FastTokenizer(vocabularies.composed_wordpieces(WORDS[:-1]))
    model.preprocessor.tokenizer = tokenizer
    model.export(tmp_path / "out", format=format)
    [lines] = re.findall("```python\n(.*?)```", (tmp_path / "out" / "README.md").read_text(), re.S)
    *lines, last = lines.replace('["What a book!"]', repr(TEXTS)).strip().split("\n")
    lines += [f"found = {last.removeprefix('print')}", "print(found[0].tolist())"]
    forbidden = 'import sys; sys.modules |= dict.fromkeys(("keras_bert", "keras", "tensorflow"))'
    said = run_python("-c", "\n".join([forbidden, *lines]), cwd=tmp_path / "out")
    assert_close(np.array(json.loads(said)), model.predict(TEXTS, verbose=0))


def test_models_that_hugging_face_has_no_names_for_are_exported_under_their_own(tmp_path, refused):
    for name in ("pretrainer", "features", "layers", "token vectors"):
        refused('names="keras_bert"', make(name).export, tmp_path / "out", format="onnx")
    litert = {"format": "litert", "names": "hugging_face"}
    refused("'keras_bert'; got 'hugging_face'", make().export, tmp_path / "out", **litert)
    assert not list(tmp_path.iterdir())


@pytest.fixture
def fake_writer(monkeypatch):
    """Gives a format a writer that takes no time and needs no package."""

    def fake(format, write=lambda: b"model"):
        def write_path(function, path):
            path.write_bytes(write())

        fast = _FORMATS[format]._replace(write=write_path, package=None)
        monkeypatch.setitem(_FORMATS, format, fast)

    return fake


def test_a_file_name_is_refused_since_exports_are_folders(tmp_path, refused):
    model, path = with_preprocessor(), str(tmp_path / "model")
    for suffix, format in ((".onnx", "onnx"), (".tflite", "litert"), (".xml", "openvino")):
        line = re.escape(f"Write export({path!r}, format={format!r})")
        for each in (model, model.backbone):
            refused(line, each.export, path + suffix)
            refused(line, each.export, path + suffix, format=format)
    assert not list(tmp_path.iterdir())


def test_the_folder_replaces_an_export_and_nothing_else(fake_writer, tmp_path, refused):
    folder = tmp_path / "books"
    model = with_preprocessor()
    fake_writer("litert")
    model.export(folder, format="litert")
    written = {"model.tflite", "tokenizer.json", "vocab.txt", "preprocessor.json"}
    assert {path.name for path in folder.iterdir()} == written
    fake_writer("litert", Mock(side_effect=OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="The disk was full while .*books was written"):
        model.export(folder, format="litert")
    assert (folder / "model.tflite").read_bytes() == b"model"
    fake_writer("litert", lambda: b"new")
    model.preprocessor = None
    model.export(folder, format="litert")
    assert [path.name for path in folder.iterdir()] == ["model.tflite"]
    (folder / "notes.txt").touch()
    refused("holds notes.txt, which would be lost", model.export, folder, format="litert")
    assert {path.name for path in tmp_path.rglob("*")} == {"books", "model.tflite", "notes.txt"}


def test_a_folder_for_hugging_faces_tools_describes_the_model(fake_writer, tmp_path, refused):
    fake_writer("onnx")
    folder, model = tmp_path / "books", with_preprocessor()
    model.preprocessor.threshold = 0.875
    assert model.export(folder, format="onnx") == str(folder / "onnx" / "model.onnx")
    assert "from a probability of 0.8750 on" in (folder / "README.md").read_text()
    (folder / "README.md").write_text("Mine.")
    model.quantize("int8")  # its weights are in the graph alone
    model.export(folder, format="onnx")
    files = "config.json vocab.txt tokenizer.json tokenizer_config.json special_tokens_map.json"
    assert {path.name for path in folder.iterdir()} == {*files.split(), "README.md", "onnx"}
    assert [path.name for path in (folder / "onnx").iterdir()] == ["model.onnx"]
    assert read_json(folder / "config.json")["id2label"] == {"0": "x", "1": "y", "2": "z"}
    assert (folder / "README.md").read_text() == "Mine."
    for format in ("litert", "openvino"):
        fake_writer(format)
        export = with_preprocessor().export
        refused("holds .*onnx, which would be lost", export, folder, format=format)


def test_what_cannot_be_exported_says_why(monkeypatch, tmp_path, refused):
    model, folder = make(), tmp_path / "books"
    for format, message in (("tflite", "'torch'; got 'tflite'"), (None, "got None")):
        refused(message, model.export, folder, format)
    message = "format='litert' takes names; got opset_version"
    refused(message, model.export, folder, format="litert", opset_version=17)
    message = "got int8. Quantize the file with its runtime"
    refused(message, model.export, folder, format="onnx", int8=True)
    mixed = keras_bert.BertBackbone(9, 1, 2, 8, 8, dtype="mixed_bfloat16")
    message = "bfloat16, which format='openvino' can't hold.*, dtype=.float32"
    refused(message, mixed.export, folder, format="openvino")
    module = "keras_bert.serving.export_token_ids.find_spec"
    for format, package in (("onnx", "tf2onnx"), ("openvino", "openvino")):
        monkeypatch.setattr(module, lambda name, package=package: None if name == package else name)
        with pytest.raises(ImportError, match=rf"{package}.*keras3-bert\[export"):
            model.export(folder, format=format)
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    refused("KERAS_BACKEND=tensorflow", model.export, folder, format="litert")
    assert not list(tmp_path.iterdir())
