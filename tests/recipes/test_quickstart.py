import ast
import re

import pytest


def test_there_are_sentences_of_every_chapter_each_once(module):
    examples = module.sentences_by_chapter()
    sentences = [sentence for sentence, _ in examples]
    chapters = [chapter for _, chapter in examples]
    assert len(set(sentences)) == len(sentences)
    assert not any(mark in sentence for sentence in sentences for mark in (">>>", "**", "\n"))
    assert set(chapters) == set(module.CHAPTERS)
    # A constant answer must not look good, and a fifth must be enough to judge by.
    assert max(map(chapters.count, module.CHAPTERS)) < len(examples) / 2
    assert min(map(chapters.count, module.CHAPTERS)) > 50


@pytest.mark.weekly
def test_from_raw_text_to_a_served_bert_and_once_more(module, tmp_path, capfd):
    for version in (1, 2):  # started again, it goes on with the text and the corpus that are there
        module.main(["--output", str(tmp_path), "--steps", "10", "--epochs", "1"])
        out = capfd.readouterr().out
        losses = [float(loss) for loss in re.findall(r" loss: ([\d.]+) - masked_lm_accuracy", out)]
        assert len(losses) == 5 and losses[-1] < losses[0] - 0.1
        assert f"{tmp_path}/served/{version}" in out

        answers = out.split("=== 7.")[1]
        for question in module.QUESTIONS:
            line = next(line for line in answers.splitlines() if question in line)
            scores = ast.literal_eval(line[line.index("{") :])
            assert set(scores) == set(module.CHAPTERS)
            assert abs(sum(scores.values()) - 1) < 0.003  # of four, rounded to thousandths
