// A page's state in its address, #tab=attention&layer=2&head=1: a reload keeps it, Back returns to
// the tab before, and it can be linked. A tab, a head, a token and so on each have a name.

const WRITTEN_EVERY = 250; // milliseconds: browsers refuse more than a few changes per second

const inAddress = () => new URLSearchParams(window.location.hash.slice(1));
let unwritten = null;
let timer = 0;
let opening = 0;

// The value of a name, or null.
export const valueInAddress = (name) => (unwritten ?? inAddress()).get(name);

// The value as a whole number from 0 to `count` - 1; otherwise `usual`.
export function numberOf(name, count, usual) {
  const text = valueInAddress(name);
  return text !== null && /^\d+$/.test(text) && Number(text) < count ? Number(text) : usual;
}

// Runs f, which shows what nobody has chosen: keepState() does nothing meanwhile.
export function asOpened(f) {
  ++opening;
  try {
    return f();
  } finally {
    --opening;
  }
}

export const isOpening = () => opening > 0;

// Sets the values of these names; null removes one. `back`: Back returns to the state before.
export function keepState(changes, back = false) {
  if (opening > 0) return;
  if (back) write();
  unwritten ??= inAddress();
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) unwritten.delete(name);
    else unwritten.set(name, String(value));
  }
  if (back) write('pushState');
  else if (timer === 0) timer = setTimeout(() => write(), WRITTEN_EVERY);
}

function write(how = 'replaceState') {
  clearTimeout(timer);
  timer = 0;
  if (unwritten === null) return;
  const text = String(unwritten);
  unwritten = null;
  if (text !== window.location.hash.slice(1)) window.history[how](null, '', `#${text}`);
}

// Calls show() when the address changes: by Back, Forward, or a link to another state.
export function followAddress(show) {
  window.addEventListener('hashchange', () => {
    unwritten = null;
    show();
  });
}
