"""Scores of a model, of some of its layers, and of these layers with the model as their teacher.

    python benchmarks/distillation.py --model all-MiniLM-L6-v2 --data data --layers 0 2 5

On each task and with each seed, the whole model is fine-tuned, then students with these layers
alone, without a teacher and with the fine-tuned model as theirs. `--students` adds presets to start
from, such as what `recipes/distill.py` writes. The best epoch is selected on the development set;
the table has means and standard deviations on the test set over the seeds, and CPU milliseconds of
a text in a batch of 32. Sentiment is accuracy on reviews of up to 128 tokens, NLI accuracy, WNUT-17
F1 of entities, similarity Spearman's correlation on STS-B.
"""

import argparse
import gc
import os
import tempfile
import time
from pathlib import Path

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import _small_tasks as small_tasks
import keras
import numpy as np

import keras_bert


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--model", required=True, help="the weights to start from")
    add("--data", type=Path, required=True, help="folder of the tasks' folders")
    add("--tasks", nargs="+", default=list(small_tasks.READ), choices=small_tasks.READ)
    add("--layers", type=int, nargs="*", default=[0, 2, 5], help="of the students")
    add("--students", nargs="*", default=[], help="presets that students start from, too")
    add("--epochs", type=int, default=3)
    add("--learning_rate", type=float, default=1e-4)
    add("--temperature", type=float, default=2.0)
    add("--alpha", type=float, default=0.9)
    add("--seeds", type=int, nargs="+", default=[1, 2, 3])
    return parser.parse_args(argv)


def run(args, task, data, length, seed, source, folder, **options):
    """Fine-tunes and returns the test score in percent, and CPU milliseconds of a text."""
    keras.backend.clear_session()
    gc.collect()
    keras.utils.set_random_seed(seed)
    train, dev, test = data
    teacher = options.pop("teacher", None)
    model = small_tasks.make(task, data, source, length, **options)
    keras_bert.finetune(
        model,
        train,
        dev,
        folder,
        keras_bert.FineTuning(
            epochs=args.epochs,
            learning_rate=args.learning_rate,
            seed=seed,
            temperature=args.temperature,
            alpha=args.alpha,
        ),
        teacher=teacher,
    )
    best = type(model).from_preset(folder / "best")
    x = small_tasks.first(test[0], 128)
    times = []
    for _ in range(3):
        started = time.process_time()
        best.predict(x, verbose=0)
        times.append(1000 * (time.process_time() - started) / 128)
    return small_tasks.score(task, best, *test), min(times), best.backbone.count_params()


def main(argv=None):
    args = parse_args(argv)
    found, sizes = {}, {}
    for task in args.tasks:
        data, length = small_tasks.READ[task](args.data)
        for seed in args.seeds:
            with tempfile.TemporaryDirectory() as folder:
                folder = Path(folder)
                ways = {"all layers": (args.model, {})}
                students = [(Path(student).name, student, {}) for student in args.students]
                if args.layers:
                    name = f"layers {' '.join(map(str, args.layers))}"
                    students.insert(0, (name, args.model, {"keep_layers": args.layers}))
                for name, source, own in students:
                    ways[name] = (source, own)
                    ways[f"{name}, with a teacher"] = (
                        source,
                        {**own, "teacher": folder / "0/best"},
                    )
                for number, (way, (source, options)) in enumerate(ways.items()):
                    output = folder / str(number)
                    *values, size = run(args, task, data, length, seed, source, output, **options)
                    found.setdefault(way, {}).setdefault(task, []).append(values)
                    sizes[way] = size
                    print(f"{task}, seed {seed}, {way}: {values[0]:.2f}", flush=True)
    print(f"| | weights | {' | '.join(f'{task} | ms' for task in args.tasks)} |")
    print(f"|---|---|{'---|---|' * len(args.tasks)}")
    for way, tasks in found.items():
        cells = []
        for values in tasks.values():
            scores, times = np.array(values).T
            cells += [f"{scores.mean():.1f} ± {scores.std():.1f}", f"{times.min():.1f}"]
        print(f"| {way} | {sizes[way] / 1e6:.1f} M | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
