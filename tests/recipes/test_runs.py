import json

import pytest

from keras_bert.recipes._runs import keep_settings


@pytest.mark.parametrize("folder", ["folder", "ram://settings/folder"])
def test_a_run_goes_on_with_its_own_settings_alone(tmp_path, folder, tensorflow):
    folder = folder if "://" in folder else tmp_path / folder
    settings = {"seed": 1, "rates": [0.1, 0.2], "init": None}
    for _ in range(2):
        keep_settings(folder, settings)
    with pytest.raises(ValueError, match="seed=2 .there 1.*a folder of its own"):
        keep_settings(folder, {**settings, "seed": 2})
    with pytest.raises(ValueError, match="more=1 .there None"):
        keep_settings(folder, {**settings, "more": 1})
    keep_settings(folder, settings)  # those of the run, which stood


def test_a_new_run_notes_its_own(tmp_path):
    keep_settings(tmp_path, {"seed": 1})
    keep_settings(tmp_path, {"seed": 2}, resume=False)
    assert json.loads((tmp_path / "settings.json").read_text()) == {"seed": 2}


@pytest.mark.parametrize("damaged", ["", '{"seed": ', "[1]"])
def test_damaged_settings_are_named_with_a_remedy(tmp_path, damaged):
    (tmp_path / "settings.json").write_text(damaged)
    with pytest.raises(ValueError, match="settings.json .*Remove it if this run has the settings"):
        keep_settings(tmp_path, {"seed": 1})
