from keras_bert.finetuning.run_settings import keep_settings as keep_settings
from keras_bert.finetuning.settings import FineTuning as FineTuning
from keras_bert.finetuning.settings import Teacher as Teacher
from keras_bert.finetuning.train_epochs import train_epochs as train_epochs
