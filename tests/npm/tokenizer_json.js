// Compares the ids of all documents of DATA, by Hugging Face's library, with those in its ids.bin.
//
//     node tokenizer_json.js DATA [TOKENIZER [ENGINE [OTHER]]]
//
// Without TOKENIZER (a tokenizer.json), by the one next to the data. ENGINE is a package of npm:
// @huggingface/tokenizers, in JavaScript, or tokenizers, the library that Python's is. With OTHER,
// the engines are also compared with each other, text by text. Fails on any difference, but for texts
// with U+017F between the engines: it is an s in another case, so (?i:'s) has it, and the one in
// JavaScript does not see that. A token that a template puts before a text that begins with it is there
// once in ours, and twice in theirs. Read next: tokenizer_json.sh, which calls it.
const fs = require('fs');
const path = require('path');

const [, , directory, json = path.join(directory, 'tokenizer.huggingface.json'), engine = '@huggingface/tokenizers', other] =
  process.argv;
const read = (file) => JSON.parse(fs.readFileSync(file, 'utf8'));
const data = read(path.join(directory, 'data.json'));
const bytes = fs.readFileSync(path.join(directory, 'ids.bin'));
const Ids = data.dtype === 'u16' ? Uint16Array : Uint32Array;
const ours = new Ids(bytes.buffer, bytes.byteOffset, bytes.length / Ids.BYTES_PER_ELEMENT);
const rules = read(json);
const hasTemplate = JSON.stringify(rules.post_processor).includes('TemplateProcessing');
const endOfText = rules.added_tokens.find((token) => /^<\|end_?of_?text\|>$/.test(token.content)).id;

function encoder(name) {
  const { Tokenizer } = require(name);
  if (name === 'tokenizers') {
    const tokenizer = Tokenizer.fromFile(json);
    return async (text) => (await tokenizer.encode(text)).getIds();
  }
  const tokenizer = new Tokenizer(rules, {});
  return async (text) => tokenizer.encode(text).ids;
}

// The texts of a source: the lines of JSON Lines, or the whole file.
function textsOf(source) {
  const text = fs.readFileSync(source, 'utf8');
  if (!source.endsWith('.jsonl')) return [text];
  return text.split('\n').filter((line) => line).map((line) => JSON.parse(line).text);
}

async function main() {
  const encode = encoder(engine);
  const otherwise = other ? encoder(other) : null;
  let at = 0;
  let differ = 0;
  let documents = 0;
  let apart = 0;
  let known = 0;
  const expect = (id, where) => {
    if (ours[at] !== id && ++differ <= 5) console.log(`${where}: id ${at} is ${ours[at]}, and ${id} there`);
    ++at;
  };
  for (const source of data.sources) {
    for (const text of textsOf(source.path)) {
      const where = `${source.path}, document ${documents + 1}`;
      if (documents++ > 0) expect(endOfText, `before ${where}`);
      const ids = await encode(text);
      const begin = hasTemplate && ids[0] === ids[1] ? 1 : 0;
      for (const id of ids.slice(begin)) expect(id, where);
      if (!otherwise || String(await otherwise(text)) === String(ids)) continue;
      if (text.includes('\u017F')) ++known;
      else if (++apart <= 5) {
        console.log(`${where}: ${other} differs from ${engine}: ${JSON.stringify(text.slice(0, 100))}`);
      }
    }
  }
  console.log(`${documents} documents, ${at} ids, ${differ} differ, ${ours.length - at} missing`);
  if (other) {
    const same = documents - apart - known;
    console.log(`${other} gives ${same} of them the same ids, ${known} with U+017F and ${apart} without it others`);
  }
  process.exit(at === ours.length && at > 10000 && differ === 0 && apart === 0 ? 0 : 1);
}

main();
