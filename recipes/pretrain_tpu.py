r"""Pre-trains BERT with masked LM and next sentence prediction, on TPUs, GPUs or a CPU.

    python recipes/pretrain_tpu.py --corpus corpus --output bert --phase 128
    python recipes/pretrain_tpu.py ... --phase 512  # the rest as above

The defaults are the paper's (Devlin et al. 2019, appendix A.2): Base, batches of 256, and a million
steps, the first 90 % at 128 tokens, the last 10 % at 512. Phase 512 continues phase 128 in the same
folder. On TPUs, the default is bfloat16 and 20 steps per execution; on GPUs, give `--precision
mixed_bfloat16`. With `--init` a phase starts from a preset, with a schedule over its own steps;
`--epochs 3` counts them in passes over the corpus. A phase of any other length runs all steps: on a
small machine, start at 32 tokens, and continue with `--phase 128 --init`. pretrain_day.py trains
for a time, with newer settings; ablations.py runs the paper's ablations.

Rerun the same command to resume; changed settings are refused, but more --steps extend a run. The
result is OUTPUT/preset. Watch it with `tensorboard --logdir OUTPUT/logs`. Corpus and output may be
in a bucket, `gs://...`.
"""

import _shared
import keras_bert
from keras_bert.sizes import SIZES

MASKING = ["masked_lm_rate", "mask_token_rate", "random_token_rate", "whole_word_masking"]
NEW_MODEL = ["num_layers", "hidden_dim", "num_heads", "dropout", "attention_dropout"]
SETTINGS = "phase init size batch_size seed no_next_sentence packed".split()
SETTINGS += "learning_rate warmup_proportion weight_decay google_optimizer".split()


def parse_args(argv=None):
    parser = _shared.recipe_parser(__doc__)
    _shared.add_pretraining_arguments(parser)
    add = parser.add_argument
    add("--num_layers", type=int, help="replaces that of --size")
    add("--hidden_dim", type=int, help="replaces that of --size; feed-forward layers have 4 times")
    add("--num_heads", type=int, help="replaces that of --size")
    add("--phase", type=int, default=128, help="tokens per sequence: 128, then 512")
    length = parser.add_mutually_exclusive_group().add_argument
    length("--steps", type=int, default=1_000_000, help="optimizer steps in total")
    length("--epochs", type=int, help="replaces --steps: passes over the corpus, all in this phase")
    add("--learning_rate", type=float, default=1e-4, help="peak learning rate")
    add("--warmup_proportion", type=float, help="0.01 if not given, the paper's; 0.1 with --init")
    add("--weight_decay", type=float, default=0.01, help="weight decay")
    add("--dropout", type=float, help="dropout rate; by default 0.1, or the preset's with --init")
    add("--attention_dropout", type=float, help="dropout of attention, if different; 0 is faster")
    add("--no_next_sentence", action="store_true", help="masked LM only, on single sentences")
    add("--mask_token_rate", type=float, default=0.8, help="fraction of them that become [MASK]")
    add("--random_token_rate", type=float, default=0.1, help="fraction that become another word")
    add("--whole_word_masking", action="store_true", help="mask all pieces of a word together")
    add("--packed", action="store_true", help="fill rows of --batch_size with several sequences")
    add("--google_optimizer", action="store_true", help="no bias correction, as in Google's code")
    add("--preset_every", type=int, help="keep OUTPUT/preset_STEP of checkpoints at its multiples")
    args = parser.parse_args(argv)
    if min(args.steps, args.save_every, args.steps_per_execution or 1) < 1:
        parser.error("--steps, --save_every and --steps_per_execution must be at least 1")
    for name in NEW_MODEL:
        if args.init and getattr(args, name) is not None:
            parser.error(f"--{name} is for new models; with --init the preset has its own")
    if args.warmup_proportion is None:
        args.warmup_proportion = 0.1 if args.init else 0.01
    return args


def make_model(args, corpus):
    """Makes the pre-trainer, new or from a preset, and compiles it."""
    next_sentence = not args.no_next_sentence
    steps = phase_steps(args)[1] if args.init else args.steps
    if args.init:
        model = keras_bert.BertPretrainer.from_preset(args.init, next_sentence=next_sentence)
        corpus.check_tokenizer(model.preprocessor.tokenizer)
        reader, longest = model.preprocessor, min(args.phase, model.backbone.max_sequence_length)
        if reader.sequence_length < longest:  # tasks will read as many tokens
            model.preprocessor = reader.like(reader, sequence_length=longest)
    else:
        tokenizer = keras_bert.BertTokenizer(corpus.vocabulary_path, corpus.lowercase)
        size = dict(SIZES[args.size])
        size |= {name: getattr(args, name) for name in NEW_MODEL if getattr(args, name) is not None}
        if args.hidden_dim:
            size["intermediate_dim"] = 4 * args.hidden_dim
        backbone = keras_bert.BertBackbone(tokenizer.vocabulary_size(), **size)
        preprocessor = keras_bert.BertPreprocessor(tokenizer, sequence_length=args.phase)
        model = keras_bert.BertPretrainer(backbone, next_sentence, preprocessor)
    model.backbone.remat = args.remat
    warmup = round(args.warmup_proportion * steps)
    rate = keras_bert.WarmupLinearDecay(args.learning_rate, warmup, steps)
    arguments = model.default_compile_args() | {"steps_per_execution": args.steps_per_execution}
    arguments["optimizer"] = keras_bert.AdamW(
        rate, weight_decay=args.weight_decay, bias_correction=not args.google_optimizer
    )
    model.compile(**arguments)
    return model


