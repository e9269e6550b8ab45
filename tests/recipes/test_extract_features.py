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


def test_lines_of_json_are_those_of_googles_code_and_arrays_hold_the_same(
    assert_close, module, preset, texts, expected, tmp_path, capsys
):
    output = tmp_path / "deep" / "features.jsonl"
    module.main(arguments(texts, preset, output))
    printed = capsys.readouterr().out
    assert "2 texts were truncated to 16 tokens." in printed
    assert "8 lines, layers [-1, 0]" in printed
    module.main(arguments(texts, preset, tmp_path / "deep" / "features.npz", "--batch_size", "2"))
    data = np.load(tmp_path / "deep" / "features.npz")
    starts = data["starts"]
    assert starts.dtype == np.int64 and data["layers"].tolist() == [-1, 0]
    assert data["values"].shape == (starts[-1], 2, 16) and data["values"].dtype == np.float32
    lines = output.read_text("utf-8").splitlines()
    for number, (line, (tokens, states)) in enumerate(zip(lines, expected, strict=True)):
        rows = slice(starts[number], starts[number + 1])
        assert data["tokens"][rows].tolist() == tokens
        assert_close(data["values"][rows, 0], states[-1])
        assert_close(data["values"][rows, 1], states[0])
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
    assert {path.name for path in output.parent.iterdir()} == {"features.jsonl", "features.npz"}
