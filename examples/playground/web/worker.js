// The playground's worker: the library itself, in WebAssembly, and a training that it goes on with
// between messages. What it is told and what it tells are plain objects with a `kind`. In front of
// this text stands em++'s, which defines tapestryPlayground. Read next: ../exports.cpp, what is
// called here.

const SLICE = 60; // milliseconds of steps between messages
const REPORT = 400; // between reports, at least
const STATES = { running: 0, finished: 1, interrupted: 2, diverged: 3 };

let library = null; // the module's functions, by name
let playing = false;
let reported = 0; // when

function functionsOf(module) {
  const [text, number] = ['string', 'number'];
  const list = {
    error: [text], stories: [text, number, number],
    start: [number, text, ...Array(10).fill(number)], is_finished: [number], step: [number],
    change: [number, number, number], sample: [text, text, number, number],
    report: [text, number, text], look: [text, text], digest: [text],
  };
  return Object.fromEntries(Object.entries(list).map(([name, [result, ...args]]) =>
    [name, module.cwrap(`playground_${name}`, result, args)]));
}

// The value of a call, or its error as an exception.
function checked(value) {
  if (!value) throw new Error(library.error());
  return value;
}

function report(state, message = '') {
  reported = Date.now();
  const data = JSON.parse(checked(library.report(STATES[state], message)));
  postMessage({ kind: 'report', data, playing });
}

function pause(state, message) {
  playing = false;
  report(library.is_finished() ? 'finished' : state, message);
}

// One step; false if there is none any more.
function step() {
  if (library.is_finished()) return false;
  if (!library.step()) {
    pause('diverged', library.error());
    return false;
  }
  return true;
}

function play() {
  if (!playing) return;
  const until = Date.now() + SLICE;
  while (Date.now() < until) {
    if (!step()) {
      if (playing) pause('finished');
      return;
    }
  }
  if (Date.now() - reported >= REPORT) report('running');
  setTimeout(play, 0);
}

const ANSWERS = {
  async open({ wasm }) {
    const packed = new Blob([Uint8Array.from(atob(wasm), (c) => c.charCodeAt(0))]);
    const unpacked = packed.stream().pipeThrough(new DecompressionStream('gzip'));
    const wasmBinary = await new Response(unpacked).arrayBuffer();
    library = functionsOf(await tapestryPlayground({ wasmBinary }));
    postMessage({ kind: 'opened' });
  },
  start({ text, bytes, settings: s }) {
    playing = false;
    const words = text ?? library.stories(1, bytes);
    checked(library.start(words, s.layers, s.heads, s.dim, s.context, s.batch, s.steps,
      s.evaluateEvery, s.lr, s.dropout, s.seed));
    postMessage({ kind: 'started', beginning: words.slice(0, 2 * s.context) });
    report('interrupted');
  },
  play() {
    if (playing || library.is_finished()) return;
    playing = true;
    report('running');
    play();
  },
  pause() {
    if (playing) pause('interrupted');
  },
  step() {
    playing = false;
    if (step()) report(library.is_finished() ? 'finished' : 'interrupted');
  },
  change({ lr, dropout }) {
    checked(library.change(lr, dropout));
  },
  sample({ prompt, tokens, temperature }) {
    const text = checked(library.sample(prompt, tokens, temperature));
    postMessage({ kind: 'sample', text });
  },
  look({ sentence }) {
    postMessage({ kind: 'look', data: JSON.parse(checked(library.look(sentence))) });
  },
  digest() {
    postMessage({ kind: 'digest', digest: checked(library.digest()) });
  },
};

onmessage = async ({ data }) => {
  try {
    await ANSWERS[data.kind](data);
  } catch (error) {
    postMessage({ kind: 'failed', of: data.kind, message: error.message });
  }
};
