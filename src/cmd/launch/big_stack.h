// Room for a command where the stack is limited (ulimit -s): the tool inherits the limit of the program that
// it reports on.
#ifndef RB_CMD_LAUNCH_BIG_STACK_H
#define RB_CMD_LAUNCH_BIG_STACK_H

// Runs `command`, on a stack of our own if the one at hand may not grow to what commands need.
int cli_with_stack(int (*command)(int argc, char **argv), int argc, char **argv);

#endif
