"""Pre-trains BERT with masked LM and next sentence prediction, on a TPU, GPUs or a CPU.

    python recipes/prepare_corpus.py books/*.txt --vocabulary vocab.txt --output corpus
    python recipes/pretrain_tpu.py --corpus corpus --output bert --phase 128
    python recipes/pretrain_tpu.py --corpus corpus --output bert --phase 512

The defaults are the paper's (Devlin et al. 2019, appendix A.2): Base, batches of 256, a million
steps, of which the first 90 % at 128 tokens and the last 10 % at 512, a learning rate that rises
to 1e-4 in 10,000 steps and falls linearly to 0. Phase 512 goes on from phase 128 in the same
output folder: one schedule, one optimizer. `--init` starts from the weights of a preset instead,
with a schedule of its own over the steps of the phase. A phase of another length is one of its
own, over all the steps: a small model on a small machine is best begun at 32 tokens, where it
learns to look at neighbours much sooner, and brought to 128 by `--phase 128 --init`.

Started again, it goes on from its last checkpoint and sees the data that it hadn't seen yet;
another `--seed`, `--batch_size` or `--init` is refused then. It ends with a preset,
`OUTPUT/preset`, that `BertClassifier.from_preset` starts from. Watch it with
`tensorboard --logdir OUTPUT/logs`. On a TPU, corpus and output may lie in a bucket: `gs://...`.
"""

import argparse
import os
import resource

import keras

import keras_bert
from keras_bert.sizes import SIZES


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--corpus", required=True, help="folder that prepare_corpus.py wrote")
    add("--output", required=True, help="folder for checkpoints, logs and the final preset")
    keras_bert.add_device_arguments(parser)
    add("--size", default="base", choices=sorted(SIZES), help="architecture, unless --init")
    add("--init", help="preset or published weights to start from")
    add("--phase", type=int, default=128, help="sequence length: 128, then 512")
    add("--batch_size", type=int, default=256, help="sequences a step, over all devices")
    add("--steps", type=int, default=1_000_000, help="optimizer steps of both phases together")
    add("--learning_rate", type=float, default=1e-4, help="its peak")
    add("--warmup_steps", type=int, default=10_000)
    add("--weight_decay", type=float, default=0.01)
    add("--dropout", type=float, default=0.1)
    add("--no_next_sentence", action="store_true", help="masked LM on single sentences alone")
    add("--whole_word_masking", action="store_true")
    add("--google_optimizer", action="store_true", help="no bias correction, as Google's code")
    add("--lamb", action="store_true", help="LAMB, for batches of many thousand sequences")
    add("--accumulation_steps", type=int, default=1, help="parts of a batch, one after the other")
    add("--remat", action="store_true", help="less memory, for a second forward pass")
    add("--steps_per_execution", type=int, default=1, help="steps in one graph; 20 or more on TPUs")
    add("--precision", default="mixed_bfloat16", choices=["mixed_bfloat16", "float32"])
    add("--save_every", type=int, default=1000, help="steps between checkpoints")
    add("--seed", type=int, default=12345)
    return parser.parse_args(argv)


def make_model(args):
    """The pre-trainer, new or from a preset, compiled."""
    corpus = keras_bert.Corpus(args.corpus)
    next_sentence = not args.no_next_sentence
    if args.init:
        model = keras_bert.BertPretrainer.from_preset(args.init, next_sentence=next_sentence)
        if model.preprocessor is None:
            raise ValueError(f"{args.init} has no vocabulary to compare with the corpus's.")
        corpus.check_tokenizer(model.preprocessor.tokenizer)
    else:
        tokenizer = keras_bert.BertTokenizer(corpus.vocabulary_path, corpus.lowercase)
        backbone = keras_bert.BertBackbone(
            tokenizer.vocabulary_size(), dropout=args.dropout, **SIZES[args.size]
        )
        preprocessor = keras_bert.BertPreprocessor(tokenizer, sequence_length=args.phase)
        model = keras_bert.BertPretrainer(backbone, next_sentence, preprocessor)
    rate = keras_bert.WarmupLinearDecay(args.learning_rate, args.warmup_steps, schedule_steps(args))
    optimizer = (keras_bert.Lamb if args.lamb else keras_bert.AdamW)(
        rate, weight_decay=args.weight_decay, bias_correction=not args.google_optimizer
    )
    model.backbone.remat = args.remat
    model.compile(
        **{**model.default_compile_args(), "optimizer": optimizer},
        steps_per_execution=args.steps_per_execution,
    )
    return model


