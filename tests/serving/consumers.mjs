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
const byLabel = (one, other) => (one.label < other.label ? -1 : 1);
const rows = await classify(texts, { top_k: null });
const tokens = await tag(texts[0], { ignore_labels: [] });
const vectors = await embed(texts, { pooling: "mean", normalize: true });
console.log(
  JSON.stringify({
    probabilities: rows.map((row) => row.sort(byLabel).map((one) => one.score)),
    entity_score: [tokens.filter((one) => one.entity !== "O").map((one) => one.score)],
    answer: [(await read(texts[1], texts[0])).answer],
    embedding: vectors.tolist(),
  }),
);
