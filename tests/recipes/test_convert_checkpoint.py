"""recipes/convert_checkpoint.py, as a person runs it."""

import re

import numpy as np

from keras_bert import BertClassifier


def test_a_classifier_survives_a_round_trip(module, preset, tmp_path, capsys):
    ours, theirs, back = (str(tmp_path / name) for name in ("ours", "theirs", "back"))
    before = BertClassifier.from_preset(preset, label_names=["no", "yes"])
    before.save_to_preset(ours)
    module.main([ours, theirs, "--to", "hugging_face", "--cased"])
    module.main([theirs, back])
    printed = capsys.readouterr().out
    assert len(re.findall(r" weights matched, 0 \D+, 0 left over", printed)) == 2
    after = BertClassifier.from_preset(back)
    assert after.preprocessor.label_names == ["no", "yes"]
    assert after.preprocessor.tokenizer.lowercase is False
    assert all(map(np.array_equal, after.get_weights(), before.get_weights()))
