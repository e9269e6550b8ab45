r"""Pre-trains a BERT in a day: newer settings than the paper's, and a budget of time.

    python recipes/pretrain_day.py --corpus corpus --heldout others --output day --hours 24 \
        --precision mixed_bfloat16 --steps_per_execution 20

The settings are those of MosaicBERT (Portes et al. 2023) that leave the model BERT's. The learning
rate follows the clock, which counts evaluations and checkpoints, and not the pauses of a run that
is resumed. In another folder, `--init day/preset --sequence_length 512 --hours 2` continues with
longer rows.

Rerun the same command to resume from the last checkpoint; changed settings are refused. The result
is OUTPUT/preset, for every task. Watch it with `tensorboard --logdir OUTPUT/logs`.
"""

import _shared
import keras_bert
from keras_bert.sizes import SIZES

SETTINGS = "init size sequence_length batch_size seed learning_rate warmup_proportion beta_2 padded"
SETTINGS += " final_fraction dropout attention_dropout masked_lm_rate next_sentence"
DECAY = 1e-5  # of the weights, a step at the peak; our decay is multiplied by the rate


def parse_args(argv=None):
    parser = _shared.recipe_parser(__doc__)
    add = parser.add_argument
    add("--corpus", required=True, help="folder from prepare_corpus.py")
    add("--heldout", help="a second one, unseen in training, to evaluate at every checkpoint")
    add("--output", required=True, help="output folder")
    add("--hours", type=float, default=24.0, help="hours to train for, without pauses")
    add("--size", default="base", choices=sorted(SIZES), help="published size of the model")
    add("--init", help="preset or published weights to start from")
    add("--sequence_length", type=int, default=128, help="tokens per sequence")
    add("--batch_size", type=int, default=4096, help="examples per step, over all devices")
    add("--learning_rate", type=float, help="peak; by default, 5e-4, or 1e-3 below Base's width")
    add("--warmup_proportion", type=float, default=0.06, help="fraction of the hours for warm-up")
    add("--final_fraction", type=float, default=0.02, help="last rate, relative to the peak")
    add("--beta_2", type=float, default=0.98, help="decay of AdamW's second moment")
    add("--dropout", type=float, default=0.1, help="dropout rate of a new model")
    add("--attention_dropout", type=float, default=0.0, help="another one for attention")
    add("--masked_lm_rate", type=float, default=0.3, help="fraction of tokens to predict")
    add("--next_sentence", action="store_true", help="also predict next sentences, in pairs")
    add("--padded", action="store_true", help="a sequence per row, in place of packed rows")
    add("--accumulation_steps", type=int, default=1, help="split each batch into this many parts")
    add("--remat", action="store_true", help="save memory by recomputing activations")
    add("--steps_per_execution", type=int, default=1, help="steps per graph; 20 or more on TPUs")
    add("--save_every", type=int, default=1000, help="steps between checkpoints")
    _shared.add_device_arguments(parser)
    args = parser.parse_args(argv)
    if not 0 < args.hours < 1e6:
        parser.error(f"--hours must be above 0, below a million; got {args.hours}")
    if args.save_every < 1 or args.save_every % args.steps_per_execution:
        parser.error(f"--save_every must be a multiple of {args.steps_per_execution=}")
    return args


def make_backbone(args, tokenizer):
    """Makes the encoder, new or from a preset."""
    if args.init:
        return keras_bert.Backbone.from_preset(args.init)
    return keras_bert.BertBackbone(
        tokenizer.vocabulary_size(),
        **SIZES[args.size],
        dropout=args.dropout,
        attention_dropout=args.attention_dropout,
    )


