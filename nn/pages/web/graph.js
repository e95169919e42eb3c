// Where nodes of a directed graph stand: dagre's answer where it is bundled, else our own, which
// puts a node one row below the lowest of those it reads.
import { libraries } from './libraries.js';

// nodes: [{id, width, height}], edges: [[from, to]], in an order in which they could run. Returns
// {width, height, at: Map id -> {x, y} of the centre, paths: points of each edge}.
export function layout(nodes, edges) {
  return libraries.dagre ? dagreLayout(nodes, edges) : rowsLayout(nodes, edges);
}

function dagreLayout(nodes, edges) {
  const graph = new libraries.dagre.graphlib.Graph();
  graph.setGraph({ rankdir: 'TB', nodesep: 16, ranksep: 26, marginx: 8, marginy: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  nodes.forEach(({ id, width, height }) => graph.setNode(id, { width, height }));
  edges.forEach(([from, to]) => graph.setEdge(from, to));
  libraries.dagre.layout(graph);
  const { width, height } = graph.graph();
  return { width, height, at: new Map(nodes.map(({ id }) => [id, graph.node(id)])),
    paths: edges.map(([from, to]) => graph.edge(from, to).points) };
}

function rowsLayout(nodes, edges) {
  const [gapX, gapY, margin] = [16, 26, 8];
  const row = new Map(nodes.map(({ id }) => [id, 0]));
  // Edges between folded modules may form a circle; so many rounds are enough without one.
  for (let changed = true, round = 0; changed && round < nodes.length; ++round) {
    changed = false;
    for (const [from, to] of edges) {
      if (row.get(to) > row.get(from) || row.get(from) + 1 >= nodes.length) continue;
      row.set(to, row.get(from) + 1);
      changed = true;
    }
  }
  const rows = [];
  nodes.forEach((node) => (rows[row.get(node.id)] ||= []).push(node));
  const wide = (members) => members.reduce((sum, { width }) => sum + width + gapX, -gapX);
  const full = rows.filter(Boolean);
  const width = 2 * margin + Math.max(...full.map(wide));
  const at = new Map();
  let y = margin;
  for (const members of full) {
    const height = Math.max(...members.map((node) => node.height));
    let x = (width - wide(members)) / 2;
    for (const node of members) {
      at.set(node.id, { x: x + node.width / 2, y: y + height / 2 });
      x += node.width + gapX;
    }
    y += height + gapY;
  }
  const size = new Map(nodes.map((node) => [node.id, node.height]));
  const paths = edges.map(([from, to]) => {
    const [a, b] = [at.get(from), at.get(to)];
    return [{ x: a.x, y: a.y + size.get(from) / 2 }, { x: b.x, y: b.y - size.get(to) / 2 }];
  });
  return { width, height: y - gapY + margin, at, paths };
}
