/*
 * Descendants that outlived their parents. The recorder is the reaper of its subtree, so they become its children.
 */
#pragma once

/*
 * Kills every child of this process, and what comes to it in turn, until none is left or two seconds are over. Only
 * where no child is wanted any more.
 */
void orphans_end(void);
