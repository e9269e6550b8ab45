r"""Distills BERT to a small encoder on texts without labels, by the teacher's self-attention.

    python recipes/distill.py --teacher bert/preset --keep_layers 0 2 5 --texts books/ --output mine
    python recipes/distill.py --teacher bert/preset --size mini --corpus corpus --output mini

The student keeps some of the teacher's layers, or has a published size and starts from random
weights, which takes many more steps. It learns the relations between tokens of the teacher's
queries, keys and values (MiniLMv2, Wang et al. 2021; of Large, it takes `--teacher_layer 20`).

`--texts` first become a corpus in OUTPUT/corpus; prepare_corpus.py has more options. Rerun the same
command to resume from the last checkpoint; changed settings are refused. OUTPUT/preset is the
student with the teacher's preprocessor, for `BertClassifier.from_preset` and every other task.
Watch the training with `tensorboard --logdir OUTPUT/logs`.
"""

import _shared
import keras_bert
from keras_bert.sizes import SIZES

SETTINGS = "teacher texts corpus keep_layers size teacher_layer relation_heads sequence_length"
SETTINGS += " packed batch_size steps learning_rate warmup_proportion seed"


def parse_args(argv=None):
    parser = _shared.recipe_parser(__doc__)
    add = parser.add_argument
    add("--teacher", required=True, help="preset or published weights to learn from")
    student = parser.add_mutually_exclusive_group(required=True)
    layers = "take only these encoder layers, e.g. 0 2 4"
    student.add_argument("--keep_layers", type=int, nargs="+", help=layers)
    student.add_argument("--size", choices=sorted(SIZES), help="published size of the model")
    texts = parser.add_mutually_exclusive_group(required=True)
    texts.add_argument("--texts", help="file, folder or pattern, as of prepare_corpus.py")
    texts.add_argument("--corpus", help="folder from prepare_corpus.py")
    add("--output", required=True, help="output folder")
    add("--teacher_layer", type=int, default=-1, help="layer to learn from, from 0; -1 is the last")
    add("--relation_heads", type=int, help="by default, heads of 16 numbers of the teacher's width")
    add("--sequence_length", type=int, default=128, help="tokens per sequence")
    add("--packed", action="store_true", help="fill rows of --batch_size with several sequences")
    add("--batch_size", type=int, default=256, help="examples per step, over all devices")
    add("--accumulation_steps", type=int, default=1, help="split each batch into this many parts")
    add("--steps", type=int, default=100_000, help="optimizer steps in total")
    add("--save_every", type=int, default=1000, help="steps between checkpoints")
    add("--learning_rate", type=float, default=1e-4, help="peak learning rate")
    add("--warmup_proportion", type=float, default=0.1, help="fraction of all steps for warm-up")
    _shared.add_device_arguments(parser)
    args = parser.parse_args(argv)
    if args.save_every < 1 or args.steps < 1 or args.steps % args.save_every:
        parser.error(f"--steps must be a multiple of --save_every={args.save_every}")
    return args


def make_student(args, teacher):
    """Makes the encoder that learns."""
    if args.keep_layers:
        return keras_bert.BertBackbone.from_preset(args.teacher, keep_layers=args.keep_layers)
    positions = {"max_sequence_length": teacher.max_sequence_length}
    return keras_bert.BertBackbone(teacher.vocabulary_size, **SIZES[args.size], **positions)


def make_model(args):
    """Makes the student and its teacher, and compiles them."""
    from _relation_distiller import RelationDistiller

    teacher = keras_bert.BertBackbone.from_preset(args.teacher)
    length = args.sequence_length
    model = RelationDistiller(
        make_student(args, teacher),
        teacher,
        teacher_layer=args.teacher_layer,
        num_relation_heads=args.relation_heads,
        preprocessor=keras_bert.BertPreprocessor.from_preset(args.teacher, sequence_length=length),
    )
    warmup = round(args.warmup_proportion * args.steps)
    rate = keras_bert.WarmupLinearDecay(args.learning_rate, warmup, args.steps)
    model.compile(optimizer=keras_bert.AdamW(rate))
    return model


def make_rows(args, tokenizer, start_step, strategy):
    """Makes batches of the texts, which nothing masks."""
    if args.texts:
        from _runs import is_chief, wait_for_all

        args.corpus = f"{args.output}/corpus"
        if is_chief(strategy):
            keras_bert.prepare_corpus(args.texts, args.corpus, tokenizer)
        wait_for_all("the corpus", strategy)
    corpus = keras_bert.Corpus(args.corpus)
    corpus.check_tokenizer(tokenizer)
    unmasked = {"mask_token_rate": 0.0, "random_token_rate": 0.0, "next_sentence": False}
    settings = {n: getattr(args, n) for n in ("batch_size", "sequence_length", "packed", "seed")}
    rows = keras_bert.pretraining_dataset(corpus, start_step=start_step, **settings, **unmasked)
    return rows.map(lambda x, *labels: {name: x[name] for name in x if name != "mask_positions"})


def main(argv=None):
    args = parse_args(argv)
    from _runs import describe_training, start_training, write_settings

    strategy = start_training(args)  # slow: after parse_args
    checkpoint = keras_bert.TrainingCheckpoint(f"{args.output}/checkpoints")
    with strategy.scope():
        model = make_model(args)
        done = checkpoint.restore(model)
    settings = {name: getattr(args, name) for name in SETTINGS.split()}
    write_settings(args.output, settings, resume=done > 0, strategy=strategy)
    print(describe_training(strategy, args.batch_size, model, args.accumulation_steps))
    throughput = keras_bert.callbacks.Throughput(args.batch_size * args.sequence_length)
    curves = keras_bert.callbacks.TrainingCurves(f"{args.output}/logs")
    model.fit(
        make_rows(args, model.preprocessor.tokenizer, done, strategy),
        initial_epoch=done // args.save_every,
        epochs=args.steps // args.save_every,
        steps_per_epoch=args.save_every,
        accumulation_steps=args.accumulation_steps,
        callbacks=[throughput, curves, checkpoint],
    )
    model.record_training(settings)
    model.save_to_preset(f"{args.output}/preset")
    print(f"Distilled {model.backbone} in {args.steps:,} steps. Preset: {args.output}/preset.")


if __name__ == "__main__":
    _shared.run_recipe(main)
