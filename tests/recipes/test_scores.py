"""Scores as CSV, Markdown and pictures."""

from paper.scores import write_score_table

SCORES = [
    {"row": row, "metric": metric, "seed": seed, "value": value + seed}
    for row, metric, value in (
        ("BERT", "F1", 90),
        ("No NSP", "F1", 80),
        ("BERT", "loss", 5.25),
    )
    for seed in range(3)
]
STEPS = [{"row": "masked", "metric": "F1", "step": step, "value": 16} for step in (1000, 2000)]


def test_every_score_is_a_line_and_every_model_a_row(rows_of, tmp_path):
    others = {"BERT": {"MNLI (paper)": "84.4"}, "LSTM": {"MNLI (paper)": "70.0"}}
    write_score_table(SCORES, tmp_path / "table", others)
    lines = [[*map(str, score.values())] for score in SCORES]
    assert [[*row.values()] for row in rows_of(tmp_path / "table.csv")] == lines
    assert (tmp_path / "table.md").read_text().splitlines() == [
        "|  | F1 | loss | MNLI (paper) |",
        "| --- | ---: | ---: | ---: |",
        "| BERT | 91.0 ± 1.0 | 6.2 ± 1.0 | 84.4 |",
        "| No NSP | 81.0 ± 1.0 |  |  |",
        "| LSTM |  |  | 70.0 |",
    ]
    write_score_table(STEPS, tmp_path / "figure")
    assert "| masked, step 1,000 | 16.0 |\n" in (tmp_path / "figure.md").read_text()
    picture = (tmp_path / "figure.svg").read_text()
    assert "<!-- masked -->" in picture and "<!-- F1 -->" in picture  # its texts, as comments
