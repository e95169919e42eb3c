// Trains in WebAssembly as tests/frame/bits.sh has `tapestry train` do it. In node this is a module;
// in a browser its text goes into a worker.

// In node: makes the module of DIRECTORY/playground.js. Left to itself, that would fetch the rest.
function moduleFactory(directory) {
  const file = require('node:path').resolve(directory, 'playground');
  const wasmBinary = require('node:fs').readFileSync(`${file}.wasm`);
  return () => require(`${file}.js`)({ wasmBinary });
}

const TRAININGS = {
  two_layers: { layers: 2, heads: 2, dim: 64, context: 32, batch: 8 },
  recipe: { layers: 4, heads: 4, dim: 128, context: 64, batch: 12 },
};

// SHA-256 of the parameters after so many steps. `factory` makes the module of playground.js.
async function trainedDigest(factory, name, steps) {
  const module = await factory();
  const [text, number] = ['string', 'number'];
  const call = (f, result, ...args) => module.cwrap(`playground_${f}`, result,
    args.map((arg) => (typeof arg === text ? text : number)))(...args);
  const { layers, heads, dim, context, batch } = TRAININGS[name];
  const stories = call('stories', text, 2, 1000000);
  if (!call('start', number, stories, layers, heads, dim, context, batch, steps, 0, 1e-3, 0, 1337)) {
    throw new Error(call('error', text));
  }
  while (!call('is_finished', number)) {
    if (!call('step', number)) throw new Error(call('error', text));
  }
  return call('digest', text);
}

if (typeof module !== 'undefined') module.exports = { moduleFactory, trainedDigest };
