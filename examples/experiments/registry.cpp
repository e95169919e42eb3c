// The list of experiments. A new one: its file, its declaration, its line in the list.
#include <tapestry/core/error.h>
#include <tapestry/examples/experiments/registry.h>

namespace tapestry::experiments {

Experiment sqrt_dk();
Experiment by_hand();
Experiment balanced_key();
Experiment head_roles();
Experiment rotary_filters();
Experiment head_dropout();
Experiment redundant_heads();
Experiment word_order();
Experiment who_is_it();
Experiment how_far();
Experiment quadratic_cost();
Experiment heads_cost();
Experiment checkpointing();
Experiment deep_gradients();
Experiment layers_roles();
Experiment what_goes_wrong();
Experiment dynamic_weights();
Experiment three_copies();
Experiment kernel_regression();
Experiment positions_unique();
Experiment parallel_or_serial();
Experiment without_norm();
Experiment scaling();
Experiment head_dropout_generalises();
Experiment speedrun();

const std::vector<Experiment>& all_experiments() {
    static const std::vector<Experiment> all{
        sqrt_dk(),           by_hand(),          balanced_key(),
        head_roles(),        rotary_filters(),   head_dropout(),
        redundant_heads(),   word_order(),       who_is_it(),
        how_far(),           quadratic_cost(),   heads_cost(),
        checkpointing(),     deep_gradients(),   layers_roles(),
        what_goes_wrong(),   dynamic_weights(),  three_copies(),
        kernel_regression(), positions_unique(), parallel_or_serial(),
        without_norm(),      scaling(),          head_dropout_generalises(),
    };
    return all;
}

const std::vector<Experiment>& experiments_apart() {
    static const std::vector<Experiment> apart{speedrun()};
    return apart;
}

const Experiment& find_experiment(std::string_view name) {
    std::string names;
    for (const auto* list : {&all_experiments(), &experiments_apart()}) {
        for (const Experiment& e : *list) {
            if (e.name == name) return e;
            names += (names.empty() ? "" : ", ") + e.name;
        }
    }
    throw ValueError(fmt::format("no experiment is called '{}'; there are {}", name, names));
}

}  // namespace tapestry::experiments
