// Writes random texts and their ids from the package gpt-3-encoder to DIRECTORY/cases.json: [[text,
// [id, ...]], ...]. Read next: bpe_reference.sh, which calls it.
//
// JavaScript's \s differs from Unicode's White_Space in U+0085 and U+FEFF: neither is used.
// Characters are from blocks that Unicode no longer changes.
const fs = require('fs');
const path = require('path');

const directory = process.argv[2];
const { encode } = require(path.join(directory, 'node_modules', 'gpt-3-encoder'));

// mulberry32: the same texts every time
let state = 20241120;
function random(n) {
  state = (state + 0x6D2B79F5) | 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) % n;
}

const blocks = [
  [0x20, 0x7E], [0x61, 0x7A], [0x41, 0x5A], [0x30, 0x39], [0x00, 0x2F], [0x86, 0x24F],
  [0x300, 0x36F], [0x391, 0x3A1], [0x410, 0x44F], [0x5D0, 0x5EA], [0x621, 0x64A], [0x905, 0x939],
  [0xE01, 0xE30], [0x1680, 0x1680], [0x2000, 0x2064], [0x2070, 0x2071], [0x2150, 0x2188],
  [0x2460, 0x24FF], [0x3000, 0x3020], [0x3041, 0x3096], [0x4E00, 0x4F00], [0xAC00, 0xAC80],
  [0xFE00, 0xFE0F], [0xFF01, 0xFF5E], [0x1D400, 0x1D454], [0x1D7CE, 0x1D7FF], [0x1F300, 0x1F64F],
  [0xE000, 0xE010],
];
const glue = ['', ' ', ' ', ' ', '  ', '   ', '\n', '\r\n', '\t', '\n\n', "'", "'s", "'t", "'re",
  "'ve", "'m", "'ll", "'d", '\u00A0', '\u3000'];
const words = ['the', ' The', ' of', 'ing', ' function', ' 2024', '10000', 'ization', ' I', 'don',
  ' https', '://', '...', '==', ' \u00E9t\u00E9', '\u4F60\u597D', ' \uD83D\uDE00', 'constructor'];

function randomText() {
  let text = '';
  for (let parts = 1 + random(8); parts > 0; --parts) {
    text += glue[random(glue.length)];
    if (random(2)) {
      text += words[random(words.length)];
      continue;
    }
    const [first, last] = blocks[random(blocks.length)];
    for (let n = 1 + random(6); n > 0; --n) {
      text += String.fromCodePoint(first + random(last - first + 1));
    }
  }
  return text;
}

const cases = [];
for (let i = 0; i < 5000; ++i) {
  const text = randomText();
  cases.push([text, encode(text)]);
}
// Whole files: this one, and one of the package.
for (const file of [__filename, path.join(directory, 'node_modules/gpt-3-encoder/Encoder.js')]) {
  const text = fs.readFileSync(file, 'utf8');
  cases.push([text, encode(text)]);
}
fs.writeFileSync(path.join(directory, 'cases.json'), JSON.stringify(cases));
console.log(`${cases.length} texts`);
