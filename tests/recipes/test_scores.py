"""Scores as CSV, Markdown and pictures."""

from paper.scores import write_score_table

SCORES = [
    {"row": row, "metric": metric, "seed": seed, "value": value + seed}
    for row, metric, value in (("BERT", "F1", 90.0), ("No NSP", "F1", 80.0), ("BERT", "loss", 5.25))
    for seed in range(3)
]
STEPS = [
    {"row": row, "step": step, "metric": "F1", "value": step / 100 + len(row)}
    for row in ("masked", "no NSP")
    for step in (1000, 2000)
]


def test_every_score_is_a_line_and_every_model_a_row(rows_of, tmp_path):
    others = {"BERT": {"MNLI (paper)": "84.4"}, "LSTM": {"MNLI (paper)": "70.0"}}
    write_score_table(SCORES, tmp_path / "table", others)
    for row, score in zip(rows_of(tmp_path / "table.csv"), SCORES, strict=True):
        assert row == {
            name: f"{value:g}" if name == "value" else str(value) for name, value in score.items()
        }
    assert (tmp_path / "table.md").read_text().splitlines() == [
        "|  | F1 | loss | MNLI (paper) |",
        "| --- | ---: | ---: | ---: |",
        "| BERT | 91.0 ± 1.0 | 6.2 ± 1.0 | 84.4 |",
        "| No NSP | 81.0 ± 1.0 |  |  |",
        "| LSTM |  |  | 70.0 |",
    ]
    write_score_table(STEPS, tmp_path / "figure")
    lines = (tmp_path / "figure.md").read_text().splitlines()[2:]
    assert lines[:2] == ["| masked, step 1,000 | 16.0 |", "| masked, step 2,000 | 26.0 |"]
    for name, words in {"table": "BERT F1 loss", "figure": "masked F1"}.items():
        picture = (tmp_path / f"{name}.svg").read_text()  # which has its texts as comments
        assert all(f"<!-- {word} -->" in picture for word in words.split())
        assert "LSTM" not in picture
