// Ctrl-C or a terminal that closes asks the training to end after its step and to save; a second
// time ends it at once.
#pragma once

namespace tapestry::cli {

/// From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT only set a flag, the first time. What is ignored
/// already (SIGHUP under nohup) stays so.
void catch_interrupts();
/// SIGPIPE sets the flag, too: for those who have something to save when nobody reads on.
void catch_lost_reader();
bool interrupted();

}  // namespace tapestry::cli
