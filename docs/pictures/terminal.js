// Turns the output of a training run into an animated picture of a terminal: the progress line is
// rewritten in place, the other lines appear one after another.
//
//     node terminal.js COMMAND LOG
const fs = require('node:fs');

const [,, command, log] = process.argv;
const COLUMNS = 86;
const [LINE, LEFT, TOP] = [19, 16, 44];
const END = 14; // seconds; then it repeats

const lines = fs.readFileSync(log, 'utf8').trimEnd().split('\n');
const isStep = (line) => /^step +\d+\//.test(line);
const first = lines.findIndex(isStep);
const steps = lines.filter(isStep);
const cut = (line) => (line.length > COLUMNS ? `${line.slice(0, COLUMNS - 1)}\u2026` : line);
const short = (some) => some.filter((line) => !line.startsWith('report in')).slice(0, 8).map(cut);
const before = [...short(lines.slice(0, first).filter((line, i, all) => line || i < all.length - 1)), ''];
const after = short(lines.slice(lines.lastIndexOf(steps[steps.length - 1]) + 1));

const escaped = (text) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
const frames = [];
const styles = [];
let row = 0;

// Visible from `from` to `until` seconds, in this row.
function shown(text, at, from, until = END) {
  const name = `f${frames.length}`;
  const percent = (seconds) => `${(100 * seconds / END).toFixed(2)}%`;
  const hide = until < END ? `${percent(until)}{opacity:1}${percent(until + 0.001)},100%{opacity:0}` : '';
  if (from > 0 || hide) {
    styles.push(`@keyframes ${name}{0%,${percent(from)}{opacity:0}${percent(from + 0.001)}{opacity:1}${hide}}` +
      `.${name}{animation:${name} ${END}s step-end infinite}`);
  }
  frames.push(`<text class="${name}${until < END ? ' passes' : ''}" x="${LEFT}" y="${TOP + LINE * at}">${escaped(text)}</text>`);
}

shown(`$ ${command}`, row++, 0);
before.forEach((line) => shown(line, row++, 0.6));
const [start, stop] = [1.4, 8];
steps.forEach((line, i) => {
  const at = (n) => start + (stop - start) * n / (steps.length - 1);
  shown(cut(line.replace(/ +tokens/, ' tokens')), row, at(i), i + 1 < steps.length ? at(i + 1) : END);
});
++row;
after.forEach((line) => shown(line, row++, 8.8));

const [width, height] = [2 * LEFT + Math.ceil(7.83 * COLUMNS), TOP + LINE * row];
console.log(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="a training in the terminal: what the model writes before, its loss falling, what it writes after">
<style>
text{font:13px ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;white-space:pre;fill:#1c1c1a}
.frame{fill:#fff;stroke:#dededa}.dot{fill:#dededa}
@media(prefers-color-scheme:dark){text{fill:#e9e9e4}.frame{fill:#1e1e1c;stroke:#3a3a37}.dot{fill:#3a3a37}}
${styles.join('\n')}
@media(prefers-reduced-motion:reduce){text{animation:none!important}.passes{opacity:0}}
</style>
<rect class="frame" x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="8"/>
${[16, 32, 48].map((x) => `<circle class="dot" cx="${x}" cy="16" r="5"/>`).join('')}
${frames.join('\n')}
</svg>`);
