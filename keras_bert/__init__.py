"""BERT for Keras 3, for its whole life: vocabulary, pre-training, fine-tuning, serving.

Shapes in this package are written with these letters:

    B batch      S sequence    P predictions (masked positions)
    H hidden     N heads       D head width (H / N)
    I intermediate             V vocabulary    C classes

Names are loaded on first use, so that the models run where TensorFlow is not installed
(`KERAS_BACKEND=jax` or `torch`); text and data need TensorFlow and TensorFlow Text.
"""

from importlib import import_module

__version__ = "0.1.0"

_HOMES = {
    "AdamW": "keras_bert.training.adamw",
    "BertBackbone": "keras_bert.models.bert_backbone",
    "BertClassifier": "keras_bert.models.bert_classifier",
    "BertEmbedder": "keras_bert.models.bert_embedder",
    "BertMultipleChoice": "keras_bert.models.bert_multiple_choice",
    "BertPreprocessor": "keras_bert.preprocessing.bert_preprocessor",
    "BertClassifierPreprocessor": "keras_bert.preprocessing.bert_classifier_preprocessor",
    "BertEmbedderPreprocessor": "keras_bert.preprocessing.bert_embedder_preprocessor",
    "BertMultipleChoicePreprocessor": "keras_bert.preprocessing.bert_multiple_choice_preprocessor",
    "BertSpanLabelerPreprocessor": "keras_bert.preprocessing.bert_span_labeler_preprocessor",
    "BertTokenClassifierPreprocessor": "keras_bert.preprocessing.bert_token_classifier_preprocessor",
    "Batching": "keras_bert.preprocessing.batching",
    "load_preprocessor": "keras_bert.presets.preset",
    "BertPretrainer": "keras_bert.models.bert_pretrainer",
    "BertSpanLabeler": "keras_bert.models.bert_span_labeler",
    "BertTask": "keras_bert.models.bert_task",
    "BertTokenClassifier": "keras_bert.models.bert_token_classifier",
    "BertTokenizer": "keras_bert.text.tokenizer",
    "Corpus": "keras_bert.corpus.shards",
    "Lamb": "keras_bert.training.lamb",
    "LayerCombination": "keras_bert.layers.layer_combination",
    "Throughput": "keras_bert.training.throughput",
    "TpuPlan": "keras_bert.planning.tpu_plan",
    "TrainingCheckpoint": "keras_bert.training.checkpointing",
    "WarmupLinearDecay": "keras_bert.training.warmup_linear_decay",
    "add_device_arguments": "keras_bert.training.strategy",
    "check_batch": "keras_bert.training.describe_training",
    "classification_scores": "keras_bert.metrics.classification",
    "describe_training": "keras_bert.training.describe_training",
    "entity_scores": "keras_bert.metrics.entities",
    "finetune": "keras_bert.training.finetune",
    "finetune_grid": "keras_bert.training.finetune_grid",
    "get_strategy": "keras_bert.training.strategy",
    "glue_scores": "keras_bert.metrics.glue",
    "is_chief": "keras_bert.training.processes",
    "keep_settings": "keras_bert.training.run_settings",
    "learn_vocabulary": "keras_bert.text.learn_vocabulary",
    "multi_label_scores": "keras_bert.metrics.multi_label",
    "prepare_corpus": "keras_bert.corpus.prepare_corpus",
    "pretraining_dataset": "keras_bert.corpus.pretraining_dataset",
    "read_choices": "keras_bert.readers.choices",
    "read_conll": "keras_bert.readers.conll",
    "read_glue": "keras_bert.readers.glue",
    "read_squad": "keras_bert.readers.squad",
    "read_table": "keras_bert.readers.table",
    "regression_scores": "keras_bert.metrics.regression",
    "save_to_google": "keras_bert.presets.save_checkpoint",
    "save_to_hugging_face": "keras_bert.presets.save_checkpoint",
    "save_to_keras_hub": "keras_bert.presets.save_checkpoint",
    "sizes": None,
    "squad_scores": "keras_bert.metrics.squad",
    "texts_from_columns": "keras_bert.readers.texts_from_columns",
    "write_glue_submission": "keras_bert.readers.glue_submission",
}

__all__ = sorted(_HOMES)


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module 'keras_bert' has no attribute {name!r}")
    home = _HOMES[name]
    value = (
        import_module(f"{__name__}.{name}") if home is None else getattr(import_module(home), name)
    )
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()) | set(__all__))
