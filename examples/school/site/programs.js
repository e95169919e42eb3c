// Writes the course's programs as C++ for one module, and lists the numbers that a reader may
// change in each:
//
//     node programs.js OUT CHAPTER.md...
//
// OUT gets CHAPTER.cpp, with every program of that chapter as a function in a separate namespace;
// table.cpp, with all of them by number; and programs.json, which also names those in excluded_programs. As
// in tests/frame/snippets.sh, a program is a block ```cpp with a main, and a block ```text right
// after it is its output.
// Read next: number.h, exports.cpp.
const fs = require('node:fs');
const path = require('node:path');

// The numbers that a reader may change: elements of tensors, and numbers whose context identifies
// them. In each pattern the last group is the number, named by the given words or the group before
// it. Elsewhere a number could be an array's size, or something that the text explains.
const NUMBER = String.raw`(-?\d+(?:\.\d*)?(?:e-?\d+)?)(?![\w.'])`;
const EDITABLE = [
  [String.raw`\bGenerator \w+\(`, 'seed'],
  [String.raw`\bmanual_seed\(`, 'seed'],
  [String.raw`\bstep <=? `, 'steps'],
  ['-= ', 'learning rate', String.raw` \*`, 'double'],
  [String.raw`\bscalar\(`, 'value', '', 'double'],
  [String.raw`\.(steps|batch|seed|dim|layers|heads|context) = `],
  [String.raw`\.(lr|dropout|weight_decay|momentum|temperature) = `, null, '', 'double'],
  [String.raw`^ {4}const double (\w+) = `, null, ';', 'double'],
  [String.raw`^ {4}const (?:int|std::int64_t) (\w+) = `, null, ';'],
].map(([before, name, after = '', type = 'int']) => ({ name, type,
  pattern: new RegExp(`(${before})${NUMBER}(?=${after})`, 'gm') }));
const ELEMENTS = /\btensor<(double|float)>\(\s*\{[^;()]*?\}\)/g;

function editableNumbers(text) {
  const found = [];
  for (const { name, type, pattern } of EDITABLE) {
    for (const match of text.matchAll(pattern)) {
      const number = match.at(-1);
      found.push({ name: name ?? match[2].replaceAll('_', ' '), type, text: number,
        at: match.index + match[1].length });
    }
  }
  for (const { 0: call, 1: type, index } of text.matchAll(ELEMENTS)) {
    for (const match of call.matchAll(new RegExp(`(?<=[{,]\\s*)${NUMBER}`, 'g'))) {
      found.push({ name: 'element', type, text: match[0], at: index + match.index });
    }
  }
  return found.sort((a, b) => a.at - b.at);
}

function programsOf(markdown) {
  const blocks = [...markdown.matchAll(/^```(\w*)\n([^]*?)^```$/gm)];
  return blocks.flatMap((block, i) => {
    if (block[1] !== 'cpp' || !block[2].includes('int main(')) return [];
    const next = blocks[i + 1];
    const between = next && markdown.slice(block.index + block[0].length, next.index);
    const output = next?.[1] === 'text' && !between.trim() ? next[2] : null;
    return [{ text: block[2], output }];
  });
}

// Renames main to a function that returns 0 at its end, as main does implicitly.
function asFunction(program, index) {
  let text = program.text;
  for (const [k, { at, text: number, type }] of [...program.numbers.entries()].reverse()) {
    text = `${text.slice(0, at)}course::number<${type}>(${k}, ${number})${text.slice(at + number.length)}`;
  }
  const body = text.replace(/^#include.*\n/gm, '')
    .replace(/^int main\(\) \{$([^]*?)^\}$/m, (_, inside) => `int run() {${inside}    return 0;\n}`);
  return `namespace program_${index} {\n${body.trim()}\n}  // namespace program_${index}\n`;
}

// "CHAPTER N: why program N of a chapter does not run in a page", one per line.
const leftOut = new Set(fs.readFileSync(path.join(__dirname, 'excluded_programs'), 'utf8').split('\n')
  .map((line) => line.replace(/:.*/, '')));

const [,, out, ...chapters] = process.argv;
const all = {};
let count = 0;
for (const file of chapters) {
  const chapter = path.basename(file, '.md');
  const programs = programsOf(fs.readFileSync(file, 'utf8'));
  for (const [i, program] of programs.entries()) program.leftOut = leftOut.has(`${chapter} ${i + 1}`);
  const includes = new Set(programs.flatMap(({ text, leftOut: out }) => out ? [] : text.match(/^#include.*$/gm)));
  const functions = programs.map((program, i) => {
    program.numbers = program.leftOut ? [] : editableNumbers(program.text);
    program.index = count + i;
    if (program.leftOut) return `namespace program_${program.index} {\nint run() { return 1; }\n}\n`;
    return asFunction(program, program.index);
  });
  count += programs.length;
  all[chapter] = programs;
  fs.writeFileSync(path.join(out, `${chapter}.cpp`),
    `${[...includes].join('\n')}\n#include <tapestry/examples/school/site/number.h>\n\n${functions.join('\n')}`);
}

const each = (write) => Array.from({ length: count }, (_, i) => write(i)).join('');
fs.writeFileSync(path.join(out, 'table.cpp'),
  `#include <tapestry/examples/school/site/number.h>\n\n` +
  each((i) => `namespace program_${i} {\nint run();\n}\n`) +
  `\nint (*const course::programs[])() = {\n${each((i) => `    program_${i}::run,\n`)}};\n` +
  `const int course::program_count = ${count};\n`);
fs.writeFileSync(path.join(out, 'programs.json'), JSON.stringify(all));
