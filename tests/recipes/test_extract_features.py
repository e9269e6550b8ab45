import json

import keras
import numpy as np
import pytest

import keras_bert

LINES = [
    "the book",
    "so good ||| a film day",
    "",
    "it was the film day . " * 5,
    "a ||| b ||| so dull",
    " very bad |||",
    "fine unheard",
    "the very dull book " * 3 + "||| " + "it was so " * 4,
]


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("\ufeff" + "\r\n".join(LINES) + "\n", encoding="utf-8")
    return path


def arguments(texts, preset, output, *more):
    settings = ["--layers", "-1", "0", "--sequence_length", "16", "--batch_size", "3", *more]
    return [str(texts), "--init", str(preset), "--output_file", str(output), *settings]


@pytest.fixture(scope="module")
def expected(preset):
    """`(tokens, hidden states)` of each line, each alone and without padding."""
    model = keras_bert.BertEmbedder.from_preset(preset)
    vocabulary = model.preprocessor.tokenizer.get_vocabulary()
    rows = []
    for line in LINES:
        prepared = model.preprocessor(*([text] for text in line.strip().rsplit(" ||| ", 1)))
        length = int(np.sum(prepared["padding_mask"]))
        inputs = {name: values[:, :length] for name, values in prepared.items()}
        states = model.backbone.hidden_states(inputs)
        tokens = [vocabulary[number] for number in inputs["token_ids"][0]]
        rows.append((tokens, [keras.ops.convert_to_numpy(state)[0] for state in states]))
    return rows


@pytest.fixture
def module(recipe, monkeypatch):
    module = recipe("extract_features")
    monkeypatch.setattr(module, "LINES_AT_ONCE", 6)
    return module


def test_lines_of_json_are_those_of_googles_code(
    assert_close, module, preset, texts, expected, tmp_path, capsys
):
    output = tmp_path / "deep" / "features.jsonl"
    module.main(arguments(texts, preset, output))
    lines = output.read_text("utf-8").splitlines()
    assert len(lines) == len(LINES) == len(expected)
    for number, (line, (tokens, states)) in enumerate(zip(lines, expected, strict=True)):
        found = json.loads(line)
        assert list(found) == ["linex_index", "features"] and found["linex_index"] == number
        assert [feature["token"] for feature in found["features"]] == tokens
        for place, feature in enumerate(found["features"]):
            assert list(feature) == ["token", "layers"]
            assert [layer["index"] for layer in feature["layers"]] == [-1, 0]
            for layer, state in zip(feature["layers"], (states[-1], states[0]), strict=True):
                assert list(layer) == ["index", "values"]
                assert_close(layer["values"], state[place])
                assert layer["values"] == [round(value, 6) for value in layer["values"]]
    assert [path.name for path in output.parent.iterdir()] == ["features.jsonl"]
    printed = capsys.readouterr().out
    assert "2 texts were truncated to 16 tokens." in printed
    assert "8 lines, layers [-1, 0]" in printed


def test_arrays_hold_the_same(assert_close, module, preset, texts, expected, tmp_path):
    output = tmp_path / "features.npz"
    module.main(arguments(texts, preset, output, "--batch_size", "2", "--layers", "1", "0"))
    data = np.load(output)
    starts = data["starts"]
    assert starts.dtype == np.int64 and data["layers"].tolist() == [1, 0]
    assert data["values"].shape == (starts[-1], 2, 16) and data["values"].dtype == np.float32
    for number, (tokens, states) in enumerate(expected):
        rows = slice(starts[number], starts[number + 1])
        assert data["tokens"][rows].tolist() == tokens
        assert_close(data["values"][rows, 0], states[1])
        assert_close(data["values"][rows, 1], states[0])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["features.npz", "texts.txt"]


def test_rounding_is_pythons(module, tmp_path):
    values = np.random.default_rng(1).normal(size=(3, 1, 4000)).astype("float32")
    values.flat[:5] = [0.0000005, -1e-9, 0.5, 1.0000015, 12.3456785]
    assert module.write_jsonl(tmp_path / "f", [-1], [(["a", "b", "c"], values)]) == 1
    found = json.loads((tmp_path / "f").read_text())["features"]
    for feature, row in zip(found, values, strict=True):
        assert feature["layers"][0]["values"] == [round(float(value), 6) for value in row[0]]


@pytest.mark.parametrize(
    ("output", "more", "message"),
    [
        ("f.txt", [], r"--output_file must end in .jsonl or .npz; got .*f.txt"),
        ("f.npz", ["--layers", "-4"], "layers must be at least -2; got -4"),
        ("f.npz", ["--sequence_length", "64"], "sequence_length=64 exceeds"),
    ],
)
def test_what_cannot_be_is_said_before_work(module, preset, texts, tmp_path, output, more, message):
    with pytest.raises(ValueError, match=message):
        module.main(arguments(texts, preset, tmp_path / output, *more))
    assert [path.name for path in tmp_path.iterdir()] == ["texts.txt"]


def test_an_empty_file_and_a_model_without_a_vocabulary_are_refused(
    module, preset, texts, tmp_path, refused
):
    keras_bert.BertBackbone(30, 1, 2, 8, 16).save_to_preset(tmp_path / "preset")
    line = arguments(texts, tmp_path / "preset", tmp_path / "f.npz")
    refused("preset has no vocabulary", module.main, line)
    texts.write_text("")
    refused("texts.txt is empty", module.main, arguments(texts, preset, tmp_path / "f.npz"))
