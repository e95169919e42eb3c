// The state of the backward pass after each of its steps.

export class WalkStates {
  constructor(data) {
    this.data = data;
  }

  // After `at` steps: `walked` entries, the one `walking` now, and the slots whose cotangents are
  // `alive`, by entry in `holding`.
  at(at) {
    const { walk, places } = this.data;
    const alive = new Set();
    const walked = new Set();
    for (const step of walk.slice(0, at)) {
      walked.add(step.entry);
      step.used.forEach((slot) => alive.delete(slot));
      step.arrived.forEach((slot) => alive.add(slot));
    }
    const holding = new Set(Array.from(alive, (slot) => places[slot].entry));
    return { alive, walked, holding, walking: at > 0 ? walk[at - 1].entry : -1 };
  }
}

export function stateOf(entry, { walking, walked, holding }) {
  if (entry === walking) return 'walking';
  if (walked.has(entry)) return 'walked';
  return holding.has(entry) ? 'cotangent' : 'recorded';
}
