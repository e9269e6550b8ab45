"""recipes/convert_checkpoint.py, and recipes/export_savedmodel.py with its result."""

import numpy as np
import pytest

from keras_bert import BertClassifier, BertPretrainer

TEXTS = ["the book's very good.", "dull"]


@pytest.mark.weekly
def test_a_classifier_goes_there_and_back_and_is_served(
    module, recipe, preset, varied, tmp_path, capfd
):
    ours, theirs, back = (str(tmp_path / name) for name in ("ours", "theirs", "back"))
    before = varied(BertClassifier.from_preset(preset, label_names=["no", "yes"]))
    before.save_to_preset(ours)
    module.main([ours, theirs, "--to", "hugging_face", "--cased"])
    module.main([theirs, back])
    after = BertClassifier.from_preset(back)
    assert after.preprocessor.tokenizer.lowercase is False
    assert all(map(np.array_equal, after.get_weights(), before.get_weights()))
    module.main([ours, theirs, "--load_as", "pretrainer"])
    assert not BertPretrainer.from_preset(theirs).load_report.new
    options = [back, "--output", str(tmp_path / "served"), "--text", *TEXTS]
    recipe("export_savedmodel").main(options)
    labels = [answer["label"].encode() for answer in after.answer(TEXTS)]
    assert f"label: {labels}\n" in capfd.readouterr().out
