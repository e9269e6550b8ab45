"""The tables of BERT's paper that recipes repeat."""

_TABLES = {  # table: (columns, {row: scores}), from Devlin et al. 2019
    "1": (
        "MNLI-m MNLI-mm QQP QNLI SST-2 CoLA STS-B MRPC RTE average",
        {
            "BERT Base (paper, test sets)": "84.6 83.4 71.2 90.5 93.5 52.1 85.8 88.9 66.4 79.6",
            "BERT Large (paper, test sets)": "86.7 85.9 72.1 92.7 94.9 60.5 86.5 89.3 70.1 82.1",
        },
    ),
    "5": (
        "MNLI-m QNLI MRPC SST-2 SQuAD",
        {
            "BERT": "84.4 88.4 86.7 92.7 88.5",
            "No NSP": "83.9 84.9 86.5 92.6 87.9",
        },
    ),
    "6": (
        "perplexity MNLI-m MRPC SST-2",
        {
            "3/768/12": "5.84 77.9 79.8 88.4",
            "6/768/3": "5.24 80.6 82.2 90.7",
            "6/768/12": "4.68 81.9 84.8 91.3",
            "12/768/12": "3.99 84.4 86.7 92.9",
            "12/1024/16": "3.54 85.7 86.9 93.3",
            "24/1024/16": "3.23 86.6 87.8 93.7",
        },
    ),
    "7": (
        "CoNLL-2003",
        {
            "Fine-tuned": "96.4",
            "Embeddings": "91.0",
            "Second-to-last hidden": "95.6",
            "Last hidden": "94.9",
            "Weighted sum of last four": "95.9",
            "Concatenation of last four": "96.1",
            "Weighted sum of all": "95.5",
        },
    ),
    "8": (
        "MNLI NER NER,features",
        {
            "80/10/10": "84.2 95.4 94.9",
            "100/0/0": "84.3 94.9 94.0",
            "80/0/20": "84.1 95.2 94.6",
            "80/20/0": "84.4 95.2 94.7",
            "0/20/80": "83.7 94.8 94.6",
            "0/0/100": "83.6 94.9 94.6",
        },
    ),
}


def paper_table(table: str, suffix: str = "") -> dict[str, dict[str, str]]:
    """Returns a table of BERT's paper, `{row: {column: score}}`, or {} if it gives no figures.

    Table 1 is GLUE, 5 the pre-training tasks, 6 the sizes (layers/hidden/heads), 7 fine-tuning
    against features, and 8 the shares of masked, same and random tokens.
    """
    columns, rows = _TABLES.get(table, ("", {}))
    columns = [column.replace(",", ", ") + suffix for column in columns.split()]
    return {row: dict(zip(columns, line.split(), strict=True)) for row, line in rows.items()}
