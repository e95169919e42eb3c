// The playground's worker: the library in WebAssembly, and a run that it continues between
// messages. Messages in both directions are plain objects with a `kind`. Emscripten's code, which
// defines tapestryPlayground, precedes this text. Read next: ../exports.cpp, the functions called
// here.
import { packed, unpacked } from './tar.js';

const SLICE = 60; // milliseconds of steps between messages
const REPORT = 400; // minimum between reports
const STATES = { running: 0, finished: 1, interrupted: 2, diverged: 3 };

let library = null; // the module's functions, by name
let files = null; // its files, in memory
let playing = false;
let reported = 0; // the time of the latest report

function functionsOf(module) {
  const [text, number] = ['string', 'number'];
  const list = {
    error: [text], stories: [text, number, number],
    start: [number, 'array', ...Array(12).fill(number)], is_finished: [number], step: [number],
    change: [number, number, number], more: [number, number], sample: [text, text, number, number],
    report: [text, number, text], look: [text, text], digest: [text], operations: [text],
    heads: [number, text], heads_size: [number], flow: [text], losses: [number],
    take_away: [number, number, number, number, text, text], rules: [text],
    break_rule: [null, text, number, number], check: [text], save: [number, text],
    open: [number, text, text], differs: [text], settings: [number],
  };
  return Object.fromEntries(Object.entries(list).map(([name, [result, ...args]]) =>
    [name, module.cwrap(`playground_${name}`, result, args)]));
}

// A text as an argument: NUL would end it.
function withoutNul(given) {
  if (given.includes('\0')) throw new Error('The text contains U+0000, which ends a text here: remove it.');
  return given;
}

// Returns the result of a call, or throws its error.
function checked(value) {
  if (!value) throw new Error(library.error());
  return value;
}

// Numbers that a call left in the library's memory.
const numbersAt = (place, count) => Array.from(library.memory().subarray(place / 8,
  place / 8 + count));

// Lines of fields separated by tabs.
const tableOf = (text) => text.split('\n').slice(0, -1).map((line) => line.split('\t'));

const reportData = (state = 'interrupted', message = '') =>
  JSON.parse(checked(library.report(STATES[state], message)));

function report(state, message) {
  reported = Date.now();
  postMessage({ kind: 'report', data: reportData(state, message), playing });
}

function pause(state, message) {
  playing = false;
  report(library.is_finished() ? 'finished' : state, message);
}

// Takes a step; false if there are no more.
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

// ---- files --------------------------------------------------------------------------------------

const TEXT_NAME = 'text.txt'; // the training text
const SAVED_FOLDER = 'saved';
const MANIFEST = 'tapestry-manifest.json';
let opened = 0; // number of the folder with the opened run's files

async function bytesOf(directory) {
  const read = directory.map(async ({ path, file }) =>
    [path, new Uint8Array(await file.arrayBuffer())]);
  return Object.fromEntries(await Promise.all(read));
}

// All files below a folder of the library, by their paths below `name`.
function filesBelow(folder, name) {
  const all = {};
  for (const entry of files.readdir(folder)) {
    if (entry === '.' || entry === '..') continue;
    const path = `${folder}/${entry}`;
    if (files.isDir(files.stat(path).mode)) {
      Object.assign(all, filesBelow(path, `${name}/${entry}`));
    } else {
      all[`${name}/${entry}`] = files.readFile(path);
    }
  }
  return all;
}

const folderOf = (number) => `opened-${number}`;

function removeFiles(folder) {
  if (!files.analyzePath(folder).exists) return;
  Object.keys(filesBelow(folder, folder)).forEach((path) => files.unlink(path));
}

// Opens the run of these files: all in one folder, or without one. Until the library has opened
// it, the present run keeps its files, and its text, which it reads when a setting changes.
// Returns the new run's text.
function openRun(given) {
  const all = Object.fromEntries(Object.entries(given).map(([path, bytes]) =>
    [path.replace(/^(\.\/)+/, ''), bytes]));
  const bare = MANIFEST in all || 'config.json' in all;
  const inside = (path) => (bare ? path : path.split('/').slice(1).join('/'));
  const text = Object.keys(all).find((path) => path === TEXT_NAME || inside(path) === TEXT_NAME);
  if (text === undefined) throw new Error('The text that it learned from is missing: choose it, too.');
  const folder = folderOf(opened + 1);
  const before = files.analyzePath(TEXT_NAME).exists ? files.readFile(TEXT_NAME) : null;
  try {
    files.mkdirTree(folder);
    for (const [path, bytes] of Object.entries(all)) {
      if (path === text) continue;
      const place = `${folder}/${inside(path)}`;
      files.mkdirTree(place.split('/').slice(0, -1).join('/'));
      files.writeFile(place, bytes);
    }
    files.writeFile(TEXT_NAME, all[text]);
    checked(library.open(folder, TEXT_NAME));
  } catch (error) {
    if (before) files.writeFile(TEXT_NAME, before);
    removeFiles(folder);
    throw error;
  }
  removeFiles(folderOf(opened));
  opened += 1;
  return new TextDecoder().decode(all[text]);
}

