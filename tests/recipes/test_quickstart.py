import re

import pytest


@pytest.mark.weekly
def test_from_raw_text_to_a_served_bert_and_once_more(module, tmp_path, capfd):
    for version in (1, 2):  # started again, it goes on with the text and the corpus that are there
        module.main(["--output", str(tmp_path), "--steps", "10", "--epochs", "1"])
        out = capfd.readouterr().out
        losses = [float(loss) for loss in re.findall(r" loss: ([\d.]+) - masked_lm_accuracy", out)]
        assert len(losses) == 5 and losses[-1] < losses[0] - 0.1
        assert f"{tmp_path}/served/{version}" in out

        answers = out.split("=== 7.")[1]
        for text in [*module.QUESTIONS, *module.CHAPTERS]:
            assert text in answers
