// The page of `tapestry train`: the run's status, and tabs. It follows the run while that
// continues. Read next: follow.js, curves.js.
import { followAddress } from './address.js';
import { curvesTab } from './curves.js';
import { readData } from './data.js';
import { four, h } from './dom.js';
import { headline } from './headline.js';
import { flowTab } from './flow.js';
import { answersPage, follow } from './follow.js';
import { helpFor } from './help.js';
import { nameOfRun } from './other_runs.js';
import { processesTab } from './processes.js';
import { recipeTab } from './recipe.js';
import { reportStory } from './report_story.js';
import { hasPicture, isDrawn, runPictureTab } from './run_picture.js';
import { samplesTab } from './samples.js';
import { hasSentence, sentenceTab } from './sentence.js';
import { spikeList } from './spikes.js';
import { speak } from './speak.js';
import { storyBar } from './story.js';
import { tabbed } from './tabs.js';

const VIEWS = [
  ['picture', 'One picture', runPictureTab],
  ['curves', 'Curves', curvesAndSpikes],
  ['samples', 'Samples', samplesTab],
  ['sentence', 'One sentence', sentenceTab],
  ['flow', 'Gradient flow', flowTab],
  ['processes', 'Processes', processesTab],
  ['recipe', 'Recipe', recipeTab],
];

function curvesAndSpikes(panel, data) {
  const renewals = [curvesTab(panel, data), spikeList(panel, data)];
  return (newer) => renewals.forEach((renew) => renew(newer));
}

// 1:05, 2:03:00
function clockText(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  const two = (x) => String(x).padStart(2, '0');
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  return hours > 0 ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}

// "12 seconds", "3 minutes"
function agoText(seconds) {
  for (const [unit, name] of [[86400, 'day'], [3600, 'hour'], [60, 'minute']]) {
    const count = Math.floor(seconds / unit);
    if (count >= 1) return `${count} ${name}${count > 1 ? 's' : ''}`;
  }
  return `${Math.round(seconds)} s`;
}

const withStop = (text) => (/[.!?]$/.test(text) ? text : `${text}.`);

// Or only time limits the run (TrainingConfig::kNoStepLimit).
const hasStepLimit = ({ steps }) => steps < 1e9;

function standingText({ status, recipe, curves }) {
  const { state, step, seconds, message } = status;
  const of = hasStepLimit(recipe) ? `step ${step} of ${recipe.steps}` : `step ${step}`;
  const left = step > 0 ? (recipe.steps - step) * seconds / step : 0;
  const about = hasStepLimit(recipe) ? `, about ${clockText(left)} left` : '';
  const texts = {
    running: `Running: ${of}, ${clockText(seconds)} so far${about}.`,
    finished: `Finished: ${step} steps in ${clockText(seconds)}.`,
    interrupted: `Interrupted after ${of}, ${clockText(seconds)}.`,
    diverged: `Diverged after ${of}: ${withStop(message)}`,
    failed: `Ended by an error after ${of}: ${withStop(message)}`,
  };
  const losses = [];
  const { latest, lowest } = curves.val;
  if (curves.loss.latest) losses.push(` Loss ${four(curves.loss.latest.value)}`);
  if (latest) losses.push(`validation ${four(latest.value)}`);
  if (latest && lowest.step < latest.step) losses.push(`lowest ${four(lowest.value)} at step ${lowest.step}`);
  return `${texts[state]}${losses.length > 0 ? `${losses.join(', ')}.` : ''}`;
}

// The changing part of the header; returns a function that updates it with newer data.
function standing(element, data) {
  const text = h('span', { 'data-readout': 'status' });
  const age = h('span', { class: 'quiet', 'data-readout': 'age' });
  const bar = h('progress', { max: 1, value: 0, 'aria-label': 'Steps done' });
  element.append(bar, h('p', {}, text, ' ', age));
  const tick = () => {
    const { state, written, seconds, step } = data.status;
    const old = Math.max(0, Date.now() / 1000 - written);
    const late = old > 60 + 5 * seconds / Math.max(1, step);
    age.textContent = state !== 'running' ? '' : late
      ? `No update for ${agoText(old)}: it has stalled, or was ended from outside.`
      : `Updated ${agoText(old)} ago.`;
    age.className = state === 'running' && late ? 'warn' : 'quiet';
    if (state !== 'running') clearInterval(timer);
  };
  const timer = setInterval(tick, 1000);
  const renew = (newer) => {
    data = newer;
    const { state, step } = data.status;
    if (element.dataset.state !== state && element.dataset.state) speak(standingText(data)); // not at every step
    element.dataset.state = state;
    element.dataset.step = step;
    bar.value = step / Math.max(1, data.recipe.steps);
    bar.hidden = state === 'finished' || !hasStepLimit(data.recipe);
    const { latest } = data.curves.loss; // a tab in the background shows how far the run is
    const steps = hasStepLimit(data.recipe) ? `${step}/${data.recipe.steps}` : `step ${step}`;
    const far = state === 'running' ? `${steps}${latest ? `, ${four(latest.value)}` : ''}: ` : '';
    document.title = `${far}${data.title}${nameOfRun(data) === data.title ? '' : `, ${nameOfRun(data)}`} \u2013 Tapestry`;
    text.textContent = standingText(data);
    text.className = state === 'diverged' || state === 'failed' ? 'warn' : '';
    tick();
  };
  renew(data);
  return renew;
}

function showReport() {
  if (answersPage()) return;
  let data = readData();
  let renewals = []; // of the open tabs
  const state = h('div', { class: 'standing' });
  const head = headline(data.diagnosis);
  const views = VIEWS.filter(([name]) => (name !== 'processes' || data.processes.length > 1) &&
    (name !== 'sentence' || hasSentence(data)) && (name !== 'picture' || hasPicture(data)));
  const body = h('div', {});
  function showTabs() {
    renewals = [];
    const tabs = tabbed(views.map(([name, label, fill]) =>
      [name, label, (panel) => {
        panel.append(helpFor(name));
        renewals.push(fill(panel, data));
      }]));
    body.replaceChildren(...tabs.elements);
    tabs.begin(isDrawn(data) ? 'picture' : 'curves');
  }
  const story = storyBar(reportStory(data, views.map(([name]) => name)));
  document.getElementById('page').replaceChildren(
    h('header', {}, h('div', { class: 'row spread' }, h('h1', {}, data.title), story.buttons), h('p', { class: 'quiet' }, data.subtitle), head.element, state),
    story.card, body);
  const renewState = standing(state, data);
  showTabs();
  followAddress(showTabs);
  follow(data, (newer) => {
    data = newer;
    renewState(newer);
    head.renew(newer.diagnosis);
    renewals.forEach((renew) => renew(newer));
  });
}

document.addEventListener('DOMContentLoaded', showReport);
