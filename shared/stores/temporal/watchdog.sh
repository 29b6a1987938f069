# Ends a process group when the process that holds the other end of stdin is gone, whatever killed it (SIGKILL too).
# Each line on stdin is the id of the group to watch from now on; an empty line means none. End of file ends the last one:
# SIGTERM, and SIGKILL after 1 s: on a slow machine, too, nothing is to be left 5 s after a kill, and the server's file takes either end.
# Plain POSIX sh, so that it runs on Linux and macOS and `killall -9 node` does not end it with us.
trap '' HUP INT TERM
group=
while read -r line; do group=$line; done
[ -n "$group" ] || exit 0
kill -s TERM -- "-$group" 2>/dev/null || exit 0
sleep 1
kill -s KILL -- "-$group" 2>/dev/null
exit 0
