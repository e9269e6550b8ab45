r"""Repeats the ablations of BERT's paper: trains the variants of a table, and compares them.

    python recipes/ablations.py --table 5 8 figure5 --scale micro --corpus corpus \
        --heldout others --minimal_pairs zorro --tags conll2000 --output ablations

Tables 5 (pre-training tasks), 6 (sizes) and 8 (masking), and figure 5 (steps), pre-train variants
with pretrain_tpu.py. Table 7 (fine-tuning against features) takes a model from `--init`. The scale
"paper" is that of Devlin et al. 2019, for TPUs, and "micro" is for two CPU cores. Only "micro" has
been run so far. Each variant is judged by the probes whose data are given:

    --heldout CORPUS         perplexity and next-sentence accuracy on unseen text
    --minimal_pairs FOLDER   how often the better sentence of a pair is the more probable one
    --tags FOLDER            F1 of the chunks or entities in dev.txt, fine-tuned on train.txt, and
                             in tables 7 and 8 also by a BiLSTM on the frozen encoder
    --glue FOLDER            scores of the GLUE tasks in it, fine-tuned
    --squad FOLDER           F1 on dev-v1.1.json, fine-tuned on train-v1.1.json

Every step is a command of another recipe and is printed. Rerun the same command to resume: finished
steps are skipped, and tables share their variants. `--dry_run` prints the commands that are left.
OUTPUT has, for each table, the scores of all seeds (table5.csv), means and standard deviations
next to the paper's figures (table5.md), and a picture (table5.svg), also of what is finished.
"""

import functools
import json
import shlex
from pathlib import Path
from typing import NamedTuple

import _shared
import keras_bert
from glue.results import glue_folders, read_glue_results
from paper.minimal_pairs import read_minimal_pairs
from paper.run_once import run_once
from paper.scores import write_score_table
from paper.tables import paper_table

RECIPES = Path(__file__).resolve().parent
TPU = "--size base --batch_size 256 --precision mixed_bfloat16 --steps_per_execution 20"
SCALES = {
    "micro": {
        "pretrain": [
            "--phase 32 --size h128_l2 --batch_size 64 --save_every 500 "
            "--learning_rate 1e-3 --warmup_proportion 0.1 --dropout 0"
        ],
        "steps": 3000,
        "preset_every": 1000,
        "text": "--sequence_length 32 --batch_size 256 --max_pairs 200",
        "tags": "--epochs 2 --batch_size 64 --learning_rate 1e-3",
        "features": "--epochs 2 --units 64 --batch_size 64 --learning_rate 3e-3 --layers -1 -2",
        "glue": "--epochs 3 --learning_rate 5e-4 --no_test",
        "squad": "--epochs 2 --learning_rate 5e-4",
        "table7": {
            "tags": "--epochs 3 --batch_size 16 --learning_rate 2e-4",
            "features": "--epochs 5 --units 64 --batch_size 64 --learning_rate 3e-3",
        },
        "size": "2/128/2",
        "sizes": ["2/64/1", "2/128/2", "4/192/3"],
        "mixes": 4,
    },
    "paper": {
        "pretrain": [f"--phase 128 {TPU}", f"--phase 512 {TPU}"],
        "steps": 1_000_000,
        "preset_every": 200_000,
        "text": "--batch_size 64",
        "tags": "--epochs 3 --document_context",
        "features": "--epochs 20 --document_context",
        "glue": "--grid --no_test",
        "squad": "--epochs 3",
        "table7": {},
        "size": "12/768/12",
        "sizes": ["3/768/12", "6/768/3", "6/768/12", "12/768/12", "12/1024/16", "24/1024/16"],
        "mixes": 6,
    },
}
MIXES = ["80/10/10", "100/0/0", "80/0/20", "80/20/0", "0/20/80", "0/0/100"]  # mask/same/random
LAYERS = {  # of table 7
    "Embeddings": "--layers 0",
    "Second-to-last hidden": "--layers -2",
    "Last hidden": "--layers -1",
    "Weighted sum of last four": "--layers -1 -2 -3 -4 --combine weighted",
    "Concatenation of last four": "--layers -1 -2 -3 -4 --combine concat",
    "Weighted sum of all": "--combine weighted --layers",
}
TRAINED = {  # probes that train: their recipes, their data and the metrics of tables
    "tags": ("finetune_ner", "tags", "F1 of tags"),
    "features": ("train_bilstm_tagger", "tags", "F1, features"),
    "squad": ("finetune_squad", "squad", "SQuAD F1"),
}
PROBES = {  # that train, by table
    "5": ["tags", "glue", "squad"],
    "6": ["tags", "glue"],
    "8": ["tags", "features", "glue"],
    "figure5": ["tags", "glue"],
}
FILES = {  # that an argument's folder must hold
    "tags": ["train.txt", "dev.txt"],
    "squad": ["train-v1.1.json", "dev-v1.1.json"],
    "corpus": ["corpus.json"],
    "heldout": ["corpus.json"],
}


