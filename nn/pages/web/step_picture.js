// A step as one picture, for a page of one step, a report and the playground: tokens are rows, layers go
// from left to right, and the residual stream of each token is a ribbon as thick as its vector is long.
// Heads are small maps in place, probabilities stand at the right. On the way back, ribbons are as thick
// as the logarithm of the gradient's size. A card has the numbers of what is chosen. Read next:
// step_drawing.js; step_card.js; picture.js and run_picture.js, which show steps.
import { keepState, numberOf } from './address.js';
import { fontPixels, h, onTheme, perFrame } from './dom.js';
import { csvText, saveButton } from './export.js';
import { drawingSvg } from './figure_svg.js';
import { headSays } from './head_roles.js';
import { cardOf, wayBackSays } from './step_card.js';
import { DECADES, Drawing, LEAST_HIGH, MAP_SIDE, rightOfPicture } from './step_drawing.js';
import { PictureColumns } from './picture_columns.js';
import { roving } from './roving.js';
import { drawInTurn } from './small_maps.js';
import { speak } from './speak.js';

const JITTER = 40; // pixels by which the room may change before the picture follows
const BELOW_PICTURE = 14; // pixels

export class StepPicture {
  // links(stepPicture): buttons that lead from the card to all numbers.
  constructor(links) {
    // `track`: an element below the picture that is on the first screen as well.
    Object.assign(this, { links, track: null, step: null, columns: null, state: null, cells: [], mapsOf: '', room: 0 });
    this.card = h('section', { class: 'card', 'data-view': 'card' });
    this.drawn = h('div', {});
    this.maps = h('div', { class: 'step-maps' });
    this.picture = h('div', { class: 'step-picture', tabindex: '0', role: 'group', 'data-view': 'picture', 'aria-label':
      'The step as one picture: arrow keys go from token to token and through the layers',
    onkeydown: (event) => this.move(event) }, this.drawn, this.maps);
    this.renewStop = roving(this.maps, 'button');
    this.back = h('button', { class: 'step-button', 'data-control': 'way-back', 'aria-pressed': 'false', onclick: () => {
      this.state.back = !this.state.back;
      keepState({ back: this.state.back ? 1 : null });
      this.draw();
      speak(this.says.textContent);
    } }, 'Way back');
    this.says = h('p', { 'data-readout': 'way-back' });
    // What it says of the step comes first: the picture takes what is left of the first screen.
    this.words = [h('div', { class: 'row way-back' }, this.back, this.says), this.card];
    this.legend = h('div', { class: 'row spread' }, h('p', { class: 'quiet legend' },
      'Rows are tokens. A ribbon is a token\u2019s vector, as thick as it is long; layers ' +
      'add to it. Blue lines: what the chosen token reads from others, through the chosen head. On the way back a ' +
      `ribbon\u2019s thickness is the logarithm of the gradient\u2019s size, ${DECADES} powers of ten from nothing to the whole row.`),
    h('span', { class: 'row' }, saveButton('CSV', 'picture.csv', 'text/csv', () => this.csv()),
      saveButton('SVG', 'picture.svg', 'image/svg+xml', () => this.svg())));
    let shownWidth = 0;
    const renew = () => this.picture.clientWidth > 0 && this.step && this.draw();
    new ResizeObserver(() => {
      if (this.picture.clientWidth !== shownWidth) renew();
      shownWidth = this.picture.clientWidth;
    }).observe(this.picture);
    const resized = perFrame(() => { // height as well; a picture that has left the page lets go
      if (this.picture.isConnected) renew();
      else if (this.step) window.removeEventListener('resize', resized);
    });
    window.addEventListener('resize', resized);
    onTheme(this.picture, renew);
  }

  // Shows a step: { path, predictions or null, nonFinite or null }. What is chosen stays chosen.
  show(step) {
    const opened = this.columns?.opened;
    this.step = step;
    this.columns = new PictureColumns(step.path, opened);
    const { path } = step;
    this.back.disabled = !path.stages.some(({ gradients }) => gradients);
    this.says.textContent = this.back.disabled ? '' : wayBackSays(this.columns);
    if (this.state === null) {
      this.begin();
    } else {
      this.state.row = Math.min(this.state.row, path.rows.length - 1);
      this.state.layer = Math.min(this.state.layer, Math.max(0, this.columns.layers.length - 1));
      if (this.back.disabled) this.state.back = false;
    }
    this.draw();
  }

  // The head furthest from uniform attention, the token whose reading shows it best, and the last column;
  // or what the address says.
  begin() {
    const { columns, step: { path, predictions } } = this;
    const layer = numberOf('layer', columns.layers.length, columns.mostTelling.layer);
    const head = numberOf('head', columns.attentionOf(layer)?.heads ?? 1, columns.mostTelling.head);
    const place = numberOf('token', path.tokens, columns.tellingPlace(layer, head, predictions));
    columns.place(layer);
    this.state = { row: Math.max(0, path.rows.indexOf(place)), column: numberOf('column', 1e4, columns.all.length - 1), layer,
      head, back: numberOf('back', 2, 0) === 1 };
  }

  // Chooses what the address says, which a link or a card of the story has changed.
  follow() {
    this.state = null;
    if (this.step) this.show(this.step);
  }

  // Changes what is chosen, and says it.
  choose(changes) {
    const { state, columns, step: { path } } = this;
    Object.assign(state, changes);
    state.column = Math.max(0, Math.min(columns.all.length - 1, state.column));
    keepState({ token: path.rows[state.row], column: state.column, layer: state.layer, head: state.head });
    this.draw(true);
    speak(this.card.textContent);
  }

