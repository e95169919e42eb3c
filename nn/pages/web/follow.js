// An open report follows its file. Every two seconds it loads the file once more, into a hidden
// frame; in there this script draws nothing but hands the data to the page around it, which takes
// over what is newer, and the frame goes. This works from a disk, where no script may read a file,
// and asks for nothing but the page itself. Who reads the page loses neither place nor selection.

const EVERY = 2000; // milliseconds
const PATIENCE = 10000; // for a frame that does not answer: the file may be gone for a moment

// In such a frame: the data are handed over, and true comes back. Files of a disk have no origin that
// could be named; a server's page answers no other's.
export function answersPage() {
  if (window.parent === window || !location.search.startsWith('?follow=')) return false;
  window.parent.postMessage(document.getElementById('data').textContent,
    location.protocol === 'file:' ? '*' : location.origin);
  return true;
}

// Calls renew(data) with every newer version of `data`, while the training runs and somebody looks.
// A page of another training, which has taken the place of this one, is loaded as a whole.
export function follow(data, renew) {
  let frame = null;
  let timer = 0;
  let asked = 0;

  const wait = (milliseconds) => {
    clearTimeout(timer);
    timer = setTimeout(ask, milliseconds);
  };
  function ask() {
    frame?.remove();
    frame = null;
    if (document.hidden) return; // goes on when it is seen again
    const source = `${location.href.replace(/[?#].*$/, '')}?follow=${++asked}`;
    frame = document.createElement('iframe');
    frame.hidden = true;
    frame.title = 'the newest version of this page';
    frame.src = source;
    document.body.append(frame);
    wait(PATIENCE);
  }
  function take(event) {
    if (frame === null || event.source !== frame.contentWindow) return;
    frame.remove();
    frame = null;
    const newer = JSON.parse(event.data);
    if (newer.status.started !== data.status.started) {
      location.reload();
      return;
    }
    const isNew = newer.status.written > data.status.written;
    if (isNew) data = newer;
    if (data.status.state === 'running') {
      wait(EVERY);
    } else {
      clearTimeout(timer);
      window.removeEventListener('message', take);
      document.removeEventListener('visibilitychange', look);
    }
    if (isNew) renew(data);
  }
  function look() {
    if (!document.hidden) ask();
  }
  if (data.status.state !== 'running') return;
  window.addEventListener('message', take);
  document.addEventListener('visibilitychange', look);
  wait(EVERY);
}
