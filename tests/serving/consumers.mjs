// Answers texts with transformers.js, from folders that BertTask.export wrote:
//     node tests/serving/consumers.mjs FOLDER '["a text", "another"]'
import { env, pipeline } from "@huggingface/transformers";

const [root, texts] = [process.argv[2], JSON.parse(process.argv[3])];
env.allowRemoteModels = false;
env.localModelPath = `${root}/`;
const make = (task, folder) => pipeline(task, folder, { dtype: "fp32" });
const classify = await make("text-classification", "classifier");
const tag = await make("token-classification", "tagger");
const read = await make("question-answering", "reader");
const embed = await make("feature-extraction", "embedder");
const vectors = await embed(texts, { pooling: "mean", normalize: true });
console.log(
  JSON.stringify({
    classifier: await classify(texts, { top_k: null }),
    tagger: await tag(texts[0], { ignore_labels: [] }),
    reader: await read(texts[1], texts[0]),
    embedder: vectors.tolist(),
  }),
);
