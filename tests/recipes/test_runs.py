import json

import pytest

from keras_bert.recipes._runs import keep_settings


def test_a_run_keeps_its_settings_until_a_new_one_begins(tmp_path, refused):
    settings = {"seed": 1, "rates": [0.1, 0.2], "init": None}
    for _ in range(2):
        keep_settings(tmp_path, settings)
    message = "more=1 .there None.*a folder of its own"
    refused(message, keep_settings, tmp_path, {**settings, "more": 1})
    keep_settings(tmp_path, settings)  # those of the run, which stood
    keep_settings(tmp_path, {"seed": 2}, resume=False)
    assert json.loads((tmp_path / "settings.json").read_text()) == {"seed": 2}


@pytest.mark.parametrize("damaged", ["", '{"seed": ', "[1]"])
def test_damaged_settings_are_named_with_a_remedy(tmp_path, damaged):
    (tmp_path / "settings.json").write_text(damaged)
    with pytest.raises(ValueError, match="settings.json .*Remove it if this run has the settings"):
        keep_settings(tmp_path, {"seed": 1})
