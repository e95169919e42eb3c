// Figures that the course quotes from docs/experiments.md, listed in quoted.txt: the text in the
// chapters, and the cell it comes from.
#pragma once

#include <tapestry/examples/school/experiments/results.h>

#include <string>
#include <vector>

namespace tapestry::experiments {

/// "chapter | experiment | table | row | column | figure". The chapter is a file name without
/// language and extension; tables are counted from 1, and "claims" is the measured number of the
/// claim called `row`. The figure is written as in the chapters: 0.95, 20.1 %, 537.9.
struct Quoted {
    std::string line, chapter, experiment, table, row, column, figure;
};

/// Skips empty lines and those that begin with #. Throws ValueError for other lines.
std::vector<Quoted> read_quoted(const std::string& text);

/// Does it occur as a separate number? 0.4 does not in 0.41 or 10.4.
bool contains_figure(const std::string& text, const std::string& figure);

double quoted_value(const Results& results, const Quoted& quoted);

/// Does the value, rounded to as many decimals, equal the figure? A figure with % is a share.
bool rounds_to(double value, const std::string& figure);

}  // namespace tapestry::experiments
