r"""Pre-trains BERT with masked LM and next sentence prediction, on TPUs, GPUs or a CPU.

    python recipes/prepare_corpus.py books/*.txt --vocabulary vocab.txt --output corpus
    python recipes/pretrain_tpu.py --corpus corpus --output bert --phase 128 \
        --precision mixed_bfloat16 --steps_per_execution 20
    python recipes/pretrain_tpu.py --corpus corpus --output bert --phase 512 \
        --precision mixed_bfloat16 --steps_per_execution 20

The defaults are the paper's (Devlin et al. 2019, appendix A.2): Base, batches of 256, and a million
steps, the first 90 % at 128 tokens and the last 10 % at 512. The learning rate rises to 1e-4 in
10,000 steps and falls linearly to 0. Phase 512 continues phase 128 in the same output folder, with
the same schedule and optimizer. With `--init` a phase starts from the weights of a preset, with a
schedule over its own steps. A phase of any other length runs all steps. On a small machine, start a
small model at 32 tokens, where it learns to attend to neighbors much sooner, and continue at 128
with `--phase 128 --init`.

`--recipe day` has the settings of MosaicBERT (Portes et al. 2023) that leave the model BERT's.
`--hours 24` trains for a time: the learning rate follows the clock, which counts evaluations and
checkpoints, and not the pauses of a run that is resumed.

The paper's ablations are switches: `--no_next_sentence`, `--left_to_right`, the masking rates, and
the size; paper/ablations.py runs them all.

To go on from published weights on texts of your own domain, count in passes over them, and watch
texts that are held out:

    python recipes/pretrain_tpu.py --corpus mine --heldout others --init bert/preset \
        --output bert_mine --phase 128 --epochs 3 --batch_size 32 --learning_rate 5e-5

Rerun the same command to resume from the last checkpoint, with the data not yet seen; changed
settings are refused. The result is the preset OUTPUT/preset, the starting point for
`BertClassifier.from_preset`. Watch the training with `tensorboard --logdir OUTPUT/logs`. Corpus and
output may be in a bucket, `gs://...`.
"""

import math
import resource

import keras_bert
from keras_bert.recipes import _shared
from keras_bert.sizes import SIZES

MASKING = ["masked_lm_rate", "mask_token_rate", "random_token_rate", "whole_word_masking"]
SHAPE = ["num_layers", "hidden_dim", "num_heads"]
SETTINGS = "phase init size batch_size seed no_next_sentence left_to_right packed".split()
SETTINGS += "learning_rate warmup_proportion final_fraction beta_2 weight_decay lamb".split()
SETTINGS += ["google_optimizer", "dropout", "attention_dropout"] + MASKING + SHAPE
DAY = {"masked_lm_rate": 0.3, "no_next_sentence": True, "packed": True, "attention_dropout": 0.0}
DAY |= {"batch_size": 4096, "steps": 70_000, "learning_rate": 5e-4, "warmup_proportion": 0.06}
# MosaicBERT's weights decay by 1e-5 a step at the peak. Our decay is multiplied by the rate.
DAY |= {"final_fraction": 0.02, "beta_2": 0.98, "weight_decay": 0.02}
SMALL = {"learning_rate": 1e-3, "weight_decay": 0.01}  # of the day's models below Base's width


