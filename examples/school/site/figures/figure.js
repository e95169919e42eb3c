// The parts of a figure: elements, sliders, choices, bars and numbers. FIGURES has an object for each
// picture of the course with a live figure: its title, fill(element), and keeps: true if the picture
// stays above it.
// Read next: place.js; softmax.js, the shortest figure.

const FIGURES = {};
const CHINESE = document.documentElement.lang === 'zh';
const say = (english, chinese) => CHINESE ? chinese : english;

function h(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}
function svg(tag, attributes, ...children) {
  return filled(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}
function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value !== false && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

// -0.00 is shown as 0.00.
function shown(x, places = 3) {
  const text = x.toFixed(places);
  return (Number(text) === 0 ? text.replace('-', '') : text).replace('-', '\u2212');
}
const list = (values, places) => values.map((value) => shown(value, places)).join('  ');

// A slider over these values, with a text beside it; `changed` is called after each move.
function slider(name, values, first, changed, text = String, label = name) {
  const readout = h('span', { class: 'readout', 'aria-hidden': 'true' });
  const input = h('input', { type: 'range', min: 0, max: values.length - 1, value: values.indexOf(first),
    'aria-label': name });
  const show = () => {
    const now = text(values[input.value]).replace('-', '\u2212');
    readout.textContent = now;
    input.setAttribute('aria-valuetext', now);
  };
  input.addEventListener('input', () => { show(); changed(); });
  show();
  return { element: h('label', { class: 'slider' }, h('span', {}, label), input, readout),
    get value() { return values[input.value]; } };
}

function checkbox(name, checked, changed) {
  const input = h('input', { type: 'checkbox', oninput: changed });
  input.checked = checked;
  return { element: h('label', { class: 'check' }, input, name), get value() { return input.checked; } };
}

const button = (name, pressed) => h('button', { type: 'button', onclick: pressed }, name);

// One of several: buttons of which arrow keys choose one. Returns the index as `value`.
function choice(name, options, first, changed) {
  const group = h('span', { class: 'choice', role: 'radiogroup', 'aria-label': name });
  let value = first;
  const radios = options.map((option, i) => h('button', { type: 'button', role: 'radio', onclick: () => choose(i) }, option));
  function choose(i) {
    value = i;
    radios.forEach((radio, j) => {
      radio.setAttribute('aria-checked', String(i === j));
      radio.tabIndex = i === j ? 0 : -1;
    });
    changed?.();
  }
  group.addEventListener('keydown', (event) => {
    const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    choose((value + step + options.length) % options.length);
    radios[value].focus();
  });
  group.append(...radios);
  const later = changed;
  changed = undefined; // nothing has been drawn yet
  choose(first);
  changed = later;
  return { element: group, get value() { return value; } };
}

// A share between 0 and 1 as a bar, with its number beside it. `colour` is a class.
function bar(colour) {
  const filling = h('span', { class: `filling ${colour}` });
  const number = h('span', { class: 'readout' });
  return { element: h('span', { class: 'bar' }, h('span', { class: 'track', 'aria-hidden': 'true' }, filling), number),
    set(share, text) {
      filling.style.width = `${100 * Math.min(1, Math.abs(share))}%`;
      filling.classList.toggle('below', share < 0);
      number.textContent = text ?? shown(share);
    } };
}

// A table of rows that can be scrolled by keyboard where the window is narrow.
const table = (caption, heads, rows) => h('div', { class: 'rows', tabindex: 0, role: 'group', 'aria-label': caption },
  h('table', {}, h('thead', {}, h('tr', {}, ...heads.map((head) => h('th', { scope: 'col' }, head)))),
    h('tbody', {}, ...rows)));

// A sentence that says what the figure shows now; screen readers read it after a change.
const statement = () => h('p', { class: 'statement', role: 'status' });