def parse_args(argv=None):
    parser = _shared.recipe_parser(__doc__)
    add = parser.add_argument
    add("--table", required=True, nargs="+", choices=["5", "6", "7", "8", "figure5"], help="tables")
    add("--scale", default="micro", choices=SCALES, help="size of models and runs")
    add("--corpus", help="folder from prepare_corpus.py")
    add("--heldout", help="a second one, unseen in training, to evaluate at every checkpoint")
    add("--minimal_pairs", help="file or folder of minimal pairs, of BLiMP or Zorro")
    add("--tags", help="folder with train.txt and dev.txt, in CoNLL columns")
    add("--glue", help="folder with the folders of GLUE's tasks")
    add("--squad", help="folder with train-v1.1.json and dev-v1.1.json")
    add("--init", help="preset or published weights to start from")
    add("--output", required=True, help="output folder")
    add("--pretraining_seeds", type=int, default=1, help="number of seeds to pre-train with")
    add("--probe_seeds", type=int, default=3, help="number of seeds to fine-tune with")
    add("--pretraining_options", default="", help='of pretrain_tpu.py, e.g. "--tpu local"')
    add("--dry_run", action="store_true", help="print the commands, run none")
    args = parser.parse_args(argv)
    if {*args.table} - {"7"} and not args.corpus:
        parser.error("--corpus is needed to pre-train the variants of these tables")
    if "7" in args.table and not (args.init and args.tags):
        parser.error("table 7 needs --init and --tags")
    if not any((args.heldout, args.minimal_pairs, args.tags, args.glue, args.squad)):
        parser.error("give data to judge by: --heldout, --minimal_pairs, --tags, --glue or --squad")
    return args


def check_files(args):
    """Raises a ValueError if a folder lacks a file that a later step reads."""
    for name, files in FILES.items():
        folder = getattr(args, name)
        for file in files if folder else ():
            if not (Path(folder) / file).exists():
                raise ValueError(f"--{name}: {folder} has no {file}.")
    if args.minimal_pairs:
        read_minimal_pairs(args.minimal_pairs)
    if args.glue:
        glue_folders(args.glue, with_test=False)


def pretrained(args, run, switches, seed):
    """Pre-trains with switches of pretrain_tpu.py; returns the folder that is named after them."""
    name = switches.replace("--", "").replace(" ", "_") or "bert"
    folder = Path(args.output) / "pretrained" / f"{name}-{seed}"
    scale = SCALES[args.scale]
    options = f"--steps {scale['steps']} --preset_every {scale['preset_every']} --seed {seed}"
    data = ["--corpus", args.corpus]
    if args.heldout:
        data += ["--heldout", args.heldout]
    for number, phase in enumerate(scale["pretrain"]):  # each continues in the same folder
        words = f"{phase} {switches} {options} {args.pretraining_options}"
        arguments = (*shlex.split(words), *data)
        run(RECIPES / "pretrain_tpu.py", arguments, folder, part=f".{number}")
    return folder


def judge_text(args, run, preset, folder):
    """Yields the scores of a preset that need no training."""
    data = []
    if args.heldout:
        data += ["--heldout_corpus", args.heldout]
    if args.minimal_pairs:
        data += ["--minimal_pairs", args.minimal_pairs]
    if not data:
        return
    arguments = (*SCALES[args.scale]["text"].split(), "--init", preset, *data)
    run(RECIPES / "score_texts.py", arguments, folder / "text")
    if args.dry_run:
        return
    found = json.loads((folder / "text/scores.json").read_text())
    if "perplexity" in found:
        yield "perplexity", found["perplexity"]
    shares = {"next_sentence_accuracy": "next sentence", "minimal_pairs": "minimal pairs"}
    for name, metric in shares.items():
        if name in found:
            yield metric, 100 * found[name]


