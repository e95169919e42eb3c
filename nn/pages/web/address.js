// A page's state in its address, #tab=attention&layer=2&head=1: a reload keeps it, and it can be
// linked. A tab, a head, a token and so on each have a name.

const WRITTEN_EVERY = 250; // milliseconds: browsers refuse more than a few changes per second

const inAddress = () => new URLSearchParams(window.location.hash.slice(1));
let unwritten = null;

// The value of a name, or null.
export const valueInAddress = (name) => (unwritten ?? inAddress()).get(name);

// The value as a whole number from 0 to `count` - 1; otherwise `usual`.
export function numberOf(name, count, usual) {
  const text = valueInAddress(name);
  return text !== null && /^\d+$/.test(text) && Number(text) < count ? Number(text) : usual;
}

// Sets the values of these names; null removes one.
export function keepState(changes) {
  const due = unwritten === null;
  unwritten ??= inAddress();
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) unwritten.delete(name);
    else unwritten.set(name, String(value));
  }
  if (due) setTimeout(write, WRITTEN_EVERY);
}

function write() {
  const text = String(unwritten);
  unwritten = null;
  if (text !== window.location.hash.slice(1)) window.history.replaceState(null, '', `#${text}`);
}

// A link to another state of this page opens it.
export function followAddress() {
  window.addEventListener('hashchange', () => window.location.reload());
}
