import pytest

import keras_bert

SETTINGS = "--sequence_length 12 --batch_size 8 --learning_rate 5e-3"


@pytest.fixture
def files(tmp_path):
    rows = [
        "o\tthe book was\tbad\tgood\tdull\t1\n",
        "o\tso it is\tvery good\tvery dull\tbad\t0\n",
        "o\ta film day\tdull and bad\tbad\tnot good\t2\n",
        "o\tthe film\tgood\tdull\tbut bad\t0\n",
    ]
    test = "sent1,sent2,ending0,ending1,ending2\nthe book was,so,dull,bad,good\n"
    files = {"train.tsv": "".join(rows * 12), "dev.tsv": "".join(rows * 2), "test.csv": test}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return {name.split(".")[0]: str(tmp_path / name) for name in files}


def test_it_learns_and_writes_what_it_says(finetuned, files):
    output, history = finetuned(files, "--epochs", "2")
    assert len(history) == 2 and max(scores["accuracy"] for scores in history) == 1.0
    lines = (output / "dev_predictions.tsv").read_text().splitlines()
    assert lines[0].split("\t") == ["index", "label", *(f"probability{i}" for i in range(3))]
    assert [line.split("\t")[1] for line in lines[1:]] == ["1", "0", "2", "0"] * 2
    assert sum(map(float, lines[1].split("\t")[2:])) == pytest.approx(1.0, abs=1e-4)
    lines = (output / "test_predictions.tsv").read_text().splitlines()
    assert len(lines) == 2 and lines[1].split("\t")[:2] == ["0", "2"]
    assert not (output / "test_scores.json").exists()  # there are no labels to score by
    best = keras_bert.BertTask.from_preset(output / "best")
    assert best.answer({"context": "it was a", "choices": ["dull", "good"]})["choice"] == "good"


def test_files_to_score_by_need_labels(arguments, module, files, tmp_path, refused):
    refused("test.csv has no labels", module.main, arguments({**files, "dev": files["test"]}))
    assert not (tmp_path / "out").exists()
