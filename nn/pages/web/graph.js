// Positions of the nodes of a directed graph and the routes of its edges, from dagre.
import { dagre } from './libraries/dagre.js';

// nodes: [{id, width, height}], edges: [[from, to]], in topological order. Returns {width, height,
// at: Map id -> {x, y} of the centre, paths: points of each edge}.
export function layout(nodes, edges) {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: 'TB', nodesep: 16, ranksep: 26, marginx: 8, marginy: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  nodes.forEach(({ id, width, height }) => graph.setNode(id, { width, height }));
  edges.forEach(([from, to]) => graph.setEdge(from, to));
  dagre.layout(graph);
  const { width, height } = graph.graph();
  return { width, height, at: new Map(nodes.map(({ id }) => [id, graph.node(id)])),
    paths: edges.map(([from, to]) => graph.edge(from, to).points) };
}
