// An open report follows its file. Every two seconds it loads the file again into a hidden frame;
// there this script draws nothing but passes the data to the enclosing page, which takes over newer
// data, and removes the frame. This works from disk, where scripts may not read files, and requests
// nothing but the page itself. Scroll position and selection are kept.

const EVERY = 2000; // milliseconds
const PATIENCE = 10000; // for a frame that does not answer: the file may be briefly missing

// In such a frame, passes on the data and returns true. Files on disk have no origin that could be
// named; a server's page answers only its own origin.
export function answersPage() {
  if (window.parent === window || !location.search.startsWith('?follow=')) return false;
  window.parent.postMessage(document.getElementById('data').textContent,
    location.protocol === 'file:' ? '*' : location.origin);
  return true;
}

// Calls renew(data) with every newer version of `data` while the run continues and the page is
// visible. If the file now holds another run's page, reloads it completely.
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
    if (document.hidden) return; // continues when visible again
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