  move(event) {
    if (event.target !== this.picture || !this.step) return;
    const { columns, state: { row, column }, step: { path } } = this;
    const to = { ArrowUp: { row: Math.max(0, row - 1) }, ArrowDown: { row: Math.min(path.rows.length - 1, row + 1) },
      ArrowLeft: { column: column - 1 }, ArrowRight: { column: column + 1 }, Home: { column: 0 },
      End: { column: columns.all.length } }[event.key];
    if (event.key === 'Enter' && columns.all[column].folded) this.open(columns.all[column]);
    else if (to) this.choose(to);
    else return;
    event.preventDefault();
  }

  open({ layers }) {
    this.columns.open(layers);
    this.columns.place(this.state.layer);
    this.choose({ column: this.columns.all.findIndex(({ layers: own }) => own?.[0] === layers[0]) });
  }

  draw(moved = false) {
    const { columns, state, picture, step: { path, predictions, nonFinite } } = this;
    this.back.setAttribute('aria-pressed', String(state.back));
    columns.place(state.layer, picture.clientWidth - rightOfPicture(predictions) - 2);
    if (!moved) this.measure();
    this.drawing = new Drawing(path, predictions, columns, state, this.room);
    this.drawn.replaceChildren(this.drawing.element((changes) => this.choose(changes), (column) => this.open(column)));
    this.showMaps();
    this.card.replaceChildren(...cardOf(this.drawing, nonFinite, this.links(this)));
    if (!moved) return;
    const at = columns.all[state.column].x;
    if (at < picture.scrollLeft || at > picture.scrollLeft + picture.clientWidth) picture.scrollLeft = at - picture.clientWidth / 2;
  }

  // A row per token, a column per column of the picture: lengths of vectors, or of gradients on the way back.
  csv() {
    const { columns, state, step: { path, predictions } } = this;
    const text = (x) => (x === null || x === undefined ? '' : String(Number(x.toPrecision(7))));
    const heads = ['token', ...columns.all.map(({ name }) => `${state.back ? 'gradient' : 'length'}: ${name}`)];
    return csvText([predictions ? [...heads, 'p of the right token'] : heads, ...path.rows.map((place) => {
      const own = predictions?.rows[place];
      return [path.texts[place] ?? String(place), ...columns.all.map(({ stage }) => text(state.back ? columns.gradientAt(stage, place)
        : path.lengthAt(stage, place))), ...(predictions ? [own && own.right !== null ? text(Math.exp(-own.loss)) : ''] : [])];
    })]);
  }

  svg() {
    return drawingSvg(this.drawn.querySelector('svg'), Array.from(this.maps.querySelectorAll('canvas')));
  }

  // How high the picture may be, to end with the first screen.
  measure() {
    if (this.picture.clientWidth === 0) return;
    const top = this.picture.getBoundingClientRect().top + window.scrollY;
    const room = Math.max(fontPixels(LEAST_HIGH), window.innerHeight - top - (this.track?.offsetHeight ?? 0) - BELOW_PICTURE);
    if (Math.abs(room - this.room) > JITTER) this.room = room;
  }

  // The heads of the open layers, above the streams. Their elements stay while the same layers are open.
  showMaps() {
    const open = this.columns.all.filter(({ attention, folded }) => attention && !folded);
    const mapsOf = open.map(({ layer, attention }) => `${layer} ${attention.heads} ${attention.cross}`).join(',');
    if (mapsOf !== this.mapsOf) {
      this.cells = open.flatMap((column, group) => Array.from({ length: column.attention.heads }, (_, head) => this.cell(group, head)));
      this.maps.replaceChildren(...open.map((_, group) => h('div', { class: 'step-heads' },
        ...this.cells.filter((cell) => cell.group === group).map(({ button }) => button))));
      this.mapsOf = mapsOf;
    }
    open.forEach(({ x, width }, group) => Object.assign(this.maps.children[group].style,
      { left: `${x - width + 6}px`, width: `${width - 8}px` }));
    let isNew = false;
    for (const cell of this.cells) {
      const { attention, layer } = open[cell.group];
      const chosen = layer === this.state.layer && cell.head === this.state.head && attention === this.columns.attentionOf(layer);
      cell.button.setAttribute('aria-pressed', String(chosen));
      isNew ||= cell.attention !== attention;
      Object.assign(cell, { attention, layer });
      cell.button.dataset.head = `${layer} ${cell.head}`;
    }
    this.renewStop();
    if (isNew) drawInTurn(this.cells, MAP_SIDE);
  }

  // A button with the map of a head of the open layer number `group`.
  cell(group, head) {
    const canvas = h('canvas', { 'aria-hidden': 'true' });
    const cell = { group, head, canvas, attention: null, layer: 0, drawn: () => {
      const name = `layer ${cell.layer}, head ${head}: ${headSays(cell.attention, head)}`;
      cell.button.setAttribute('aria-label', name);
      cell.button.setAttribute('title', name);
    } };
    cell.button = h('button', { 'aria-pressed': 'false', 'aria-label': `head ${head}`, onclick: () => {
      this.columns.place(cell.layer);
      this.choose({ layer: cell.layer, head, column: this.columns.all.findIndex((each) => each.attention === cell.attention && !each.folded) });
      this.maps.querySelector(`[data-head="${cell.layer} ${head}"]`)?.focus();
    } }, canvas);
    return cell;
  }
}
