// The sentence tab: the model's view of one fixed sentence at every recorded evaluation. The slider
// or playback shows heads finding their roles and the text becoming predictable.
import { keepState, numberOf } from './address.js';
import { MapView } from './attention_map.js';
import { headCsv, headSvg } from './attention_svg.js';
import { fixed, h, onTheme, sharePercent, tokenText } from './dom.js';
import { saveButton } from './export.js';
import { lossIn } from './guesses.js';
import { headSays } from './head_roles.js';
import { playButton } from './play.js';
import { roving } from './roving.js';
import { SeenAttention } from './seen_step.js';
import { drawSmall } from './small_maps.js';
import { speak } from './speak.js';

const SENTENCE_PACE = 700; // milliseconds per evaluation during playback
const SURE = [0.9, 0.5, 0.2, 0.05, 0.01, 0]; // the levels of .token

const looksOf = ({ evaluations }) => evaluations.filter(({ look }) => look);

// Is there anything to show, now or later?
export const hasSentence = (data) => Boolean(data.sentence) &&
  (looksOf(data).length > 0 || data.status.state === 'running');

// Fills `panel`; returns a function that updates it with newer data.
export function sentenceTab(panel, data) {
  let looks = looksOf(data);
  const linked = looks.findIndex(({ step }) => step === numberOf('step', 1e12, null));
  const chosen = { at: linked < 0 ? looks.length - 1 : linked, layer: numberOf('layer', 1000, 0),
    head: numberOf('head', 1000, 0), query: data.sentence.tokens.length - 2, key: 0 };
  const texts = data.sentence.tokens;
  const slider = h('input', { type: 'range', min: '0', 'data-control': 'look', 'aria-label': 'Evaluation',
    oninput: () => {
      play.stop();
      show(Number(slider.value));
      keepState({ step: looks[chosen.at].step });
      speak(status.textContent);
    } });
  const play = playButton('play-looks', SENTENCE_PACE, () => chosen.at === looks.length - 1 && show(0),
    () => {
      show(Math.min(chosen.at + 1, looks.length - 1));
      return chosen.at < looks.length - 1;
    });
  const status = h('p', { 'data-readout': 'look' });
  const strip = h('div', { class: 'strip', tabindex: '0', role: 'group', 'aria-label': 'The sentence' });
  const maps = h('div', { class: 'maps', role: 'group', 'aria-label': 'Heads' });
  const renewStop = roving(maps, 'button');
  const large = new MapView((pair) => {
    Object.assign(chosen, pair);
    drawHeads();
  });
  const title = h('h3', { 'data-title': 'look-head' });
  const shownLayer = () => layersAt(chosen.at)[chosen.layer];
  const says = h('p', { 'data-readout': 'look-role' });
  let cells = [];

  function layersAt(at) {
    looks[at].layers ||= looks[at].look.attention.map((each) => new SeenAttention(each, texts.slice(0, -1)));
    return looks[at].layers;
  }

  function show(at) {
    chosen.at = at;
    slider.value = String(at);
    if (looks.length === 0) {
      status.textContent = 'Nothing yet: the sentence is examined at each evaluation.';
      return;
    }
    const { step, look: { rows } } = looks[at];
    const mean = rows.reduce((sum, [loss, , , p]) => sum + lossIn(loss, p), 0) / rows.length;
    const right = rows.filter(([, rank, , p]) => rank === 1 && p !== null).length;
    status.replaceChildren(h('b', {}, `After step ${step}`), `: loss ${fixed(mean, 3)} on this ` +
      `sentence; the first choice was right ${right} of ${rows.length} times.`);
    slider.setAttribute('aria-valuetext', status.textContent);
    strip.replaceChildren(h('span', { class: 'given quiet' }, tokenText(texts[0], 0)),
      ...rows.map((row, i) => tokenSpan(data.sentence, row, i + 1)));
    drawHeads();
  }

  function drawHeads() {
    const layers = layersAt(chosen.at);
    if (cells.length === 0) buildMaps(layers);
    if (!(chosen.head < layers[chosen.layer]?.heads)) Object.assign(chosen, { layer: 0, head: 0 });
    for (const { canvas, layer, head, button } of cells) {
      drawSmall(canvas, layers[layer], head, 44);
      button.setAttribute('aria-pressed', String(layer === chosen.layer && head === chosen.head));
      button.setAttribute('aria-label', `layer ${layer}, head ${head}: ${headSays(layers[layer], head)}`);
    }
    renewStop();
    const layer = layers[chosen.layer];
    if (!layer) return;
    title.textContent = `${layer.module}, head ${chosen.head}`;
    says.textContent = headSays(layer, chosen.head);
    large.show({ attention: layer, head: chosen.head, query: chosen.query, key: chosen.key });
  }

  function buildMaps(layers) {
    layers.forEach((each, layer) => {
      const row = h('div', { class: 'maps-row' }, h('span', { class: 'quiet' }, `layer ${layer}`));
      for (let head = 0; head < each.heads; ++head) {
        const canvas = h('canvas', { 'aria-hidden': 'true' });
        const button = h('button', { 'data-look': `${layer} ${head}`, 'aria-label': `layer ${layer}, head ${head}`,
          'aria-pressed': 'false', onclick: () => {
            Object.assign(chosen, { layer, head });
            keepState({ layer, head });
            drawHeads();
          } }, canvas);
        cells.push({ canvas, layer, head, button });
        row.append(button);
      }
      maps.append(row);
    });
  }

  const renew = (newer) => {
    const wasLast = chosen.at === looks.length - 1;
    data = newer;
    looks = looksOf(newer);
    slider.max = String(Math.max(0, looks.length - 1));
    show(wasLast || chosen.at >= looks.length ? looks.length - 1 : chosen.at);
  };
  panel.append(h('div', { class: 'walk' }, h('div', { class: 'row' }, play.button, slider), status), strip,
    h('p', { class: 'quiet legend' }, 'The stronger the colour, the less likely the model found the token. ' +
      'Rows of the maps are queries, columns are keys, as in tapestry inspect.'),
    h('div', { class: 'split look' }, maps, h('div', {}, h('div', { class: 'row spread' }, title, h('span', { class: 'row' },
      saveButton('CSV', 'sentence_head.csv', 'text/csv', () => headCsv(shownLayer(), chosen.head)),
      saveButton('SVG', 'sentence_head.svg', 'image/svg+xml', () => headSvg(shownLayer(), chosen.head)))), says, large.element)));
  renew(data);
  onTheme(panel, () => looks.length > 0 && drawHeads());
  panel.addEventListener('shown', () => looks.length > 0 && drawHeads());
  return renew;
}

// One token, coloured by its probability, with the tokens that the model found likelier.
function tokenSpan({ tokens, names }, [loss, rank, id, p], i) {
  const sure = Math.exp(-lossIn(loss, p));
  if (p === null) return h('span', { class: 'token warn', 'data-rank': '', title: 'NaN' }, tokenText(tokens[i], i));
  const best = tokenText(names[id] ?? `#${id}`, id);
  return h('span', { class: 'token', 'data-level': String(SURE.findIndex((least) => sure >= least)),
    'data-rank': String(rank), title: `${sharePercent(sure)}${rank === 1 ? '' : `; ${best} had ${sharePercent(p)}`}` },
  tokenText(tokens[i], i));
}
