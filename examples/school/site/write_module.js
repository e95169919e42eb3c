// Writes the files that the course's pages load: course_numbers.js, with the programs and their
// changeable numbers, and course_module.js, the library with all programs, compressed, as text: a
// page opened as a file can read nothing else.
//
//     node write_module.js MODULE_DIR OUT
const fs = require('node:fs');
const path = require('node:path');
const zlib = require('node:zlib');

const [,, from, out] = process.argv;
const read = (name, encoding) => fs.readFileSync(path.join(from, name), encoding);

const programs = JSON.parse(read('programs.json', 'utf8'));
const told = Object.fromEntries(Object.entries(programs).map(([chapter, all]) =>
  [chapter, all.map(({ index, numbers, leftOut }) => ({ index, numbers, leftOut }))]));
fs.writeFileSync(path.join(out, 'course_numbers.js'), `window.course = ${JSON.stringify(told)};\n`);

const worker = fs.readFileSync(path.join(__dirname, 'web', 'course_worker.js'), 'utf8');
const library = {
  glue: read('course_programs.js', 'utf8') + worker,
  wasm: zlib.gzipSync(read('course_programs.wasm'), { level: 9 }).toString('base64'),
};
fs.writeFileSync(path.join(out, 'course_module.js'), `window.courseModule = ${JSON.stringify(library)};\n`);
