#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# ffmpeg SECONDS [INSTANCES]: runs transcodes at FIFO 99 side by side. Without INSTANCES it runs
# eight short ones, repeated until the time is over. With INSTANCES it runs that many, each for the
# whole time, as on a server. The film is ffmpeg's test picture, small because an emulated CPU
# decodes slowly. Without -filter_threads 1 a filter has a thread per CPU.
set -u
film=/tmp/film.mpg

# make FRAMES
make() {
	/bin/ffmpeg -nostdin -loglevel error -filter_threads 1 -f lavfi -i testsrc=size=128x96:rate=25 \
		-frames:v "$1" -c:v mpeg2video -threads 1 -y "$film" || exit 1
}

# transcode OUTPUT [OPTION...]: becomes ffmpeg, so call it in a background process
transcode() {
	output=$1
	shift
	exec /bin/chrt -f 99 /bin/ffmpeg -nostdin -loglevel error -filter_threads 1 -threads 4 "$@" \
		-i "$film" -c:v mpeg4 -threads 4 -f avi -y "$output"
}

if [ -n "${2:-}" ]; then
	make 25
	pids=
	for _ in $(seq "$2"); do
		transcode /dev/null -stream_loop -1 &
		pids="$pids $!"
	done
	sleep "$1"
	# shellcheck disable=SC2086
	kill $pids
	wait
	echo "$2 transcodes"
	exit
fi

end=$(($(date +%s) + $1))
rounds=0
make 6
while :; do
	pids=
	for instance in 1 2 3 4 5 6 7 8; do
		transcode "/tmp/film.$instance" &
		pids="$pids $!"
	done
	for pid in $pids; do
		wait "$pid" || exit 1
	done
	rounds=$((rounds + 1))
	[ "$(date +%s)" -lt "$end" ] || break
done
echo "$rounds rounds of 8 transcodes"
