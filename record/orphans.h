/*
 * Children of this process that it did not start: descendants that outlived their parents. The recorder is the reaper
 * of its subtree, so they become its children.
 */
#pragma once

#include "base/err.h"

/*
 * Every child is taken for the subject's. One that came with an exec of this program would be, too, and be ended: where
 * there is one, this is ERR_USAGE.
 */
int orphans_refuse(struct err *err);

/*
 * Kills every child of this process, and what comes to it in turn, until none is left or two seconds are over. Only
 * where no child is wanted any more.
 */
void orphans_end(void);
