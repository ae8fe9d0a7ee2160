/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * A broken port, for planted bugs: the simulated machine's without smp_mb__after_atomic(). core/
 * compiled against it is unchanged.
 */
#ifndef SIM_CASES_PORT_NOBARRIER_H
#define SIM_CASES_PORT_NOBARRIER_H

#include "../../../port/sim/port.h"

#define smp_mb__after_atomic() port_compiler_barrier()

#endif
