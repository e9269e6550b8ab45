import json

import keras
import numpy as np

import keras_bert

LINES = [
    "the book",
    "so good ||| a film day",
    "",
    "it was the film day . " * 5,
    "a ||| b ||| so dull",
    " very bad |||",
    "the very dull book " * 3 + "||| " + "it was so " * 4,
]


def expected(preset):
    """`(tokens, states of the last layer and the first)` of each line, without padding."""
    model = keras_bert.BertEmbedder.from_preset(preset)
    vocabulary = np.array(model.preprocessor.tokenizer.get_vocabulary())
    for line in LINES:
        prepared = model.preprocessor(*([text] for text in line.strip().rsplit(" ||| ", 1)))
        length = int(np.sum(prepared["padding_mask"]))
        inputs = {name: values[:, :length] for name, values in prepared.items()}
        states = map(keras.ops.convert_to_numpy, model.backbone.hidden_states(inputs))
        first, *_, last = (state[0] for state in states)
        yield vocabulary[inputs["token_ids"][0]].tolist(), np.stack([last, first], axis=1)


def test_lines_of_json_are_those_of_googles_code_and_arrays_hold_the_same(
    assert_close, module, preset, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(module, "LINES_AT_ONCE", 5)
    texts, output = tmp_path / "texts.txt", tmp_path / "deep" / "features.jsonl"
    texts.write_text("\ufeff" + "\r\n".join(LINES) + "\n", encoding="utf-8")
    more = "--layers -1 0 --sequence_length 16 --batch_size 3 --output_file".split()
    options = [str(texts), "--init", str(preset), *more]
    module.main([*options, str(output)])
    printed = capsys.readouterr().out
    assert "2 texts were truncated to 16 tokens." in printed
    assert "7 lines, layers [-1, 0]" in printed
    module.main([*options, str(output.with_suffix(".npz")), "--batch_size", "2"])
    data = np.load(output.with_suffix(".npz"))
    starts = data["starts"]
    assert starts.dtype == np.int64 and data["layers"].tolist() == [-1, 0]
    assert data["values"].shape == (starts[-1], 2, 16) and data["values"].dtype == np.float32
    lines = output.read_text("utf-8").splitlines()
    for number, (line, (tokens, states)) in enumerate(zip(lines, expected(preset), strict=True)):
        rows = slice(starts[number], starts[number + 1])
        assert data["tokens"][rows].tolist() == tokens
        assert_close(data["values"][rows], states)
        features = [
            {"token": token, "layers": [{"index": -1, "values": ...}, {"index": 0, "values": ...}]}
            for token in tokens
        ]
        found = json.loads(line)
        values = [[layer["values"] for layer in each["layers"]] for each in found["features"]]
        assert_close(np.array(values), states)
        np.testing.assert_array_equal(np.round(values, 6), values)
        for layer in (layer for each in found["features"] for layer in each["layers"]):
            layer["values"] = ...
        assert found == {"linex_index": number, "features": features}
    assert {path.name for path in output.parent.iterdir()} == {"features.jsonl", "features.npz"}
