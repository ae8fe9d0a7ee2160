#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# core/ is freestanding: it may include its own headers and "port.h", nothing else.
# Usage: core_includes.sh DIRECTORY
set -eu

core=$1
own='"port.h"'
for header in "$core"/*.h; do
	own="$own \"$(basename "$header")\""
done

seen=0
bad=0
for file in "$core"/*.c "$core"/*.h; do
	while read -r header; do
		seen=$((seen + 1))
		case " $own " in
		*" $header "*) ;;
		*)
			echo "$file includes $header; core/ may include only: $own"
			bad=$((bad + 1))
			;;
		esac
	done <<EOF
$(sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*\([^[:space:]]*\).*/\1/p' "$file")
EOF
done

if [ "$seen" -eq 0 ]; then
	echo "no #include found in $core: is that the right directory?"
	bad=1
fi
echo "$((seen - bad)) passed, $bad failed"
[ "$bad" -eq 0 ]
