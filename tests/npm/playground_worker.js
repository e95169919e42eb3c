// The playground's worker with a library of a few lines: a run that cannot be opened or started
// leaves the present one, with its text and its files, as it was.
//
//     node playground_worker.js WORKER
const assert = require('node:assert');
const { readFileSync } = require('node:fs');

// A file system as emscripten's, in a map.
class Files {
  constructor() { this.all = new Map(); }

  analyzePath(path) { return { exists: this.all.has(path) || this.readdir(path).length > 2 }; }

  readFile(path) { return this.all.get(path); }

  writeFile(path, bytes) { this.all.set(path, bytes); }

  unlink(path) { this.all.delete(path); }

  mkdirTree() { return this; }

  stat(path) { return { mode: this.all.has(path) ? 0 : 1 }; }

  isDir(mode) { return mode === 1; }

  readdir(folder) {
    const names = [...this.all.keys()].filter((path) => path.startsWith(`${folder}/`))
      .map((path) => path.slice(folder.length + 1).split('/')[0]);
    return ['.', '..', ...new Set(names)];
  }
}

const bytes = (text) => new TextEncoder().encode(text);
const file = (text) => ({ arrayBuffer: async () => bytes(text).buffer });
const directory = (all) => Object.entries(all).map(([path, text]) => ({ path, file: file(text) }));

(async () => {
  const files = new Files();
  const posted = [];
  const calls = [];
  const scope = {
    // A run that says "bad" is refused.
    tapestryPlayground: async () => ({
      FS: files,
      HEAPF64: new Float64Array(8),
      cwrap: (name) => (...args) => {
        calls.push([name, ...args]);
        if (name === 'playground_open') {
          const config = new TextDecoder().decode(files.readFile(`${args[0]}/config.json`));
          return config === 'bad' ? 0 : 1;
        }
        return { playground_error: 'refused', playground_report: '{}', playground_rules: ' ' }[
          name] ?? 8;
      },
    }),
    postMessage: (message) => posted.push(message),
  };
  const source = readFileSync(process.argv[2], 'utf8').replace(/^import .*$/m, '');
  const { onmessage } = new Function('scope', `
    const { tapestryPlayground, postMessage } = scope;
    let onmessage, packed, unpacked;
    ${source}
    return { onmessage };`)(scope);
  const wasm = Buffer.from(await new Response(new Blob(['x']).stream()
    .pipeThrough(new CompressionStream('gzip'))).arrayBuffer()).toString('base64');
  await onmessage({ data: { kind: 'open', wasm } });
  const resume = (all) => onmessage({ data: { kind: 'resume', directory: directory(all) } });
  const textNow = () => new TextDecoder().decode(files.readFile('text.txt'));

  await resume({ 'run/config.json': 'good', 'run/text.txt': 'first text' });
  assert.equal(posted.at(-1).kind, 'report');
  assert.equal(textNow(), 'first text');
  const before = [...files.all.keys()].sort();

  await resume({ 'run/config.json': 'bad', 'run/text.txt': 'second text' });
  assert.equal(posted.at(-1).kind, 'failed');
  assert.equal(textNow(), 'first text', 'the run still learns from its own text');
  assert.deepEqual([...files.all.keys()].sort(), before);

  // Packed without a folder, or with "./".
  await resume({ 'config.json': 'good', 'checkpoints/step-1': 'x', 'text.txt': 'third text' });
  assert.equal(posted.at(-1).kind, 'report');
  assert.equal(textNow(), 'third text');
  const [, folder] = calls.filter(([name]) => name === 'playground_open').at(-1);
  assert.ok(files.all.has(`${folder}/checkpoints/step-1`));
  assert.ok(!files.all.has(before[0]), 'files of the previous run are removed');
  await resume({ './config.json': 'good', './text.txt': 'fourth text' });
  assert.equal(textNow(), 'fourth text');

  // A text is passed as bytes with their number: U+0000 ends no text, but a prompt with it is refused.
  await onmessage({ data: { kind: 'start', text: 'a\0\u00e9b', settings: {} } });
  const [, given, count] = calls.filter(([name]) => name === 'playground_start').at(-1);
  assert.deepEqual([...given], [97, 0, 0xc3, 0xa9, 98]);
  assert.equal(count, 5);
  await onmessage({ data: { kind: 'sample', prompt: 'a\0b', tokens: 1, temperature: 1 } });
  assert.match(posted.at(-1).message, /U\+0000/);
  console.log('a run that is refused leaves the present one as it was');
})().catch((error) => {
  console.error(error.stack);
  process.exit(1);
});
