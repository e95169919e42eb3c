// An experiment: something that is said of attention or of training, put to the test. A question,
// what theory answers, a measurement whose numbers stand beside the theory's, and a verdict that is
// computed from them: where theory and measurement differ, it says so.
//
// Each experiment is a file of this folder and a function there that returns its Experiment;
// registry.cpp lists them. Read next: word_order.cpp, one of the shortest.
#pragma once

#include <tapestry/examples/experiments/table.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tapestry::experiments {

/// How an experiment is run.
struct Setting {
    bool quick = false;  ///< smaller and shorter, for tests: seconds instead of up to a minute
    std::uint64_t seed = 1;

    /// One of two, by `quick`.
    template <class T>
    T pick(T full, T short_form) const {
        return quick ? short_form : full;
    }
};

/// A picture, as made by svg() in plot.h. Its file is named after experiment and figure.
struct Figure {
    std::string name;
    std::string caption;
    std::string svg;
};

struct Verdict {
    bool holds = false;  ///< did the measurement bear out what `theory` says?
    std::string text;    ///< the sentence, with the numbers it rests on
};

/// What an experiment found. Everything but measured times is the same for the same seed.
struct Report {
    std::vector<Table> tables;
    std::vector<Figure> figures;
    Verdict verdict;
};

struct Experiment {
    std::string name;      ///< as the command takes it: "sqrt_dk"
    std::string question;  ///< "Why divide by sqrt(d_k)?"
    /// What should come out and why, with its source. A line is a paragraph, filled when shown;
    /// lines set in by four spaces are formulas. Markdown's * and _ are Markdown's here too.
    std::string theory;
    Report (*run)(const Setting& setting);
};

}  // namespace tapestry::experiments
