// The worker of a live page with a library of a few lines: a failing call gives its own message.
//
//     node live_worker.js SOURCE_DIR
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');

const text = fs.readFileSync(path.join(process.argv[2], 'nn/pages/web/live_worker.js'), 'utf8');
const posted = [];
const module_ = { FS: { mkdir: () => {}, writeFile: () => {} },
  // emscripten's cwrap gives '' for a null pointer
  cwrap: (name) => ({ live_shape: () => '2 4', live_look: (directory, prompt) => (prompt === '' ? '' : '{"title":"t"}'),
    live_sample: () => '', playground_error: () => 'the prompt is too short' })[name] };
const worker = new Function('tapestryPlayground', 'postMessage', 'Blob', 'Response', 'DecompressionStream',
  `let onmessage; ${text}; return onmessage;`)(async () => module_, (message) => posted.push(message),
  class { stream() { return { pipeThrough: () => null }; } }, class { arrayBuffer() { return null; } }, class {});

(async () => {
  const ask = async (kind, asked) => {
    await worker({ data: { kind, number: 1, ...asked } });
    return posted.pop();
  };
  assert.deepEqual((await ask('open', { wasm: '', files: {} })).answer, { layers: 2, heads: 4 });
  assert.deepEqual((await ask('look', { prompt: 'abc', heads: '' })).answer, { title: 't' });
  assert.equal((await ask('look', { prompt: '', heads: '' })).failed, 'the prompt is too short');
  assert.equal((await ask('sample', { prompt: 'a', tokens: 1, temperature: -1, heads: '' })).failed,
    'the prompt is too short');
  assert.match((await ask('look', { prompt: 'a\0b', heads: '' })).failed, /U\+0000/);
  console.log('the worker of live pages: done');
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
