"""Turns a BERT of one library into a folder of another one.

    python recipes/convert_checkpoint.py hf://google-bert/bert-base-uncased bert --to keras_bert
    python recipes/convert_checkpoint.py uncased_L-12_H-768_A-12 bert_hf --to hugging_face

SOURCE is a folder of Google's TF1 code (or the prefix of a checkpoint in it), of Hugging Face, of
sentence-transformers, of KerasHub or of this library; `hf://user/name`, with `@revision` if need
be; `kaggle://...`; or the name of a KerasHub preset. What it holds is kept: a pre-trained model
with its heads, a classifier with its labels, an embedder with its pooling. An encoder alone becomes
an embedder (the mean of its tokens); `--task backbone` keeps it as it is, without its vocabulary. A
table says what became of each weight. Seconds, and little more memory than the weights.
"""

import argparse

import keras_bert

WRITERS = {
    "keras_bert": lambda model, folder: model.save_to_preset(folder),
    "hugging_face": keras_bert.save_to_hugging_face,
    "google": keras_bert.save_to_google,
    "keras_hub": keras_bert.save_to_keras_hub,
}


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("source", help="folder, hf://user/name, kaggle://... or name of a KerasHub preset")
    add("destination", help="folder to write; an earlier model there is replaced")
    add("--to", choices=sorted(WRITERS), default="keras_bert", help="whose format")
    add("--task", choices=["backbone", "pretrainer"], help="what to make of it, if not what it is")
    casing = parser.add_mutually_exclusive_group()
    casing.add_argument("--uncased", action="store_true", help="the vocabulary is uncased")
    casing.add_argument("--cased", action="store_true", help="the vocabulary is cased")
    return parser.parse_args(argv)


def main(argv=None):
    args = parse_args(argv)
    model_class = {
        None: keras_bert.BertTask,
        "backbone": keras_bert.BertBackbone,
        "pretrainer": keras_bert.BertPretrainer,
    }[args.task]
    lowercase = True if args.uncased else False if args.cased else None
    model = model_class.from_preset(args.source, lowercase=lowercase)
    print(model.load_report)
    WRITERS[args.to](model, args.destination)
    print(f"{args.destination} is a {type(model).__name__} for {args.to}.")


if __name__ == "__main__":
    main()
