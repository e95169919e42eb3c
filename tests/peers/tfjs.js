// A training step of a GPT in WebAssembly: this library's, in the playground's module, and TensorFlow.js's, one
// thread each, alternating, in node. By hand, on a quiet machine; tfjs.sh installs what it needs.
//
//     node tfjs.js DIRECTORY [ROUNDS]     DIRECTORY: playground.js and playground.wasm
//
// Prints the milliseconds of processor time per step, the median of the rounds and the fastest, and what the loss
// is after as many steps of either, on the same text.
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');

const tf = require('@tensorflow/tfjs');
const { setWasmPaths, setThreadsCount } = require('@tensorflow/tfjs-backend-wasm');

const { moduleFactory } = require('../wasm/train.js');

const [,, directory, rounds = 5] = process.argv;
const MODELS = [
  { name: '2 layers of 64, T 32, B 8', layers: 2, heads: 2, dim: 64, context: 32, batch: 8, steps: 40 },
  { name: '4 layers of 128, T 64, B 12', layers: 4, heads: 4, dim: 128, context: 64, batch: 12, steps: 3 },
];
const RATE = 1e-3, TEXT_BYTES = 300000;

const cpuMilliseconds = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

// ---- this library -------------------------------------------------------------------------------

async function tapestryModel({ layers, heads, dim, context, batch }) {
  const module = await moduleFactory(directory)();
  const call = (name, result, types, ...args) => module.cwrap(`playground_${name}`, result, types)(...args);
  const text = call('stories', 'string', ['number', 'number'], 1, TEXT_BYTES);
  assert.ok(call('start', 'number', ['string', ...Array(12).fill('number')], text, Buffer.byteLength(text), layers, heads, dim,
    context, batch, 100000, 0, RATE, 0, 1337, 0), call('error', 'string', []));
  return { text, step() {
    const numbers = call('step', 'number', []);
    assert.ok(numbers, call('error', 'string', []));
    return module.HEAPF64[numbers / 8 + 1];
  } };
}

// ---- TensorFlow.js ------------------------------------------------------------------------------

const normal = (shape) => tf.variable(tf.randomNormal(shape, 0, 0.02, 'float32', 1));
const constant = (shape, x) => tf.variable(tf.fill(shape, x));

// The same architecture: norms before, GELU, a head that shares the table of tokens.
function tfjsParameters(vocab, { layers, dim, context }) {
  const norm = () => ({ gain: constant([dim], 1), bias: constant([dim], 0) });
  const linear = (from, to) => ({ weight: normal([from, to]), bias: constant([to], 0) });
  return { tokens: normal([vocab, dim]), positions: normal([context, dim]), final: norm(),
    blocks: Array.from({ length: layers }, () => ({ first: norm(), qkv: linear(dim, 3 * dim), output: linear(dim, dim),
      second: norm(), up: linear(dim, 4 * dim), down: linear(4 * dim, dim) })) };
}

const variablesOf = (part) => (part instanceof tf.Variable ? [part] : Object.values(part).flatMap(variablesOf));

const normalised = (x, { gain, bias }) => {
  const { mean, variance } = tf.moments(x, -1, true);
  return tf.add(tf.mul(tf.mul(tf.sub(x, mean), tf.rsqrt(tf.add(variance, 1e-5))), gain), bias);
};
const applied = (x, { weight, bias }) => tf.add(tf.matMul(x, weight), bias);
const gelu = (x) => tf.mul(tf.mul(x, 0.5), tf.add(tf.tanh(tf.mul(tf.add(x, tf.mul(tf.mul(tf.mul(x, x), x), 0.044715)),
  Math.sqrt(2 / Math.PI))), 1));

