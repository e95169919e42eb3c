// Turns the output of a training run into a picture of a terminal: what the model writes before, the loss, in
// place, and what it writes after. It plays once and keeps its end; nothing moves where less motion is wanted.
// The lines are short, so that they can be read where the picture is 177 pixels wide, as on a telephone.
//
//     node terminal.js COMMAND LOG
const fs = require('node:fs');

const [,, command, log] = process.argv;
const COLUMNS = 36;
const SAMPLE = 4; // lines of what the model writes
const [LINE, LEFT, TOP] = [18, 6, 20];
const [BEFORE, START, STOP, AFTER, END] = [0.4, 1.4, 8, 8.6, 9]; // seconds

const lines = fs.readFileSync(log, 'utf8').trimEnd().split('\n');
const fail = (what) => { throw new Error(`${log} has no ${what}`); };
const steps = lines.flatMap((line) => {
  const [, step, of, loss, val] = /^step +(\d+)\/(\d+) +loss ([\d.]+) +val ([\d.]+)/.exec(line) ?? [];
  return step ? [`step ${step.padStart(of.length)}/${of}  loss ${Number(val ?? loss).toFixed(2)}`] : [];
});
if (steps.length === 0) fail('steps');

// Of the lines after the one that begins so: as many characters as fit.
function sampleAfter(start) {
  const at = lines.findIndex((line) => line.startsWith(start));
  if (at < 0) fail(start);
  const text = lines.slice(at + 1, lines.findIndex((line, i) => i > at + 1 && /^(step |\d+ steps)/.test(line))).join('\n').trim();
  const rows = [];
  for (const paragraph of text.split('\n').filter(Boolean)) {
    let row = '';
    for (const word of paragraph.split(' ')) {
      if (row && row.length + 1 + word.length > COLUMNS) {
        rows.push(row);
        row = word;
      } else {
        row = row ? `${row} ${word}` : word;
      }
    }
    rows.push(row);
  }
  return rows.slice(0, SAMPLE).map((row) => row.slice(0, COLUMNS));
}

const lossBefore = Number(/validation loss ([\d.]+)/.exec(lines.find((line) => line.startsWith('before training')) ?? '')?.[1] ?? fail('loss before'));
const [, lossAfter] = /validation loss ([\d.]+)/.exec(lines.find((line) => /^\d+ steps in/.test(line)) ?? '') ?? fail('end');

const escaped = (text) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
const frames = [];
const styles = [];
let row = 0;

// Visible from `from` to `until` seconds, in this row.
function shown(text, at, from, until = END, kind = '') {
  const name = `f${frames.length}`;
  const percent = (seconds) => `${(100 * seconds / END).toFixed(2)}%`;
  const hide = until < END ? `${percent(until)}{opacity:1}${percent(until + 0.001)},100%{opacity:0}` : '';
  if (from > 0 || hide) {
    styles.push(`@keyframes ${name}{0%,${percent(from)}{opacity:0}${percent(from + 0.001)}{opacity:1}${hide}}` +
      `.${name}{animation:${name} ${END}s step-end both}`);
  }
  frames.push(`<text class="${name}${until < END ? ' passes' : ''}${kind}" x="${LEFT}" y="${TOP + LINE * at}">${escaped(text)}</text>`);
}

shown(`$ ${command}`, row++, 0);
shown(`before: loss ${lossBefore.toFixed(2)}; it writes`, ++row, BEFORE, END, ' said');
sampleAfter('before training').forEach((line) => shown(line, ++row, BEFORE));
row += 2;
steps.forEach((line, i) => {
  const at = (n) => START + (STOP - START) * n / steps.length;
  shown(line, row, at(i), i + 1 < steps.length ? at(i + 1) : END);
});
row += 2;
shown(`after: loss ${Number(lossAfter).toFixed(2)}; it writes`, row, AFTER, END, ' said');
sampleAfter('after training').forEach((line) => shown(line, ++row, AFTER));

const [width, height] = [2 * LEFT + Math.ceil(7.83 * COLUMNS), TOP + LINE * row + 10];
console.log(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="a training run in the terminal: what the model writes before, its loss falling, what it writes after">
<style>
text{font:13px ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;white-space:pre;fill:#1c1c1a}
.said{fill:#5c5c58}.frame{fill:#fff;stroke:#dededa}
@media(prefers-color-scheme:dark){text{fill:#e9e9e4}.said{fill:#a9a9a3}.frame{fill:#1e1e1c;stroke:#3a3a37}}
${styles.join('\n')}
@media(prefers-reduced-motion:reduce){text{animation:none!important}.passes{opacity:0}}
</style>
<rect class="frame" x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="6"/>
${frames.join('\n')}
</svg>`);
