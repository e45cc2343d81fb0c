/*
 * The heap of a program that lives for milliseconds: where each page that is touched for the first time costs as much
 * as the work on it, a few large pages are cheaper than hundreds of small ones.
 */
#pragma once

/* Lets malloc begin in large pages, where the kernel gives any (madvise(2), MADV_HUGEPAGE), and grow in larger steps
 * (mallopt(3)). To be called once, before anything is allocated; it can only be of no use. Takes at most 2 MiB more
 * memory than was asked for. */
void heap_begin(void);
