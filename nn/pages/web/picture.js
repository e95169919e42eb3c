// The tab "One picture" of `tapestry inspect`: a step as one picture, whose card leads to the tabs with
// all numbers.
import { Predictions } from './guesses.js';
import { StepPicture } from './step_picture.js';
import { openTab } from './tabs.js';
import { TokenPath } from './token_path.js';

// The step of a page's data, for StepPicture.show().
export const stepOf = (data) => ({ path: new TokenPath(data), nonFinite: data.nonFinite,
  predictions: data.predictions ? new Predictions(data.predictions) : null });

function linksOf({ step: { path, predictions }, columns, state }) {
  const column = columns.all[state.column];
  const place = path.rows[state.row];
  return [openTab('token', 'All numbers', { token: place, stage: path.stages.indexOf(column.stage) }),
    column.attention && !column.folded ? openTab('attention', 'This head',
      { layer: columns.tabLayer(column.attention), head: state.head, query: place, key: null }) : '',
    predictions ? openTab('predictions', 'Predictions', { token: place }) : '',
    openTab('tape', 'On the tape', { op: column.stage.entry, walk: null })];
}

export function pictureTab(panel, data) {
  const stepPicture = new StepPicture(linksOf);
  panel.append(...stepPicture.words, stepPicture.picture, stepPicture.legend);
  stepPicture.show(stepOf(data));
  panel.addEventListener('shown', () => stepPicture.draw());
}
