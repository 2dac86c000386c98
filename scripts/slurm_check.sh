#!/usr/bin/env bash
# The atlas workflow under a real Slurm: a controller and one node on this machine, from Debian's packages, up for as long as
# the check lasts. Compares every byte with the one-machine command's, as scripts/workflow_check.py does.
#
# Run as root on Debian or Ubuntu. Installs slurm-wlm and munge if they are missing; uses no file of theirs under /etc, so that a
# Slurm that is there already is left alone. Everything lies in target/slurm-check, logs included.
set -euo pipefail
if [ $# -gt 0 ]; then
  sed -n '2,6s/^# \{0,1\}//p' "$0"
  exit 2
fi
cd "$(dirname "$0")/.."

if [ "$(id -u)" != 0 ]; then
  echo "run this as root: Slurm's daemons start jobs as their users" >&2
  exit 2
fi
export PATH=$PATH:/usr/sbin:/sbin
for program in slurmctld slurmd munged; do
  if ! command -v "$program" > /dev/null; then
    echo "installing slurm-wlm and munge"
    apt-get install --yes --quiet slurm-wlm munge > /dev/null
  fi
done

# Short and root's alone: munge refuses folders that others may write to, and sockets have short names.
place=$(mktemp -d /run/antsreg-slurm.XXXXXX)
logs=$PWD/target/slurm-check
rm -rf "$logs"
mkdir -p "$logs" "$place/state" "$place/spool"
pids=()
finish() {
  for ((n = ${#pids[@]} - 1; n >= 0; n--)); do
    kill "${pids[n]}" 2> /dev/null || true
    wait "${pids[n]}" 2> /dev/null || true
  done
  rm -rf "$place"
}
trap finish EXIT

host=$(hostname -s)
cpus=$(nproc)
head -c 1024 /dev/urandom > "$place/munge.key"
chmod 400 "$place/munge.key"
cat > "$place/slurm.conf" << END
ClusterName=check
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=26817
SlurmdPort=26818
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$place/munge.socket
CryptoType=crypto/munge
StateSaveLocation=$place/state
SlurmdSpoolDir=$place/spool
SlurmctldPidFile=$place/slurmctld.pid
SlurmdPidFile=$place/slurmd.pid
SlurmctldLogFile=$logs/slurmctld.log
SlurmdLogFile=$logs/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
# Without accounting the state of a job that has ended is told by squeue, as long as it is kept.
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
MinJobAge=3600
# The profile asks for memory and GPUs that this machine need not have: the check computes on the processor.
SlurmdParameters=config_overrides
GresTypes=gpu
NodeName=$host NodeAddr=127.0.0.1 CPUs=$cpus RealMemory=64000 Gres=gpu:8 State=UNKNOWN
PartitionName=check Nodes=$host Default=YES MaxTime=INFINITE State=UP
END
touch "$place"/gpu{0..7}
echo "Name=gpu File=$place/gpu[0-7]" > "$place/gres.conf"
export SLURM_CONF=$place/slurm.conf
# Inside a job Snakemake clears the variables of Slurm, this one too.
mkdir "$place/bin"
printf '#!/bin/sh\nSLURM_CONF=%s exec %s "$@"\n' "$SLURM_CONF" "$(command -v srun)" > "$place/bin/srun"
chmod +x "$place/bin/srun"
export PATH=$place/bin:$PATH

munged --foreground --force --key-file "$place/munge.key" --socket "$place/munge.socket" --pid-file "$place/munge.pid" \
  --seed-file "$place/munge.seed" \
  > "$logs/munged.out" 2>&1 &
pids+=($!)
for _ in $(seq 50); do [ -S "$place/munge.socket" ] && break; sleep 0.1; done
slurmctld -D -c > "$logs/slurmctld.out" 2>&1 &
pids+=($!)
slurmd -D -c > "$logs/slurmd.out" 2>&1 &
pids+=($!)
for _ in $(seq 100); do
  [ "$(sinfo --noheader --format %t 2> /dev/null)" = idle ] && break
  sleep 0.2
done
if [ "$(sinfo --noheader --format %t)" != idle ]; then
  sinfo --list-reasons
  echo "the node does not become idle; see $logs" >&2
  exit 1
fi
sinfo
scripts/workflow_check.py --profile slurm --snakemake --slurm-status-command squeue --slurm-no-account \
  --slurm-init-seconds-before-status-checks 1 --seconds-between-status-checks 1 --latency-wait 5
squeue --states all --format '%.6i %.40j %.10T %.8M'
