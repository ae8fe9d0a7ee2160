# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Recording of programs: which lines their threads contend on, on machines of choice.

program     the program: is it one, has it names
emulate     its threads in the emulator, with our plugin
modules     what is mapped where, and what addresses are called
replaying   the recorded accesses on each machine, as they were or with bytes moved
sharing     which bytes are shared by whom; what to move
report      all of it as data
view        the terminal
"""
