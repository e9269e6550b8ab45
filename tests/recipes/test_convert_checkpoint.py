"""The recipe that turns a BERT of one library into one of another."""

import numpy as np
import pytest

from keras_bert import BertBackbone, BertClassifier, BertPreprocessor, BertPretrainer, BertTokenizer

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "bad"]


@pytest.fixture
def convert(recipe):
    """Runs the recipe with these arguments."""
    return lambda *arguments: recipe("convert_checkpoint").main([str(a) for a in arguments])


@pytest.fixture
def preset(tmp_path):
    backbone = BertBackbone(7, 1, 2, 8, 16, max_sequence_length=16)
    preprocessor = BertPreprocessor(BertTokenizer(WORDS), sequence_length=8)
    model = BertClassifier(backbone, 2, preprocessor, label_names=["no", "yes"])
    model.save_to_preset(tmp_path / "ours")
    return tmp_path / "ours"


@pytest.mark.parametrize("to", ["hugging_face", "google", "keras_bert"])
def test_a_classifier_goes_there_and_back(convert, preset, tmp_path, to, capsys):
    convert(preset, tmp_path / "theirs", "--to", to)
    convert(tmp_path / "theirs", tmp_path / "back")
    printed = capsys.readouterr().out
    assert "block_0/attention/query_key_value/kernel  8x24" in printed
    assert f"{tmp_path / 'back'} is a BertClassifier for keras_bert." in printed
    assert printed.count("0 initialised anew, 0 left over") == 2
    there, back = (BertClassifier.from_preset(folder) for folder in (preset, tmp_path / "back"))
    texts = ["good", "bad bad"]
    assert np.array_equal(*(model.predict(texts, verbose=0) for model in (there, back)))
    assert back.label_names == ["no", "yes"]


def test_another_task_gets_a_new_head_and_the_table_says_so(convert, preset, tmp_path, capsys):
    convert(preset, tmp_path / "lm", "--task", "pretrainer")
    printed = capsys.readouterr().out
    new = [line.split()[0] for line in printed.splitlines() if line.endswith("initialised anew")]
    assert set(new) == {
        *(f"masked_lm/{name}" for name in ("dense/kernel", "dense/bias", "norm/gamma")),
        *("masked_lm/norm/beta", "masked_lm/bias", "next_sentence/kernel", "next_sentence/bias"),
    }
    assert BertPretrainer.from_preset(tmp_path / "lm").load_report.new == {}


def test_casing_can_be_said(convert, preset, tmp_path):
    convert(preset, tmp_path / "hf", "--to", "hugging_face", "--cased")
    assert BertClassifier.from_preset(tmp_path / "hf").preprocessor.tokenizer.lowercase is False


def test_a_source_that_is_none_is_told_before_anything_is_written(convert, tmp_path):
    with pytest.raises(ValueError, match="neither a folder nor the name"):
        convert(tmp_path / "nothing", tmp_path / "out")
    assert not (tmp_path / "out").exists()
