// What run_pages.js was called with.
const [,, program, pages, ...rest] = process.argv;

module.exports = {
  program,
  pages,
  scripts: rest.filter((each) => each !== '--all'),
  all: rest.includes('--all'), // every state, width and colour scheme (`.ci/long pages`)
  screenshots: process.env.TAPESTRY_SCREENSHOTS, // where to put pictures, if anywhere
};