def phase_steps(args):
    """Returns the optimizer steps at which the phase starts and ends."""
    if args.epochs or args.phase not in (128, 512):
        return 0, args.steps
    boundary = args.steps * 9 // 10
    start, stop = (0, boundary) if args.phase == 128 else (boundary, args.steps)
    return (0, stop - start) if args.init else (start, stop)


def data_settings(args):
    """Returns the arguments of `pretraining_dataset` that training and held-out text share."""
    names = ["batch_size", "packed", "seed"] + MASKING
    settings = {name: getattr(args, name) for name in names}
    return settings | {"sequence_length": args.phase, "next_sentence": not args.no_next_sentence}


def main(argv=None):
    args = parse_args(argv)
    corpus = keras_bert.Corpus(args.corpus)
    import keras  # slow: after the command line is checked

    import _runs

    strategy = _runs.start_training(args)
    preset, checkpoints = f"{args.output}/preset", f"{args.output}/checkpoints"
    if args.epochs:
        args.steps = -(-args.epochs * corpus.num_tokens // (args.batch_size * args.phase))
    start, stop = phase_steps(args)
    intervals = args.save_every, stop - start
    args.steps_per_execution = _runs.steps_per_execution(args, strategy, *intervals)
    for steps in intervals:
        if steps % args.steps_per_execution:
            raise ValueError(f"steps_per_execution={args.steps_per_execution} must divide {steps}.")
    data = data_settings(args)
    heldout = _runs.heldout_batches(args, corpus, data)
    checkpoint = keras_bert.TrainingCheckpoint(checkpoints)
    done = checkpoint.latest_step() or 0
    if not start <= done <= stop:
        fix = "raise --steps" if done > stop else f"run phase 128 to {start:,}, or give --init"
        raise ValueError(f"{args.output} is at step {done:,} of {start:,} to {stop:,}: {fix}.")
    settings = {name: getattr(args, name) for name in SETTINGS + MASKING + NEW_MODEL}
    settings["corpus_tokens"] = corpus.num_tokens
    _runs.write_settings(args.output, settings, resume=done > start, strategy=strategy)
    # Phases may differ in settings, but not in the words that the ids stand for.
    words = {"vocabulary_sha256": corpus.vocabulary_sha256, "lowercase": corpus.lowercase}
    _runs.write_settings(checkpoints, words, resume=done > 0, strategy=strategy)
    with strategy.scope():
        model = make_model(args, corpus)
        done = checkpoint.restore(model)
    print(_runs.describe_training(strategy, args.batch_size, model, args.accumulation_steps))
    rest = ""
    if stop < args.steps:
        other = 512 if args.phase == 128 else 128
        rest = f" --phase {other} takes the other {args.steps - stop:,}."
    print(f"{model.count_params():,} weights; steps {done:,} to {stop:,} of {args.steps:,}.{rest}")
    settings |= {"first_step": start, "steps": args.steps, "init": None}
    settings["corpus_documents"] = corpus.num_documents

    def keep_preset(epoch, logs):
        step = _runs.optimizer_step(model)
        if args.preset_every and step % args.preset_every == 0:
            model.save_to_preset(f"{preset}_{step}", settings)

    callbacks = [
        keras_bert.callbacks.Throughput(args.batch_size * args.phase),
        keras_bert.callbacks.Perplexity(),
        keras.callbacks.LambdaCallback(on_epoch_end=keep_preset),
        _runs.tensorboard(args.output),
        checkpoint,  # the last: a resumed run repeats what isn't in it
    ]
    while done < stop:
        interval = min(args.save_every, stop - done)  # an epoch; the last may be shorter
        epochs, first = (stop - done) // interval, done // args.save_every
        model.fit(
            keras_bert.pretraining_dataset(corpus, start_step=done - start, **data),
            validation_data=heldout,
            initial_epoch=first,
            epochs=first + epochs,
            steps_per_epoch=interval,
            accumulation_steps=args.accumulation_steps,
            callbacks=callbacks,
        )
        done += epochs * interval
    model.save_to_preset(preset, settings, _runs.heldout_scores(model, heldout))
    print(f"Pre-trained to step {done:,}. Preset: {preset}. Logs: {args.output}/logs.{rest}")


if __name__ == "__main__":
    _shared.run_recipe(main)
