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
    "the very dull book " * 3 + "||| " + "it was so " * 4,
]


@pytest.mark.slow
def test_lines_of_json_are_those_of_googles_code_and_arrays_hold_the_same(
    assert_close, module, preset, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(module, "LINES_AT_ONCE", 5)
    texts, output = tmp_path / "texts.txt", tmp_path / "deep" / "features.jsonl"
    texts.write_text("\ufeff" + "\r\n".join(LINES) + "\n", encoding="utf-8")
    more = "--layers -1 0 --sequence_length 16 --batch_size 3 --output_file".split()
    for path in (output, output.with_suffix(".npz")):
        module.main([str(texts), "--init", str(preset), *more, str(path)])
    assert "2 texts were truncated to 16 tokens." in capsys.readouterr().out
    data = np.load(path)
    assert data["starts"].dtype == np.int64 and data["layers"].tolist() == [-1, 0]
    assert data["values"].dtype == np.float32
    model = keras_bert.BertEmbedder.from_preset(preset)
    vocabulary = model.preprocessor.tokenizer.get_vocabulary()
    lines = zip(LINES, output.read_text("utf-8").splitlines(), strict=True)
    for number, (text, line) in enumerate(lines):
        inputs = model.preprocessor(*([part] for part in text.strip().rsplit(" ||| ", 1)))
        inputs = {name: values[:, inputs["padding_mask"][0] > 0] for name, values in inputs.items()}
        first, *_, last = model.backbone.hidden_states(inputs)
        rows = slice(*data["starts"][number : number + 2])
        assert_close(data["values"][rows], keras.ops.stack([last[0], first[0]], axis=1))
        tokens = [vocabulary[i] for i in inputs["token_ids"][0]]
        assert data["tokens"][rows].tolist() == tokens
        features = []
        for token, layers in zip(tokens, data["values"][rows].astype("float64"), strict=True):
            values = np.round(layers, 6).tolist()
            layers = [
                {"index": -1, "values": values[0]},
                {"index": 0, "values": values[1]},
            ]
            features.append({"token": token, "layers": layers})
        assert json.loads(line) == {"linex_index": number, "features": features}
    assert len([*output.parent.iterdir()]) == 2
