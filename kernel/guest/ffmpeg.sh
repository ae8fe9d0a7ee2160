#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# ffmpeg SECONDS [INSTANCES]: so many transcodes at FIFO 99 side by side, eight unless given, repeated until the time is
# over. The film is a test picture of ffmpeg's own, small because an emulated CPU decodes slowly.
set -u
end=$(($(date +%s) + $1))
instances=${2:-8}
film=/tmp/film.mpg
rounds=0

/bin/ffmpeg -nostdin -loglevel error -f lavfi -i testsrc=size=128x96:rate=25 -frames:v 6 \
	-c:v mpeg2video -y "$film" || exit 1
while :; do
	pids=
	for instance in $(seq "$instances"); do
		/bin/chrt -f 99 /bin/ffmpeg -nostdin -loglevel error -threads 4 -i "$film" \
			-c:v mpeg4 -threads 4 -f avi -y "/tmp/film.$instance" &
		pids="$pids $!"
	done
	for pid in $pids; do
		wait "$pid" || exit 1
	done
	rounds=$((rounds + 1))
	[ "$(date +%s)" -lt "$end" ] || break
done
echo "$rounds rounds of $instances transcodes"
