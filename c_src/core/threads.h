/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_CORE_THREADS_H_
#define MLUOP_CORE_THREADS_H_

/* Threads: OpenMP's, or where a build has no OpenMP, POSIX threads or none. Only parallel.c runs
   jobs on them. */

#include <stdbool.h>

/* The most threads for a handle that is made now: a small multiple of the processors that this
   process may run on. */
int mluop_most_threads(void);

/* How many threads a job of the calling thread can have, 1 or more; `wanted` 0 asks for as many as
   OpenMP uses by default. The answer of one operator call stays the same until that call ends. */
int mluop_threads_for(int wanted, int most);

/* How many threads take part when a job wants `workers` of them: see threads.c. */
int mluop_team_size(int workers, int most);

/* Calls member(data, i) for each i below the number that the team really has, at most `size`, on a
   thread each. False, with nothing done, if the system would not give the threads. */
bool mluop_run_team(void (*member)(void *data, int index), void *data, int size);

/* Ends the workers that wait for the calling thread. False inside a parallel region. */
bool mluop_end_threads(void);

#endif /* MLUOP_CORE_THREADS_H_ */
