"""Public names of keras_bert, each with its module.

An import here makes a name public: `__init__.py` reads this list and loads names on first use.
"""

from . import callbacks as callbacks
from . import estimators as estimators
from . import kernels as kernels
from . import layers as layers
from . import losses as losses
from . import metrics as metrics
from . import pictures as pictures
from . import readers as readers
from . import sizes as sizes
from . import testing as testing
from .corpus.learn_vocabulary import learn_vocabulary as learn_vocabulary
from .corpus.prepare_corpus import prepare_corpus as prepare_corpus
from .corpus.pretraining_dataset import heldout_dataset as heldout_dataset
from .corpus.pretraining_dataset import pretraining_dataset as pretraining_dataset
from .corpus.shards import Corpus as Corpus
from .finetuning.finetune import finetune as finetune
from .finetuning.settings import FineTuning as FineTuning
from .models.backbone import Backbone as Backbone
from .models.bert_backbone import BertBackbone as BertBackbone
from .models.bert_classifier import BertClassifier as BertClassifier
from .models.bert_embedder import BertEmbedder as BertEmbedder
from .models.bert_multiple_choice import BertMultipleChoice as BertMultipleChoice
from .models.bert_pretrainer import BertPretrainer as BertPretrainer
from .models.bert_reranker import BertReranker as BertReranker
from .models.bert_span_labeler import BertSpanLabeler as BertSpanLabeler
from .models.bert_task import BertTask as BertTask
from .models.bert_token_classifier import BertTokenClassifier as BertTokenClassifier
from .models.modernbert_backbone import ModernBertBackbone as ModernBertBackbone
from .preprocessing.batching import Batching as Batching
from .preprocessing.bert_classifier_preprocessor import (
    BertClassifierPreprocessor as BertClassifierPreprocessor,
)
from .preprocessing.bert_embedder_preprocessor import (
    BertEmbedderPreprocessor as BertEmbedderPreprocessor,
)
from .preprocessing.bert_multiple_choice_preprocessor import (
    BertMultipleChoicePreprocessor as BertMultipleChoicePreprocessor,
)
from .preprocessing.bert_preprocessor import BertPreprocessor as BertPreprocessor
from .preprocessing.bert_reranker_preprocessor import (
    BertRerankerPreprocessor as BertRerankerPreprocessor,
)
from .preprocessing.bert_span_labeler_preprocessor import (
    BertSpanLabelerPreprocessor as BertSpanLabelerPreprocessor,
)
from .preprocessing.bert_token_classifier_preprocessor import (
    BertTokenClassifierPreprocessor as BertTokenClassifierPreprocessor,
)
from .text.fast_tokenizer import FastTokenizer as FastTokenizer
from .text.tokenizer import BertTokenizer as BertTokenizer
from .training.adamw import AdamW as AdamW
from .training.checkpointing import TrainingCheckpoint as TrainingCheckpoint
from .training.strategy import get_strategy as get_strategy
from .training.warmup_linear_decay import WarmupLinearDecay as WarmupLinearDecay

__version__: str
