#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# core/ is freestanding: it may include its own headers and "port.h", nothing else.
# Usage: core_includes.sh DIRECTORY
set -eu

core=$1
files=$(ls "$core"/*.c "$core"/*.h)
own=$(for file in "$core"/*.h; do basename "$file"; done)
bad=0
seen=0

for file in $files; do
	for header in $(sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*\([^[:space:]]*\).*/\1/p' "$file"); do
		seen=$((seen + 1))
		allowed='"port.h"'
		for name in $own; do
			allowed="$allowed \"$name\""
		done
		case " $allowed " in
		*" $header "*) ;;
		*)
			echo "$file includes $header; core/ may include only: $allowed"
			bad=$((bad + 1))
			;;
		esac
	done
done

if [ "$seen" -eq 0 ]; then
	echo "no #include found in $core: is that the right directory?"
	bad=1
fi
echo "$((seen - bad)) passed, $bad failed"
[ "$bad" -eq 0 ]
