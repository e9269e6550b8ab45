"""Vocabularies learned from small texts."""

import os
import pydoc_data.topics
import random
import subprocess
import sys

import pytest

from keras_bert.text import learn_vocabulary as module
from keras_bert.text.learn_vocabulary import learn_vocabulary
from keras_bert.text.tokenizer import BertTokenizer


@pytest.fixture(scope="module")
def prose(tmp_path_factory):
    path = tmp_path_factory.mktemp("prose") / "topics.txt"
    path.write_text("\n\n".join(pydoc_data.topics.topics.values()), encoding="utf-8")
    return path


def learn(path, size, **options):
    return learn_vocabulary(path, size, progress=False, **options)


def test_pieces_are_merged_by_frequency(tmp_path):
    path = tmp_path / "text.txt"
    # By hand: "##u" + "##g" 20 times, "##u" + "##n" 16, "h" + "##ug" 15, "p" + "##un" 12.
    words = ["hug"] * 10 + ["pug"] * 5 + ["pun"] * 12 + ["bun"] * 4 + ["hugs"] * 5
    random.Random(1).shuffle(words)
    path.write_text("\n".join(words))
    vocabulary = learn(path, 17)
    assert vocabulary[5:13] == ["b", "g", "h", "n", "p", "s", "u", "##g"]
    assert vocabulary[13:] == ["##n", "##s", "##u", "##ug"]
    assert learn(path, 20)[17:] == ["##un", "hug", "pun"]


def test_special_tokens_come_first_and_nothing_twice(prose):
    vocabulary = learn(prose, 2000)
    assert vocabulary[:5] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    assert len(set(vocabulary)) == len(vocabulary) == 2000
    assert "the" in vocabulary and "function" in vocabulary


def test_the_same_text_gives_the_same_vocabulary_in_every_process(prose):
    program = (
        "import sys; from keras_bert.text.learn_vocabulary import learn_vocabulary;"
        "print(*learn_vocabulary(sys.argv[1], 3000, progress=False), sep='\\n')"
    )
    other = {
        "PYTHONHASHSEED": "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1",
        "PYTHONIOENCODING": "utf-8",
        "RAYON_NUM_THREADS": "1",
    }
    run = subprocess.run(
        [sys.executable, "-c", program, str(prose)],
        capture_output=True,
        encoding="utf-8",
        env=os.environ | other,
    )
    assert run.returncode == 0, run.stderr
    vocabulary = learn(prose, 3000)
    assert run.stdout.split("\n")[:-1] == vocabulary
    assert learn(prose, 3000) == vocabulary  # the trainer's hash tables have seeds of their own


def test_the_learned_text_has_no_unknown_words(prose):
    tokenizer = BertTokenizer(learn(prose, 1000))
    ids = tokenizer(list(pydoc_data.topics.topics.values()))
    assert tokenizer.unk_token_id not in ids.flat_values.numpy()


@pytest.mark.filterwarnings("ignore:the texts have")
def test_words_are_normalized_as_the_tokenizer_does(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(
        "\ufeffÉcole ÉCOLE e\u0301cole ΟΔΟΣ ΟΔΟΣ 中文\r\n½™ ½™ a\u00adb ab \ufffd".encode()
        + b"\xff ab"
    )
    vocabulary = learn(path, 60, min_frequency=2)
    assert {"ecole", "οδος", "½™", "ab", "中", "文"} <= set(vocabulary)
    assert not {"##文", "É", "é", "\ufeff", "\ufffd"} & set(vocabulary)
    cased = learn(path, 60, lowercase=False, min_frequency=1)
    assert {"École", "ÉCOLE", "ΟΔΟΣ"} <= set(cased)


def test_files_are_one_text(tmp_path):
    parts = [tmp_path / "a.txt", tmp_path / "b.txt"]
    parts[0].write_text("low lower lowest\n")
    parts[1].write_text("low lower lowest\n")
    whole = tmp_path / "c.txt"
    whole.write_text("low lower lowest\n" * 2)
    assert learn(parts, 20) == learn([str(whole)], 20)


def test_rare_characters_are_left_out_with_their_words(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("ab ab ab ab ax ax")
    vocabulary = learn(path, 8, max_characters=2)
    assert vocabulary[5:] == ["a", "b", "##b"]


def test_blocks_end_between_words_and_lose_nothing(prose, monkeypatch):
    whole = prose.read_bytes()
    expected = module._count_words([str(prose)], True, 2, False)
    monkeypatch.setattr(module, "_BLOCK_BYTES", 1000)
    blocks = list(module._blocks([str(prose)]))
    assert len(blocks) > 100 and b"".join(blocks) == whole
    assert all(block[-1:].isspace() for block in blocks[:-1])
    assert module._count_words([str(prose)], True, 2, False) == expected


def test_many_distinct_words_are_pruned_by_the_rare_ones(prose, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK_BYTES", 10_000)
    monkeypatch.setattr(module, "_MAX_DISTINCT_WORDS", 1500)
    counts = module._count_words([str(prose)], True, 2, False)
    assert len(counts) < 3000 and counts[b"the"] > 1000


def test_counts_that_would_overflow_the_trainer_are_scaled(prose, monkeypatch):
    exact = learn(prose, 600)
    monkeypatch.setattr(module, "_MAX_COUNT", 20_000)
    scaled = learn(prose, 600)
    assert len(set(exact) & set(scaled)) > 500


@pytest.mark.parametrize("data", [b"", b" \n\t\r\n", "\u200b\ufffd\x00".encode(), b"\xff\xfd"])
def test_a_corpus_without_words_is_refused(tmp_path, data):
    path = tmp_path / "empty.txt"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"no words to learn from in 1 files .*empty\.txt"):
        learn(path, 100)


def test_no_files_are_refused():
    with pytest.raises(ValueError, match="none given"):
        learn([], 100)


def test_a_missing_file_is_named():
    with pytest.raises(FileNotFoundError, match="nowhere"):
        learn("nowhere.txt", 100)


def test_utf16_is_refused(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("some words", encoding="utf-16")
    with pytest.raises(ValueError, match="UTF-16"):
        learn(path, 100)


def test_a_vocabulary_too_small_for_the_characters_is_refused(prose):
    with pytest.raises(ValueError, match="no room beyond the 5 special tokens"):
        learn(prose, 5)
    with pytest.raises(ValueError, match="give at least"):
        learn(prose, 30)


def test_a_text_with_too_few_pieces_is_told(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("low lower lowest " * 3)
    with pytest.warns(UserWarning, match=r"the vocabulary has \d+ tokens"):
        vocabulary = learn(path, 1000)
    assert {"low", "lower", "lowest"} <= set(vocabulary)
