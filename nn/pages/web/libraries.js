// What npm's bundles bring (page_npm.js, report_npm.js) and a build without npm does not: each user
// has a way of its own to go without.

export const libraries = { uPlot: null, dagre: null };
