// Locks across fork(). The forked process only has the thread that forked: a lock that another
// thread held would stay locked in it for ever. Internal to Tapestry.
#pragma once

#include <mutex>
#include <shared_mutex>

namespace tapestry::detail {

/// From now on fork() waits until it has this lock, and releases it in both processes. The lock is
/// never destroyed. While it is held, only locks registered before it may be taken. Throws
/// std::bad_alloc.
void hold_across_fork(std::mutex& lock);
/// The same for locks that share this one while they are held.
void hold_across_fork(std::shared_mutex& lock);

}  // namespace tapestry::detail
