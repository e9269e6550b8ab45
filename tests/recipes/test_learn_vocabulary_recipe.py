"""recipes/learn_vocabulary.py, as a person runs it."""

import os

from keras_bert.text.tokenizer import BertTokenizer


def test_the_recipe_writes_a_vocabulary_that_the_tokenizer_reads(recipe, tmp_path, capsys):
    text = tmp_path / "text.txt"
    text.write_text("the low, the lower, the lowest " * 5)
    output = tmp_path / "new" / "vocab.txt"
    recipe("learn_vocabulary").main([str(text), "--output", str(output), "--vocabulary_size", "25"])
    tokenizer = BertTokenizer(output)
    assert tokenizer.vocabulary_size() == 25
    assert tokenizer.unk_token_id not in tokenizer("The lowest, the lower")
    assert f"25 tokens in {output}" in capsys.readouterr().out
    assert os.listdir(tmp_path / "new") == ["vocab.txt"]