def parse_args(argv=None):
    parser = _shared.recipe_parser(__doc__)
    add = parser.add_argument
    add("--corpus", required=True, help="folder from prepare_corpus.py")
    add("--heldout", help="a second one, unseen in training, to evaluate at every checkpoint")
    add("--output", required=True, help="output folder")
    add(
        "--recipe",
        default="paper",
        choices=("paper", "day"),
        help="the paper's defaults, or a BERT in a day's",
    )
    add("--size", default="base", choices=sorted(SIZES), help="published size of the model")
    add("--num_layers", type=int, help="replaces that of --size")
    add("--hidden_dim", type=int, help="replaces that of --size; feed-forward layers have 4 times")
    add("--num_heads", type=int, help="replaces that of --size")
    add("--init", help="preset or published weights to start from")
    add("--phase", type=int, default=128, help="tokens per sequence: 128, then 512")
    add("--batch_size", type=int, default=256, help="examples per step, over all devices")
    length = parser.add_mutually_exclusive_group().add_argument
    length("--steps", type=int, default=1_000_000, help="optimizer steps in total")
    length("--epochs", type=int, help="passes over the corpus in this phase; replaces --steps")
    length("--hours", type=float, help="time for all steps of this phase; replaces --steps")
    add("--learning_rate", type=float, default=1e-4, help="peak learning rate")
    add("--warmup_proportion", type=float, help="0.01 if not given, the paper's; 0.1 with --init")
    add("--final_fraction", type=float, default=0.0, help="last rate, relative to the peak")
    add("--beta_2", type=float, default=0.999, help="decay of the second moment in AdamW and LAMB")
    add("--weight_decay", type=float, default=0.01, help="weight decay")
    add("--dropout", type=float, help="dropout rate; by default 0.1, or the preset's with --init")
    add("--attention_dropout", type=float, help="another one for attention; GPUs are faster with 0")
    off = {"action": "store_false", "default": False}
    add("--next_sentence", dest="no_next_sentence", help="undoes --no_next_sentence", **off)
    add("--no_next_sentence", action="store_true", help="masked LM only, on single sentences")
    add("--left_to_right", action="store_true", help="a causal encoder that predicts next words")
    add("--masked_lm_rate", type=float, default=0.15, help="fraction of tokens to predict")
    add("--heldout_rate", type=float, default=0.15, help="the same in the text of --heldout")
    add("--mask_token_rate", type=float, default=0.8, help="fraction of them that become [MASK]")
    add("--random_token_rate", type=float, default=0.1, help="fraction that become another word")
    add("--whole_word_masking", action="store_true", help="mask all pieces of a word together")
    add("--padded", dest="packed", help="undoes --packed", **off)
    add("--packed", action="store_true", help="fill rows of --batch_size with several sequences")
    add("--google_optimizer", action="store_true", help="no bias correction, as in Google's code")
    add("--lamb", action="store_true", help="LAMB, for batches of many thousand sequences")
    add("--accumulation_steps", type=int, default=1, help="split each batch into this many parts")
    add("--remat", action="store_true", help="save memory by recomputing activations")
    add("--steps_per_execution", type=int, default=1, help="steps per graph; 20 or more on TPUs")
    add("--save_every", type=int, default=1000, help="steps between checkpoints")
    add("--preset_every", type=int, help="steps between presets to keep, OUTPUT/preset_STEP")
    _shared.add_device_arguments(parser)
    args, _ = parser.parse_known_args(argv)
    if args.recipe == "day":
        is_small = (args.hidden_dim or SIZES[args.size]["hidden_dim"]) < 768
        own = {"attention_dropout": None} if args.init else {}
        parser.set_defaults(**DAY | (SMALL if is_small else {}) | own)
    args = parser.parse_args(argv)
    counts = ["steps", "epochs", "save_every", "preset_every", "steps_per_execution", "batch_size"]
    for name in (*counts, *SHAPE):
        if getattr(args, name) is not None and getattr(args, name) < 1:
            parser.error(f"--{name} must be at least 1; got {getattr(args, name)}")
    if args.hours is not None and not 0 < args.hours < 1e6:
        parser.error(f"--hours must be above 0, below a million; got {args.hours}")
    if args.preset_every and args.preset_every % args.save_every:
        parser.error(f"--preset_every must be a multiple of --save_every={args.save_every}")
    for name in ("dropout", "attention_dropout", *SHAPE):
        if args.init and getattr(args, name) is not None:
            parser.error(f"--{name} is for new models; with --init the preset has its own")
    if args.left_to_right and not args.no_next_sentence:
        parser.error("--left_to_right predicts words alone: give --no_next_sentence too")
    for name in MASKING:
        if args.left_to_right and getattr(args, name) != parser.get_default(name):
            parser.error(f"--left_to_right masks nothing: leave out --{name}")
    if args.warmup_proportion is None:
        args.warmup_proportion = 0.1 if args.init else 0.01
    return args


