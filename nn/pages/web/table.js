// Tables: regions in which a wide one scrolls, by keyboard as well, and rows that are sorted by
// clicking a column's name.
import { h } from './dom.js';

// A region that scrolls contents wider or higher than the page allows.
export function scrolling(label, kind, ...children) {
  return h('div', { class: kind, tabindex: '0', role: 'region', 'aria-label': label }, ...children);
}

// A cell of words; a dash, and nothing in a file, for undefined or no text.
export const wordCell = (text, kind = 'word') => h('td', { class: kind, 'data-value': text ? null : '' }, text || '\u2013');

// A cell that shows `text` and is sorted by the number x, regardless of unit.
export const valueCell = (x, text, kind) => h('td', { 'data-value': String(x), class: kind }, text);

// Turns column headings that are only text into buttons. The first click sorts the largest number
// or the first word to the top; the next one reverses the order.
export function sortable(table) {
  const heads = Array.from(table.tHead.rows[0].cells);
  heads.forEach((head, column) => {
    const name = head.textContent;
    if (head.tagName !== 'TH' || name === '' || head.children.length > 0) return;
    const button = h('button', { class: 'sort', onclick: () => {
      const falls = head.getAttribute('aria-sort') === 'descending';
      const rises = head.getAttribute('aria-sort') === 'ascending';
      const down = falls || rises ? rises : holdsNumbers(table, column);
      heads.forEach((each) => each.removeAttribute('aria-sort'));
      head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      sortRows(table, column, down);
    } }, name);
    head.replaceChildren(button);
  });
  return table;
}

// Call this after replacing the rows of a table's body: they are in their original order.
export function unsorted(body) {
  const table = body.closest('table');
  if (table) table.querySelectorAll('[aria-sort]').forEach((head) => head.removeAttribute('aria-sort'));
}

// NaN if it is not a number.
function numberIn(cell) {
  if (!cell) return NaN;
  if (cell.dataset.value !== undefined) return cell.dataset.value === '' ? NaN : Number(cell.dataset.value);
  const text = cell.textContent.replace(/\u2212/g, '-').replace(/%$/, '');
  return text === '' ? NaN : Number(text);
}

function holdsNumbers(table, column) {
  const known = Array.from(table.tBodies[0].rows, (row) => numberIn(row.cells[column]));
  return known.some((x) => !Number.isNaN(x));
}

// Rows without a number come last in either direction.
function sortRows(table, column, down) {
  const sign = down ? -1 : 1;
  const rows = Array.from(table.tBodies[0].rows, (row) => ({ row, x: numberIn(row.cells[column]),
    text: row.cells[column] ? row.cells[column].textContent : '' }));
  const byNumber = holdsNumbers(table, column);
  rows.sort((a, b) => {
    if (!byNumber) return sign * a.text.localeCompare(b.text, undefined, { numeric: true });
    if (Number.isNaN(a.x) || Number.isNaN(b.x)) return Number.isNaN(a.x) - Number.isNaN(b.x);
    return sign * (a.x - b.x);
  });
  table.tBodies[0].append(...rows.map(({ row }) => row));
}
