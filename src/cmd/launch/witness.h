// Was a signal sent to our whole process group, or to us alone? The kernel does not say: kill(pid) and
// kill(-group) look the same to who gets them. So a process that does nothing else sits in the group and
// notes what arrives: what was sent to us alone it does not get.
#ifndef RB_CMD_LAUNCH_WITNESS_H
#define RB_CMD_LAUNCH_WITNESS_H

#include <signal.h>
#include <stdbool.h>

// Starts it, for the signals of the set; called with all signals blocked. Without one (no memory, no process)
// every signal is taken for one to us alone.
void witness_start(const sigset_t *signals);
void witness_end(void);

// In a signal handler: has the group got this signal too, just now? Waits a moment for the witness to wake
// up.
bool witness_saw(int signal);

#endif
