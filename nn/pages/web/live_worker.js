// The library, in a worker of a page of `tapestry inspect`: stores the model's files in its memory
// and answers requests. Emscripten's code, tapestryPlayground, precedes this text. Read next:
// live.js.
const MODEL = '/model';
let call;

async function open({ wasm, files }) {
  const bytesOf = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const unpacked = new Blob([bytesOf(wasm)]).stream().pipeThrough(new DecompressionStream('gzip'));
  const module = await tapestryPlayground({ wasmBinary: await new Response(unpacked).arrayBuffer() });
  module.FS.mkdir(MODEL);
  for (const [name, bytes] of Object.entries(files)) {
    module.FS.writeFile(`${MODEL}/${name}`, bytesOf(bytes));
  }
  call = (name, ...args) => {
    if (args.some((arg) => typeof arg === 'string' && arg.includes('\0'))) {
      throw new Error('The prompt contains U+0000, which ends a text here: remove it.');
    }
    const kinds = args.map((arg) => (typeof arg === 'string' ? 'string' : 'number'));
    const text = module.cwrap(`live_${name}`, 'string', ['string', ...kinds])(MODEL, ...args);
    if (!text) throw new Error(module.cwrap('playground_error', 'string', [])()); // null arrives as ''
    return text;
  };
  const [layers, heads] = call('shape').split(' ').map(Number);
  return { layers, heads };
}

const ANSWERS = {
  open,
  look: ({ prompt, heads }) => JSON.parse(call('look', prompt, heads)),
  sample: ({ prompt, tokens, temperature, heads }) =>
    call('sample', prompt, tokens, temperature, heads),
};

onmessage = async ({ data: { kind, number, ...asked } }) => {
  try {
    postMessage({ kind, number, answer: await ANSWERS[kind](asked) });
  } catch (error) {
    postMessage({ kind, number, failed: error.message });
  }
};
