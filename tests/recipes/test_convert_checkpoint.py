"""recipes/convert_checkpoint.py, as a person runs it."""

import re

import numpy as np

from keras_bert import BertClassifier, BertPretrainer


def test_a_classifier_survives_a_round_trip(module, preset, tmp_path, capsys, refused):
    ours, theirs, back = tmp_path / "ours", tmp_path / "theirs", tmp_path / "back"
    before = BertClassifier.from_preset(preset, label_names=["no", "yes"])
    before.save_to_preset(ours)

    def convert(*arguments):
        module.main([*map(str, arguments)])

    convert(ours, theirs, "--to", "hugging_face", "--cased")
    convert(theirs, back)
    printed = capsys.readouterr().out
    assert "block_0/attention/query_key_value/kernel  16x48" in printed
    assert f"Wrote a BertClassifier to {back}, in the format of keras_bert." in printed
    assert len(re.findall(r" weights matched, 0 \D+, 0 left over", printed)) == 2
    after = BertClassifier.from_preset(back)
    assert after.preprocessor.label_names == ["no", "yes"]
    assert after.preprocessor.tokenizer.lowercase is False
    assert all(map(np.array_equal, after.get_weights(), before.get_weights()))
    convert(ours, tmp_path / "lm", "--load_as", "pretrainer")
    assert "next_sentence/kernel" in capsys.readouterr().out  # a new head
    assert BertPretrainer.from_preset(tmp_path / "lm").load_report.new == {}
    refused("neither a folder nor the name", convert, tmp_path / "nothing", tmp_path / "out")
    assert not (tmp_path / "out").exists()
