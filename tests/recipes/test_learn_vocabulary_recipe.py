"""recipes/learn_vocabulary.py, as a person runs it."""

import os
import runpy
from pathlib import Path

import pytest

from keras_bert.text.tokenizer import BertTokenizer

RECIPE = Path(__file__).parents[2] / "recipes" / "learn_vocabulary.py"


@pytest.fixture(scope="module")
def main():
    return runpy.run_path(str(RECIPE))["main"]


def test_the_recipe_writes_a_vocabulary_that_the_tokenizer_reads(main, tmp_path, capsys):
    text = tmp_path / "text.txt"
    text.write_text("the low, the lower, the lowest " * 5)
    output = tmp_path / "vocab.txt"
    main([str(text), "--output", str(output), "--vocabulary_size", "25"])
    tokenizer = BertTokenizer(output)
    assert tokenizer.vocabulary_size() == 25
    assert tokenizer.unk_token_id not in tokenizer("The lowest, the lower").numpy()
    assert f"25 tokens in {output}" in capsys.readouterr().out
    assert sorted(os.listdir(tmp_path)) == ["text.txt", "vocab.txt"]


def test_an_output_folder_that_is_not_there_is_told_before_the_work(main, tmp_path):
    with pytest.raises(ValueError, match="there is no folder"):
        main(["nowhere.txt", "--output", str(tmp_path / "no" / "vocab.txt")])
    assert os.listdir(tmp_path) == []
