// The pages' descriptions of heads with known roles: run by inspect_pages.sh, without a browser.
//
//     node head_roles.js SOURCE_DIR
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');

const text = fs.readFileSync(path.join(process.argv[2], 'nn/pages/web/head_roles.js'), 'utf8');
const headSays = new Function(`${text.replace(/^export /gm, '')}; return headSays;`)();

const TEXT = [...'abcabdabcabd'];

// A causal head that gives `share` of each query's weight to keyOf(i), and spreads the rest evenly.
function headOf(share, keyOf) {
  const count = TEXT.length;
  const weights = new Float64Array(count * count);
  let entropy = 0;
  let most = 0;
  for (let i = 0; i < count; ++i) {
    const key = keyOf(i);
    const given = key >= 0 && key <= i ? share : 0;
    for (let j = 0; j <= i; ++j) {
      const p = (1 - given) / (i + 1) + (j === key ? given : 0);
      weights[i * count + j] = p;
      entropy -= p * Math.log(p) / count;
    }
    most += Math.log(i + 1) / count;
  }
  return { queries: count, keys: count, cross: false, keyTexts: TEXT, seen: (i) => i + 1,
    weights: () => weights, entropy: [entropy], mostEntropy: () => most };
}

const afterSame = (i) => {
  const same = TEXT.lastIndexOf(TEXT[i], i - 1);
  return i > 0 && same >= 0 && same + 1 < i ? same + 1 : -1;
};

for (const [keyOf, what] of [[(i) => i - 1, 'the previous token'], [(i) => i, 'the token itself'],
  [() => 0, 'the first token'], [(i) => i - 2, 'the token before the previous one'],
  [afterSame, 'what followed the same token before']]) {
  assert.match(headSays(headOf(0.8, keyOf), 0), new RegExp(`^Attends to ${what}: 8\\d% of its weight\\.$`));
}
assert.match(headSays(headOf(0.3, (i) => i - 1), 0), /^Attends mostly to the previous token: 4\d% of/);
assert.equal(headSays(headOf(0, () => 0), 0), 'Attends almost uniformly to everything it can see.');
assert.match(headSays(headOf(0.75, (i) => (i * 7) % 5), 0), /^Spreads over about \d\.\d tokens, at no fixed position\.$/);
assert.equal(headSays({ ...headOf(0.8, (i) => i - 1), cross: true, entropy: [0.5] }, 0),
  'Spreads over about 1.6 tokens, at no fixed position.');
const single = { queries: 1, keys: 1, cross: false, keyTexts: ['a'], seen: () => 1, weights: () => [1], entropy: [0], mostEntropy: () => 0 };
assert.equal(headSays(single, 0), 'Sees a single token.');
console.log('heads, in words: done');