function tfjsLoss(parameters, inputs, targets, { heads, dim, context, batch }) {
  const vocab = parameters.tokens.shape[0];
  const rows = batch * context;
  const mask = tf.tensor(Array.from({ length: context }, (_, i) => Array.from({ length: context }, (__, j) => (j > i ? -1e9 : 0))));
  const split = (x) => tf.transpose(tf.reshape(x, [batch, context, heads, dim / heads]), [0, 2, 1, 3]);
  let x = tf.reshape(tf.add(tf.reshape(tf.matMul(tf.cast(tf.oneHot(inputs, vocab), 'float32'), parameters.tokens), [batch, context, dim]),
    parameters.positions), [rows, dim]);
  for (const block of parameters.blocks) {
    const [q, k, v] = tf.split(applied(normalised(x, block.first), block.qkv), 3, 1).map(split);
    const scores = tf.add(tf.mul(tf.matMul(q, k, false, true), 1 / Math.sqrt(dim / heads)), mask);
    const read = tf.reshape(tf.transpose(tf.matMul(tf.softmax(scores), v), [0, 2, 1, 3]), [rows, dim]);
    x = tf.add(x, applied(read, block.output));
    x = tf.add(x, applied(gelu(applied(normalised(x, block.second), block.up)), block.down));
  }
  const logits = tf.matMul(normalised(x, parameters.final), parameters.tokens, false, true);
  return tf.losses.softmaxCrossEntropy(tf.cast(tf.oneHot(targets, vocab), 'float32'), logits);
}

function tfjsModel(text, model) {
  const letters = Array.from(new Set(text)).sort();
  const ids = Int32Array.from(text, (letter) => letters.indexOf(letter));
  const parameters = tfjsParameters(letters.length, model);
  const variables = variablesOf(parameters);
  const optimizer = tf.train.adam(RATE);
  let seed = 1;
  const place = () => { // Lehmer's generator
    seed = seed * 48271 % 2147483647;
    return seed % (ids.length - model.context - 1);
  };
  return { count: variables.reduce((sum, { size }) => sum + size, 0), step: () => tf.tidy(() => {
    const places = Array.from({ length: model.batch }, place);
    const part = (shift) => tf.tensor1d(Int32Array.from(places.flatMap((at) =>
      Array.from(ids.subarray(at + shift, at + shift + model.context)))), 'int32');
    return optimizer.minimize(() => tfjsLoss(parameters, part(0), part(1), model), true, variables).dataSync()[0];
  }) };
}

// ---- both ---------------------------------------------------------------------------------------

const median = (all) => all.slice().sort((a, b) => a - b)[all.length >> 1];

async function compare(model) {
  const ours = await tapestryModel(model);
  const theirs = tfjsModel(ours.text, model);
  const times = { ours: [], theirs: [] };
  let last = {};
  for (let round = 0; round <= Number(rounds); ++round) { // the first warms up
    for (const [name, { step }] of Object.entries({ ours, theirs })) {
      const began = cpuMilliseconds();
      for (let i = 0; i < model.steps; ++i) last[name] = step();
      if (round > 0) times[name].push((cpuMilliseconds() - began) / model.steps);
    }
  }
  const of = (all) => `${median(all).toFixed(1)} (fastest ${Math.min(...all).toFixed(1)})`;
  console.log(`${model.name}, ${theirs.count} parameters: Tapestry ${of(times.ours)} ms a step, tfjs ${of(times.theirs)}: ` +
    `${(median(times.theirs) / median(times.ours)).toFixed(1)} times; loss ${last.ours.toFixed(2)} and ${last.theirs.toFixed(2)} ` +
    `after ${model.steps * (Number(rounds) + 1)} steps`);
}

(async () => {
  // node has no fetch() of files, which tfjs would use.
  const files = path.join(path.dirname(require.resolve('@tensorflow/tfjs-backend-wasm/package.json')), 'wasm-out/');
  setWasmPaths(files);
  setThreadsCount(1);
  await tf.setBackend('wasm');
  await tf.ready();
  assert.equal(tf.getBackend(), 'wasm');
  console.log(`tfjs ${tf.version.tfjs}, wasm, SIMD ${await tf.env().getAsync('WASM_HAS_SIMD_SUPPORT')}, one thread; node ${process.version}; ` +
    `processor time; ${fs.readFileSync('/proc/cpuinfo', 'utf8').match(/model name\s*: (.*)/)?.[1] ?? 'unknown processor'}`);
  for (const model of MODELS) await compare(model);
})().catch((error) => {
  console.error(error.stack);
  process.exit(1);
});
