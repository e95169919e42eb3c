// sort: a GPT learns to sort six digits. See digits.h.
#include <tapestry/examples/programs/task_command.h>
#include <tapestry/examples/school/tasks/digits.h>

int main(int argc, char** argv) {
    using namespace tapestry::examples;
    TaskCommand command("sort", "a GPT learns to sort six digits", kSortOptions, 1.0);
    return command.run(argc, argv, learn_to_sort);
}
