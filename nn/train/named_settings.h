// Settings that go together under a name: what `tapestry train --recipe` begins with.
//
//     TrainingConfig config = settings_of(Recipe::fast);
//     config.text = "input.txt";
//     Session session(config);
//
// Read next: training_config.h; examples/school/experiments/speedrun.cpp, what each of them is
// worth.
#pragma once

#include <tapestry/nn/train/training_config.h>

#include <string>
#include <vector>

namespace tapestry {

/// A whole configuration, but for the text.
TrainingConfig settings_of(Recipe recipe);

/// Puts the settings of config.recipe into all fields but those whose names are `given`, the
/// model's among them, and `recipe` itself.
void fill_in_recipe(TrainingConfig& config, const std::vector<std::string>& given);

}  // namespace tapestry
