// Compares the ids of all documents of DATA, by Hugging Face's library, with those in its ids.bin.
// Read next: tokenizer_json.sh, which calls it.
const fs = require('fs');
const path = require('path');
const { Tokenizer } = require('@huggingface/tokenizers');

const directory = process.argv[2];
const read = (name) => JSON.parse(fs.readFileSync(path.join(directory, name), 'utf8'));
const data = read('data.json');
const bytes = fs.readFileSync(path.join(directory, 'ids.bin'));
const ours = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2);
const tokenizer = new Tokenizer(read('tokenizer.huggingface.json'), {});
const endOfText = read('vocab.json')['<|endoftext|>'];

let at = 0;
let differ = 0;
function expect(id, where) {
  if (ours[at] !== id && ++differ <= 5) {
    console.log(`${where}: id ${at} is ${ours[at]}, and ${id} there`);
  }
  ++at;
}
data.sources.forEach((source, number) => {
  if (number > 0) expect(endOfText, `before ${source.path}`);
  const text = fs.readFileSync(source.path, 'utf8');
  for (const id of tokenizer.encode(text, { add_special_tokens: false }).ids) {
    expect(id, source.path);
  }
});
console.log(`${data.sources.length} documents, ${at} ids, ${differ} differ, ${ours.length - at} missing`);
process.exit(data.dtype === 'u16' && at === ours.length && at > 10000 && differ === 0 ? 0 : 1);