def phase_steps(args):
    """The optimizer steps at which the phase starts and ends."""
    if args.phase not in (128, 512):
        return 0, args.steps
    boundary = args.steps * 9 // 10
    if args.phase == 128:
        return 0, boundary
    return (0, args.steps - boundary) if args.init else (boundary, args.steps)


def schedule_steps(args):
    """The optimizer steps over which the learning rate falls to 0."""
    return phase_steps(args)[1] if args.init else args.steps


def settings_of(args):
    """What must be the same where a phase goes on."""
    names = ["phase", "init", "size", "batch_size", "seed", "no_next_sentence"]
    return {name: getattr(args, name) for name in [*names, "whole_word_masking"]}


def check_intervals(args, steps):
    """Raises a ValueError if a checkpoint would have to be written within an execution."""
    for interval in (min(args.save_every, steps), steps % args.save_every):
        if interval % args.steps_per_execution:
            raise ValueError(
                f"steps_per_execution={args.steps_per_execution} must divide the steps between "
                f"checkpoints; of {steps:,} steps with save_every={args.save_every}, {interval} "
                "lie between two. Choose it so, or another save_every."
            )


def main(argv=None):
    args = parse_args(argv)
    for name in ("steps", "save_every", "steps_per_execution", "batch_size"):
        if getattr(args, name) < 1:
            raise ValueError(f"{name} must be at least 1; got {getattr(args, name)}.")
    strategy = keras_bert.get_strategy(args.strategy, args.tpu, args.devices)
    keras.utils.set_random_seed(args.seed)
    keras.config.set_dtype_policy(args.precision)
    checkpoints, logs, preset = (
        os.path.join(args.output, part) for part in ("checkpoints", "logs", "preset")
    )
    start, stop = phase_steps(args)
    checkpoint = keras_bert.TrainingCheckpoint(checkpoints)
    with strategy.scope():
        model = make_model(args)
        done = checkpoint.restore(model)
    parts = args.accumulation_steps
    print(keras_bert.describe_training(strategy, args.batch_size, model, parts) + ".")
    if done < start:
        raise ValueError(
            f"Phase {args.phase} starts at step {start:,}, but {args.output} has come to step "
            f"{done:,}. Run phase 128 there first, or start from a preset with --init."
        )
    check_intervals(args, stop - done)
    keras_bert.keep_settings(args.output, settings_of(args), done > start, strategy)
    print(f"{model.count_params():,} weights; steps {done:,} to {stop:,} of {args.steps:,}.")

    callbacks = [
        keras_bert.Throughput(args.batch_size * args.phase),
        keras.callbacks.TensorBoard(logs, update_freq=100),
        checkpoint,
    ]
    while done < stop:  # an epoch is the interval between checkpoints; the last may be shorter
        interval = min(args.save_every, stop - done)
        epochs = (stop - done) // interval
        data = keras_bert.pretraining_dataset(
            args.corpus,
            batch_size=args.batch_size,
            sequence_length=args.phase,
            next_sentence=not args.no_next_sentence,
            whole_word_masking=args.whole_word_masking,
            seed=args.seed,
            start_step=done - start,
        )
        first = done // args.save_every
        model.fit(
            data,
            initial_epoch=first,
            epochs=first + epochs,
            steps_per_epoch=interval,
            accumulation_steps=parts,
            callbacks=callbacks,
        )
        done += epochs * interval
    model.save_to_preset(preset)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"Peak memory of this process: {peak:.2f} GiB.")
    print(f"Pre-trained to step {stop:,}. Preset: {preset}. Logs: {logs}.")


if __name__ == "__main__":
    main()
