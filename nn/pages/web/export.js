// Figures and tables as files: tables and lines as CSV with plain numbers, charts as SVG.
import { h } from './dom.js';

// Numbers as programs read them: "\u221212.3", "\u2248 0.5" and "12%" are for people.
function plain(text) {
  const words = text.replace(/\u2212/g, '-').replace(/^\u2248\u00a0?/, '').replace(/\u221e/g, 'inf')
    .replace(/\u2013/g, '').trim();
  return /^-?[\d.e+-]+%$/.test(words) ? String(Number((Number(words.slice(0, -1)) / 100).toPrecision(6))) : words;
}

// The text of a cell without its pictures and buttons for files.
const textOfCell = (cell) => Array.from(cell.childNodes).filter(({ nodeName }) => nodeName.toLowerCase() !== 'svg')
  .map(({ textContent }) => textContent).join('');

const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);

// Rows of cells, each a text.
export const csvText = (rows) => `${rows.map((row) => row.map(quoted).join(',')).join('\r\n')}\r\n`;

// The cells of a row, one per column; null where a cell spans another column.
const cellsOf = (row) => Array.from(row.cells).flatMap((cell) => [cell, ...Array(cell.colSpan - 1).fill(null)]);

// A cell's text in a file. That of words is what it is: a token may be a dash, a minus sign or "50%".
const textInFile = (cell) => cell.dataset.value ??
  (cell.classList.contains('word') ? textOfCell(cell).trim() : plain(textOfCell(cell)));

// The rows that a table shows, without columns of bars; a cell's data-value is its number without
// rounding and unit, or empty for words that there are not.
export function csvOfTable(table) {
  const rows = Array.from(table.rows).filter((row) => !row.hidden).map(cellsOf);
  const bars = new Set(rows.flatMap((row) => row.flatMap((cell, i) => (cell?.classList.contains('bars') ? [i] : []))));
  return csvText(rows.map((row) => row.filter((_, i) => !bars.has(i))
    .map((cell) => (cell === null ? '' : textInFile(cell)))));
}

// The button of the table of this name.
export const saveTable = (name) => saveButton('CSV', `${name}.csv`, 'text/csv', () =>
  csvOfTable(document.querySelector(`[data-table=${name}]`)));

// A table with a button above it that saves its rows.
export function saveable(name, kind, ...children) {
  const table = h('table', { class: kind, 'data-table': name, 'aria-label': name }, h('caption', {},
    saveButton('CSV', `${name}.csv`, 'text/csv', () => csvOfTable(table))), ...children);
  return table;
}

// Lines { name, steps, values } as columns: the step, or another unit, then one per line.
export function csvOfLines(lines, unit = 'step') {
  const steps = Array.from(new Set(lines.flatMap((line) => line.steps))).sort((a, b) => a - b);
  const maps = lines.map((line) => new Map(line.steps.map((step, i) => [step, line.values[i]])));
  return csvText([[unit, ...lines.map(({ name }) => name)], ...steps.map((step) => [String(step),
    ...maps.map((map) => (map.get(step) === undefined || map.get(step) === null ? '' : String(map.get(step))))])]);
}

// Offers a text as a file.
export function download(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = h('a', { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

// A small button that saves what `text()` gives.
export const saveButton = (label, name, type, text) => h('button', { class: 'step-button save',
  'data-save': name, 'aria-label': `Save ${name}`, onclick: () => download(name, type, text()) }, label);
