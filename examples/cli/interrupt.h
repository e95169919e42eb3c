// Ctrl-C asks the training to end after its step and to save; a second one ends at once.
#pragma once

namespace tapestry::cli {

/// From now on SIGINT and SIGTERM only set a flag, the first time.
void catch_interrupts();
bool interrupted();

}  // namespace tapestry::cli
