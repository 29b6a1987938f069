# Ends a process group when the process that holds the other end of stdin is gone, whatever killed it (SIGKILL too).
# Each line on stdin is the id of the group to watch from now on; an empty line means none. End of file ends the last one:
# SIGTERM, and SIGKILL after 2 s. Plain POSIX sh, so that it runs on Linux and macOS and `killall -9 node` does not end it with us.
trap '' HUP INT TERM
group=
while read -r line; do group=$line; done
[ -n "$group" ] || exit 0
kill -s TERM -- "-$group" 2>/dev/null || exit 0
for second in 1 2; do
  sleep 1
  kill -s 0 -- "-$group" 2>/dev/null || exit 0
done
kill -s KILL -- "-$group" 2>/dev/null
exit 0
