# SPDX-License-Identifier: GPL-2.0-only
# In the VM, part of tests.sh: commd through the module, commctl's reports into
# /results/commd, where the host's judge.sh compares them with what is known.
[ -x /usr/bin/commd ] || { echo "skip commd # no commd in this image"; return 0; }
out=/results/commd
mkdir -p $out

report() { # name
	commctl report --json --by-thread --min-share 0 --top 0 --store /tmp/$1.db > $out/$1.json 2>> $out/log
}

# name, source, kernel, commd's options: the kernel runs by itself, commd attaches.
attach() {
	name=$1 source=$2 kernel=$3
	shift 3
	echo "== $name" >> $out/log
	truth-kernels $kernel --threads 4 --seconds 9 --out $out/$name.csv > /dev/null 2>> $out/log & pid=$!
	sleep 1
	commd -q --source $source --pid $pid --duration 6s --store /tmp/$name.db "$@" 2>> $out/log
	result $? "commd: $name" "$(tail -n 1 $out/log)"
	wait $pid
	report $name
}

commd --doctor > $out/doctor 2>&1
grep -q '^  kmod  *works' $out/doctor; result $? "commd: the doctor finds the module" "$(grep kmod $out/doctor)"

attach ring-kmod kmod ring --rate 400
attach ring-auto auto ring --rate 400
attach ring-bpf bpf ring --rate 400
attach ring-perf perf ring --rate 400
attach ring-watch kmod ring --rate 400 --watch 500 --record /tmp/watch.rec
events /tmp/watch.rec > $out/watch.events 2>> $out/log
attach ring-budget kmod ring --overhead 20

commd -q --watch 10 --source bpf --duration 1s --store /tmp/none.db -- sleep 1 > $out/refused 2>&1
[ $? = 1 ] && grep -q kmod $out/refused; result $? "commd: watch without the module is refused" "$(cat $out/refused)"

# Children: by BPF's life cycle, then by /proc alone.
follow() { # name
	echo "== $1" >> $out/log
	commd -q --source kmod --rate 400 --store /tmp/$1.db -- \
		truth-kernels processes --threads 4 --seconds 6 --out $out/$1.csv > /dev/null 2>> $out/log
	result $? "commd: $1" "$(tail -n 1 $out/log)"
	report $1
}
follow children-bpf
mount -o bind /dev/null /sys/kernel/btf/vmlinux
follow children-proc
umount /sys/kernel/btf/vmlinux

mkdir -p /sys/fs/cgroup/cp-commd
(echo 0 > /sys/fs/cgroup/cp-commd/cgroup.procs
	exec truth-kernels ring --threads 4 --seconds 9 --out $out/cgroup.csv) > /dev/null 2>> $out/log & pid=$!
sleep 1
commd -q --source kmod --cgroup /cp-commd --rate 400 --duration 6s --store /tmp/cgroup.db 2>> $out/log
result $? "commd: cgroup" "$(tail -n 1 $out/log)"
wait $pid
rmdir /sys/fs/cgroup/cp-commd
report cgroup

echo "== xz" >> $out/log
cat /usr/bin/* > /tmp/big
commd -q --rate 400 --store /tmp/xz.db -- /usr/bin/xz -T2 -1 --block-size=2MiB -k -c /tmp/big > /tmp/big.xz 2>> $out/log
result $? "commd: xz" "$(ls -l /tmp/big | awk '{ print $5 }') bytes, $(tail -n 1 $out/log)"
report xz
rm -f /tmp/big /tmp/big.xz

# IBS as the stand-in plays it, on data that both threads have mapped.  Loaded anew:
# hotplug has moved one CPU's timer to the other.
echo "== precise" >> $out/log
rmmod standin
insmod /modules/standin.ko span=61
/cptest share > /tmp/share & pid=$!
wait_for /tmp/share tids
commd -q --source kmod:precise --pid $pid --rate 400 --duration 4s --store /tmp/precise.db --record /tmp/precise.rec 2>> $out/log
result $? "commd: precise" "$(tail -n 1 $out/log)"
kill -9 $pid; wait $pid 2>/dev/null
rmmod standin
insmod /modules/standin.ko
cp /tmp/share $out/precise.tids
report precise
events /tmp/precise.rec > $out/precise.events 2>> $out/log
