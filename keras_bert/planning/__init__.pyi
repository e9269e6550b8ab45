from keras_bert.planning.tpu_plan import TpuPlan as TpuPlan
