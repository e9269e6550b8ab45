"""Public names of keras_bert, each with its module.

An import here makes a name public: `__init__.py` reads this list and loads names on first use.
"""

from keras_bert import callbacks as callbacks
from keras_bert import estimators as estimators
from keras_bert import layers as layers
from keras_bert import losses as losses
from keras_bert import metrics as metrics
from keras_bert import pictures as pictures
from keras_bert import readers as readers
from keras_bert import sizes as sizes
from keras_bert.corpus.learn_vocabulary import learn_vocabulary as learn_vocabulary
from keras_bert.corpus.prepare_corpus import prepare_corpus as prepare_corpus
from keras_bert.corpus.pretraining_dataset import heldout_dataset as heldout_dataset
from keras_bert.corpus.pretraining_dataset import pretraining_dataset as pretraining_dataset
from keras_bert.corpus.shards import Corpus as Corpus
from keras_bert.finetuning.finetune import finetune as finetune
from keras_bert.finetuning.settings import FineTuning as FineTuning
from keras_bert.models.backbone import Backbone as Backbone
from keras_bert.models.bert_backbone import BertBackbone as BertBackbone
from keras_bert.models.bert_classifier import BertClassifier as BertClassifier
from keras_bert.models.bert_embedder import BertEmbedder as BertEmbedder
from keras_bert.models.bert_multiple_choice import BertMultipleChoice as BertMultipleChoice
from keras_bert.models.bert_pretrainer import BertPretrainer as BertPretrainer
from keras_bert.models.bert_reranker import BertReranker as BertReranker
from keras_bert.models.bert_span_labeler import BertSpanLabeler as BertSpanLabeler
from keras_bert.models.bert_task import BertTask as BertTask
from keras_bert.models.bert_token_classifier import BertTokenClassifier as BertTokenClassifier
from keras_bert.models.modernbert_backbone import ModernBertBackbone as ModernBertBackbone
from keras_bert.preprocessing.batching import Batching as Batching
from keras_bert.preprocessing.bert_classifier_preprocessor import (
    BertClassifierPreprocessor as BertClassifierPreprocessor,
)
from keras_bert.preprocessing.bert_embedder_preprocessor import (
    BertEmbedderPreprocessor as BertEmbedderPreprocessor,
)
from keras_bert.preprocessing.bert_multiple_choice_preprocessor import (
    BertMultipleChoicePreprocessor as BertMultipleChoicePreprocessor,
)
from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor as BertPreprocessor
from keras_bert.preprocessing.bert_reranker_preprocessor import (
    BertRerankerPreprocessor as BertRerankerPreprocessor,
)
from keras_bert.preprocessing.bert_span_labeler_preprocessor import (
    BertSpanLabelerPreprocessor as BertSpanLabelerPreprocessor,
)
from keras_bert.preprocessing.bert_token_classifier_preprocessor import (
    BertTokenClassifierPreprocessor as BertTokenClassifierPreprocessor,
)
from keras_bert.text.byte_pair_tokenizer import BytePairTokenizer as BytePairTokenizer
from keras_bert.text.sentence_piece_tokenizer import (
    SentencePieceTokenizer as SentencePieceTokenizer,
)
from keras_bert.text.tokenizer import BertTokenizer as BertTokenizer
from keras_bert.training.adamw import AdamW as AdamW
from keras_bert.training.checkpointing import TrainingCheckpoint as TrainingCheckpoint
from keras_bert.training.strategy import get_strategy as get_strategy
from keras_bert.training.warmup_linear_decay import WarmupLinearDecay as WarmupLinearDecay

__version__: str
