// Trains in WebAssembly with the settings of `tapestry train` in tests/frame/bits.sh. In node this
// is a module; in a browser its text is put into a worker.

// In node: creates the module of DIRECTORY/playground.js, which would otherwise fetch its other
// file.
function moduleFactory(directory) {
  const file = require('node:path').resolve(directory, 'playground');
  const wasmBinary = require('node:fs').readFileSync(`${file}.wasm`);
  return () => require(`${file}.js`)({ wasmBinary });
}

const TRAININGS = {
  two_layers: { layers: 2, heads: 2, dim: 64, context: 32, batch: 8 },
  recipe: { layers: 4, heads: 4, dim: 128, context: 64, batch: 12 },
};

// Trains `steps` steps: { digest, SHA-256 of the parameters; seconds; reached, the seconds after
// which the validation loss was at most `goal` }. `factory` creates the module of playground.js;
// the default text is the stories of tests/frame/bits.sh.
async function train(factory, name, steps, { text, lr = 1e-3, evaluateEvery = 0, goal = 0 } = {}) {
  const module = await factory();
  const call = (f, result, ...args) => module.cwrap(`playground_${f}`, result,
    args.map((arg) => (typeof arg === 'string' ? 'string' : 'number')))(...args);
  const { layers, heads, dim, context, batch } = TRAININGS[name];
  const words = text ?? call('stories', 'string', 2, 1000000);
  const began = performance.now();
  const seconds = () => (performance.now() - began) / 1000;
  const bytes = new TextEncoder().encode(words).length;
  if (!call('start', 'number', words, bytes, layers, heads, dim, context, batch, steps, evaluateEvery,
    lr, 0, 1337)) {
    throw new Error(call('error', 'string'));
  }
  let reached = null;
  while (!call('is_finished', 'number')) {
    const numbers = call('step', 'number');
    if (!numbers) throw new Error(call('error', 'string'));
    const validationLoss = module.HEAPF64[numbers / 8 + 6];
    if (validationLoss <= goal) reached ??= seconds();
  }
  const needed = seconds();
  return { digest: call('digest', 'string'), seconds: needed, reached };
}

if (typeof module !== 'undefined') module.exports = { moduleFactory, train };
