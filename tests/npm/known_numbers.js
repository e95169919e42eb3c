// The numbers of a page with known weights, against an independent forward and backward pass
// (plain_gpt.js), to the last digit shown.
const { expectShown, toNumber } = require('./numbers.js');

const rms = (x) => Math.sqrt(x.reduce((sum, v) => sum + v * v, 0) / x.length);

// For every head its certainty and distance; for some of its pairs the weight.
exports.checkHeads = async (page, { plain, step }, choose, stepOf) => {
  const rows = step.ids.length;
  for (const [layer, heads] of plain.attention.entries()) {
    for (const [head, weights] of heads.entries()) {
      let entropy = 0;
      let distance = 0;
      weights.forEach((p, at) => {
        const [i, j] = [Math.floor(at / rows), at % rows];
        if (p > 0) entropy -= p * Math.log(p) / rows;
        distance += p * Math.abs(i - j) / rows;
      });
      const module = `blocks.${layer}.attention`;
      const [query, key] = [rows - 1 - head, 2 * head];
      await choose(page, module, head, query, key);
      const facts = await page.textContent('[data-readout=head]');
      const [, shownEntropy, , shownDistance] =
        /entropy (\S+) nats of at most (\S+); mean distance (\S+) tokens/.exec(facts);
      expectShown(shownEntropy, entropy, `${module} ${head}: entropy`);
      expectShown(shownDistance, distance, `${module} ${head}: distance`);
      const [, first] = /the first token: (\d+)%/.exec(await page.textContent('[data-readout=role]')) ?? [];
      let share = 0; // over queries that see more than the first key
      for (let i = 1; i < rows; ++i) share += weights[i * rows] / (rows - 1);
      if (first) expectShown(`${first}%`, share, `${module} ${head}: to the first token`);
      else if (share > 0.5) throw new Error(`${module} ${head} looks at the first token`);
      expectShown(await stepOf(page, 'weight'), weights[query * rows + key], `${module} ${head}: weight`);
    }
  }
};

// For every parameter the magnitudes of its values and gradient.
exports.checkGradients = async (page, { plain, weights }) => {
  const rows = await page.$$eval('[data-parameter]', (all) => all.map((row) =>
    [row.dataset.parameter, ...Array.from(row.querySelectorAll('td'), (cell) => cell.textContent)]));
  const biases = [];
  for (const [name, , , , , valueRms, gradientRms, ratio, zeros] of rows) {
    const values = weights[name].data;
    const gradient = plain.gradients[name];
    expectShown(valueRms, rms(values), `${name}: values`);
    if (name.endsWith('qkv.bias')) biases.push(name);
    expectShown(gradientRms, rms(gradient), `${name}: gradient`);
    if (rms(values) > 0) expectShown(ratio, rms(gradient) / rms(values), `${name}: ratio`);
    const none = gradient.filter((x) => x === 0).length / gradient.length;
    if (none > 0) expectShown(zeros, none, `${name}: zeros`);
    else if (Math.abs(toNumber(zeros)) > 0.01) throw new Error(`${name}: ${zeros} zeros`);
  }
  return rows.length;
};

const STAGES = { attention_norm: 'norm', 'attention.qkv': 'qkv', 'attention.output': 'written',
  feed_forward_norm: 'second', 'feed_forward.up': 'up', 'feed_forward.down': 'down' };

// For the entries of a layer the minimum, maximum, mean and deviation of their outputs.
exports.checkEntries = async (page, { plain }) => {
  const rows = await page.$$eval('[data-table=entries] tbody tr', (all) => all.map((row) =>
    Array.from(row.cells, (cell) => cell.textContent)));
  let checked = 0;
  for (const cells of rows) {
    const [, layer, rest] = /^blocks\.(\d+)\.(.*)$/.exec(cells[2]) ?? [];
    if (!STAGES[rest] || cells[1] === 'split') continue;
    const x = plain.stages[`blocks.${layer}.${STAGES[rest]}`];
    const mean = x.reduce((a, v) => a + v, 0) / x.length;
    const deviation = Math.sqrt(x.reduce((a, v) => a + (v - mean) ** 2, 0) / x.length);
    const wanted = [Math.min(...x), Math.max(...x), mean, deviation];
    wanted.forEach((value, i) =>
      expectShown(cells[8 + i], value, `${cells[2]}: ${i}`, 1e-7 * deviation));
    ++checked;
  }
  return checked;
};
