// shapes: a Vision Transformer or a convolutional network learns to classify drawn shapes, or the
// digits of a file. See shapes.h and shapes_csv.h.
#include <tapestry/examples/programs/task_command.h>
#include <tapestry/examples/school/tasks/shapes_csv.h>

int main(int argc, char** argv) {
    using namespace tapestry::examples;
    TaskCommand command("shapes",
                        "a Vision Transformer or a convolutional network learns to tell "
                        "shapes, or digits, apart",
                        kShapesOptions, 0.98);
    command.add_page();
    std::string csv, name = "transformer";
    command.options.choice("--model", name, {"transformer", "convolutional"},
                           "transformer or convolutional");
    command.options.text("--csv", csv,
                         "Digits of 8 x 8 pixels instead: 64 numbers and the digit per line");
    return command.run(argc, argv, [&](const TaskOptions& options) {
        const ImageModel model =
            name == "transformer" ? ImageModel::transformer : ImageModel::convolutional;
        return csv.empty() ? learn_shapes(options, model) : learn_digit_file(csv, options, model);
    });
}