def make_model(args, corpus):
    """Makes and compiles the pre-trainer; returns it and its budget."""
    from _time_budget import TimeBudget  # imports Keras: after parse_args

    tokenizer = keras_bert.BertTokenizer(corpus.vocabulary_path, corpus.lowercase)
    if args.init:
        corpus.check_tokenizer(keras_bert.BertTokenizer.from_preset(args.init))
    backbone = make_backbone(args, tokenizer)
    backbone.remat = args.remat
    preprocessor = keras_bert.BertPreprocessor(tokenizer, sequence_length=args.sequence_length)
    model = keras_bert.BertPretrainer(backbone, args.next_sentence, preprocessor)
    peak = args.learning_rate or (5e-4 if backbone.hidden_dim >= 768 else 1e-3)
    arguments = model.default_compile_args()
    arguments["optimizer"] = keras_bert.AdamW(peak, weight_decay=DECAY / peak, beta_2=args.beta_2)
    model.compile(**arguments, steps_per_execution=args.steps_per_execution)
    seconds = 3600 * args.hours
    schedule = keras_bert.WarmupLinearDecay(
        peak,
        args.warmup_proportion * seconds,
        seconds,
        continuous=True,
        final_fraction=args.final_fraction,
    )
    return model, TimeBudget(model.optimizer, schedule)


def main(argv=None):
    args = parse_args(argv)
    from _runs import (  # slow: after parse_args
        describe_training,
        start_training,
        write_settings,
    )

    strategy = start_training(args)
    corpus = keras_bert.Corpus(args.corpus)
    data = {
        "batch_size": args.batch_size,
        "sequence_length": args.sequence_length,
        "next_sentence": args.next_sentence,
        "packed": not args.padded,
        "seed": args.seed,
    }
    heldout = None
    if args.heldout:  # with as many masks as other recipes: their perplexities compare
        options = data | {"batch_size": max(1, args.batch_size // args.accumulation_steps)}
        options["multiple_of"] = args.steps_per_execution
        heldout = keras_bert.heldout_dataset(args.heldout, corpus, **options)
        print(f"Held out: {len(heldout):,} batches of {args.heldout}.")
    checkpoint = keras_bert.TrainingCheckpoint(f"{args.output}/checkpoints")
    with strategy.scope():
        model, budget = make_model(args, corpus)
        done = checkpoint.restore(model)
    settings = {name: getattr(args, name) for name in SETTINGS.split()}
    settings |= {"corpus_documents": corpus.num_documents, "corpus_tokens": corpus.num_tokens}
    words = {"vocabulary_sha256": corpus.vocabulary_sha256, "lowercase": corpus.lowercase}
    write_settings(args.output, settings | words, resume=done > 0, strategy=strategy)
    print(describe_training(strategy, args.batch_size, model, args.accumulation_steps))
    print(f"{model.count_params():,} weights; {budget}.")
    budget.measure(model, checkpoint, heldout)
    if not budget.is_over:
        model.fit(
            keras_bert.pretraining_dataset(
                corpus, masked_lm_rate=args.masked_lm_rate, start_step=done, **data
            ),
            validation_data=heldout,
            initial_epoch=done // args.save_every,
            epochs=10**9,  # out of reach: the budget ends them
            steps_per_epoch=args.save_every,
            accumulation_steps=args.accumulation_steps,
            callbacks=[
                keras_bert.callbacks.Throughput(args.batch_size * args.sequence_length),
                keras_bert.callbacks.Perplexity(),
                keras_bert.callbacks.TrainingCurves(f"{args.output}/logs"),
                checkpoint,
                budget,
            ],
        )
    done = int(model.optimizer.iterations)
    scores = {}
    if heldout is not None:  # again: a resumed run may have had no step left
        logs = model.evaluate(heldout, verbose=0, return_dict=True)
        keras_bert.callbacks.Perplexity().on_epoch_end(done, logs)
        perplexity = logs["masked_lm_perplexity"]
        print(f"Held out: perplexity {perplexity:,.1f}.")
        scores = {"held-out text": {"perplexity": perplexity}}
    model.save_to_preset(f"{args.output}/preset", settings | {"hours": args.hours}, scores)
    print(f"Pre-trained to step {done:,}. Preset: {args.output}/preset. Logs: {args.output}/logs.")


if __name__ == "__main__":
    _shared.run_recipe(main)
