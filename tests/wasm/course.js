// Every program of the course, in WebAssembly by node, prints its chapter's output; and something
// else for another number.
//
//     node course.js DIRECTORY
//
// DIRECTORY holds course_programs.js, course_programs.wasm and programs.json
// (examples/school/site).
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');

const directory = path.resolve(process.argv[2]);
const programs = Object.entries(JSON.parse(fs.readFileSync(path.join(directory, 'programs.json'), 'utf8')));
const compiled = new WebAssembly.Module(fs.readFileSync(path.join(directory, 'course_programs.wasm')));
const factory = require(path.join(directory, 'course_programs.js'));

// A new instance for every run, as in a page: { status, output }.
async function run(index, changed = []) {
  const lines = [];
  const print = (line) => lines.push(line);
  const library = await factory({ print, printErr: print, instantiateWasm(imports, done) {
    done(new WebAssembly.Instance(compiled, imports), compiled);
    return {};
  } });
  for (const [k, value] of changed) library._course_change(k, value);
  const status = library._course_run(index);
  return { status, output: lines.map((line) => `${line}\n`).join('') };
}

(async () => {
  let count = 0, failed = 0;
  const slow = [];
  for (const [chapter, all] of programs) {
    for (const [i, { index, output, leftOut }] of all.entries()) {
      const name = `${chapter} ${i + 1}`;
      if (leftOut) {
        console.log(`left out: ${name}`);
        continue;
      }
      const began = performance.now();
      const done = await run(index);
      const seconds = (performance.now() - began) / 1000;
      if (seconds > 5) slow.push(`${name}: ${seconds.toFixed(1)} s`);
      ++count;
      if (done.status === 0 && (output === null || done.output === output)) continue;
      ++failed;
      console.log(`OTHER OUTPUT: ${name}, status ${done.status}\n--- on the page\n${output}--- now\n${done.output}`);
    }
  }
  const line = programs.find(([chapter]) => chapter.startsWith('3-'))[1][0];
  const steps = line.numbers.findIndex(({ name }) => name === 'steps');
  const { output } = await run(line.index, [[steps, 20]]);
  assert.match(output, /step 20/);
  assert.doesNotMatch(output, /step 30/);
  console.log(`${count} programs of the course, ${failed} failed`, slow.length ? `(${slow.join(', ')})` : '');
  process.exit(failed || count < 100 ? 1 : 0);
})();