def make_model(args, corpus):
    """Makes the pre-trainer, new or from a preset, and compiles it."""
    next_sentence = not args.no_next_sentence
    if args.init:
        model = keras_bert.BertPretrainer.from_preset(args.init, next_sentence=next_sentence)
        if model.preprocessor is None:
            raise ValueError(f"{args.init} has no vocabulary to compare with the corpus's.")
        corpus.check_tokenizer(model.preprocessor.tokenizer)
        read, longest = model.preprocessor, min(args.phase, model.backbone.max_sequence_length)
        if read.sequence_length < longest:  # tasks will read as many tokens
            model.preprocessor = read.like(read, sequence_length=longest)
        if model.backbone.causal != args.left_to_right:
            kind = "causal, for" if model.backbone.causal else "bidirectional, not for"
            raise ValueError(f"The encoder of {args.init} is {kind} --left_to_right.")
    else:
        tokenizer = keras_bert.BertTokenizer(corpus.vocabulary_path, corpus.lowercase)
        dropout = 0.1 if args.dropout is None else args.dropout
        size = {**SIZES[args.size], "dropout": dropout, "causal": args.left_to_right}
        size["attention_dropout"] = args.attention_dropout
        size |= {name: getattr(args, name) for name in SHAPE if getattr(args, name)}
        if args.hidden_dim:
            size["intermediate_dim"] = 4 * args.hidden_dim
        backbone = keras_bert.BertBackbone(tokenizer.vocabulary_size(), **size)
        preprocessor = keras_bert.BertPreprocessor(tokenizer, sequence_length=args.phase)
        model = keras_bert.BertPretrainer(backbone, next_sentence, preprocessor)
    optimizer = (keras_bert.Lamb if args.lamb else keras_bert.AdamW)(
        args.learning_rate if args.hours else make_schedule(args),
        weight_decay=args.weight_decay,
        beta_2=args.beta_2,
        bias_correction=not args.google_optimizer,
    )
    model.backbone.remat = args.remat
    model.compile(
        **{**model.default_compile_args(), "optimizer": optimizer},
        steps_per_execution=args.steps_per_execution,
    )
    return model


def make_schedule(args):
    """Makes the schedule of the learning rate, over steps or over the seconds of --hours."""
    steps = phase_steps(args)[1] if args.init else args.steps
    total = 3600 * args.hours if args.hours else steps
    settings = {"continuous": args.recipe == "day", "final_fraction": args.final_fraction}
    warmup = round(args.warmup_proportion * total)
    return keras_bert.WarmupLinearDecay(args.learning_rate, warmup, total, **settings)


def phase_steps(args):
    """Returns the optimizer steps at which the phase starts and ends."""
    if args.epochs or args.hours or args.recipe == "day" or args.phase not in (128, 512):
        return 0, args.steps
    boundary = args.steps * 9 // 10
    if args.phase == 128:
        return 0, boundary
    return (0, args.steps - boundary) if args.init else (boundary, args.steps)


def check_intervals(args, steps):
    """Raises a ValueError if a checkpoint is due within an execution."""
    for interval in (min(args.save_every, steps), steps % args.save_every):
        if interval % args.steps_per_execution:
            raise ValueError(
                f"steps_per_execution={args.steps_per_execution} must divide the steps between "
                f"checkpoints; with {steps:,} steps and save_every={args.save_every}, there are "
                f"{interval} between two checkpoints. Change --save_every or --steps_per_execution."
            )


def data_settings(args, batch_size):
    """Returns the arguments of `pretraining_dataset` that training and held-out text share."""
    settings = {
        "batch_size": batch_size,
        "sequence_length": args.phase,
        "next_sentence": not args.no_next_sentence,
        "packed": args.packed,
        "seed": args.seed,
    }
    if args.left_to_right:
        return {**settings, "left_to_right": True}
    return {**settings, **{name: getattr(args, name) for name in MASKING}}