function started(words, differs = '') {
  const [layers, heads, context, lr, dropout, steps, positions] =
    numbersAt(checked(library.settings()), 7);
  postMessage({ kind: 'started', beginning: words.slice(0, 2 * context), differs,
    settings: { layers, heads, context, lr, dropout, steps, positions: positions !== 0 },
    rules: tableOf(checked(library.rules())).map(([op, operand, what]) =>
      ({ op, operand: Number(operand), what })) });
  report('interrupted');
}

// ---- the page's requests ------------------------------------------------------------------------

const ANSWERS = {
  async open({ wasm }) {
    const packed = new Blob([Uint8Array.from(atob(wasm), (c) => c.charCodeAt(0))]);
    const unpacked = packed.stream().pipeThrough(new DecompressionStream('gzip'));
    const wasmBinary = await new Response(unpacked).arrayBuffer();
    const module = await tapestryPlayground({ wasmBinary });
    library = { ...functionsOf(module), memory: () => module.HEAPF64 };
    files = module.FS;
    postMessage({ kind: 'opened' });
  },
  start({ text, bytes, settings: s }) {
    const words = text ?? library.stories(1, bytes);
    const encoded = new TextEncoder().encode(words);
    checked(library.start(encoded, encoded.length, s.layers, s.heads, s.dim, s.context, s.batch, s.steps,
      s.evaluateEvery, s.lr, s.dropout, s.seed, Number(s.rotary)));
    playing = false;
    started(words);
  },
  // Opens a saved run: one file, or the files of a directory with the text.
  async resume({ archive, directory, text }) {
    const all = archive ? await unpacked(archive) : await bytesOf(directory);
    if (text) all[TEXT_NAME] = new Uint8Array(await text.arrayBuffer());
    const words = openRun(all);
    playing = false;
    started(words, library.differs());
  },
  async save() {
    checked(library.save(SAVED_FOLDER));
    const run = filesBelow(SAVED_FOLDER, 'playground');
    run[`playground/${TEXT_NAME}`] = files.readFile(TEXT_NAME);
    postMessage({ kind: 'saved', step: reportData().status.step, file: await packed(run) });
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
    const text = checked(library.sample(withoutNul(prompt), tokens, temperature));
    postMessage({ kind: 'sample', text });
  },
  // `of`: who asks.
  look({ sentence, of }) {
    const data = JSON.parse(checked(library.look(withoutNul(sentence))));
    postMessage({ kind: 'look', of, step: reportData().status.step, data });
  },
  // The run shall take so many steps more.
  more({ steps }) {
    checked(library.more(steps));
    report(playing ? 'running' : 'interrupted');
  },
  digest() {
    const { status, recipe } = reportData();
    postMessage({ kind: 'digest', digest: checked(library.digest()), step: status.step, steps: recipe.steps });
  },
  // What heads attend to, and what the latest observed step did to the parameters.
  heads({ sentence }) {
    const place = checked(library.heads(withoutNul(sentence)));
    const weights = numbersAt(place, library.heads_size());
    const updates = tableOf(library.flow() ?? '').map(([name, ...sizes]) =>
      ({ name, sizes: sizes.map(Number) }));
    postMessage({ kind: 'heads', sentence, weights, updates });
  },
  losses() {
    const [asItStands, whole] = numbersAt(checked(library.losses()), 2);
    postMessage({ kind: 'losses', asItStands, whole });
  },
  takeAway({ positions, norms, residuals, layers, heads }) {
    checked(library.take_away(Number(positions), Number(norms), Number(residuals),
      layers.join(','), heads.join(',')));
    postMessage({ kind: 'taken' });
  },
  breakRule({ op, operand, flaw }) {
    library.break_rule(op, operand, flaw);
  },
  check() {
    postMessage({ kind: 'checked', text: checked(library.check()) });
  },
  operations() {
    playing = false;
    if (library.is_finished()) throw new Error('There is no step left to take.');
    const text = library.operations();
    if (text === null) return pause('diverged', library.error());
    postMessage({ kind: 'operations', step: reportData().status.step, all: JSON.parse(text) });
    report(library.is_finished() ? 'finished' : 'interrupted');
  },
};

onmessage = async ({ data }) => {
  try {
    await ANSWERS[data.kind](data);
  } catch (error) {
    postMessage({ kind: 'failed', of: data.kind, message: error.message });
  }
};
