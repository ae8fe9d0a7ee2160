/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * A broken port, for planted bugs: the port to the simulated machine without
 * smp_mb__after_atomic(). Unchanged files of core/ are compiled against it.
 */
#ifndef SIM_CASES_PORT_NOBARRIER_H
#define SIM_CASES_PORT_NOBARRIER_H

#include "../../../port/sim/port.h"

#define smp_mb__after_atomic() port_compiler_barrier()

#endif