def main(argv=None):
    args = parse_args(argv)
    import keras  # slow: after the command line is checked

    from keras_bert.recipes._runs import describe_training, keep_settings, start_training

    strategy = start_training(args)
    logs, preset, checkpoints = (f"{args.output}/{n}" for n in ("logs", "preset", "checkpoints"))
    corpus = keras_bert.Corpus(args.corpus)
    if args.epochs:
        args.steps = math.ceil(args.epochs * corpus.num_tokens / (args.batch_size * args.phase))
    names = [*DAY] if args.hours is None else [name for name in ("hours", *DAY) if name != "steps"]
    print(f"Recipe {args.recipe}:", ", ".join(f"{name} {getattr(args, name)}" for name in names))
    if args.hours:
        args.steps = 10**9 // args.save_every * args.save_every  # out of reach
    start, stop = phase_steps(args)
    check_intervals(args, stop - start)
    heldout = None
    if args.heldout:
        settings = data_settings(args, max(1, args.batch_size // args.accumulation_steps))
        settings |= {} if args.left_to_right else {"masked_lm_rate": args.heldout_rate}
        heldout = keras_bert.heldout_dataset(
            args.heldout, corpus, multiple_of=args.steps_per_execution, **settings
        )
        print(f"Held out: {len(heldout):,} batches of {args.heldout}.")
    checkpoint = keras_bert.TrainingCheckpoint(checkpoints)
    done = checkpoint.latest_step() or 0
    if done < start:
        raise ValueError(
            f"Phase {args.phase} starts at step {start:,}, but {args.output} is at step {done:,}. "
            "Run phase 128 there first, or start from a preset with --init."
        )
    settings = {name: getattr(args, name) for name in SETTINGS}
    kept = settings | {"timed": bool(args.hours)}
    keep_settings(args.output, kept, resume=done > start, strategy=strategy)
    # Phases may differ in settings, but not in the words that the ids stand for.
    words = {name: getattr(corpus, name) for name in ("vocabulary_sha256", "lowercase")}
    keep_settings(checkpoints, words, resume=done > 0, strategy=strategy)
    with strategy.scope():
        model, budget = make_model(args, corpus), None
        if args.hours:
            budget = keras_bert.callbacks.TimeBudget(model.optimizer, make_schedule(args))
        done = checkpoint.restore(model)
    print(describe_training(strategy, args.batch_size, model, args.accumulation_steps))
    check_intervals(args, stop - done)
    settings |= {"recipe": args.recipe, "hours": args.hours, "first_step": start, "init": None}
    settings |= {f"corpus_{n}": getattr(corpus, f"num_{n}") for n in ("documents", "tokens")}
    settings |= {} if budget else {"steps": args.steps}
    length = budget or f"steps {done:,} to {stop:,} of {args.steps:,}"
    print(f"{model.count_params():,} weights; {length}.")

    def steps_done():
        return int(keras.ops.convert_to_numpy(model.optimizer.iterations))

    def keep_preset(epoch, logs):
        nonlocal saved
        step, before = steps_done(), saved
        saved = step
        if step // args.preset_every > before // args.preset_every:
            model.record_training(settings)
            model.save_to_preset(f"{preset}_{step}")

    saved = done  # the step of the last checkpoint
    throughput = keras_bert.callbacks.Throughput(args.batch_size * args.phase)
    callbacks = [throughput, keras_bert.callbacks.Perplexity()]
    if args.preset_every:  # before the checkpoint, after which a resumed run would not write it
        callbacks.append(keras.callbacks.LambdaCallback(on_epoch_end=keep_preset))
    callbacks += [keras_bert.callbacks.TrainingCurves(logs), checkpoint]
    if budget:
        budget.measure(model, checkpoint, heldout)
        callbacks.append(budget)
    while done < stop and not (budget and budget.is_over):
        # An epoch is the interval between checkpoints; the last may be shorter.
        interval = min(args.save_every, stop - done)
        epochs = (stop - done) // interval
        first = done // args.save_every
        data = data_settings(args, args.batch_size) | {"start_step": done - start}
        model.fit(
            keras_bert.pretraining_dataset(corpus, **data),
            validation_data=heldout,
            initial_epoch=first,
            epochs=first + epochs,
            steps_per_epoch=interval,
            accumulation_steps=args.accumulation_steps,
            callbacks=callbacks,
        )
        done = steps_done()
    scores = {}
    if heldout is not None:  # again: a resumed run may have had no step left
        found = model.evaluate(heldout, verbose=0, return_dict=True)
        keras_bert.callbacks.Perplexity().on_epoch_end(done, found)
        perplexity = found["masked_lm_perplexity"]
        print(f"Held out: perplexity {perplexity:,.1f} at step {done:,}.")
        scores = {"held-out text": {"perplexity": perplexity}}
    model.record_training(settings, scores)  # for the preset's README.md
    model.save_to_preset(preset)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"Pre-trained to step {done:,}. Preset: {preset}. Logs: {logs}. Peak GiB: {peak:.2f}.")


if __name__ == "__main__":
    _shared.run_recipe(main)
