"""Scripts that run until they have succeeded once."""

import pytest

from keras_bert.recipes.paper.run_once import run_once

SCRIPT = """
import pathlib, sys
output = pathlib.Path(sys.argv[sys.argv.index("--output") + 1])
output.mkdir(exist_ok=True)
runs = output / "runs.txt"
runs.write_text(runs.read_text() + "x" if runs.exists() else "x")
print("arguments", sys.argv[1:-2])
"""


@pytest.fixture
def script(tmp_path):
    (tmp_path / "recipes").mkdir()
    path = tmp_path / "recipes/work.py"
    path.write_text(SCRIPT)
    return path


def test_a_script_runs_once_and_says_its_command(script, tmp_path, capsys):
    run_once(script, "", tmp_path / "new/out", dry_run=True)
    assert not (tmp_path / "new").exists()
    assert capsys.readouterr().out.startswith("python recipes/work.py --output ")
    for _ in range(2):
        run_once(script, "--name 'two words'", tmp_path / "out")
    assert (tmp_path / "out/runs.txt").read_text() == "x"
    assert (tmp_path / "out.log").read_text() == "arguments ['--name', 'two words']\n"
    shown = f"python recipes/work.py --name 'two words' --output {tmp_path / 'out'}\n"
    assert capsys.readouterr().out == shown
    with pytest.raises(ValueError, match=r"other settings, which .*out\.json"):
        run_once(script, "--name other", tmp_path / "out")


def test_a_damaged_result_is_named(script, tmp_path):
    (tmp_path / "out.json").write_text("{}")
    with pytest.raises(ValueError, match=r"out\.json.*remove"):
        run_once(script, "", tmp_path / "out")
    assert not (tmp_path / "out").exists()
