"""Names of other libraries, for messages that say what to write here."""

CLASSES = {  # of KerasHub, transformers and sentence-transformers
    "BertTextClassifier": "BertClassifier",
    "BertTextClassifierPreprocessor": "BertClassifierPreprocessor",
    "BertTextEmbedder": "BertEmbedder",
    "BertTextEmbedderPreprocessor": "BertEmbedderPreprocessor",
    "BertMaskedLM": "BertPretrainer",
    "BertMaskedLMPreprocessor": "BertPreprocessor",
    "BertModel": "BertBackbone",
    "BertForPreTraining": "BertPretrainer",
    "BertForMaskedLM": "BertPretrainer",
    "BertForSequenceClassification": "BertClassifier",
    "BertForTokenClassification": "BertTokenClassifier",
    "BertForQuestionAnswering": "BertSpanLabeler",
    "BertForMultipleChoice": "BertMultipleChoice",
    "BertTokenizerFast": "BertTokenizer",
    "XLMRobertaTokenizer": "SentencePieceTokenizer",
    "RobertaTokenizer": "BytePairTokenizer",
    "ModernBertModel": "ModernBertBackbone",
    "MPNetTokenizer": "BertTokenizer",
    "SentenceTransformer": "BertEmbedder",
    "CrossEncoder": "BertReranker",
    # Of google-research/bert, TensorFlow Hub, bert-for-tf2 and the older keras-bert.
    "AdamWarmup": "AdamW",
    "BertConfig": "BertBackbone",
    "BertModelLayer": "BertBackbone",
    "FullTokenizer": "BertTokenizer",
    "KerasLayer": "BertBackbone",
    "Tokenizer": "BertTokenizer",
    "build_model_from_config": "BertBackbone",
    "gen_batch_inputs": "pretraining_dataset",
    "get_model": "BertBackbone",
    "get_pretrained": "BertTask",
    "load_trained_model_from_checkpoint": "BertBackbone",
    "load_vocabulary": "BertTokenizer",
}
ATTRIBUTES = {  # of models in KerasHub, scikit-learn and transformers
    "encode": "predict(texts) for arrays, or encode_document(texts) of a BertEmbedder",
    "predict_proba": 'answer(texts), whose dicts have "probabilities"',
    "save_pretrained": "save_to_hugging_face(folder), or save_to_preset(folder)",
}
ARGUMENTS = {  # of transformers, sentence-transformers and google-research/bert
    "do_lower_case": "lowercase",
    "num_labels": "num_classes",
    "max_length": "sequence_length",
    "max_seq_length": "sequence_length",
}
INPUTS = {  # of transformers, TensorFlow Model Garden and google-research/bert
    "input_ids": "token_ids",
    "input_word_ids": "token_ids",
    "attention_mask": "padding_mask",
    "input_mask": "padding_mask",
    "token_type_ids": "segment_ids",
    "input_type_ids": "segment_ids",
    "masked_lm_positions": "mask_positions",
}
