// The playground's first screen: a step on a sentence as one picture, the steps so far as a track, and what
// the model writes. Read next: ../../../../nn/pages/web/step_picture.js.
import { asOpened } from './address.js';
import { h } from './dom.js';
import { stepOf } from './picture.js';
import { StepPicture } from './step_picture.js';
import { Scrubber } from './scrubber.js';
import { openTab } from './tabs.js';

const DRAWN_EVERY = 800; // milliseconds between pictures during training
const MOST_KEPT = 48; // pictures; of more, every other one is dropped
const FIRST_TOKENS = 20; // of the text, in the picture at first

// ask(sentence): requests a step on it, which show() receives. { element, begin, show, stands }.
export function stageView(ask, written) {
  let kept = []; // [{ step, data, drawn }], ascending
  let at = -1;
  let sentence = '';
  let waiting = false; // for an answer
  let asked = { time: 0, step: -1 };
  let latest = null; // report
  const stepPicture = new StepPicture(({ state, step: { path } }) => [
    openTab('attention', 'This head', { layer: state.layer, head: state.head, query: path.rows[state.row], key: null }),
    openTab('tape', 'The tape', {}), openTab('curves', 'All curves', {})]);
  const field = h('input', { type: 'search', size: 28, 'data-control': 'stage-sentence', 'aria-label': 'Sentence in the picture',
    onchange: () => {
      sentence = field.value;
      kept = [];
      at = -1;
      request(asked.step);
    } });
  const where = h('span', { class: 'quiet', 'data-readout': 'stage' });
  const scrubber = new Scrubber((to) => draw(to));
  stepPicture.track = scrubber.track;

  function draw(to) {
    at = to;
    const own = kept[at];
    where.textContent = `The picture: after step ${own.step}${at === kept.length - 1 ? '' : ', looking back'}`;
    scrubber.mark(at);
    stepPicture.show(own.drawn ??= stepOf(own.data));
  }

  function request(step) {
    waiting = true;
    asked = { time: Date.now(), step };
    ask(sentence);
  }

  function track() {
    if (!latest) return;
    scrubber.show({ curve: latest.curves.loss, stops: kept.map(({ step }) => step), at: Math.max(0, at),
      spikes: latest.spikes.map(({ step }) => step), end: latest.status.step });
  }

  return {
    element: h('div', { class: 'stage-of' }, h('h2', { class: 'spoken' }, 'The step as one picture'),
      h('div', { class: 'row' }, h('label', {}, 'Sentence ', field), where),
      h('div', { class: 'one-screen' }, h('div', {}, ...stepPicture.words, stepPicture.picture, scrubber.track), written), stepPicture.legend),
    // The beginning of the text.
    begin(text, context) {
      kept = [];
      at = -1;
      latest = null;
      waiting = false;
      asked = { time: 0, step: -1 };
      sentence = text.slice(0, Math.min(context + 1, FIRST_TOKENS)).split('\n')[0];
      field.value = sentence;
      field.maxLength = context + 1;
    },
    // Another picture, unless the reader looks back: then it only enters the track.
    show(step, data) {
      waiting = false;
      const wasLast = at === kept.length - 1;
      kept = [...kept.filter((each) => each.step < step), { step, data }];
      if (kept.length > MOST_KEPT) kept = kept.filter((each, i) => i % 2 === 0 || i === kept.length - 1);
      if (wasLast || at >= kept.length) draw(kept.length - 1);
      track();
    },
    failed() {
      waiting = false;
    },
    // Chooses what the address says.
    follow: () => at >= 0 && asOpened(() => stepPicture.follow()),
    stands(report, playing) {
      latest = report;
      const { step } = report.status;
      track();
      const due = playing ? Date.now() - asked.time >= DRAWN_EVERY : step !== asked.step;
      if (!waiting && due && !document.hidden) request(step);
    },
  };
}
