// The tab "One picture" of a report: the step on its sentence as one picture, at every evaluation that was
// kept; the steps of the run are a track below it.
import { keepState, numberOf } from './address.js';
import { fixed, h } from './dom.js';
import { lossIn } from './guesses.js';
import { StepPicture } from './step_picture.js';
import { playButton } from './play.js';
import { Scrubber } from './scrubber.js';
import { seenStep } from './seen_step.js';
import { speak } from './speak.js';
import { openTab } from './tabs.js';

const PICTURE_PACE = 700; // milliseconds per evaluation during playback

const drawnLooks = ({ evaluations }) => evaluations.filter(({ look }) => look?.stream?.length);

// Is there anything to draw?
export const isDrawn = (data) => Boolean(data.sentence) && drawnLooks(data).length > 0;

// The same, now or later.
export const hasPicture = (data) => isDrawn(data) || (Boolean(data.sentence) && data.status.state === 'running');

// Fills `panel`; returns a function that updates it with newer data.
export function runPictureTab(panel, data) {
  let looks = [];
  let at = -1;
  const stepPicture = new StepPicture(({ state }) => [openTab('sentence', 'The sentence', { layer: state.layer, head: state.head }),
    openTab('flow', 'Gradient flow', {}), openTab('samples', 'Samples', {})]);
  const status = h('p', { 'data-readout': 'picture' });
  const scrubber = new Scrubber((to) => {
    play.stop();
    show(to);
    keepState({ step: looks[to].step });
    speak(status.textContent);
  });
  const play = playButton('play-picture', PICTURE_PACE, () => at === looks.length - 1 && show(0), () => {
    show(Math.min(at + 1, looks.length - 1));
    return at < looks.length - 1;
  });

  function show(to) {
    at = to;
    if (at < 0) {
      status.textContent = 'Nothing yet: the sentence is examined at each evaluation.';
      return;
    }
    const evaluation = looks[at];
    const { rows } = evaluation.look;
    const mean = rows.reduce((sum, [loss, , , p]) => sum + lossIn(loss, p), 0) / rows.length;
    status.replaceChildren(h('b', {}, `After step ${evaluation.step}`), `: loss ${fixed(mean, 3)} on this sentence.`);
    scrubber.mark(at);
    stepPicture.show(evaluation.drawn ??= seenStep(evaluation.look, data.sentence));
  }

  const renew = (newer) => {
    const wasLast = at === looks.length - 1;
    const step = at < 0 ? numberOf('step', 1e12, null) : looks[at].step;
    data = newer;
    looks = drawnLooks(newer);
    const known = looks.findIndex((each) => each.step === step);
    at = known >= 0 && !(wasLast && at >= 0) ? known : looks.length - 1;
    scrubber.show({ curve: newer.curves.loss, stops: looks.map((each) => each.step), at: Math.max(0, at),
      spikes: newer.spikes.map((spike) => spike.step), end: newer.status.step });
    if (panel.hidden) return;
    show(at);
  };
  stepPicture.track = h('div', { class: 'walk run-track' }, h('div', { class: 'row' }, play.button, status), scrubber.track);
  panel.append(...stepPicture.words, stepPicture.picture, stepPicture.track, stepPicture.legend);
  renew(data);
  panel.addEventListener('shown', () => {
    renew(data);
    scrubber.draw();
  });
  return renew;
}
