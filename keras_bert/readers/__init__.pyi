from keras_bert.readers.choices import read_choices as read_choices
from keras_bert.readers.conll import read_conll as read_conll
from keras_bert.readers.squad import read_squad as read_squad