def judge_trained(args, run, preset, folder, seed, probes, options="", scale=None):
    """Yields the scores of a preset that is fine-tuned, or read as features."""
    scale = scale or SCALES[args.scale]
    init = ["--init", preset, "--seed", seed]
    for probe, (recipe, data, metric) in TRAINED.items():
        source = getattr(args, data)
        if probe not in probes or not source:
            continue
        output = folder / f"{probe}-{seed}"
        train, dev = (Path(source) / name for name in FILES[data])
        words = (*init, "--train", train, "--dev", dev, *f"{scale[probe]} {options}".split())
        run(RECIPES / f"{recipe}.py", words, output)
        if not args.dry_run:
            best = max(epoch["f1"] for epoch in json.loads((output / "scores.json").read_text()))
            yield metric, best if probe == "squad" else 100 * best
    if "glue" in probes and args.glue:
        output = folder / f"glue-{seed}"
        words = (*init, "--task", "all", "--data", args.glue, *f"{scale['glue']} {options}".split())
        run(RECIPES / "finetune_glue.py", words, output)
        if not args.dry_run:
            for score in read_glue_results(output):
                yield score["metric"], score["value"]


class Variant(NamedTuple):
    """A row of a table: a model to pre-train, or a step of its training.

    Rows of several tables that have the same `switches` are the same model.
    """

    table: str
    row: str
    switches: str = ""
    step: int | None = None


def variants(args):
    """Lists the variants of the tables."""
    scale = SCALES[args.scale]
    found = [
        Variant("5", "BERT"),
        Variant("5", "No NSP", "--no_next_sentence"),
    ]
    for mix in MIXES[: scale["mixes"]]:
        masked, _, replaced = (int(share) / 100 for share in mix.split("/"))
        rates = f"--mask_token_rate {masked} --random_token_rate {replaced}"
        found.append(Variant("8", mix, "" if mix == MIXES[0] else rates))
    for size in scale["sizes"]:
        layers, width, heads = size.split("/")
        shape = f"--num_layers {layers} --hidden_dim {width} --num_heads {heads}"
        found.append(Variant("6", size, "" if size == scale["size"] else shape))
    for step in range(scale["preset_every"], scale["steps"] + 1, scale["preset_every"]):
        found.append(Variant("figure5", "Masked LM", step=step))
    return [variant for variant in found if variant.table in args.table]


def judge(args, run, variant, seed, pretraining_seed):
    """Yields the scores of a variant, `(metric, value)`."""
    folder = pretrained(args, run, variant.switches, pretraining_seed)
    output = Path(args.output) / "probes" / folder.name
    preset = folder / "preset"
    if variant.step not in (None, SCALES[args.scale]["steps"]):
        preset = folder / f"preset_{variant.step}"
        output = output / f"step_{variant.step}"
    if not seed:  # nothing random in them
        yield from judge_text(args, run, preset, output)
    yield from judge_trained(args, run, preset, output, seed, PROBES[variant.table])


def judge_features(args, run, seed):
    """Yields the scores of table 7, `(row, metric, value)`."""
    output = Path(args.output) / "probes" / "table7"
    scale = {**SCALES[args.scale], **SCALES[args.scale]["table7"]}
    for row, layers in {"Fine-tuned": "", **LAYERS}.items():
        if layers.endswith("--layers"):
            depth = keras_bert.BertBackbone.from_preset(args.init).num_layers
            layers += "".join(f" {layer}" for layer in range(1, depth + 1))
        folder = output / row.lower().replace(" ", "_")
        probes = ["features"] if layers else ["tags"]
        for _, value in judge_trained(args, run, args.init, folder, seed, probes, layers, scale):
            yield row, "F1 of tags", value


def all_scores(args, run):
    """Yields `(table, score)` as soon as a score is known, one seed of everything after another."""
    for pretraining_seed in range(args.pretraining_seeds):
        for seed in range(args.probe_seeds):
            seeds = {"pretraining_seed": pretraining_seed, "seed": seed}
            for variant in variants(args):
                for metric, value in judge(args, run, variant, seed, pretraining_seed):
                    score = {"row": variant.row, "step": variant.step, "metric": metric}
                    yield variant.table, {**score, **seeds, "value": value}
            if "7" in args.table and not pretraining_seed:
                for row, metric, value in judge_features(args, run, seed):
                    yield "7", {"row": row, "metric": metric, **seeds, "value": value}


def main(argv=None):
    args = parse_args(argv)
    check_files(args)
    run = functools.cache(functools.partial(run_once, dry_run=args.dry_run))
    found = {}
    try:
        for table, score in all_scores(args, run):
            found.setdefault(table, []).append(score)
    finally:  # also what is known when a step fails
        for table, scores in found.items():
            path = Path(args.output) / (table if table.startswith("figure") else f"table{table}")
            paper = paper_table(table, " (paper)")
            write_score_table(scores, path, paper)
            print(f"Wrote {path}.md, .csv and .svg.")


if __name__ == "__main__":
    _shared.run_recipe(main)
