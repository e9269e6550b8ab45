"""Candidates for masked words over the steps of pre-training."""

import re

import keras
import numpy as np
import pytest

from keras_bert import BertPreprocessor, BertPretrainer, plot_candidates, read_candidates

STEPS = (900, 1000, 2000)
TEXT = "a [MASK] c [MASK]"


@pytest.fixture(scope="module")
def run(tmp_path_factory, make_backbone, letters):
    """The output folder of a pre-training: its presets, and what each fills in."""
    preprocessor = BertPreprocessor(letters, sequence_length=12)
    folder, answers = tmp_path_factory.mktemp("run"), {}
    for step in STEPS:
        keras.utils.set_random_seed(step)
        model = BertPretrainer(make_backbone(num_layers=1), preprocessor=preprocessor)
        model.save_to_preset(folder / f"preset_{step}")
        answers[step] = model.fill_mask(TEXT, top_k=30)
    (folder / "preset_best").mkdir()
    return folder, answers


def test_the_best_tokens_of_any_step_are_followed_over_all_steps(run):
    folder, answers = run
    found = read_candidates(folder, TEXT, top_k=2)
    assert [*dict.fromkeys(candidate["step"] for candidate in found)] == [*STEPS]
    for place in range(2):
        best = {word["token"] for step in STEPS for word in answers[step][place][:2]}
        assert 2 <= len(best) <= 6
        for step in STEPS:
            own = [c for c in found if (c["step"], c["place"]) == (step, place)]
            expected = [word for word in answers[step][place] if word["token"] in best]
            assert [c["token"] for c in own] == [word["token"] for word in expected]
            scores = [[each["score"] for each in side] for side in (own, expected)]
            assert np.allclose(*scores, rtol=1e-5)


def test_presets_of_a_run_share_one_traced_model(make_backbone, letters, tmp_path, monkeypatch):
    preprocessor = BertPreprocessor(letters, sequence_length=12)
    model = BertPretrainer(make_backbone(num_layers=1), preprocessor=preprocessor)
    for step in STEPS:
        model.save_to_preset(tmp_path / f"preset_{step}")
    filled, fill_mask = [], BertPretrainer.fill_mask
    monkeypatch.setattr(
        BertPretrainer, "fill_mask", lambda m, *a, **k: filled.append(m) or fill_mask(m, *a, **k)
    )
    read_candidates(tmp_path, TEXT)
    assert len(filled) == 3 and len({*map(id, filled)}) == 1


def test_each_mask_is_a_panel_with_tokens_by_their_last_probability(run, tmp_path):
    folder, answers = run
    figure = plot_candidates(folder, TEXT, tmp_path / "candidates.svg", top_k=1)
    for panel, words in zip(figure.axes, answers[2000], strict=True):
        tokens = [label.get_text() for label in panel.get_yticklabels()]
        best = {answers[step][figure.axes.index(panel)][0]["token"] for step in STEPS}
        assert tokens == [word["token"] for word in words if word["token"] in best]
        scores = panel.images[0].get_array()
        assert scores.shape == (len(best), 3) and np.isclose(scores[0, 2], words[0]["score"])
    found = re.findall(r"<!-- (.*?) -->", (tmp_path / "candidates.svg").read_text())
    assert {TEXT, "[MASK] 1", "[MASK] 2", "900", "1,000", "2,000"} <= {*found}


def test_what_has_no_candidates_is_refused(run, tmp_path):
    folder, _ = run
    for empty in (tmp_path, tmp_path / "absent"):
        with pytest.raises(ValueError, match=f"{empty.name} has no presets.*--preset_every"):
            plot_candidates(empty, TEXT)
    with pytest.raises(ValueError, match=r"no \[MASK\] to fill in"):
        plot_candidates(folder, "a c", tmp_path / "none.png")
    with pytest.raises(ValueError, match="one text, a str; got list"):
        read_candidates(folder, [TEXT])
    with pytest.raises(ValueError, match="top_k must be at least 1"):
        read_candidates(folder, TEXT, top_k=0)
    assert not (tmp_path / "none.png").exists()
